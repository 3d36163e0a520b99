//! Configuration that makes systemd or cron run the turns.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Returns a systemd service and timer, and a line for cron.
pub fn units(program: &Path, words: &[OsString], dir: &Path, every: Duration) -> String {
    let all: Vec<&OsStr> =
        std::iter::once(program.as_os_str()).chain(words.iter().map(OsString::as_os_str)).collect();
    let service_line = all.iter().map(|word| systemd_word(word)).collect::<Vec<_>>().join(" ");
    let cron_line = all.iter().map(|word| cron_word(word)).collect::<Vec<_>>().join(" ");
    let seconds = every.as_secs();
    let mut text = format!(
        "# ---- ~/.config/systemd/user/rusty-stack-bench.service\n\
         [Unit]\n\
         Description=Benchmarks of rusty-stack-bench\n\
         ConditionACPower=true\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         WorkingDirectory={}\n\
         ExecStart={service_line}\n\
         Nice=10\n\
         IOSchedulingClass=idle\n\
         \n\
         # ---- ~/.config/systemd/user/rusty-stack-bench.timer\n\
         [Unit]\n\
         Description=Timer of rusty-stack-bench\n\
         \n\
         [Timer]\n\
         OnBootSec=15min\n\
         OnUnitActiveSec={seconds}s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n\
         \n\
         # then: systemctl --user daemon-reload && systemctl --user enable --now \
         rusty-stack-bench.timer\n\
         \n\
         # ---- or a line for cron (crontab -e)\n",
        dir.display().to_string().replace('%', "%%"),
    );
    match cron_times(seconds) {
        Some(times) => {
            let _ = writeln!(text, "{times} cd {} && {cron_line}", cron_word(dir.as_os_str()));
        }
        None => text.push_str(
            "# cron does not support this interval; it supports 10m, 30m, 1h, 6h, 12h and 1d\n",
        ),
    }
    text
}

/// Returns the times field of a cron line for this interval, which must divide an hour or a day.
fn cron_times(seconds: u64) -> Option<String> {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    let hours = minutes / 60;
    match (minutes, hours) {
        _ if rest != 0 => None,
        (1..60, _) if 60 % minutes == 0 => Some(format!("*/{minutes} * * * *")),
        (60, _) => Some("0 * * * *".to_owned()),
        (_, 2..24) if minutes % 60 == 0 && 24 % hours == 0 => Some(format!("0 */{hours} * * *")),
        (1440, _) => Some("0 3 * * *".to_owned()),
        _ => None,
    }
}

/// Quotes a word for a systemd command line: `%` and `$` have a meaning there, and so do
/// backslashes and quotes within quotes.
fn systemd_word(word: &OsStr) -> String {
    let word = word.to_string_lossy().replace('%', "%%").replace('$', "$$");
    if is_plain(&word) {
        word
    } else {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Quotes a word for a cron line: a shell reads it after cron has treated `%` as a line end.
fn cron_word(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let quoted = if is_plain(&word) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    };
    quoted.replace('%', "\\%")
}

fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+%@$".contains(c))
        && !word.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_start_the_same_turn() {
        let words =
            ["watch", "--once", "--results-dir", "/srv/50% of it's \"mine\""].map(OsString::from);
        let text = units(
            Path::new("/opt/bin/rusty-stack-bench"),
            &words,
            Path::new("/home/a b"),
            Duration::from_hours(6),
        );
        let (program, turn) = ("/opt/bin/rusty-stack-bench", "watch --once --results-dir");
        assert_eq!(
            line_of(&text, "ExecStart"),
            format!(r#"ExecStart={program} {turn} "/srv/50%% of it's \"mine\"""#)
        );
        assert_eq!(line_of(&text, "WorkingDirectory"), "WorkingDirectory=/home/a b");
        assert_eq!(line_of(&text, "OnUnitActiveSec"), "OnUnitActiveSec=21600s");
        assert_eq!(
            line_of(&text, "0 */6"),
            format!(
                r#"0 */6 * * * cd '/home/a b' && {program} {turn} '/srv/50\% of it'\''s "mine"'"#
            )
        );
    }

    fn line_of<'t>(text: &'t str, begin: &str) -> &'t str {
        text.lines().find(|line| line.starts_with(begin)).unwrap_or_default()
    }

    #[test]
    fn cron_keeps_what_divides_an_hour_or_a_day() {
        assert_eq!(cron_times(10 * 60).as_deref(), Some("*/10 * * * *"));
        assert_eq!(cron_times(60 * 60).as_deref(), Some("0 * * * *"));
        assert_eq!(cron_times(360 * 60).as_deref(), Some("0 */6 * * *"));
        assert_eq!(cron_times(1440 * 60).as_deref(), Some("0 3 * * *"));
        for minutes in [7, 45, 90, 300, 2880] {
            assert_eq!(cron_times(minutes * 60), None, "{minutes}");
        }
        assert_eq!(cron_times(61), None);
    }
}
