//! The forms in which a verdict can be had. A new form is a variant here and one arm in
//! [`write()`].

mod comment;
mod finding;
mod github;
mod junit;
mod sarif;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use rsb_model::ComparisonResult;

use crate::comparison::{self, Detail};
use crate::document::{ReportError, json};
use crate::style::Style;

pub use comment::MARKER;

/// A form of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateFormat {
    /// For a terminal.
    Text,
    /// The whole comparison, for programs.
    Json,
    /// For a comment on a pull request; begins with [`MARKER`], so that one comment can be updated
    /// in place.
    Markdown,
    /// XML as CI servers read it: a test for each comparison.
    Junit,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
}

impl GateFormat {
    /// Every form.
    pub const ALL: [Self; 6] =
        [Self::Text, Self::Json, Self::Markdown, Self::Junit, Self::Sarif, Self::Github];

    /// The name used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
            Self::Github => "github",
        }
    }
}

/// Text that names no form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a format of a verdict; use text, json, markdown, junit, sarif or github")]
pub struct UnknownFormat {
    text: String,
}

impl FromStr for GateFormat {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| UnknownFormat { text: text.to_owned() })
    }
}

/// `result` in `format`. `style` and `detail` are for people only, as text or Markdown: the other
/// forms leave nothing out but what a reader of theirs could not show.
///
/// # Errors
/// When the comparison has no form in JSON.
pub fn write(
    result: &ComparisonResult,
    format: GateFormat,
    style: Style,
    detail: Detail,
) -> Result<String, ReportError> {
    match format {
        GateFormat::Text => Ok(comparison::text(result, style, detail)),
        GateFormat::Json => json(result),
        GateFormat::Markdown => Ok(comment::write(result, detail)),
        GateFormat::Junit => Ok(junit::write(result)),
        GateFormat::Sarif => json(&sarif::log(result)),
        GateFormat::Github => Ok(github::write(result)),
    }
}
