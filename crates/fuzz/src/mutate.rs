//! Mutations of inputs: of bytes, of lines and words, and of JSON values.
//!
//! They copy ranges of bytes and parse nothing, so that the readers get most of the time.

use std::ops::Range;

use rsb_model::random::Generator;

use crate::json::{self, Specimen};
use crate::words::{fragment, index, letter_at, word};

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

/// Bytes by which an input may exceed the largest one of its corpus, with one exception in
/// `LARGE_EVERY` inputs: most code is reached by small ones.
pub const GROWTH: usize = 1_000;

/// Number of inputs of which one, on average, may have up to [`MOST_BYTES`].
const LARGE_EVERY: u64 = 2_000;

/// Largest input in bytes; mutations that exceed it are cut off.
pub const MOST_BYTES: usize = 256 << 10;

/// Returns a mutation of `input` of at most `most` bytes, except that few are larger. It may take
/// parts of `other`.
pub fn mutated(
    structure: Structure,
    input: &Specimen,
    other: &Specimen,
    most: usize,
    random: &mut Generator,
) -> Vec<u8> {
    if random.below(LARGE_EVERY) == 0 {
        return large(input, random);
    }
    let mut bytes = input.bytes.clone();
    let structured = |random: &mut Generator| structure != Structure::Bytes && random.below(4) != 0;
    if !input.spans.is_empty() && structured(random) {
        json::change(&mut bytes, input, other, random);
        // Most changed documents stay documents.
        if random.below(8) != 0 {
            bytes.truncate(most);
            return bytes;
        }
    }
    let most_rounds = if random.below(2) == 0 { 1 } else { 4 };
    for _ in 0..=random.below(most_rounds) {
        if structured(random) {
            text(&mut bytes, &other.bytes, random);
        } else {
            raw(&mut bytes, &other.bytes, random);
        }
    }
    bytes.truncate(most);
    bytes
}

/// Repeats a line, or an item of a JSON document, until the input has up to [`MOST_BYTES`].
fn large(input: &Specimen, random: &mut Generator) -> Vec<u8> {
    let mut bytes = input.bytes.clone();
    let part = json::some_item(&input.spans, random)
        .unwrap_or_else(|| line_at(&bytes, index(random, bytes.len())));
    let mut one = bytes[part.clone()].to_vec();
    if !input.spans.is_empty() {
        one.push(b',');
    }
    let copies = (MOST_BYTES >> random.below(8)).saturating_sub(bytes.len()) / one.len().max(1);
    bytes.splice(part.start..part.start, one.repeat(copies));
    bytes
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

fn raw(bytes: &mut Vec<u8>, other: &[u8], random: &mut Generator) {
    let at = index(random, bytes.len() + 1);
    let end = at + index(random, bytes.len() - at + 1).min(64);
    match random.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.word().to_le_bytes()[0],
        2 => drop(bytes.drain(at..end)),
        3 => {
            let copy = bytes[at..end].to_vec();
            insert(bytes, at, &copy);
        }
        4 => drop(bytes.splice(at..end, fragment(random).bytes())),
        5 => bytes.truncate(at),
        _ => {
            let from = index(random, other.len() + 1);
            insert(bytes, at, &other[from..(from + 1 + index(random, 256)).min(other.len())]);
        }
    }
}

/// Changes lines, words or letters.
fn text(bytes: &mut Vec<u8>, other: &[u8], random: &mut Generator) {
    let line = line_at(bytes, index(random, bytes.len()));
    match random.below(10) {
        0 => drop(bytes.drain(line)),
        1 => {
            let copy = bytes[line.clone()].to_vec();
            insert(bytes, line.start, &copy);
        }
        2 => {
            let from = line_at(bytes, index(random, bytes.len()));
            let moved = bytes[from].to_vec();
            bytes.splice(line, moved);
        }
        3 => insert(bytes, line.start, &other[line_at(other, index(random, other.len()))]),
        4 => bytes.truncate(line.start),
        5 => {
            let copies = bytes[line.clone()].repeat(1 << random.below(6));
            insert(bytes, line.start, &copies);
        }
        6 => {
            let start = letter_at(bytes, index(random, bytes.len()));
            let end = letter_at(bytes, (start + index(random, 64)).min(bytes.len()));
            bytes.drain(start..end);
        }
        7 => {
            let from = letter_at(other, index(random, other.len()));
            let end = letter_at(other, (from + index(random, 64)).min(other.len()));
            let at = letter_at(bytes, index(random, bytes.len()));
            insert(bytes, at, &other[from..end]);
        }
        _ => word(bytes, &line, fragment(random).as_bytes(), random),
    }
}

/// Returns the line of `bytes` that contains the offset `at`, with its line break.
fn line_at(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |before| before + 1);
    let length = bytes[start..].iter().position(|&byte| byte == b'\n');
    start..length.map_or(bytes.len(), |length| start + length + 1)
}
