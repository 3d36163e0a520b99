//! Cleanup of captured output: removes prefixes of log lines and lines around a JSON document, and
//! replaces numbers that are not valid JSON.

use std::borrow::Cow;

use rsb_model::Timestamp;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Maximum number of prefixes of a log line, such as one of a container and one of `mpirun`.
const MOST_PREFIXES: usize = 4;
/// Maximum number of positions at which a JSON document is searched for.
const MOST_PLACES: usize = 20;

/// Returns `text` in the form that importers read. JSON documents between other lines are extracted
/// if `is_output` accepts them.
pub(super) fn clean<'t>(text: &'t str, is_output: &dyn Fn(&Value) -> bool) -> Cow<'t, str> {
    if is_json(text) {
        return Cow::Borrowed(text);
    }
    let text = match remove_terminal_codes(text) {
        Some(plain) => Cow::Owned(strip_prefixes(&plain).into_owned()),
        None => strip_prefixes(text),
    };
    let text = match escape_backslashes(&text) {
        Some(escaped) => Cow::Owned(escaped),
        None => text,
    };
    if let Some(json) = replace_non_numbers(&text).filter(|json| is_json(json)) {
        return Cow::Owned(json);
    }
    match embedded_documents(&text, is_output) {
        Some(documents) => Cow::Owned(documents),
        None => text,
    }
}

/// Removes colors and other escape sequences of terminals. A carriage return without a line feed,
/// as after each step of a progress bar, ends a line. Returns `None` if `text` contains neither.
fn remove_terminal_codes(text: &str) -> Option<String> {
    let has_lone_return =
        text.split('\r').skip(1).any(|rest| !rest.is_empty() && !rest.starts_with('\n'));
    if !(has_lone_return || text.contains('\u{1b}')) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // A control sequence ends with a character from `@` to `~`.
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
            // A command, such as one that sets the title, ends with a bell or an escape.
            '\u{1b}' if chars.next_if_eq(&']').is_some() => {
                while chars.next().is_some_and(|c| !['\u{7}', '\u{1b}'].contains(&c)) {}
                chars.next_if_eq(&'\\');
            }
            '\u{1b}' => {}
            '\r' if chars.peek().is_some_and(|next| *next != '\n') => plain.push('\n'),
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Escapes backslashes that begin no escape sequence of JSON, as in a path that Google Benchmark
/// before 1.5 writes on Windows. Returns `None` if that does not make `text` valid JSON.
fn escape_backslashes(text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') || !text.contains('\\') {
        return None;
    }
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        let is_unicode = || {
            let digits = after.get(1..5)?;
            Some(digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let is_sequence = after.starts_with(['"', '\\', '/', 'b', 'f', 'n', 'r', 't'])
            || after.starts_with('u') && is_unicode() == Some(true);
        escaped.push_str(before);
        escaped.push_str(if is_sequence { "\\" } else { "\\\\" });
        // The second half of a pair begins no sequence.
        let pair = usize::from(after.starts_with('\\'));
        escaped.push_str(&after[..pair]);
        rest = &after[pair..];
    }
    escaped.push_str(rest);
    is_json(&escaped).then_some(escaped)
}

/// Returns whether `text` consists only of one or several JSON documents.
fn is_json(text: &str) -> bool {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    matches!(documents.next(), Some(Ok(_))) && documents.all(|document| document.is_ok())
}

/// Replaces numbers that JSON does not have, such as `NaN`, `Infinity`, `-inf` and `nan(0x7ff)`,
/// with `null`, except in strings. Returns `None` if `text` contains none.
fn replace_non_numbers(text: &str) -> Option<String> {
    let mut replaced = String::new();
    let mut kept = 0;
    let mut token = 0;
    let mut is_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            token = at + 1;
        } else if byte == b'"' || byte.is_ascii_whitespace() || b",:[]{}".contains(&byte) {
            if text.get(token..at).is_some_and(is_non_number) {
                replaced.push_str(text.get(kept..token)?);
                replaced.push_str("null");
                kept = at;
            }
            is_string = byte == b'"';
            token = at + 1;
        }
    }
    (kept > 0).then(|| replaced + text.get(kept..).unwrap_or_default())
}

/// Returns whether `token` is a printed infinity or NaN.
fn is_non_number(token: &str) -> bool {
    let word = token.strip_prefix(['-', '+']).unwrap_or(token).to_ascii_lowercase();
    ["nan", "inf", "infinity"].contains(&word.as_str())
        || (word.starts_with("nan(") && word.ends_with(')'))
        || word.starts_with("1.#")
}

