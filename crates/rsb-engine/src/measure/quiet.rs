//! Suppression of Criterion's output, which must not reach the report or JSON output.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

/// Guard that redirects standard output and standard error to `/dev/null`.
pub(super) struct SilencedStdio {
    saved: Option<(OwnedFd, OwnedFd)>,
}

impl SilencedStdio {
    /// Redirects the streams. If that fails, Criterion's output is not suppressed.
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
            // Also discard Criterion's buffered output.
            let _ = std::io::stdout().flush();
            let _ = rustix::stdio::dup2_stdout(stdout);
            let _ = rustix::stdio::dup2_stderr(stderr);
        }
    }
}
