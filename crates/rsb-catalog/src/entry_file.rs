//! Parsing of files with user-written entries, and their errors.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Error in a file of scenarios or user-defined benchmarks.
#[derive(Debug, thiserror::Error)]
pub enum EntryFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; name a TOML file with [[{entry}]] entries", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Name of its entries.
        entry: &'static str,
        /// Cause of the error.
        source: std::io::Error,
    },
    /// The text or a value is invalid.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Position of the error, and the valid values.
        message: String,
    },
}

/// Reads the file at `path` and parses it with `parse`. `entry` is the name of its entries in error
/// messages.
pub(crate) fn parse_file<T>(
    path: &Path,
    entry: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, EntryFileError> {
    let text = rsb_store::read_text(path);
    let text =
        text.map_err(|source| EntryFileError::Read { path: path.to_owned(), entry, source })?;
    parse(&text).map_err(|message| EntryFileError::Invalid { path: path.to_owned(), message })
}

/// One or more values of an axis, as written in a file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "write a number, a text in quotes, or a list of them")]
#[allow(missing_docs)]
pub enum AxisValues {
    One(AxisValue),
    Several(Vec<AxisValue>),
}

/// Value of an axis. Numbers need no quotes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "write a number, or a text in quotes")]
#[allow(missing_docs)]
pub enum AxisValue {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl AxisValues {
    /// Returns the values as written on the command line.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::One(value) => vec![text_of(value)],
            Self::Several(values) => values.iter().map(text_of).collect(),
        }
    }
}

fn text_of(value: &AxisValue) -> String {
    match value {
        AxisValue::Whole(number) => number.to_string(),
        AxisValue::Number(number) => number.to_string(),
        AxisValue::Text(text) => text.clone(),
    }
}
