//! Mutations of inputs: of bytes, of lines and words, and of JSON values.

use rsb_model::random::Generator;
use serde_json::Value;

/// Structure of an input, which decides how it is mutated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// A JSON document.
    Json,
    /// Lines of text.
    Text,
    /// Bytes.
    Bytes,
}

/// Numbers, names and fragments at which readers have failed elsewhere.
const FRAGMENTS: &[&str] = &[
    "0",
    "-1",
    "1e400",
    "-0.0",
    "NaN",
    "nan(0x7ff)",
    "Infinity",
    "-inf",
    "null",
    "true",
    "4.9e-324",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "9007199254740993",
    "1e-320",
    "",
    " ",
    "\t",
    "\u{feff}",
    "\u{202e}",
    "\u{0}",
    "\u{1b}[2J",
    "é",
    "𝄞",
    "\u{fffd}",
    "..",
    "../../etc/passwd",
    "%s%n",
    "<script>",
    "\"",
    "'",
    "\\",
    "{}",
    "[]",
    "[[",
    "{{",
    "a,b;c",
    "1.234,5",
    "1,234.5",
    "2026-02-30T25:61:61Z",
    "2026-06-30T23:59:60Z",
    "9999999999999999-01-01",
    "*",
    "**",
    "[!-",
    "{a,{b",
    "\r",
    "\r\n",
    "ms",
    "GiB",
    "x86_64",
    "0000:03:00.0",
    "ffff:ff:1f.7",
    "-",
    "--",
];

/// Largest input in bytes; mutations that exceed it are cut off.
pub const MOST_BYTES: usize = 256 << 10;

/// Returns a mutation of `input`, which may take parts of `other`.
pub fn mutated(
    structure: Structure,
    input: &[u8],
    other: &[u8],
    random: &mut Generator,
) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let rounds = 1 + random.below(4);
    for _ in 0..rounds {
        bytes = match (structure, random.below(4)) {
            (Structure::Json, 0..=2) => json(&bytes, other, random),
            (Structure::Text, 0..=2) => text(&bytes, other, random),
            _ => raw(bytes, other, random),
        };
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

/// Returns an index below `length`, or 0.
fn index(random: &mut Generator, length: usize) -> usize {
    usize::try_from(random.below(length.max(1) as u64)).unwrap_or_default()
}

fn fragment(random: &mut Generator) -> &'static str {
    FRAGMENTS[index(random, FRAGMENTS.len())]
}

fn raw(mut bytes: Vec<u8>, other: &[u8], random: &mut Generator) -> Vec<u8> {
    let at = index(random, bytes.len() + 1);
    let end = at + index(random, bytes.len() - at.min(bytes.len()) + 1).min(64);
    match random.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.word().to_le_bytes()[0],
        2 => drop(bytes.drain(at..end)),
        3 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        4 => drop(bytes.splice(at..end, fragment(random).bytes())),
        5 => bytes.truncate(at),
        _ => {
            let from = index(random, other.len() + 1);
            let part = &other[from..(from + 1 + index(random, 256)).min(other.len())];
            bytes.splice(at..at, part.iter().copied());
        }
    }
    bytes
}

fn text(bytes: &[u8], other: &[u8], random: &mut Generator) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let other = String::from_utf8_lossy(other);
    let others: Vec<&str> = other.split_inclusive('\n').collect();
    let at = index(random, lines.len());
    if lines.is_empty() {
        lines.push(fragment(random).to_owned());
    }
    match random.below(8) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let with = index(random, lines.len());
            lines.swap(at, with);
        }
        3 if !others.is_empty() => {
            lines.insert(at, others[index(random, others.len())].to_owned());
        }
        4 => lines.truncate(at),
        5 => {
            let copies = 1 << random.below(8);
            let line = lines[at].clone();
            lines.splice(at..at, std::iter::repeat_n(line, copies));
        }
        _ => lines[at] = words(&lines[at], random),
    }
    lines.concat().into_bytes()
}

/// Replaces, removes or repeats one word of `line`, a run of letters, digits, `.`, `-` or `_`.
fn words(line: &str, random: &mut Generator) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || "._-+".contains(letter);
    let mut pieces: Vec<String> = Vec::new();
    let mut was_word = None;
    for letter in line.chars() {
        match pieces.last_mut() {
            Some(piece) if was_word == Some(is_word(letter)) => piece.push(letter),
            _ => pieces.push(letter.to_string()),
        }
        was_word = Some(is_word(letter));
    }
    if pieces.is_empty() {
        return fragment(random).to_owned();
    }
    let at = index(random, pieces.len());
    pieces[at] = match random.below(4) {
        0 => String::new(),
        1 => pieces[at].repeat(2),
        2 => pieces[index(random, pieces.len())].clone(),
        _ => fragment(random).to_owned(),
    };
    pieces.concat()
}

fn json(bytes: &[u8], other: &[u8], random: &mut Generator) -> Vec<u8> {
    let Ok(mut document) = serde_json::from_slice::<Value>(bytes) else {
        return text(bytes, other, random);
    };
    let place = index(random, nodes(&document));
    let count = nodes(&document);
    let donor = index(random, count);
    let copy = node(&mut document, &mut { donor }).map(|copy| copy.clone()).unwrap_or_default();
    if let Some(chosen) = node(&mut document, &mut { place }) {
        change(chosen, copy, random);
    }
    serde_json::to_vec(&document).unwrap_or_default()
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

/// Returns the node with the number `left` in depth-first order.
fn node<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|item| node(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|item| node(item, left)),
        _ => None,
    }
}

fn change(value: &mut Value, copy: Value, random: &mut Generator) {
    match (random.below(7), &mut *value) {
        (0, Value::Object(fields)) => {
            let key = fields.keys().nth(index(random, fields.len())).cloned();
            if let Some(key) = key {
                let removed = fields.remove(&key).unwrap_or_default();
                if random.below(2) == 0 {
                    fields.insert(format!("{key}{}", fragment(random)), removed);
                }
            }
        }
        (0 | 1, Value::Array(list)) if !list.is_empty() => {
            let at = index(random, list.len());
            match random.below(3) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[at].clone()),
                _ => list.truncate(at),
            }
        }
        (2, Value::Number(number)) => {
            let scaled = number.as_f64().unwrap_or_default()
                * [-1.0, 0.0, 1e9, 1e-9, 1e300][index(random, 5)];
            *value = serde_json::json!(scaled);
        }
        (3, Value::String(text)) => {
            *text = words(text, random);
        }
        (4, _) => *value = Value::String(fragment(random).to_owned()),
        (5, _) => *value = serde_json::from_str(fragment(random)).unwrap_or(Value::Null),
        _ => *value = copy,
    }
}
