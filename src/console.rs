//! Standard error: progress messages and errors. No other module writes to it.

use std::io::{IsTerminal, Write};

use rsb_model::Event;
use rsb_report::number::format_count;
use rsb_report::{Color, Style, clean};
use rsb_store::address::without_passwords;

/// Writes `text` to standard error, without passwords of addresses and characters that move the
/// cursor, and wrapped on a terminal. Only the first line starts at the margin, so that quoted text
/// cannot look like a separate message.
///
/// A failure to write, as on a full disk, is ignored.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(sayable(text, width()).as_bytes());
}

/// Returns the width of the terminal on standard error, in columns; `None` without a terminal.
pub fn width() -> Option<usize> {
    let stderr = std::io::stderr();
    if !stderr.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&stderr).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn sayable(text: &str, width: Option<usize>) -> String {
    let text = without_passwords(text);
    let lines: Vec<String> = text.trim_end().lines().map(clean).collect();
    let is_indented = lines.iter().skip(1).all(|line| line.is_empty() || line.starts_with(' '));
    let margin = if is_indented { "\n" } else { "\n  " };
    let style = Style { color: Color::Never, width: width.unwrap_or(usize::MAX) };
    let lines: Vec<String> = lines.iter().map(|line| style.wrap_long_lines(line)).collect();
    lines.join(margin) + "\n"
}

/// Prints events as messages, one line each. The progress of a run has its own bar.
pub fn tell(event: &Event) {
    if let Some(line) = line(event) {
        say(&line);
    }
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Notice(notice) => format!("{}: {}", notice.level.as_str(), notice.text),
        Event::InterleavedStarted { cases, left } => {
            let count = format_count(*cases, "case", "cases");
            format!("measuring {count} on both sides interleaved, {} s left", left.as_secs())
        }
        Event::CountingStarted { cases } => {
            format!("counting, not timing, up to {}", format_count(*cases, "case", "cases"))
        }
        Event::RemeasureStarted { cases, left } => {
            let count = format_count(*cases, "undecided case", "undecided cases");
            format!("remeasuring {count}, {} s left", left.as_secs())
        }
        Event::PairedRerunStarted { program, run_id, since } => format!(
            "comparing with the program that measured the baseline, kept since {} for the run \
             {run_id}: {}",
            since.strftime("%Y-%m-%d"),
            program.display()
        ),
        Event::BuildStarted { revision } => format!("building {revision}"),
        Event::BuildWaiting { directory } => {
            format!("waiting for another build in {}", directory.display())
        }
        Event::BisectChecking { good, bad } => {
            format!("checking first whether {bad} is slower than {good}")
        }
        Event::BisectNarrowed { commits, steps } => {
            format!("{commits} commits are left, about {}", format_count(*steps, "step", "steps"))
        }
        Event::CheckStarted { number, checks, name } => {
            format!("check {number} of {checks}: {name}")
        }
        Event::CheckEnded(check) => {
            format!("check {}: {}", check.number, rsb_report::first_day::summary_of(check))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_said_cannot_move_the_cursor_nor_pass_for_a_message() {
        let hostile = "error: \u{1b}]0;title\u{7}a\u{202e}b\u{2066}c\u{9b}31m\nPASS\r\n";
        assert_eq!(sayable(hostile, None), "error:  ]0;title a b c 31m\n  PASS\n");
        assert_eq!(sayable("plain – ⚠ ü\n\n", None), "plain – ⚠ ü\n");
        assert_eq!(sayable("error: of two:\n  a\n  b", None), "error: of two:\n  a\n  b\n");
        let address = "error: cannot open `postgres:/me:secret@host/db`";
        assert_eq!(sayable(address, None), "error: cannot open `postgres:/…@host/db`\n");
    }

    #[test]
    fn messages_wrap_at_words_on_a_terminal_only() {
        let message = "note: a sentence of many words that is longer than the terminal is wide";
        assert_eq!(
            sayable(message, Some(40)),
            "note: a sentence of many words that is\n  longer than the terminal is wide\n"
        );
        assert_eq!(sayable(message, None), format!("{message}\n"));
        assert_eq!(sayable("short   and kept", Some(40)), "short   and kept\n");
    }

    #[test]
    fn each_event_that_a_person_waits_for_has_its_line() {
        let left = Duration::from_secs(90);
        for (event, expected) in [
            (Event::warning("it is hot"), Some("warning: it is hot")),
            (
                Event::RemeasureStarted { cases: 1, left },
                Some("remeasuring 1 undecided case, 90 s left"),
            ),
            (
                Event::InterleavedStarted { cases: 2, left },
                Some("measuring 2 cases on both sides interleaved, 90 s left"),
            ),
            (Event::RunEnded(rsb_model::RunStatus::Complete), None),
        ] {
            assert_eq!(line(&event).as_deref(), expected);
        }
    }
}
