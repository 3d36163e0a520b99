//! Words and characters of inputs, and fragments to insert.

use std::ops::Range;

use rsb_model::random::Generator;

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

/// Returns an index below `length`, or 0.
pub(crate) fn index(random: &mut Generator, length: usize) -> usize {
    usize::try_from(random.below(length.max(1) as u64)).unwrap_or_default()
}

pub(crate) fn fragment(random: &mut Generator) -> &'static str {
    FRAGMENTS[index(random, FRAGMENTS.len())]
}

/// Returns the start of the UTF-8 character of `bytes` that contains the offset `at`.
pub(crate) fn letter_at(bytes: &[u8], mut at: usize) -> usize {
    while at > 0 && bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
        at -= 1;
    }
    at
}

/// Removes, repeats or replaces a word in the range `line`, or the characters between two words.
pub(crate) fn word(
    bytes: &mut Vec<u8>,
    line: &Range<usize>,
    replacement: &[u8],
    random: &mut Generator,
) {
    let chosen = word_at(bytes, line, random);
    let by = match random.below(4) {
        0 => Vec::new(),
        1 => bytes[chosen.clone()].repeat(2),
        2 => bytes[word_at(bytes, line, random)].to_vec(),
        _ => replacement.to_vec(),
    };
    bytes.splice(chosen, by);
}

/// Returns a run of letters, digits, `.`, `-`, `+` and `_` in the range `line`, or of other
/// characters. One that is not ASCII is a run of its own.
fn word_at(bytes: &[u8], line: &Range<usize>, random: &mut Generator) -> Range<usize> {
    let part = &bytes[line.clone()];
    if part.is_empty() {
        return line.clone();
    }
    let at = index(random, part.len());
    let kind = |byte: u8| match byte {
        0x80.. => 2,
        b'.' | b'_' | b'-' | b'+' => 1,
        _ => u8::from(byte.is_ascii_alphanumeric()),
    };
    let own = kind(part[at]);
    if own == 2 {
        let start = letter_at(part, at);
        let length = 1 + part[start + 1..].iter().take_while(|&byte| byte & 0xC0 == 0x80).count();
        return line.start + start..line.start + start + length;
    }
    let before = part[..at].iter().rev().take_while(|&&byte| kind(byte) == own).count();
    let after = part[at..].iter().take_while(|&&byte| kind(byte) == own).count();
    line.start + at - before..line.start + at + after
}
