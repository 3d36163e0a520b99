//! Parsing of timestamps, with rejection of times that do not exist.

use crate::Timestamp;

/// Parses an RFC 3339 time. Returns `None` if `text` is invalid, such as February 30 or the year
/// 10000.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    second_exists(text, time).then_some(time)
}

/// Returns whether the second in `text` exists; `time` is the parsed value of `text`. Parsers read
/// second 60 as 59, but only the last minutes of June and December can have a leap second.
pub fn second_exists(text: &str, time: Timestamp) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit);
    let is_leap = digits.skip("YYYYMMDDHHMM".len()).take(2).eq(*b"60");
    !is_leap
        || ["06-30T23:59:59", "12-31T23:59:59"]
            .contains(&&*time.strftime("%m-%dT%H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_calendar_has_are_none() {
        for text in [
            "2026-02-30T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:60Z",
            "2016-12-31T23:59:60+01:00",
            "10000-01-01T00:00:00Z",
            "+010000-01-01T00:00:00Z",
            "today",
            "",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        for (text, time) in [
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
            ("2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
            ("2026-01-02T03:04:05.607Z", "2026-01-02T03:04:05.607Z"),
        ] {
            assert_eq!(
                parse_time(text).map(|time| time.to_string()).as_deref(),
                Some(time),
                "{text}"
            );
        }
    }
}
