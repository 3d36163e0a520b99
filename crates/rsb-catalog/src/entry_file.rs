//! Files of entries that a person writes: their values, and what is wrong with one.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A file of entries that cannot be used: scenarios, or benchmarks of one's own.
#[derive(Debug, thiserror::Error)]
pub enum EntryFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}; name a TOML file with [[{entry}]] entries", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What its entries are called.
        entry: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// Its text or a value is wrong; the message says where and what is valid.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// Which.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
}

/// What `parse` makes of the file at `path`, whose entries are called `entry`.
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

/// One value of an axis or several, as files have them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "write a number, a text in quotes, or a list of them")]
#[allow(missing_docs)]
pub enum AxisValues {
    One(AxisValue),
    Several(Vec<AxisValue>),
}

/// A value of an axis: numbers need no quotes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "write a number, or a text in quotes")]
#[allow(missing_docs)]
pub enum AxisValue {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl AxisValues {
    /// The values, as the command line has them.
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
