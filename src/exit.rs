//! Exit codes are an interface: scripts and workflows branch on them.

use std::process::ExitCode;

use rsb_engine::ErrorKind;
use rsb_insight::trends::AlertError;
use rsb_store::output::OutputError;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done, and nothing is wrong.
    Pass = 0,
    /// An internal error, or a case failed.
    Failure = 1,
    /// Wrong words on the command line, a wrong configuration, or input that cannot be read.
    Usage = 2,
    /// Something regressed.
    Regression = 3,
    /// Something has no verdict.
    NoVerdict = 4,
    /// Nothing could run here.
    Nothing = 5,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// For `--help`.
pub const HELP: &str = "\
Exit codes:
  0  pass
  1  failure: an internal error, or a case failed
  2  usage, configuration, or input that cannot be read
  3  regression
  4  no verdict
  5  nothing could run here
  130  interrupted; what was measured is kept";

/// An error of a verb. Its kind is the exit code it ends the program with.
pub type CliError = rsb_engine::EngineError;

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Failure => Self::Failure,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::NoVerdict => Self::NoVerdict,
        }
    }
}

/// What a verb returns.
pub type CliResult = Result<Exit, CliError>;

/// The error of tracked alerts: a file that cannot be read and a wrong name are the user's to
/// resolve.
pub(crate) fn alert_error(error: AlertError) -> CliError {
    match error {
        AlertError::Unreadable(error) => CliError::usage(error),
        AlertError::Name(error) => CliError::usage(error),
        AlertError::Store(error) => CliError::from(error),
    }
}

/// The error of an output file: what stands in its place, or a directory that is not there, is the
/// user's to resolve.
pub(crate) fn output_error(error: OutputError) -> CliError {
    match error {
        OutputError::Link { .. } | OutputError::NoDirectory { .. } | OutputError::NoFile { .. } => {
            CliError::usage(error)
        }
        OutputError::Io { .. } => CliError::from(anyhow::Error::new(error)),
    }
}
