//! Why an output of another tool cannot be read. The text is whole: file, place, cause and cure.

use std::path::{Path, PathBuf};

use super::Format;
use crate::error::ReadError;

/// A name that no importer has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a supported import format; supported are {}", format_names())]
pub struct UnknownFormat {
    pub(super) text: String,
}

/// Why an output cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is nothing in it.
    #[error("`{}` is empty; run the tool again and save its output", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No tool is known to write such a file.
    #[error(
        "`{}` is the output of no known tool{}; name the tool with --format: {}",
        path.display(), cut_off(syntax.as_deref()), format_names()
    )]
    Undetected {
        /// The file.
        path: PathBuf,
        /// What is wrong with it as JSON, where it begins like JSON.
        syntax: Option<String>,
    },
    /// It is not JSON, or was cut off.
    #[error("`{}`, line {line}, column {column}: {problem} in the output of {format}; {cure}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        format: Format,
        /// From 1; 0 when it is empty.
        line: usize,
        /// From 1; 0 at the start of a line.
        column: usize,
        /// What is wrong there.
        problem: String,
        /// What the reader can do about it.
        cure: &'static str,
    },
    /// It is not what the tool writes.
    #[error("`{}` is not output of {format}: {problem}; name the right tool with --format, or run \
             it again", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        format: Format,
        /// What is missing or wrong.
        problem: String,
    },
    /// It is what a tool writes, and cannot be taken in.
    #[error("`{}` was refused: {problem}; {cure}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it is, and what is in the way.
        problem: String,
        /// What the reader can do about it.
        cure: String,
    },
}

fn format_names() -> String {
    Format::ALL.map(Format::as_str).join(", ")
}

fn cut_off(syntax: Option<&str>) -> String {
    syntax.map(|syntax| format!(" ({syntax})")).unwrap_or_default()
}

/// What an importer finds wrong with a whole file, before the file is named.
#[derive(Debug)]
pub(super) enum Problem {
    Syntax(serde_json::Error),
    Shape(String),
    Refused { problem: String, cure: String },
}

impl Problem {
    pub(super) fn shape(problem: impl Into<String>) -> Self {
        Self::Shape(problem.into())
    }

    /// It is the tool's, and this is in the way.
    pub(super) fn refusal(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self::Refused { problem: problem.into(), cure: cure.into() }
    }

    pub(super) fn at(self, path: &Path, format: Format) -> ImportError {
        match self {
            Self::Shape(problem) => ImportError::Shape { path: path.to_owned(), format, problem },
            Self::Refused { problem, cure } => {
                ImportError::Refused { path: path.to_owned(), problem, cure }
            }
            Self::Syntax(error) => ImportError::Syntax {
                path: path.to_owned(),
                format,
                line: error.line(),
                column: error.column(),
                problem: rsb_model::json::without_place(&error),
                cure: if error.is_eof() {
                    "the file was cut off: restore it from a copy, or run the tool again"
                } else {
                    "correct the file (JSON has no NaN and no infinity), or run the tool again"
                },
            },
        }
    }
}
