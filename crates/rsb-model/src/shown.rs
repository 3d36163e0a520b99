//! Text that comes from elsewhere, from a file, a driver or another program, made harmless for who
//! is shown it: a terminal, and a spreadsheet.

/// `text` without what moves the cursor, breaks the line or turns the direction of what follows: it
/// must look like what it is.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_disguise(c) { ' ' } else { c }).collect()
}

/// Whether a terminal obeys `c` rather than shows it: control characters, separators of lines,
/// marks of direction.
pub fn is_disguise(c: char) -> bool {
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || separates || turns
}

/// `text` in at most `most` characters. Where it is cut, a hash of the whole stands in the place of
/// its middle: what was different stays different.
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

/// Eight digits that tell `text` from another: FNV-1a, the same in every version.
pub fn short_hash(text: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:08x}", hash >> 32)
}

/// `text` as a cell of a CSV file: cleaned, and what a spreadsheet would take for a formula behind
/// an apostrophe. A number is one and stays it.
pub fn to_cell(text: &str) -> String {
    let text = clean(text);
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if !is_number && is_formula(text.trim_start_matches('\'')) { format!("'{text}") } else { text }
}

/// What [`to_cell`] made `cell` of.
pub fn from_cell(cell: &str) -> &str {
    let inside =
        cell.strip_prefix('\'').filter(|inside| is_formula(inside.trim_start_matches('\'')));
    inside.unwrap_or(cell)
}

/// Spaces before it, such as a cleaned tab leaves, do not stop every spreadsheet.
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
