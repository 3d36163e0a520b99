//! Errors with a kind, which the caller maps to an exit code, an HTTP status or an exception.

/// Kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An operation failed.
    Failure,
    /// Invalid arguments, configuration or input.
    Usage,
    /// Nothing to compare or show: no verdict.
    NoVerdict,
}

/// An error and its kind. The message contains the fix.
#[derive(Debug)]
pub struct EngineError {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Underlying error.
    pub error: anyhow::Error,
}

impl EngineError {
    /// Creates an error about invalid arguments, configuration or input.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: ErrorKind::Usage, error: error.into() }
    }

    /// Creates an error for a request that finds nothing to compare or show.
    pub fn no_verdict(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: ErrorKind::NoVerdict, error: error.into() }
    }
}

impl<E: Into<anyhow::Error>> From<E> for EngineError {
    fn from(error: E) -> Self {
        Self { kind: ErrorKind::Failure, error: error.into() }
    }
}
