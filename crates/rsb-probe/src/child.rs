//! A child process with a time limit and a bounded answer. It is killed, with what it started, when it is late.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::limit::Pending;

/// More than any answer that is read here.
const ANSWER: u64 = 4 << 20;

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With success; what it wrote to stdout.
    Well(String),
    /// With a failure.
    Badly,
    /// Not within the limit.
    Late,
    /// It could not be started.
    Missing,
}

/// Runs `command` to its end or the limit.
pub(crate) fn run(mut command: Command, limit: Duration) -> Ended {
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    lead_a_group(&mut command);
    let Ok(mut child) = command.spawn() else { return Ended::Missing };
    let Some(output) = child.stdout.take() else { return Ended::Missing };
    let answer = Pending::start(move |report| {
        let mut text = Vec::new();
        if output.take(ANSWER).read_to_end(&mut text).is_ok() {
            report(String::from_utf8_lossy(&text).into_owned());
        }
    });
    let answer = answer.latest(deadline);
    let status = ended(&mut child, deadline);
    match (answer, status) {
        (Some(answer), Some(true)) => Ended::Well(answer),
        (_, Some(false)) => Ended::Badly,
        _ => Ended::Late,
    }
}

/// Whether the child succeeded; killed when it has not ended by the deadline.
fn ended(child: &mut Child, deadline: Instant) -> Option<bool> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            // Its output is at an end, so that it ends within microseconds.
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(200)),
            _ => break,
        }
    }
    kill_group(child);
    drop(child.kill());
    drop(child.wait());
    None
}

#[cfg(unix)]
fn lead_a_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(unix)]
fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn lead_a_group(_: &mut Command) {}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit)
    }

    #[test]
    fn each_end_is_told_apart() {
        let long = Duration::from_mins(1);
        assert_eq!(shell("echo yes", long), Ended::Well("yes\n".to_owned()));
        assert_eq!(shell("echo no; exit 3", long), Ended::Badly);
        assert_eq!(run(Command::new("/no/such/program"), long), Ended::Missing);
    }

    #[test]
    fn a_child_that_hangs_is_killed_with_what_it_started() {
        let began = Instant::now();
        // The grandchild holds the pipe open: killing the shell alone would leave it behind.
        assert_eq!(shell("tail -f /dev/null & wait", Duration::from_millis(50)), Ended::Late);
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
