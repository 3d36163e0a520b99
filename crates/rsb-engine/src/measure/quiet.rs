//! Silence while Criterion runs: its chatter must never reach a person's report or a program's
//! JSON.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

/// While it lives, standard output and standard error go nowhere.
pub(super) struct SilencedStdio {
    saved: Option<(OwnedFd, OwnedFd)>,
}

impl SilencedStdio {
    /// Begins. Where the streams cannot be redirected, nothing changes.
    pub(super) fn begin() -> Self {
        Self { saved: redirect().ok() }
    }
}

fn redirect() -> std::io::Result<(OwnedFd, OwnedFd)> {
    std::io::stdout().flush()?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    let saved = (
        std::io::stdout().as_fd().try_clone_to_owned()?,
        std::io::stderr().as_fd().try_clone_to_owned()?,
    );
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(saved)
}

impl Drop for SilencedStdio {
    fn drop(&mut self) {
        if let Some((stdout, stderr)) = &self.saved {
            // What Criterion left in the buffer must go nowhere too.
            let _ = std::io::stdout().flush();
            let _ = rustix::stdio::dup2_stdout(stdout);
            let _ = rustix::stdio::dup2_stderr(stderr);
        }
    }
}