/// Returns the documents in `text` that `is_output` accepts, without the lines around them; `None`
/// if there are none.
fn embedded_documents(text: &str, is_output: &dyn Fn(&Value) -> bool) -> Option<String> {
    let mut found = String::new();
    let mut read = 0;
    let mut line_start = 0;
    let mut places = 0;
    for line in text.split_inclusive('\n') {
        let start = line_start;
        line_start += line.len();
        if start < read || !line.trim_start().starts_with(['{', '[']) {
            continue;
        }
        let rest = text.get(start..)?;
        if let Some((document, length)) = first_document(rest) {
            if is_output(&document) {
                found.push_str(rest.get(..length)?);
                found.push('\n');
            }
            read = start + length;
            continue;
        }
        if !may_begin_document(rest) {
            continue;
        }
        // Unpaired quotes in the lines between documents could hide such numbers, so they are
        // replaced from the beginning of each document on.
        if let Some(rest) = replace_non_numbers(rest)
            && first_document(&rest).is_some()
        {
            let others = embedded_documents(&rest, is_output).unwrap_or_default();
            found.push_str(&others);
            break;
        }
        places += 1;
        if places == MOST_PLACES {
            break;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Returns whether `text`, which begins with a bracket, continues like a JSON list or object. A log
/// line such as `[INFO] …` does not.
fn may_begin_document(text: &str) -> bool {
    const VALUES: [&str; 10] =
        ["{", "[", "]", "\"", "-", "true", "false", "null", "NaN", "Infinity"];
    let text = text.trim_start();
    let rest = text.get(1..).unwrap_or_default().trim_start();
    if text.starts_with('{') {
        return rest.is_empty() || rest.starts_with(['"', '}']);
    }
    rest.is_empty()
        || rest.starts_with(|c: char| c.is_ascii_digit())
        || VALUES.iter().any(|value| rest.starts_with(value))
}

/// Returns the document at the beginning of `text`, and its length in bytes.
fn first_document(text: &str) -> Option<(Value, usize)> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let document = documents.next()?.ok()?;
    Some((document, documents.byte_offset()))
}

/// Function that returns the rest of a line after a prefix of one kind; `None` if the line does not
/// have the prefix.
type Prefix = fn(&str) -> Option<&str>;

/// Functions for all known prefixes of log lines.
const PREFIXES: [Prefix; 12] = [
    after_github_step,
    after_time,
    after_container_stream,
    after_gitlab_section,
    after_rank,
    after_bracket,
    after_service,
    after_journal_head,
    after_civil_time,
    after_level,
    after_task,
    after_host,
];

/// Returns `text` without the prefixes that nearly all of its lines have.
fn strip_prefixes(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MOST_PREFIXES {
        let shared = PREFIXES.iter().find(|after| is_shared(&text, **after));
        let Some(after) = shared else { break };
        let mut stripped = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let content = content.strip_suffix('\r').unwrap_or(content);
            stripped.push_str(after(content).unwrap_or(content));
            // A missing line break at the end is kept, because importers take it as a sign that the
            // file was cut off.
            stripped.push_str(if line.ends_with('\n') { "\n" } else { "" });
        }
        text = Cow::Owned(stripped);
    }
    text
}

/// Returns whether at least nine of ten lines have the prefix.
fn is_shared(text: &str, after: Prefix) -> bool {
    let (mut lines, mut with) = (0_usize, 0_usize);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines += 1;
        with += usize::from(after(line).is_some());
        // Stop early: most outputs have no prefix, which is clear after 100 lines.
        if lines == 100 && with < 50 {
            return false;
        }
    }
    lines > 0 && with * 10 >= lines * 9
}

/// `gh run view --log`: `job<tab>step<tab>2026-08-06T16:30:28.1234567Z `.
fn after_github_step(line: &str) -> Option<&str> {
    let mut fields = line.splitn(3, '\t').skip(2);
    after_time(fields.next()?)
}

/// `2026-08-06T16:30:28.1234567Z `: GitHub, kubectl and docker with time stamps.
fn after_time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_time = time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('T');
    (is_time && time.parse::<Timestamp>().is_ok()).then_some(rest)
}

/// `stdout F `: a file of the container runtime.
fn after_container_stream(line: &str) -> Option<&str> {
    line.strip_prefix("stdout F ").or_else(|| line.strip_prefix("stderr F "))
}

/// `00O `, `01E+`: a GitLab job.
fn after_gitlab_section(line: &str) -> Option<&str> {
    let (head, rest) = line.split_at_checked(4)?;
    let is_head = matches!(
        head.as_bytes(),
        [a, b, b'O' | b'E', b' ' | b'+'] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit()
    );
    is_head.then_some(rest)
}

