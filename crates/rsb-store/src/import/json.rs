//! Helpers for JSON documents whose fields may be missing, null, or of another type.

use serde_json::Value;

use super::error::Problem;

/// Parses every document in `text`: one, or several in sequence if a tool appends to its file.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, Problem> {
    let all = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(Problem::Syntax)?;
    rsb_model::json::check(text).map_err(Problem::Syntax)?;
    Ok(all)
}

pub(super) fn first(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

pub(super) fn has_keys(document: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| document.get(key).is_some())
}

pub(super) fn list<'a>(document: &'a Value, key: &str) -> Result<&'a [Value], Problem> {
    let list = document.get(key).and_then(Value::as_array).map(Vec::as_slice);
    list.ok_or_else(|| Problem::shape(format!("it has no list `{key}`")))
}

/// Returns the number at `key`; `Ok(None)` if it is absent or null.
pub(super) fn number(document: &Value, key: &str) -> Result<Option<f64>, String> {
    match document.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(Some).ok_or_else(|| format!("`{key}` is {value}, not a number"))
        }
    }
}

/// Returns the number at `key`, or an error if it is missing.
pub(super) fn required_number(document: &Value, key: &str) -> Result<f64, String> {
    number(document, key)?.ok_or_else(|| format!("it has no `{key}`"))
}

/// Returns the count at `key`, which is at least one; `None` if it is absent or null.
pub(super) fn count(document: &Value, key: &str) -> Result<Option<u64>, String> {
    let Some(number) = number(document, key)? else { return Ok(None) };
    if (1.0..=1e18).contains(&number) && number.fract() == 0.0 {
        Ok(Some(number as u64))
    } else {
        Err(format!("`{key}` is {number}, not a count"))
    }
}

/// Returns the text at `key`, unless it is empty.
pub(super) fn text<'a>(document: &'a Value, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns the numbers in the list at `key`; `Ok(None)` if it is absent or null.
pub(super) fn numbers(document: &Value, key: &str) -> Result<Option<Vec<f64>>, String> {
    match document.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) => {
            let each = |value: &Value| {
                value
                    .as_f64()
                    .ok_or_else(|| format!("`{key}` contains {value}, which is not a number"))
            };
            values.iter().map(each).collect::<Result<_, _>>().map(Some)
        }
        Some(value) => Err(format!("`{key}` is {value}, not a list")),
    }
}

/// Returns the beginning of a document that was cut off, up to its last complete value, to tell
/// which tool wrote it.
pub(super) fn cut_document(text: &str) -> Option<Value> {
    let text = text.trim_start();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut closing = Vec::new();
    let mut end = 0;
    let mut is_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b',' => end = at,
            b'{' | b'[' => {
                closing.push(if byte == b'{' { '}' } else { ']' });
                end = at + 1;
            }
            b'}' | b']' => {
                closing.pop();
                end = at + 1;
            }
            _ => {}
        }
    }
    let mut document = text.get(..end)?.to_owned();
    document.extend(closing.iter().rev());
    serde_json::from_str(&document).ok()
}

/// Returns the line, column and cause of the error in a text that begins like JSON but is not
/// valid.
pub(super) fn cut_off(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let error = serde_json::from_str::<Value>(text).err()?;
    let cause = if error.is_eof() { "it was cut off" } else { "it is not valid JSON" };
    Some(format!("line {}, column {}: {cause}", error.line(), error.column()))
}
