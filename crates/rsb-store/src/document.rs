//! JSON for people and for `diff`: a value that fits on a line is written on one line, and lists of
//! scalars always are.
//!
//! Plain pretty-printing puts every sample on its own line, thousands per run.

use serde::Serialize;
use serde_json::Value;

const WIDTH: usize = 120;
const STEP: usize = 2;

/// Serializes `document`, with a newline at the end. Values that are not finite become null.
///
/// # Errors
/// If `document` cannot be represented in JSON, such as a map whose keys are not text.
pub fn to_text(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = String::new();
    write_value(&mut text, &serde_json::to_value(document)?, 0, 0);
    text.push('\n');
    Ok(text)
}

/// Writes `value` at `indent`; `before` characters of its line are already used.
fn write_value(text: &mut String, value: &Value, indent: usize, before: usize) {
    match value {
        Value::Object(map) if !map.is_empty() && !fits(value, indent + before) => {
            let items = map.iter().map(|(key, item)| (Some(key.as_str()), item));
            write_items(text, items, indent, ['{', '}']);
        }
        Value::Array(list) if !list.iter().all(is_scalar) && !fits(value, indent + before) => {
            write_items(text, list.iter().map(|item| (None, item)), indent, ['[', ']']);
        }
        _ => write_flat(text, value),
    }
}

fn write_items<'a>(
    text: &mut String,
    items: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    indent: usize,
    brackets: [char; 2],
) {
    text.push(brackets[0]);
    for (position, (key, item)) in items.enumerate() {
        text.push_str(if position == 0 { "\n" } else { ",\n" });
        text.extend(std::iter::repeat_n(' ', indent + STEP));
        let start = text.len();
        write_key(text, key);
        let taken = text.len() - start;
        write_value(text, item, indent + STEP, taken);
    }
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push(brackets[1]);
}

fn write_key(text: &mut String, key: Option<&str>) {
    if let Some(key) = key {
        text.push_str(&Value::from(key).to_string());
        text.push_str(": ");
    }
}

fn write_flat(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            write_flat_items(
                text,
                map.iter().map(|(key, item)| (Some(key.as_str()), item)),
                ['{', '}'],
            );
        }
        Value::Array(list) => {
            write_flat_items(text, list.iter().map(|item| (None, item)), ['[', ']']);
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn write_flat_items<'a>(
    text: &mut String,
    items: impl Iterator<Item = (Option<&'a str>, &'a Value)>,
    brackets: [char; 2],
) {
    text.push(brackets[0]);
    for (position, (key, item)) in items.enumerate() {
        if position > 0 {
            text.push_str(", ");
        }
        write_key(text, key);
        write_flat(text, item);
    }
    text.push(brackets[1]);
}

const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Returns whether `value` fits on one line after `taken` characters. Stops counting once it does
/// not.
fn fits(value: &Value, taken: usize) -> bool {
    fn width(value: &Value, left: usize) -> Option<usize> {
        let used = match value {
            Value::Object(map) => map.iter().try_fold(2, |used, (key, item)| {
                let used = used + key.len() + 6;
                Some(used + width(item, left.checked_sub(used)?)?)
            }),
            Value::Array(list) => list.iter().try_fold(2, |used, item| {
                Some(used + 2 + width(item, left.checked_sub(used + 2)?)?)
            }),
            Value::String(text) => Some(text.len() + 2),
            scalar => Some(scalar.to_string().len()),
        };
        used.filter(|&used| used <= left)
    }
    WIDTH.checked_sub(taken).is_some_and(|left| width(value, left).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_things_and_lists_of_numbers_are_on_one_line() {
        let long: Vec<u64> = (0..80).collect();
        let list = long.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let text = to_text(&json!({"a": {"b": [1, {"c": null}]}, "d": {}, "e": [], "times": long}))
            .unwrap();
        let expected = format!(
            "{{\n  \"a\": {{\"b\": [1, {{\"c\": null}}]}},\n  \"d\": {{}},\n  \"e\": [],\n  \"times\": [{list}]\n}}\n"
        );
        assert_eq!(text, expected);
    }

    fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,60}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::hash_map(".{0,9}", inner, 0..8)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn any_document_survives_and_only_lists_of_scalars_are_long(value in any_json()) {
            let text = to_text(&value).unwrap();
            proptest::prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        }
    }
}
