//! The embedded fonts, and replacement of characters that cannot be drawn.
//!
//! PDF/UA-1 does not allow characters without a glyph. A character that no font contains, or an
//! invisible one that affects the text around it, is replaced by its code: `[U+4E2D]`.

use std::fmt::Write;

use serde_json::Value;
use typst::foundations::Bytes;
use typst::text::Font;

/// Returns every font, always in this order, so that the same report gives the same bytes.
pub(crate) fn fonts() -> Vec<Font> {
    let files = [
        dejavu::sans_condensed::regular(),
        dejavu::sans_condensed::bold(),
        dejavu::sans_mono::regular(),
        dejavu::sans_mono::bold(),
    ];
    files.into_iter().flat_map(|file| Font::iter(Bytes::new(file))).collect()
}

/// Makes every text in `value` drawable with `fonts`, and returns the number of replaced
/// characters.
pub(crate) fn make_drawable(value: &mut Value, fonts: &[Font]) -> usize {
    match value {
        Value::String(text) => {
            let (drawable, named) = drawable(text, fonts);
            if let Some(drawable) = drawable {
                *text = drawable;
            }
            named
        }
        Value::Array(items) => items.iter_mut().map(|item| make_drawable(item, fonts)).sum(),
        Value::Object(entries) => {
            entries.iter_mut().map(|(_, entry)| make_drawable(entry, fonts)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns `text` with replacements, if there are any, and their number.
fn drawable(text: &str, fonts: &[Font]) -> (Option<String>, usize) {
    let mut written = String::new();
    let mut named = 0;
    for c in text.chars() {
        if matches!(c, ' '..='~' | '\n') || (!steers(c) && has_glyph(c, fonts)) {
            written.push(c);
        } else {
            let _ = write!(written, "[U+{:04X}]", u32::from(c));
            named += 1;
        }
    }
    if named == 0 { (None, 0) } else { (Some(written), named) }
}

fn has_glyph(c: char, fonts: &[Font]) -> bool {
    fonts.iter().any(|font| font.info().coverage.contains(u32::from(c)))
}

/// Returns whether `c` affects its neighbors and has no glyph: control characters, joiners,
/// direction marks, tags.
const fn steers(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_shape_is_named_and_the_rest_stays() {
        let fonts = fonts();
        assert_eq!(fonts.len(), 4);
        for (text, expected, named) in [
            ("GeForce 3090 – 12 µs ± 3 %, ×1.5 ≤ 2 … Ω ж ü ✔✖◆↑↓", None, 0),
            ("a\nb", None, 0),
            ("a\u{202e}b\u{1b}[0m", Some("a[U+202E]b[U+001B][0m"), 2),
            ("中\u{200d}\u{0}\u{e0041}", Some("[U+4E2D][U+200D][U+0000][U+E0041]"), 4),
        ] {
            assert_eq!(drawable(text, &fonts), (expected.map(str::to_owned), named), "{text:?}");
        }
        let mut value = serde_json::json!({ "a": ["中", { "b": "国" }], "c": 3, "d": "plain" });
        assert_eq!(make_drawable(&mut value, &fonts), 2);
        assert_eq!(value["a"][1]["b"], "[U+56FD]");
    }
}
