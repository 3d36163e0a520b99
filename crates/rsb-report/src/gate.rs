//! The forms in which a verdict can be had. A new form is a variant here and one arm in [`write()`].

use std::str::FromStr;

use rsb_model::ComparisonResult;

use crate::comparison::{self, Detail};
use crate::document::{ReportError, json};
use crate::style::Style;
use crate::targets;

/// A form of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateFormat {
    /// For a terminal.
    Text,
    /// The whole comparison, for programs.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

impl GateFormat {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Text, Self::Json, Self::Markdown];

    /// The name used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Markdown => "markdown",
        }
    }
}

/// Text that names no form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a format of a verdict; use text, json or markdown")]
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

/// `result` in `format`; `style` and `detail` are for people only, JSON always holds everything.
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
        GateFormat::Markdown => {
            let parts = [comparison::markdown(result, detail), targets::markdown(&result.threshold_checks)];
            Ok(parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n").trim_end().to_owned() + "\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for format in GateFormat::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
        }
        let error = "xml".parse::<GateFormat>().unwrap_err().to_string();
        assert!(GateFormat::ALL.iter().all(|format| error.contains(format.as_str())), "{error}");
    }
}
