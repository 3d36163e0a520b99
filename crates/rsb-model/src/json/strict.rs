//! Checks for JSON that serde accepts but that is always a mistake: an object with a duplicate key
//! (serde keeps the last value), and a number too small for a double (serde reads 0).

use std::borrow::Cow;

use serde::de::Error as _;

/// Checks that no object in `text` has a duplicate key and that no number underflows to 0. `text`
/// must be one or more JSON documents that the parser has already accepted.
///
/// # Errors
/// If either check fails; the error contains line and column.
pub fn check(text: &str) -> serde_json::Result<()> {
    let mut open = OpenObjects::default();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                at = string_end(text, at);
                let is_key =
                    text.as_bytes().get(at..).unwrap_or_default().trim_ascii_start().first()
                        == Some(&b':');
                if is_key && let Some(key) = text.get(start..at) {
                    open.keys.push(Key { text: unescape(key), at: start });
                }
            }
            b'{' => open.starts.push(open.keys.len()),
            b'}' => {
                if let Some(key) = open.close() {
                    return Err(error_at(
                        text,
                        key.at,
                        &format!("the key `{}` appears twice", key.text),
                    ));
                }
            }
            b'-' | b'0'..=b'9' => {
                let rest = text.as_bytes().get(at..).unwrap_or_default();
                at += rest.iter().take_while(|byte| is_of_number(**byte)).count();
                let number = text.get(start..at).unwrap_or_default();
                if underflows(number) {
                    return Err(error_at(
                        text,
                        start,
                        &format!("the number {number} is too small and would become 0"),
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether the decimal number `number` is nonzero but becomes 0 as a double.
pub fn underflows(number: &str) -> bool {
    let digits = number.split(['e', 'E']).next().unwrap_or_default();
    // The smallest double has 324 decimal places.
    (digits.len() < number.len() || digits.len() > 300)
        && digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
        && number.parse() == Ok(0.0)
}

struct Key<'a> {
    text: Cow<'a, str>,
    /// Byte offset of the key's opening quote in the whole text.
    at: usize,
}

/// Keys of the objects that are still open. Keys of inner objects follow those of the enclosing
/// ones.
#[derive(Default)]
struct OpenObjects<'a> {
    keys: Vec<Key<'a>>,
    /// For each open object, the index of its first key in `keys`.
    starts: Vec<usize>,
}

impl<'a> OpenObjects<'a> {
    /// Closes the innermost object and returns the second of two equal keys, if any.
    fn close(&mut self) -> Option<Key<'a>> {
        let mut own = self.keys.split_off(self.starts.pop()?);
        own.sort_unstable_by(|a, b| (&a.text, a.at).cmp(&(&b.text, b.at)));
        let twice = own
            .windows(2)
            .position(|pair| matches!(pair, [first, second] if first.text == second.text))?;
        own.into_iter().nth(twice + 1)
    }
}

/// Returns the offset just after the closing quote of the string whose first character is at
/// `from`.
fn string_end(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the text encoded by the JSON string `quoted`, so that `"\u0061"` equals the key `a`.
fn unescape(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\')
        && let Ok(text) = serde_json::from_str(quoted)
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(quoted.trim_matches('"'))
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

/// Returns a serde error about the value at byte offset `at` of `text`.
fn error_at(text: &str, at: usize, problem: &str) -> serde_json::Error {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
    // serde parses the position back out of the message.
    serde_json::Error::custom(format!("{problem} at line {line} column {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_refused_with_its_place() {
        for (text, key, line, column) in [
            (r#"{"a": 1, "a": 2}"#, "a", 1, 10),
            ("{\n \"b\": [{\"a\": {}, \"c\": 1}],\n \"b\": 2}", "b", 3, 2),
            (r#"[{"x": {"time": 1, "other": [1], "time": 1}}]"#, "time", 1, 34),
            (r#"{"a": 1, "\u0061": 2}"#, "a", 1, 10),
            (r#"{"a\"": 1, "b": "a", "a\"" : 2}"#, "a\"", 1, 22),
            ("{} {\"ä\": 0, \"ä\": 0}", "ä", 1, 14),
        ] {
            let error = check(text).unwrap_err();
            assert_eq!((error.line(), error.column()), (line, column), "{text}: {error}");
            assert!(
                error.to_string().starts_with(&format!("the key `{key}` appears twice")),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_number_that_becomes_zero_is_refused_and_zero_is_not() {
        let long = format!("0.{}1", "0".repeat(330));
        for number in ["1e-400", "-1E-400", "0.5e-323000", &long] {
            let error = check(&format!("{{\"a\": [0, {number}]}}")).unwrap_err();
            assert_eq!(error.column(), 11, "{error}");
            assert!(error.to_string().contains(number), "{error}");
        }
        for number in [
            "0",
            "0.0",
            "-0.0e-400",
            "0e5",
            "5e-324",
            "1e-320",
            "-1e300",
            "1E+2",
            "12345678901234567890123",
        ] {
            check(&format!("[{number}]")).unwrap();
        }
    }

    #[test]
    fn equal_keys_of_different_objects_and_texts_are_fine() {
        for text in [
            r#"{"a": {"a": {"a": ["a", "a", {"a": "1e-400"}]}}, "b": {"a": 0}}"#,
            r#"{"a": "{\"a\": 1, \"a\": 2}", "A": "\\", "": ":"}"#,
            r#"{"a": 1} {"a": 1}"#,
            "",
        ] {
            check(text).unwrap();
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_panics(text in "[\\[\\]{}:,\"\\\\a-b0-9eE. ä\n-]{0,60}") {
            let _ = check(&text);
        }
    }
}
