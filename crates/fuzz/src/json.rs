//! Mutations of JSON documents, which leave most of them valid.

use std::ops::Range;

use rsb_model::random::Generator;

use crate::words::{fragment, index, word};

/// Place of a value in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSpan {
    value: Range<usize>,
    /// Its key with the quotes; empty for other values.
    key: Range<usize>,
    /// Offset of the bracket that ends the list or object which contains it; 0 for the document.
    end: usize,
}

impl JsonSpan {
    /// Returns the range of the value, with its key if it has one.
    fn item(&self) -> Range<usize> {
        let start = if self.key.is_empty() { self.value.start } else { self.key.start };
        start..self.value.end
    }
}

/// An input to mutate.
#[derive(Debug, Clone)]
pub struct Specimen {
    /// The input.
    pub bytes: Vec<u8>,
    /// Its values, if it is a JSON document.
    pub spans: Vec<JsonSpan>,
}

impl Specimen {
    /// Finds the values of `bytes` if they are to be mutated as JSON.
    pub fn new(bytes: Vec<u8>, as_json: bool) -> Self {
        let spans = if as_json { spans(&bytes) } else { Vec::new() };
        Self { bytes, spans }
    }
}

/// Returns the place of every value in the document `bytes`; none if it is not JSON.
pub fn spans(bytes: &[u8]) -> Vec<JsonSpan> {
    let mut scanner = Scanner { bytes, at: 0, spans: Vec::new() };
    scanner.document().map_or_else(Vec::new, |()| scanner.spans)
}

/// Returns the range of an item of a list or object.
pub fn some_item(spans: &[JsonSpan], random: &mut Generator) -> Option<Range<usize>> {
    let chosen = spans.get(1 + index(random, spans.len().saturating_sub(1)))?;
    Some(chosen.item())
}

/// Deepest nesting that is scanned; more is not mutated as JSON.
const DEEPEST: usize = 200;

struct Scanner<'b> {
    bytes: &'b [u8],
    at: usize,
    spans: Vec<JsonSpan>,
}

impl Scanner<'_> {
    fn document(&mut self) -> Option<()> {
        self.skip_space();
        self.value(0..0, 0)?;
        self.skip_space();
        (self.at == self.bytes.len()).then_some(())
    }

    fn skip_space(&mut self) {
        self.at += self.bytes[self.at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    }

    fn next_is(&self, byte: u8) -> bool {
        self.bytes.get(self.at) == Some(&byte)
    }

    fn string(&mut self) -> Option<()> {
        if !self.next_is(b'"') {
            return None;
        }
        self.at += 1;
        while !self.next_is(b'"') {
            self.at += if *self.bytes.get(self.at)? == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Some(())
    }

    fn value(&mut self, key: Range<usize>, depth: usize) -> Option<()> {
        let (own, start) = (self.spans.len(), self.at);
        self.spans.push(JsonSpan { value: start..start, key, end: 0 });
        match *self.bytes.get(start)? {
            b'"' => self.string()?,
            b'[' | b'{' if depth < DEEPEST => self.items(depth + 1)?,
            _ => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                self.at += self.bytes[start..].iter().take_while(|byte| is_part(byte)).count();
            }
        }
        self.spans[own].value.end = self.at;
        (self.at > start).then_some(())
    }

    fn items(&mut self, depth: usize) -> Option<()> {
        let has_keys = self.next_is(b'{');
        let mut own = Vec::new();
        self.at += 1;
        self.skip_space();
        while !self.next_is(b']') && !self.next_is(b'}') {
            let start = self.at;
            let mut key = start..start;
            if has_keys {
                self.string()?;
                key.end = self.at;
                self.skip_space();
                if !self.next_is(b':') {
                    return None;
                }
                self.at += 1;
                self.skip_space();
            }
            own.push(self.spans.len());
            self.value(key, depth)?;
            self.skip_space();
            if self.next_is(b',') {
                self.at += 1;
                self.skip_space();
            }
        }
        for index in own {
            self.spans[index].end = self.at;
        }
        self.at += 1;
        Some(())
    }
}

/// Replacement of a range of the document.
struct Edit {
    range: Range<usize>,
    by: Vec<u8>,
}

/// Changes one to four values of `bytes`, a copy of `input`.
pub fn change(bytes: &mut Vec<u8>, input: &Specimen, other: &Specimen, random: &mut Generator) {
    let count = 1 + random.below(4);
    let mut edits: Vec<Edit> = (0..count).map(|_| edit(input, other, random)).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
    let mut unchanged = bytes.len();
    for Edit { range, by } in edits {
        if range.end <= unchanged {
            unchanged = range.start;
            bytes.splice(range, by);
        }
    }
}

