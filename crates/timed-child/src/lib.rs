//! Child processes with a time limit and bounded output. Children with input also have bounded
//! memory. A child that exceeds its time limit is killed, together with the processes that it
//! started.
//!
//! This is a separate crate without dependencies on the rest of the workspace, because crates that
//! need it (to query drivers, interpreters or git) may not depend on each other, and `rsb-model`,
//! which all of them use, does not start processes.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum size of the output in bytes. Further output is not read, and the pipe is closed.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// Handling of the child's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// Discarded.
    Discard,
    /// Returned.
    Keep,
}

/// Output of a child, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildOutput {
    /// Standard output; truncated if the child was killed.
    pub stdout: String,
    /// Standard error, if it is kept.
    pub stderr: String,
    /// Exit status. `None` if the child was killed at the time limit, because it was still running
    /// or because a process that it had started still held its output open.
    pub status: Option<ExitStatus>,
}

/// Limits of a child that gets input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildBounds {
    /// Time limit.
    pub time: Duration,
    /// Private memory in bytes. Allocations beyond it fail, and most programs exit then.
    pub memory_bytes: u64,
    /// Maximum size of the output in bytes; after that, the pipe is closed.
    pub answer_bytes: u64,
}

/// Output of a child that got input, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildAnswer {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// Exit status; `None` if the child was killed, see [`ChildOutput::status`].
    pub status: Option<ExitStatus>,
}

/// Runs `command` without input, until it ends or for `limit`.
///
/// # Errors
/// If it cannot be started.
pub fn run(command: &mut Command, stderr: Stderr, limit: Duration) -> io::Result<ChildOutput> {
    let deadline = Instant::now() + limit;
    let errors = match stderr {
        Stderr::Discard => Stdio::null(),
        Stderr::Keep => Stdio::piped(),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    lead_a_group(command);
    let ChildAnswer { stdout, stderr, status } =
        answer(command.spawn()?, deadline, MAX_OUTPUT_BYTES);
    Ok(ChildOutput { stdout: String::from_utf8_lossy(&stdout).into_owned(), stderr, status })
}

/// Runs `command` with `input`, until it ends or exceeds `bounds`. The child need not read its
/// input.
///
/// # Errors
/// If it cannot be started, or its memory cannot be limited.
pub fn run_with_input(
    command: &mut Command,
    input: Vec<u8>,
    bounds: ChildBounds,
) -> io::Result<ChildAnswer> {
    let deadline = Instant::now() + bounds.time;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_a_group(command);
    let mut child = command.spawn()?;
    // Limit the memory before the child gets any input.
    let fed = limit_memory(&child, bounds.memory_bytes)
        .and_then(|()| write_to(child.stdin.take(), input));
    if let Err(error) = fed {
        end(&mut child);
        return Err(error);
    }
    Ok(answer(child, deadline, bounds.answer_bytes))
}

/// Writes the input in a separate thread, because a child may answer before it has read everything.
fn write_to(pipe: Option<ChildStdin>, input: Vec<u8>) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let thread = std::thread::Builder::new().name("child".to_owned()).spawn(move || {
        // A write error only means that the child does not read everything; its exit status
        // decides.
        drop(pipe.write_all(&input));
    });
    thread.map(drop)
}

fn answer(mut child: Child, deadline: Instant, most: u64) -> ChildAnswer {
    let stdout = PipeReader::start(child.stdout.take(), most);
    let stderr = PipeReader::start(child.stderr.take(), MAX_OUTPUT_BYTES);
    let is_whole = stdout.has_ended(deadline) && stderr.has_ended(deadline);
    let status = if is_whole { wait_until(&mut child, deadline) } else { None };
    if status.is_none() {
        end(&mut child);
    }
    ChildAnswer {
        stdout: stdout.bytes(),
        stderr: String::from_utf8_lossy(&stderr.bytes()).into_owned(),
        status,
    }
}

fn end(child: &mut Child) {
    kill_group(child);
    // Errors are ignored, because the child may have ended already. It must be reaped in any case.
    drop(child.kill());
    drop(child.wait());
}

/// Returns the child's exit status, if it ended by the deadline.
fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            // The output has ended, so the child exits within microseconds.
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(200)),
            _ => return None,
        }
    }
}

/// A pipe that is read in its own thread, which is left behind if the pipe never ends.
struct PipeReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Closed at the end of the pipe.
    end: Receiver<()>,
}

impl PipeReader {
    fn start(pipe: Option<impl Read + Send + 'static>, most: u64) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (open, end) = channel();
        if let Some(pipe) = pipe {
            let into = Arc::clone(&bytes);
            // If no thread can be started, the output is empty: the channel closes.
            drop(
                std::thread::Builder::new()
                    .name("child".to_owned())
                    .spawn(move || read(pipe.take(most), &into, open)),
            );
        }
        Self { bytes, end }
    }

    fn has_ended(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        self.end.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
    }

