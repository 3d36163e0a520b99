//! What is missing, why, and what to do about it.

/// What to do about a library that lacks a function.
const SYMBOL_CURE: &str =
    "install a version that has it: of ROCm one of 5.2 to 7.2, of CUDA 11.4 or newer";

/// What of a library is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    /// The library itself, or something that it needs beside it.
    Library,
    /// A function of a library that is here: it is broken, or of another version than any that is
    /// known.
    Function,
}

/// A library or a function that is not here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}; {cure}")]
pub struct Unavailable {
    /// What is missing.
    pub what: String,
    /// Why, as far as it is known.
    pub why: String,
    /// What the reader can do about it.
    pub cure: String,
    /// Whether all of the library is missing.
    pub lack: MissingPart,
}

impl Unavailable {
    /// A library that is not here, in three short sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into(), lack: MissingPart::Library }
    }

    /// A function that the loaded library does not have.
    pub fn symbol(name: &str, library: &std::path::Path) -> Self {
        let why = format!("{} does not have this function", library.display());
        Self { lack: MissingPart::Function, ..Self::new(name, why, SYMBOL_CURE) }
    }
}
