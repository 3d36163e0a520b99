//! What is missing, why, and what to do about it.

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
}

impl Unavailable {
    /// From three short sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into() }
    }

    /// A function that the loaded library does not have.
    pub fn symbol(name: &str, library: &std::path::Path) -> Self {
        Self::new(
            name,
            format!("{} does not have this function", library.display()),
            "install one of the ROCm versions 5.2 to 7.2",
        )
    }
}
