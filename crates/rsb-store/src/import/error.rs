//! Errors from importing the output of another tool. Each message is complete: file, position,
//! cause, and how to fix it.

use std::path::{Path, PathBuf};

use super::Format;
use crate::error::ReadError;

/// An import format that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a supported import format; supported are {}", format_names())]
pub struct UnknownFormat {
    pub(super) text: String,
}

/// Error from importing an output.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file is empty.
    #[error("`{}` is empty; run the tool again and save its output", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The tool that wrote the file is unknown.
    #[error(
        "`{}` is not the output of a supported tool{}{}; name the tool with `import --format`: {}",
        path.display(), cut_off(syntax.as_deref()), nearest.as_deref().unwrap_or_default(),
        format_names()
    )]
    Undetected {
        /// The file.
        path: PathBuf,
        /// The JSON error, if the file begins like JSON.
        syntax: Option<String>,
        /// End of the message: the most similar format, and the marks that the file lacks.
        nearest: Option<String>,
    },
    /// Not valid JSON, or cut off.
    #[error("`{}`, line {line}, column {column}: {problem} in the output of {format}; {cure}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Format that was expected.
        format: Format,
        /// Line from 1; 0 if the file is empty.
        line: usize,
        /// Column from 1; 0 at the start of a line.
        column: usize,
        /// Error message for that position.
        problem: String,
        /// Suggested remedy.
        cure: &'static str,
    },
    /// Not an output of the tool.
    #[error(
        "`{}` is not output of {format}: {problem}; name the right tool with `import --format` or \
         `--bench-format`, or run it again",
        path.display()
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Format that was expected.
        format: Format,
        /// Missing or wrong parts.
        problem: String,
    },
    /// A recognized output that cannot be imported.
    #[error("`{}` was refused: {problem}; {cure}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Description of the file, and why it is not imported.
        problem: String,
        /// Suggested remedy.
        cure: String,
    },
}

fn format_names() -> String {
    Format::ALL.map(Format::as_str).join(", ")
}

fn cut_off(syntax: Option<&str>) -> String {
    syntax.map(|syntax| format!(" ({syntax})")).unwrap_or_default()
}

/// A problem with a whole file, before its path is known.
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

    /// Creates the problem of a tool's output that cannot be imported.
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
                    "correct the file, or run the tool again"
                },
            },
        }
    }
}
