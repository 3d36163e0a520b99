//! Exit codes are an interface: scripts and workflows branch on them.

use std::process::ExitCode;

use rsb_engine::ErrorKind;

/// Exit code of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything requested was done, and nothing is wrong.
    Pass = 0,
    /// An internal error, or a case failed.
    Failure = 1,
    /// Invalid arguments, an invalid configuration, or input that cannot be read.
    Usage = 2,
    /// Something regressed.
    Regression = 3,
    /// At least one result has no verdict.
    NoVerdict = 4,
    /// Nothing could run on this machine.
    Nothing = 5,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// List of exit codes for `--help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  pass
  1  failure: an internal error, or a case failed
  2  usage, configuration, or input that cannot be read
  3  regression
  4  no verdict
  5  nothing could run here
  130  interrupted; finished measurements are kept";

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Failure => Self::Failure,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::NoVerdict => Self::NoVerdict,
        }
    }
}