/// `[1,0]<stdout>:`, optionally after a time: `mpirun`.
fn after_rank(line: &str) -> Option<&str> {
    /// Maximum length of the text before the stream name: a date, a time, a job and a rank.
    const LONGEST: usize = 80;
    let (head, rest) = line.split_once("<stdout>:").or_else(|| line.split_once("<stderr>:"))?;
    (head.len() <= LONGEST && head.contains('[')).then_some(rest)
}

/// `[pod/name/container] `, `[host:123] `: kubectl and hydra. A number without a host is the number
/// of a solution.
fn after_bracket(line: &str) -> Option<&str> {
    let (tag, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_tag = tag.contains(['/', ':']) && !tag.contains(char::is_whitespace);
    is_tag.then(|| rest.strip_prefix([' ', ':']).unwrap_or(rest))
}

/// `launcher-1  | `: docker compose.
fn after_service(line: &str) -> Option<&str> {
    let (service, rest) = line.split_once('|')?;
    let name = service.trim_end();
    let is_service = name.len() < service.len()
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_service.then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `Aug 06 16:30:28 host program[123]: `: journald and syslog. The date is missing if a time stamp
/// preceded it.
fn after_journal_head(line: &str) -> Option<&str> {
    let (head, rest) = line.split_once("]: ").or_else(|| Some((line.strip_suffix("]:")?, "")))?;
    let (head, process) = head.rsplit_once('[')?;
    let is_process = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    let words = head.split_whitespace().count();
    (is_process && [2, 5].contains(&words)).then_some(rest)
}

/// `2026-08-06 16:30:28,123 `, `[2026-08-06 16:30:28] `, `Aug 06 16:30:28 `: Python, Jenkins, `ts`.
fn after_civil_time(line: &str) -> Option<&str> {
    let is_clock = |word: &str| {
        word.len() >= 8
            && word.contains(':')
            && word.bytes().all(|byte| byte.is_ascii_digit() || b":.,".contains(&byte))
    };
    let inner = line.strip_prefix('[').unwrap_or(line);
    let (date, rest) = inner.split_once(' ')?;
    let (is_date, rest) = if MONTHS.contains(&date) {
        let (day, rest) = rest.trim_start().split_once(' ')?;
        (day.len() <= 2 && day.parse::<u8>().is_ok(), rest)
    } else {
        let is_digit = |byte: u8| byte.is_ascii_digit() || b"-/".contains(&byte);
        (date.len() == 10 && date.bytes().all(is_digit), rest)
    };
    let (clock, rest) = rest.split_once([' ', ']']).unwrap_or((rest, ""));
    if !(is_date && is_clock(clock)) {
        return None;
    }
    // After a time in brackets, a space separates the content.
    let is_bracketed = inner.len() < line.len();
    Some(if is_bracketed { rest.strip_prefix(' ').unwrap_or(rest) } else { rest })
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// ` - INFO - `, `[INFO] `, `INFO: `: the level of a logger.
fn after_level(line: &str) -> Option<&str> {
    const LEVELS: [&str; 5] = ["DEBUG", "INFO", "WARNING", "WARN", "ERROR"];
    let head = line.trim_start_matches([' ', '-', '|', '[']);
    let rest = LEVELS.iter().find_map(|level| head.strip_prefix(level))?;
    let rest = rest.strip_prefix(']').unwrap_or(rest);
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    if rest.trim().is_empty() {
        return Some("");
    }
    [" - ", " | ", " "].iter().find_map(|separator| rest.strip_prefix(separator))
}

/// `(worker1, rank=1, pid=123) `, `(RayWorker pid=123) `: Ray and `SkyPilot`.
fn after_task(line: &str) -> Option<&str> {
    let (tag, rest) = line.strip_prefix('(')?.split_once(')')?;
    tag.contains("pid=").then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `gpu-01: `: pdsh, clush and `srun --label`.
fn after_host(line: &str) -> Option<&str> {
    let (host, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let is_host = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_host.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_numbers_become_null_outside_of_strings() {
        for (text, expected) in [
            (r#"{"a": NaN, "b":-Infinity}"#, Some(r#"{"a": null, "b":null}"#)),
            (r"[inf,nan(0x8000),+INF, -nan, 1.#QNAN, 2]", Some("[null,null,null, null, null, 2]")),
            ("NaN", Some("null")),
            (r#"{"NaN": "inf", "say \"NaN, inf": "é"}"#, None),
            (r#"{"a": true, "b": null, "c": 1e5, "info": 2}"#, None),
            ("", None),
        ] {
            assert_eq!(replace_non_numbers(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn prefixes_that_all_lines_have_are_removed() {
        let lines = ["# head", "  8  2.5 float", "", "{\"a\": 1}"];
        for prefix in [
            "2026-08-06T16:30:28.1234567Z ",
            "2026-08-06T09:30:28.123456789-07:00 ",
            "build\tRun tests\t2026-08-06T16:30:28.1234567Z ",
            "2016-10-06T00:17:09.669794202Z stdout F ",
            "2026-08-06T16:30:28.123456Z 01O ",
            "launcher-1  | ",
            "[1,0]<stdout>:",
            "Thu Aug  6 16:30:28 2026[1,12]<stderr>:",
            "[pod/launcher-abc/main] ",
            "[pod/launcher-abc/main] 2026-08-06T16:30:28Z ",
            "[host:4711] ",
            "Aug 06 16:30:28 host bench[123]: ",
            "2026-08-06T16:30:28+02:00 host bench[123]: ",
            "2026-08-06 16:30:28.123 ",
            "[2026-08-06 16:30:28] ",
            "2026-08-06 16:30:28,123 - INFO - ",
            "[INFO] ",
            "Aug  6 16:30:28 ",
            "(worker1, rank=1, pid=123, ip=10.0.0.2) ",
            "(RayWorker pid=123) ",
            "gpu-01: ",
        ] {
            let mut text = String::new();
            for line in lines {
                text.extend([prefix, line, "\n"]);
            }
            assert_eq!(strip_prefixes(&text), lines.join("\n") + "\n", "{prefix}");
        }
    }

    #[test]
    fn terminal_codes_are_removed_and_a_lone_return_ends_a_line() {
        for (text, expected) in [
            ("\u{1b}[1;31mred\u{1b}[0m\r\n8 2", Some("red\r\n8 2")),
            ("\u{1b}]0;title\u{7}a\u{1b}]0;b\u{1b}\\c", Some("ac")),
            ("10 %\r100 %\r{\"a\": 1}\n", Some("10 %\n100 %\n{\"a\": 1}\n")),
            ("a\rb\r", Some("a\nb\r")),
            ("a\r\nb\r\n", None),
            ("cut\u{1b}[", Some("cut")),
        ] {
            assert_eq!(remove_terminal_codes(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn paths_of_windows_are_escaped_if_that_makes_a_document() {
        for (text, expected) in [
            (r#"{"a": "C:\Users\x\usr\b.exe"}"#, Some(r#"{"a": "C:\\Users\\x\\usr\b.exe"}"#)),
            (
                r#"{"a": "\\\\host\.", "b": "\u00e9"}"#,
                Some(r#"{"a": "\\\\host\\.", "b": "\u00e9"}"#),
            ),
            (r#"{"a": "\."#, None),
            (r#"{"a": 1}"#, None),
        ] {
            assert_eq!(escape_backslashes(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_an_output_are_no_prefixes() {
        for text in [
            "[0]:transA,transB\nN,N\n[1]:transA,transB\nN,N\n",
            "[0]:transA,transB",
            "[1.5, 2]\n[3, 4]\n",
            "2026-08-06T16:30:28Z,5\n2026-08-06T16:30:29Z,6\n",
            "| a | b |\n|---|---|\n",
            "8 2 float\n16 4 float\n",
            "SUM device_latency_sm 1500.0\n",
        ] {
            assert_eq!(strip_prefixes(text), text);
        }
    }

    #[test]
    fn documents_are_found_between_other_lines() {
        let is_output = |document: &Value| document.get("results").is_some();
        for (text, expected) in [
            ("warming up\n{\"results\": [1]}\ndone\n", "{\"results\": [1]}\n"),
            ("[1,0] x\n[INFO] y\n {\"results\":\n 2}", " {\"results\":\n 2}\n"),
            (
                "a\n{\"results\": 1}\nb\n{\"other\": 1}\n{\"results\": 2}\n",
                "{\"results\": 1}\n{\"results\": 2}\n",
            ),
            ("a\n{\"results\": NaN}\nb", "{\"results\": null}\n"),
            (
                "a\n{\"results\": NaN}\n{\"results\": 2}\nb\n{\"results\": inf}\n",
                "{\"results\": null}\n{\"results\": 2}\n{\"results\": null}\n",
            ),
            (
                "2026-08-06T16:30:28Z {\n2026-08-06T16:30:28Z \"results\": [inf]}",
                "{\n\"results\": [null]}",
            ),
        ] {
            assert_eq!(clean(text, &is_output), expected, "{text}");
        }
        let after_many = "[INFO] step\n".repeat(30) + "{\"results\": 1}";
        assert_eq!(clean(&after_many, &is_output), "{\"results\": 1}\n");
        for text in ["nothing here", "{\"results\": [", "a\n{\"other\": 1}\n"] {
            assert_eq!(clean(text, &is_output), text);
        }
    }
}
