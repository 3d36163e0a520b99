//! Devices asked for in a child process with a time limit: loading and initialising a vendor's library may crash or
//! hang, and planning must survive it.
//!
//! The program starts itself with [`ARGUMENT`] and the backend's name; there it calls [`answer`], which prints one line.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rsb_model::{BackendId, Reason};

use crate::device::DeviceInfo;

/// The first argument that makes a program answer; the second is the backend's name.
pub const ARGUMENT: &str = "__devices";

/// How long a run time may take to start. The first start after a boot loads some hundred megabytes from disk.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Libraries may print to standard output too; the answer is the line that starts so.
const MARK: &str = "rsb-devices:";

/// More than any answer.
const MOST_BYTES: u64 = 1 << 20;

/// The devices of `backend` here, asked in this process; for the child alone.
///
/// # Errors
/// When standard output cannot be written.
pub fn answer(backend: &str) -> std::io::Result<()> {
    let known = crate::backends().into_iter().find(|known| known.id().as_str() == backend);
    let devices = match known {
        Some(known) => known.devices(),
        None => Err(Reason::new(format!("backend {backend}"), "this build lacks it", "choose another backend")),
    };
    let text = serde_json::to_string(&devices)?;
    // On a line of its own, whatever a library has printed before.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{MARK}{text}")?;
    out.flush()
}

/// The devices of `backend` here, asked in a child: `program` with [`ARGUMENT`] and the backend's name.
///
/// # Errors
/// What the backend says; or how the child ended, when it crashed or took longer than `limit`.
pub fn devices(program: &Path, backend: BackendId, limit: Duration) -> Result<Vec<DeviceInfo>, Reason> {
    let failed = |why: String| {
        Reason::new(
            format!("devices of {backend}"),
            why,
            "look whether the vendor's own tool (rocminfo, nvidia-smi, vulkaninfo, clinfo) works; reinstall the driver \
             or its run time if not",
        )
    };
    let (text, ended) = run(program, backend, limit).map_err(failed)?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix(MARK));
    match line.map(serde_json::from_str::<Result<Vec<DeviceInfo>, Reason>>) {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => Err(failed(format!("its answer cannot be read: {error}"))),
        None => Err(failed(format!("starting its run time ended the process that asked ({ended})"))),
    }
}

/// What the child wrote and how it ended.
fn run(program: &Path, backend: BackendId, limit: Duration) -> Result<(String, ExitStatus), String> {
    let deadline = Instant::now() + limit;
    let mut child = Command::new(program)
        .args([ARGUMENT, backend.as_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let Some(output) = child.stdout.take() else { return Err("its output cannot be read".to_owned()) };
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(MOST_BYTES).read_to_end(&mut bytes);
        // Nobody listens any more when it was late.
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    let text = match receiver.recv_timeout(limit) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => format!("unreadable: {error}"),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => String::new(),
    };
    match wait(&mut child, deadline) {
        Some(ended) => Ok((text, ended)),
        // An answer stands, even when the run time then hangs while it is taken down.
        None if text.contains(MARK) => Ok((text, ExitStatus::default())),
        None => Err(format!("its run time did not start within {} s", limit.as_secs_f64())),
    }
}

/// How the child ended; killed when it has not by the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn asked(script: &str, limit: Duration) -> Result<Vec<DeviceInfo>, Reason> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        devices(&program, BackendId::Rocm, limit)
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn an_answer_comes_through_whatever_else_is_printed() {
        let answer = asked(r#"echo noise; echo 'rsb-devices:{"Ok":[]}'; echo more"#, LONG);
        assert_eq!(answer, Ok(Vec::new()));
        let reason = asked(r#"echo 'rsb-devices:{"Err":{"what":"a","why":"b","cure":"c"}}'"#, LONG).unwrap_err();
        assert_eq!(reason, Reason::new("a", "b", "c"));
    }

    #[test]
    fn each_way_to_die_is_a_reason() {
        for (script, limit, word) in [
            ("kill -ABRT $$", LONG, "signal"),
            ("exit 3", LONG, "exit"),
            ("exec sleep 600", Duration::from_millis(50), "did not start within"),
            ("echo 'rsb-devices:nonsense'", LONG, "cannot be read"),
        ] {
            let reason = asked(script, limit).unwrap_err();
            assert!(reason.why.contains(word) && reason.what.contains("rocm"), "{script}: {reason}");
        }
        let reason = devices(Path::new("/nonexistent"), BackendId::Rocm, LONG).unwrap_err();
        assert!(reason.why.contains("cannot start"), "{reason}");
    }
}
