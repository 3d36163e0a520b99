//! Sizes and shapes as text: `64MiB`, `4096x4096x4096`.

use crate::ids::ParseIdError;

const BINARY: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const DECIMAL: [(&str, u64); 6] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("k", 1_000),
    ("B", 1),
];

/// Parses a size in bytes: a number with an optional suffix KiB, MiB, GiB, kB, MB, GB or B.
///
/// # Errors
/// If `text` is not such a number, is zero, or does not fit in 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, ParseIdError> {
    let trimmed = text.trim();
    let (digits, factor) = BINARY
        .iter()
        .chain(&DECIMAL)
        .find_map(|&(suffix, factor)| trimmed.strip_suffix(suffix).map(|digits| (digits, factor)))
        .unwrap_or((trimmed, 1));
    let number: u64 = digits.trim().parse().map_err(|_| size_error(text))?;
    number.checked_mul(factor).filter(|&bytes| bytes > 0).ok_or_else(|| size_error(text))
}

fn size_error(text: &str) -> ParseIdError {
    ParseIdError::new(text, "a size such as 65536, 64KiB or 256MiB")
}

/// Formats `bytes` with the largest binary suffix that divides it: `64MiB`.
pub fn format_bytes(bytes: u64) -> String {
    BINARY.iter().find(|&&(_, factor)| bytes.is_multiple_of(factor)).map_or_else(
        || format!("{bytes}B"),
        |(suffix, factor)| format!("{}{suffix}", bytes / factor),
    )
}

/// Formats `bytes` rounded to one decimal, in decimal units: `11.8 GB`.
/// ```
/// assert_eq!(rsb_model::shape::rounded_bytes(11_807_000_000), "11.8 GB");
/// assert_eq!(rsb_model::shape::rounded_bytes(90_000_000), "90 MB");
/// ```
pub fn rounded_bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        1_000_000_000.. => (1e9, "GB"),
        1_000_000.. => (1e6, "MB"),
        1_000.. => (1e3, "kB"),
        _ => (1.0, "B"),
    };
    let figure = format!("{:.1}", bytes as f64 / unit);
    format!("{} {name}", figure.strip_suffix(".0").unwrap_or(&figure))
}

/// Parses a shape such as `32x768x3072`.
///
/// # Errors
/// If `text` is not a list of positive integers separated by `x`.
pub fn parse_shape(text: &str) -> Result<Vec<u64>, ParseIdError> {
    let sizes: Option<Vec<u64>> =
        text.trim().split('x').map(|part| part.parse().ok().filter(|&size| size > 0)).collect();
    sizes.ok_or_else(|| ParseIdError::new(text, "a shape such as 1024x1024x1024"))
}

/// Formats `sizes` separated by `x`.
pub fn format_shape(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("65536", 65536),
            ("64KiB", 65536),
            ("1 MiB", 1 << 20),
            ("2GB", 2_000_000_000),
            ("7B", 7),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "-1", "1.5MiB", "MiB", "18446744073709551615GiB", "1TiBx"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shapes_are_positive_whole_numbers() {
        assert_eq!(parse_shape("32x768x3072"), Ok(vec![32, 768, 3072]));
        for text in ["", "x", "32x", "0x1", "1x-2", "99999999999999999999"] {
            assert!(parse_shape(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn bytes_survive_a_round_trip(bytes in 1..u64::MAX) {
            proptest::prop_assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
        }
    }
}
