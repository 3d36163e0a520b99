//! Strict reading of JSON documents.

mod strict;

use serde::de::Error as _;
use serde_json::Value;

pub use strict::{check, underflows};

/// Parses `text` as JSON.
///
/// # Errors
/// If `text` is not JSON, an object contains a key twice, or a number underflows to 0.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    check(text)?;
    Ok(value)
}

/// Parses UTF-8 bytes as JSON, with the checks of [`parse`].
///
/// # Errors
/// As for [`parse`], or if `bytes` is not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> serde_json::Result<Value> {
    parse(text(bytes)?)
}

/// Returns `bytes` as text.
///
/// # Errors
/// If `bytes` is not UTF-8.
pub fn text(bytes: &[u8]) -> serde_json::Result<&str> {
    std::str::from_utf8(bytes).map_err(serde_json::Error::custom)
}

/// Returns the message of `error` without line and column.
pub fn without_place(error: &serde_json::Error) -> String {
    let full = error.to_string();
    full.rsplit_once(" at line ").map_or(full.as_str(), |(problem, _)| problem).to_owned()
}
