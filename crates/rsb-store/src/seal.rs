//! Checksums of runs and baselines: SHA-256 of the text without the line that holds the checksum.
//!
//! The checksum detects files that were cut off, merged or edited. It is not a signature: anyone
//! who can write the file can also update its checksum.

use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::document;

/// Text before the checksum, which is the first key of the document.
const BEFORE: &str = "\"checksum\": \"sha256:";
const AFTER: &str = "\",";
const DIGITS: usize = 64;

/// Result of checking the checksum of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seal {
    /// The text has no checksum.
    Missing,
    /// The checksum matches: the text is as it was written.
    Whole,
    /// The text does not match its checksum.
    Broken,
}

/// Serializes `document` as [`document::to_text`] does, with its checksum.
///
/// # Errors
/// As [`document::to_text`].
pub fn sealed_text(document: &impl Serialize) -> serde_json::Result<String> {
    let text = document::to_text(document)?;
    let Some((begin, rest)) = text.split_at_checked(1).filter(|(begin, _)| *begin == "{") else {
        return Ok(text);
    };
    let separator = if rest.starts_with('\n') { "\n  " } else { "" };
    let space = if separator.is_empty() { " " } else { "" };
    Ok(format!("{begin}{separator}{BEFORE}{}{AFTER}{space}{rest}", hash(text.as_bytes())))
}

/// Checks `bytes` against the checksum they contain. Carriage returns are ignored, because line
/// endings may have been converted.
pub(crate) fn check(bytes: &[u8]) -> Seal {
    let text: Vec<u8> = bytes.iter().copied().filter(|&byte| byte != b'\r').collect();
    let start = text.iter().skip(1).take_while(|byte| byte.is_ascii_whitespace()).count() + 1;
    let end = start + BEFORE.len() + DIGITS + AFTER.len();
    let is_seal =
        |line: &&[u8]| line.starts_with(BEFORE.as_bytes()) && line.ends_with(AFTER.as_bytes());
    let line = text.get(start..end).filter(is_seal).filter(|_| text.first() == Some(&b'{'));
    let Some(line) = line else { return Seal::Missing };
    let checksum = line.get(BEFORE.len()..BEFORE.len() + DIGITS).unwrap_or_default();
    // If the checksum is on a line of its own, the line break before it is removed with it;
    // otherwise the space after it.
    let to = if start > 1 { end } else { end + 1 };
    if to > end && text.get(end) != Some(&b' ') {
        return Seal::Broken;
    }
    let rest = [text.get(..1), text.get(to..)].map(Option::unwrap_or_default).concat();
    if hash(&rest).as_bytes() == checksum { Seal::Whole } else { Seal::Broken }
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(DIGITS), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // Into a string it cannot fail.
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn long() -> Value {
        json!({"format_version": 3, "text": "with \r and \"checksum\": \"sha256:", "list": vec![json!({"a": 1}); 40]})
    }

    #[test]
    fn a_sealed_text_is_whole_until_a_byte_of_it_changes() {
        for document in [json!({"a": 1}), long()] {
            let text = sealed_text(&document).unwrap();
            let mut read: Value = serde_json::from_str(&text).unwrap();
            read.as_object_mut().unwrap().shift_remove("checksum");
            assert_eq!(read, document);
            assert_eq!(check(text.as_bytes()), Seal::Whole, "{text}");
            assert_eq!(check(text.replace('\n', "\r\n").as_bytes()), Seal::Whole);
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1;
                assert_ne!(check(&bytes), Seal::Whole, "byte {at} of {text}");
            }
            assert_ne!(check(&text.as_bytes()[..text.len() - 1]), Seal::Whole);
        }
    }

    #[test]
    fn what_was_never_sealed_says_so() {
        for text in ["", "{}", "[1]", "{\n  \"a\": 1\n}\n", "{\"checksum\": \"sha256:12\"}"] {
            assert_eq!(check(text.as_bytes()), Seal::Missing, "{text}");
        }
        assert_eq!(sealed_text(&json!([1])).unwrap(), "[1]\n");
        assert_eq!(
            hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