    fn bytes(&self) -> Vec<u8> {
        // Bytes are only appended, so they are valid even if the reader panicked.
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read(mut pipe: impl Read, into: &Mutex<Vec<u8>>, open: Sender<()>) {
    let mut chunk = [0; 8192];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                let mut bytes = into.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    drop(open);
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

/// Limits the private memory of a child, whether touched or not; mapped files do not count.
#[cfg(target_os = "linux")]
fn limit_memory(child: &Child, bytes: u64) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    // Never exceed a limit inherited from the parent.
    let bytes = getrlimit(Resource::Data).maximum.map_or(bytes, |most| most.min(bytes));
    // Without a process ID, the limit would apply to the calling process.
    let pid =
        i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    prlimit(Some(pid), Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) })?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: &Child, _: u64) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "the memory of a child can only be limited on Linux",
    ))
}

#[cfg(not(unix))]
fn lead_a_group(_: &mut Command) {}

#[cfg(not(unix))]
fn kill_group(_: &Child) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn shell(script: &str, limit: Duration) -> ChildOutput {
        run(Command::new("sh").args(["-c", script]), Stderr::Keep, limit).unwrap()
    }

    #[test]
    fn each_end_is_told_apart() {
        let good = shell("echo yes; echo no >&2", LONG);
        assert!(good.status.unwrap().success());
        assert_eq!((good.stdout.as_str(), good.stderr.as_str()), ("yes\n", "no\n"));
        assert_eq!(shell("exit 3", LONG).status.unwrap().code(), Some(3));
        assert!(run(&mut Command::new("/no/such/program"), Stderr::Discard, LONG).is_err());
    }

    #[test]
    fn what_nobody_reads_is_not_kept() {
        let answer =
            run(Command::new("sh").args(["-c", "echo no >&2"]), Stderr::Discard, LONG).unwrap();
        assert!(answer.stderr.is_empty() && answer.status.unwrap().success());
    }

    #[test]
    fn a_child_that_hangs_is_killed_with_what_it_started_and_what_it_said_stands() {
        let began = Instant::now();
        // The grandchild holds the pipe open; killing only the shell would leave it behind.
        let late = shell("echo first; tail -f /dev/null & wait", Duration::from_secs(1));
        assert_eq!((late.stdout.as_str(), late.status), ("first\n", None));
        let left = shell("tail -f /dev/null & echo $!", Duration::from_secs(1));
        assert_eq!(left.status, None, "a child whose output stays open must be killed");
        let waited = Instant::now();
        while is_running(left.stdout.trim()) {
            assert!(waited.elapsed() < LONG, "{} still runs", left.stdout);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(began.elapsed() < LONG);
    }

    fn is_running(pid: &str) -> bool {
        let dir = std::path::PathBuf::from(format!("/proc/{pid}"));
        if !dir.exists() {
            return false;
        }
        // The grandchild may be reaped later; a zombie does not run anymore.
        let stat = std::fs::read_to_string(dir.join("stat")).unwrap_or_default();
        !stat.contains(") Z ")
    }

    fn feed_script(script: &str, input: &[u8], bounds: ChildBounds) -> ChildAnswer {
        run_with_input(Command::new("sh").args(["-c", script]), input.to_vec(), bounds).unwrap()
    }

    const WIDE: ChildBounds =
        ChildBounds { time: LONG, memory_bytes: 1 << 30, answer_bytes: 1 << 20 };

    #[test]
    fn what_is_given_comes_back_byte_by_byte_or_is_left_unread() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        let same = feed_script("cat; echo read >&2", &bytes, WIDE);
        assert!(same.stdout == bytes && same.stderr == "read\n" && same.status.unwrap().success());
        let unread = feed_script("exit 3", &bytes, WIDE);
        assert_eq!((unread.status.unwrap().code(), unread.stdout.len()), (Some(3), 0));
        let cut = feed_script("cat", &bytes, ChildBounds { answer_bytes: 10, ..WIDE });
        assert_eq!(cut.stdout, bytes[..10]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_gets_no_more_memory_than_its_bound() {
        let hungry = "read line; head -c 200000000 /dev/zero | tail -c 190000000 | wc -c";
        let tight = ChildBounds { memory_bytes: 20 << 20, ..WIDE };
        assert_eq!(feed_script(hungry, b"go\n", tight).stdout, b"0\n");
        assert_eq!(feed_script(hungry, b"go\n", WIDE).stdout, b"190000000\n");
    }

    #[test]
    fn a_child_that_is_late_is_killed_whatever_it_was_given() {
        let late = feed_script(
            "cat; tail -f /dev/null",
            b"x",
            ChildBounds { time: Duration::from_millis(300), ..WIDE },
        );
        assert_eq!((late.stdout.as_slice(), late.status), (&b"x"[..], None));
    }

    #[test]
    fn an_endless_answer_is_cut() {
        let answer = shell("yes", LONG);
        assert_eq!(answer.stdout.len() as u64, MAX_OUTPUT_BYTES);
        assert!(!answer.status.unwrap().success());
    }
}
