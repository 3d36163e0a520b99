//! Output formats of a verdict. A new format is a variant here and one arm in [`write()`].

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

pub use comment::{CommentContext, MARKER, comment};

rsb_model::named_enum! {
    /// Output format of a verdict.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum GateFormat {
        /// Text for a terminal.
        Text = "text",
        /// The whole comparison as JSON.
        Json = "json",
        /// Markdown for a comment on a pull request. Begins with [`MARKER`], so that one comment
        /// can be updated in place.
        Markdown = "markdown",
        /// `JUnit` XML for CI servers: one test per comparison.
        Junit = "junit",
        /// SARIF 2.1.0, for code scanning.
        Sarif = "sarif",
        /// Annotations of a GitHub workflow.
        Github = "github",
    }
}

/// An unknown name of a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a verdict format; use text, json, markdown, junit, sarif or github")]
pub struct UnknownFormat {
    text: String,
}

impl FromStr for GateFormat {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text).ok_or_else(|| UnknownFormat { text: text.to_owned() })
    }
}

/// Formats `result` as `format`. `style` and `detail` apply only to text and Markdown. The other
/// formats are complete, within the limits of their readers. [`comment()`] adds more context to
/// Markdown.
///
/// # Errors
/// If the comparison cannot be represented in JSON.
pub fn write(
    result: &ComparisonResult,
    format: GateFormat,
    style: Style,
    detail: Detail,
) -> Result<String, ReportError> {
    match format {
        GateFormat::Text => Ok(comparison::text(result, style, detail)),
        GateFormat::Json => json(result),
        GateFormat::Markdown => Ok(comment(result, detail, &CommentContext::default())),
        GateFormat::Junit => Ok(junit::write(result)),
        GateFormat::Sarif => json(&sarif::log(result)),
        GateFormat::Github => Ok(github::write(result)),
    }
}
