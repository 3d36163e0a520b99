//! Output of a child process that runs with a time limit.

use std::process::Command;
use std::time::Duration;

use timed_child::Stderr;

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChildEnd {
    /// Success, with its standard output.
    Well(String),
    /// Failure.
    Badly,
    /// Killed at the time limit.
    Late,
    /// Not started.
    Missing,
}

/// Runs `command` until it ends or the limit is reached.
pub(crate) fn run(mut command: Command, limit: Duration) -> ChildEnd {
    let Ok(answer) = timed_child::run(&mut command, Stderr::Discard, limit) else {
        return ChildEnd::Missing;
    };
    match answer.status {
        Some(status) if status.success() => ChildEnd::Well(answer.stdout),
        Some(_) => ChildEnd::Badly,
        None => ChildEnd::Late,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> ChildEnd {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit)
    }

    #[test]
    fn each_end_is_told_apart() {
        let long = Duration::from_mins(1);
        assert_eq!(shell("echo yes", long), ChildEnd::Well("yes\n".to_owned()));
        assert_eq!(shell("echo no; exit 3", long), ChildEnd::Badly);
        assert_eq!(shell("exec sleep 600", Duration::from_millis(50)), ChildEnd::Late);
        assert_eq!(run(Command::new("/no/such/program"), long), ChildEnd::Missing);
    }
}
