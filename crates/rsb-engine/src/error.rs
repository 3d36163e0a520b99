//! What went wrong, and whose turn it is: the surface turns the kind into an exit code, a status or
//! an exception.

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something broke.
    Failure,
    /// Invalid arguments, configuration or input.
    Usage,
    /// There is nothing to compare or show: no verdict.
    NoVerdict,
}

/// An error and its kind. The message names the cure.
#[derive(Debug)]
pub struct EngineError {
    /// Its kind.
    pub kind: ErrorKind,
    /// What went wrong.
    pub error: anyhow::Error,
}

impl EngineError {
    /// Invalid arguments, configuration or input.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: ErrorKind::Usage, error: error.into() }
    }

    /// There is nothing to compare or show.
    pub fn no_verdict(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: ErrorKind::NoVerdict, error: error.into() }
    }
}

impl<E: Into<anyhow::Error>> From<E> for EngineError {
    fn from(error: E) -> Self {
        Self { kind: ErrorKind::Failure, error: error.into() }
    }
}