fn edit(input: &Specimen, other: &Specimen, random: &mut Generator) -> Edit {
    let bytes = &input.bytes;
    let span = &input.spans[index(random, input.spans.len())];
    let value = span.value.clone();
    let is_string = bytes[value.start] == b'"';
    let number = std::str::from_utf8(&bytes[value.clone()]).ok().and_then(|text| text.parse().ok());
    let is_item = span.end > 0;
    match (random.below(9), number) {
        (0, _) if is_item => Edit { range: with_comma(bytes, span.item()), by: Vec::new() },
        (1, _) if is_item => {
            let mut by = bytes[span.item()].to_vec();
            by.push(b',');
            let start = span.item().start;
            Edit { range: start..start, by }
        }
        (2, _) if is_item => {
            Edit { range: with_comma(bytes, span.item().start..span.end), by: Vec::new() }
        }
        (3, _) if !span.key.is_empty() => {
            let end = span.key.end - 1;
            Edit { range: end..end, by: escape(fragment(random)) }
        }
        (3 | 4, _) if is_string => {
            let mut by = bytes[value.start + 1..value.end - 1].to_vec();
            let all = 0..by.len();
            word(&mut by, &all, &escape(fragment(random)), random);
            Edit { range: value.start + 1..value.end - 1, by }
        }
        (4..=6, Some(number)) => {
            let number: f64 = number;
            let scaled = number * [-1.0, 0.0, 0.5, 1e9, 1e-9, 1e300][index(random, 6)];
            Edit { range: value, by: serde_json::to_vec(&scaled).unwrap_or_default() }
        }
        (5, _) => {
            let text = escape(fragment(random));
            Edit { range: value, by: [b"\"", &*text, b"\""].concat() }
        }
        (6, _) => {
            const WORDS: &[&str] = &[
                "null",
                "true",
                "0",
                "-1",
                "[]",
                "{}",
                "1e400",
                "NaN",
                "18446744073709551616",
                "4.9e-324",
            ];
            Edit { range: value, by: WORDS[index(random, WORDS.len())].into() }
        }
        _ => {
            let donor = if random.below(2) == 0 { other } else { input };
            let by = donor
                .spans
                .get(index(random, donor.spans.len()))
                .map_or_else(|| b"null".to_vec(), |span| donor.bytes[span.value.clone()].to_vec());
            Edit { range: value, by }
        }
    }
}

/// Returns `text` as part of a JSON string.
fn escape(text: &str) -> Vec<u8> {
    let quoted = serde_json::to_vec(text).unwrap_or_default();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_vec()
}

/// Adds to `item` the comma behind it, or else the one in front of it.
fn with_comma(bytes: &[u8], item: Range<usize>) -> Range<usize> {
    let is_space = |byte: &&u8| byte.is_ascii_whitespace();
    let after = item.end + bytes[item.end..].iter().take_while(is_space).count();
    if bytes.get(after) == Some(&b',') {
        return item.start..after + 1;
    }
    let before = item.start - bytes[..item.start].iter().rev().take_while(is_space).count();
    let is_comma = before > 0 && bytes[before - 1] == b',';
    if is_comma { before - 1..item.end } else { item }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test a failed step is a failed test")]
mod tests {
    use super::*;

    const DOCUMENT: &str =
        r#" {"a": [1, -2.5e3, "x \"y\""], "b": {"c": null, "d": {}}, "e": [[]]} "#;

    #[test]
    fn every_value_is_found_and_garbage_has_none() {
        let spans = spans(DOCUMENT.as_bytes());
        let values: Vec<&str> = spans.iter().map(|span| &DOCUMENT[span.value.clone()]).collect();
        assert_eq!(
            values[1..],
            [
                r#"[1, -2.5e3, "x \"y\""]"#,
                "1",
                "-2.5e3",
                r#""x \"y\"""#,
                r#"{"c": null, "d": {}}"#,
                "null",
                "{}",
                "[[]]",
                "[]"
            ]
        );
        for garbage in ["", "{", "[1", "{\"a\" 1}", "\"a", "\"a\\", "[1] x", "{a: 1}"] {
            assert_eq!(super::spans(garbage.as_bytes()), [], "{garbage}");
        }
        assert_eq!(super::spans("[".repeat(100_000).as_bytes()), []);
    }

    #[test]
    fn most_changed_documents_differ_and_stay_documents() {
        let input = Specimen::new(DOCUMENT.into(), true);
        let mut random = Generator::new(1);
        let (mut valid, mut different) = (0, 0);
        for _ in 0..1_000 {
            let mut bytes = input.bytes.clone();
            change(&mut bytes, &input, &input, &mut random);
            valid += u32::from(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
            different += u32::from(bytes != input.bytes);
        }
        assert!(valid > 700 && different > 900, "{valid} valid, {different} different");
    }
}
