//! Documents as JSON values, and back.
//!
//! serde compiles the code of every type again for each form that it is read from or written to. Here values are read by way of
//! their text, and text is written by way of a value: one form each way, and a program that is a twentieth smaller.

mod strict;

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

pub use strict::{check, underflows};

/// What `value` stands for.
///
/// # Errors
/// When it is not of the type; the problem names no place, as a value has none.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    serde_json::from_str(&value.to_string()).map_err(|error| serde_json::Error::custom(without_place(&error)))
}

/// The value that `text` is JSON of. Compiled here once, and not again for every crate and every kind of reader.
///
/// # Errors
/// When it is not JSON, has a key twice in one object, or a number that underflows to 0.
#[inline(never)]
pub fn parse(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    check(text)?;
    Ok(value)
}

/// As [`parse`], of what should be text.
///
/// # Errors
/// As [`parse`], or when it is not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> serde_json::Result<Value> {
    parse(text(bytes)?)
}

/// What should be text.
///
/// # Errors
/// When it is not UTF-8.
pub fn text(bytes: &[u8]) -> serde_json::Result<&str> {
    std::str::from_utf8(bytes).map_err(serde_json::Error::custom)
}

/// The text of `document` on one line.
///
/// # Errors
/// When it cannot be JSON, such as a map whose keys are not text.
pub fn to_string<T: Serialize + ?Sized>(document: &T) -> serde_json::Result<String> {
    serde_json::to_value(document).map(|value| value.to_string())
}

/// The problem alone, without line and column.
pub fn without_place(error: &serde_json::Error) -> String {
    let full = error.to_string();
    full.rsplit_once(" at line ").map_or(full.as_str(), |(problem, _)| problem).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Reason;

    #[test]
    fn a_value_is_read_and_written_as_serde_does() {
        let reason = Reason::new("what", "why \u{7}\"", "cure");
        let value = serde_json::to_value(&reason).unwrap();
        assert_eq!(from_value::<Reason>(&value).unwrap(), reason);
        assert_eq!(to_string(&reason).unwrap(), serde_json::to_string(&reason).unwrap());
        let figures = json!([0.1, 1e300, f64::MIN_POSITIVE, u64::MAX, -1]);
        assert_eq!(from_value::<Value>(&figures).unwrap(), figures);
    }

    #[test]
    fn a_problem_has_no_place() {
        let problem = from_value::<Reason>(&json!({ "what": 1 })).unwrap_err();
        assert_eq!(
            problem.to_string(),
            serde_json::from_value::<Reason>(json!({ "what": 1 })).unwrap_err().to_string()
        );
        assert!(problem.is_data());
    }
}
