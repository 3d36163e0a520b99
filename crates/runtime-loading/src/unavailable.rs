//! Errors about missing libraries and functions, with reason and remedy.

/// Instruction for a library that lacks a function.
const SYMBOL_CURE: &str = "install a version that has it: ROCm 5.2 to 7.2, or CUDA 11.4 or newer";

/// Kind of a missing item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    /// The library itself, or one of its dependencies.
    Library,
    /// A function of a loaded library, which is broken or of an unsupported version.
    Function,
}

/// A missing library or function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}; {cure}")]
pub struct Unavailable {
    /// Name of the missing library or function.
    pub what: String,
    /// Reason, if known.
    pub why: String,
    /// Instruction for the user.
    pub cure: String,
    /// Whether the whole library or only a function is missing.
    pub lack: MissingPart,
}

impl Unavailable {
    /// Creates an error about a missing library.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into(), lack: MissingPart::Library }
    }

    /// Creates an error about a function that the loaded library does not have.
    pub fn symbol(name: &str, library: &std::path::Path) -> Self {
        let why = format!("{} does not have this function", library.display());
        Self { lack: MissingPart::Function, ..Self::new(name, why, SYMBOL_CURE) }
    }
}
