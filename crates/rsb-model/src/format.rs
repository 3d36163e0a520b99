//! The version that every document carries. An old program refuses a newer document instead of
//! misreading it.

use serde_json::Value;

/// The version of every document that this program writes, and the only one that it reads: no
/// release wrote an earlier one.
pub const FORMAT_VERSION: u32 = 3;

/// Why a document was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Written by a later program.
    #[error(
        "format version {found} is newer than {FORMAT_VERSION}, the newest that this program \
         reads; update rusty-stack-bench"
    )]
    Newer {
        /// What the document says.
        found: u64,
    },
    /// Written by a development version.
    #[error("format version {found} was written before the first release; measure again")]
    Older {
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
/// If the version is missing, newer or older.
pub fn check(document: &Value) -> Result<(), FormatError> {
    match document.get("format_version").and_then(Value::as_u64) {
        Some(found) if found > u64::from(FORMAT_VERSION) => Err(FormatError::Newer { found }),
        Some(found) if found < u64::from(FORMAT_VERSION) => Err(FormatError::Older { found }),
        Some(_) => Ok(()),
        None => Err(FormatError::Missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_current_version_is_read() {
        for found in 0..3 {
            assert_eq!(
                check(&json!({ "format_version": found })),
                Err(FormatError::Older { found })
            );
        }
        assert_eq!(check(&json!({"format_version": 3})), Ok(()));
        assert_eq!(check(&json!({"format_version": 4})), Err(FormatError::Newer { found: 4 }));
        assert_eq!(check(&json!({})), Err(FormatError::Missing));
        assert_eq!(check(&json!({"format_version": "1"})), Err(FormatError::Missing));
    }
}
