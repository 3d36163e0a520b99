//! Standard error: what a person sees while the engine works, and what goes wrong. Nothing else writes to it.

use std::io::Write;

use rsb_model::Event;
use rsb_report::clean;
use rsb_report::number::format_count;

/// Writes `text` to standard error, cleaned of what would move the cursor. The first line stands at the margin, and none
/// after it does: nothing that is quoted can pass for a message of its own.
///
/// Where nobody can be told, as on a full disk, that is no reason to stop.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(sayable(text).as_bytes());
}

fn sayable(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(clean).collect();
    let is_indented = |line: &String| line.is_empty() || line.starts_with(' ');
    let margin = if lines.iter().skip(1).all(is_indented) { "\n" } else { "\n  " };
    lines.join(margin) + "\n"
}

/// Says what happens, a line each; the progress of a run has a bar of its own.
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
            format!("counting instructions of up to {}", format_count(*cases, "case", "cases"))
        }
        Event::RemeasureStarted { cases, left } => {
            let count = format_count(*cases, "undecided case", "undecided cases");
            format!("remeasuring {count}, {} s left", left.as_secs())
        }
        Event::PairedRerunStarted { program, run_id, since } => format!(
            "comparing with the program that made the baseline, kept here on {} for the run {run_id}: {}",
            since.strftime("%Y-%m-%d"),
            program.display()
        ),
        Event::BuildStarted { revision } => format!("building {revision}"),
        Event::BuildWaiting { directory } => format!("waiting for another build in {}", directory.display()),
        Event::BisectChecking { good, bad } => format!("first of all: whether {bad} is slower than {good} at all"),
        Event::BisectNarrowed { commits, steps } => {
            format!("{commits} commits are left, about {}", format_count(*steps, "step", "steps"))
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
        assert_eq!(sayable(hostile), "error:  ]0;title a b c 31m\n  PASS\n");
        assert_eq!(sayable("plain – ⚠ ü\n\n"), "plain – ⚠ ü\n");
        assert_eq!(sayable("error: of two:\n  a\n  b"), "error: of two:\n  a\n  b\n");
    }

    #[test]
    fn each_event_that_a_person_waits_for_has_its_line() {
        let left = Duration::from_secs(90);
        for (event, expected) in [
            (Event::warning("it is hot"), Some("warning: it is hot")),
            (Event::RemeasureStarted { cases: 1, left }, Some("remeasuring 1 undecided case, 90 s left")),
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
