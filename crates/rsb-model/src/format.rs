//! Version number of every document. A program rejects documents of a newer version, so that it
//! does not misread them.

use serde_json::Value;

/// Version of every document that this program writes, and the only one that it reads. No release
/// wrote an earlier version.
pub const FORMAT_VERSION: u32 = 3;

/// Reasons why a document is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Written by a newer program.
    #[error(
        "format version {found} is newer than {FORMAT_VERSION}, the newest that this program \
         reads; update rusty-stack-bench"
    )]
    Newer {
        /// Version in the document.
        found: u64,
    },
    /// Written by a development version.
    #[error("format version {found} was written before the first release; measure again")]
    Older {
        /// Version in the document.
        found: u64,
    },
    /// Not a document of this program.
    #[error("it has no `format_version`; this is not a document of rusty-stack-bench")]
    Missing,
}

/// Checks that this program can read the `format_version` of `document`.
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
