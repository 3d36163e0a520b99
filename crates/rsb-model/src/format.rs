//! The version that every document carries. An old program refuses a newer document instead of misreading it.

use serde_json::Value;

/// The version of every document that this program writes.
///
/// Version 2: `std_dev` of a result is in the unit of its time and `cv` is what `std_dev` was; notes of a run carry a
/// code; targets are numbers. All of version 1 is read: see [`crate::BenchmarkResult::upgrade`], [`crate::Note`] and
/// [`crate::record::ThresholdCheck`].
///
/// Version 3: a run and a baseline carry a checksum of their text, and a run its place among those measured into one
/// directory. What is older says so: [`crate::Note::Unsealed`].
pub const FORMAT_VERSION: u32 = 3;

/// The first version whose runs and baselines carry a checksum.
pub const SEALED: u32 = 3;

/// The first version whose results call the coefficient of variation `cv`.
pub(crate) const CV_IS_CV: u32 = 2;

/// Why a document was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Written by a later program.
    #[error(
        "format version {found} is newer than {FORMAT_VERSION}, the newest that this program reads; update rusty-stack-bench"
    )]
    Newer {
        /// What the document says.
        found: u64,
    },
    /// A version that never was.
    #[error("format version {found} never existed: the first is 1; restore the file from a copy")]
    Unknown {
        /// What the document says.
        found: u64,
    },
    /// Not one of our documents.
    #[error("it has no `format_version`; this is not a document of rusty-stack-bench")]
    Missing,
}

/// Accepts `document` when its `format_version` is one that this program reads.
///
/// # Errors
/// When the version is missing or newer.
pub fn check(document: &Value) -> Result<(), FormatError> {
    match document.get("format_version").and_then(Value::as_u64) {
        Some(0) => Err(FormatError::Unknown { found: 0 }),
        Some(found) if found <= u64::from(FORMAT_VERSION) => Ok(()),
        Some(found) => Err(FormatError::Newer { found }),
        None => Err(FormatError::Missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_known_versions_are_read() {
        assert_eq!(check(&json!({"format_version": 1})), Ok(()));
        assert_eq!(check(&json!({"format_version": 2})), Ok(()));
        assert_eq!(check(&json!({"format_version": 3})), Ok(()));
        assert_eq!(check(&json!({"format_version": 4})), Err(FormatError::Newer { found: 4 }));
        assert_eq!(check(&json!({"format_version": 0})), Err(FormatError::Unknown { found: 0 }));
        assert_eq!(check(&json!({})), Err(FormatError::Missing));
        assert_eq!(check(&json!({"format_version": "1"})), Err(FormatError::Missing));
    }
}
