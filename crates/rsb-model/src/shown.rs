//! Sanitizing of text from files, drivers and other programs before it is shown in a terminal or
//! written to a spreadsheet.

/// Replaces characters that move the cursor, break the line or change the text direction with
/// spaces, so that `text` cannot be displayed as something else.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_disguise(c) { ' ' } else { c }).collect()
}

/// Returns whether a terminal interprets `c` instead of showing it: control characters, line
/// separators and direction marks.
pub fn is_disguise(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || separates || turns
}

/// Shortens `text` to at most `most` characters. If it is cut, a hash of the whole text replaces
/// the middle, so that different texts stay different.
pub fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let hash = short_hash(text);
    let Some(room) = most.checked_sub(hash.len() + 2) else {
        return hash.chars().take(most).collect();
    };
    let head = room * 2 / 5;
    let (start, end): (String, String) =
        (text.chars().take(head).collect(), text.chars().skip(count - (room - head)).collect());
    format!("{start}…{hash}…{end}")
}

/// Returns eight hex digits of the FNV-1a hash of `text`, stable across versions.
pub fn short_hash(text: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:08x}", hash >> 32)
}

/// Formats `text` as a cell of a CSV file: sanitized, and with an apostrophe in front if a
/// spreadsheet would read it as a formula. Numbers are unchanged.
pub fn to_cell(text: &str) -> String {
    let text = clean(text);
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if !is_number && is_formula(text.trim_start_matches('\'')) { format!("'{text}") } else { text }
}

/// Returns the text from which [`to_cell`] made `cell`, except for sanitized characters.
pub fn from_cell(cell: &str) -> &str {
    let inside =
        cell.strip_prefix('\'').filter(|inside| is_formula(inside.trim_start_matches('\'')));
    inside.unwrap_or(cell)
}

/// Returns whether a spreadsheet could read `text` as a formula. Some spreadsheets ignore leading
/// spaces, such as a sanitized tab leaves.
fn is_formula(text: &str) -> bool {
    text.trim_start().starts_with(['=', '+', '-', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_a_space() {
        assert_eq!(
            clean("a\x1b]0;t\x07b\u{9b}c\u{202e}d\u{2066}e\u{2028}f\u{7f}g\nh"),
            "a ]0;t b c d e f g h"
        );
        assert_eq!(clean("Größe – 25 °C ⚠ 机"), "Größe – 25 °C ⚠ 机");
    }

    fn long_text(middle: &str) -> String {
        format!("{}{middle}{}", "a".repeat(300), "z".repeat(300))
    }

    #[test]
    fn what_is_cut_stays_different() {
        for most in [8, 10, 16, 160] {
            let [one, other] = ["b", "c"].map(|middle| shorten(&long_text(middle), most));
            assert!(one != other && one.chars().count() <= most, "{one} {other}");
        }
        let short = shorten(&long_text("b"), 30);
        assert!(short.starts_with("aaaaaaaa…") && short.ends_with("zzzz"), "{short}");
        assert_eq!(shorten("äöü", 3), "äöü");
    }

    #[test]
    fn a_formula_is_text_and_a_number_a_number() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-", "'-"),
            ("'=1", "''=1"),
            ("'tis", "'tis"),
            ("gemm/f32", "gemm/f32"),
            ("a=b", "a=b"),
            ("", ""),
            ("-1.5", "-1.5"),
            ("+3e-7", "+3e-7"),
            ("-inf", "'-inf"),
        ] {
            assert_eq!(to_cell(text), cell);
            assert_eq!(from_cell(cell), text);
        }
        assert_eq!(to_cell("\t=1\r\n"), "' =1  ");
    }
}
