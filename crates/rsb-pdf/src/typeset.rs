//! Conversion of a report's document to the bytes of its PDF.

use serde_json::Value;
use typst::diag::{Severity, SourceDiagnostic, Warned};
use typst::foundations::{Dict, Smart};
use typst_layout::PagedDocument;
use typst_pdf::{PdfOptions, PdfStandard, PdfStandards};

use crate::glyphs;
use crate::world::ReportWorld;

/// Version of the document format that this worker reads.
const FORMAT_VERSION: u64 = 1;

/// Why there is no PDF.
#[derive(Debug, thiserror::Error)]
pub enum TypesetError {
    /// The document is too large to be typeset in reasonable time.
    #[error("the document has more than {most} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        most: u64,
    },
    /// The input is not the document of a report.
    #[error("the document is not a report: {0}")]
    Document(#[from] serde_json::Error),
    /// The two programs are of different versions.
    #[error(
        "the document has version {found}, but this worker reads version {FORMAT_VERSION}; build \
         both programs from the same source"
    )]
    Version {
        /// Version of the document.
        found: String,
    },
    /// The typesetter rejects the template, or its output does not conform to PDF/UA-1.
    #[error("cannot typeset the document: {0}")]
    Typeset(String),
    /// The input or output failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Returns the PDF of `document`, which is JSON as written by `rsb_report::paged`. The same
/// document gives the same bytes.
///
/// # Errors
/// If it is not such a document, or the result would not conform to PDF/UA-1.
pub fn pdf(document: &[u8]) -> Result<Vec<u8>, TypesetError> {
    let mut report: Value = serde_json::from_slice(document)?;
    let version = report.get("format_version").cloned().unwrap_or_default();
    if version.as_u64() != Some(FORMAT_VERSION) {
        return Err(TypesetError::Version { found: version.to_string() });
    }
    let ident = report.get("id").and_then(Value::as_str).map(str::to_owned);
    let fonts = glyphs::fonts();
    let named = glyphs::make_drawable(&mut report, &fonts);
    if let Some(entries) = report.as_object_mut() {
        entries.insert("named_characters".to_owned(), named.into());
    }
    let values: Dict = serde_json::from_value(report)?;
    typeset(&ReportWorld::new(values, fonts), ident)
}

fn typeset(world: &ReportWorld, ident: Option<String>) -> Result<Vec<u8>, TypesetError> {
    let Warned { output, warnings } = typst::compile::<PagedDocument>(world);
    let pages = output.map_err(|errors| error_from_diagnostics(&errors))?;
    // Warnings, such as a missing font, are errors: the template must not cause any.
    if !warnings.is_empty() {
        return Err(error_from_diagnostics(&warnings));
    }
    let options = PdfOptions {
        ident: ident.map_or(Smart::Auto, Smart::Custom),
        creator: Smart::Custom(Some("rusty-stack-bench".to_owned())),
        standards: PdfStandards::new(&[PdfStandard::Ua_1])
            .map_err(|error| TypesetError::Typeset(error.message().to_string()))?,
        ..PdfOptions::default()
    };
    typst_pdf::pdf(&pages, &options).map_err(|errors| error_from_diagnostics(&errors))
}

fn error_from_diagnostics(diagnostics: &[SourceDiagnostic]) -> TypesetError {
    let mut messages = Vec::new();
    for one in diagnostics {
        let kind = if one.severity == Severity::Error { "error" } else { "warning" };
        let hints: String =
            one.hints.iter().map(|hint| [" (", hint.v.as_str(), ")"].concat()).collect();
        messages.push(format!("{kind}: {}{hints}", one.message));
    }
    TypesetError::Typeset(messages.join("; "))
}

#[cfg(test)]
mod tests;
