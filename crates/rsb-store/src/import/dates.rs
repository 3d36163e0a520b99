//! Times recorded by tools. Some record a local time without a time zone.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rsb_model::{Timestamp, calendar};

/// Meaning of a recorded time without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unzoned {
    /// UTC, according to the tool's source.
    Utc,
    /// Local time of the machine that ran the tool, whose time zone is unknown.
    Local,
}

/// A time recorded by a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dated {
    pub(super) time: Timestamp,
    /// Whether the time zone is unknown, so that the time was read as UTC.
    pub(super) is_guess: bool,
}

/// Time formats of vLLM and old versions of Google Benchmark, the last one on Windows.
const FORMS: [&str; 3] = ["%Y%m%d-%H%M%S", "%Y/%m/%d-%H:%M:%S", "%m/%d/%y %H:%M:%S"];
/// All time zone offsets are multiples of this, in seconds.
const QUARTER: i64 = 15 * 60;
/// Range of time zone offsets, in seconds: from 12 hours behind UTC to 14 hours ahead.
const OFFSETS: std::ops::RangeInclusive<i64> = -12 * 3600..=14 * 3600;
/// Maximum delay between the recorded time and writing the file, in seconds.
const DELAY: i64 = 30;

/// Parses the time in `text`, in a file that was last modified at `written`. Returns `None` if it
/// is not a valid calendar time.
///
/// A tool writes its file when it is done. If the modification time differs from the recorded time
/// by a possible time zone offset, that offset is used. A copied file has the time of the copy,
/// from which no offset can be derived, so the time is read as UTC.
pub(super) fn read(text: &str, unzoned: Unzoned, written: Timestamp) -> Option<Dated> {
    let dated = read_any(text, unzoned, written)?;
    calendar::second_exists(text, dated.time).then_some(dated)
}

fn read_any(text: &str, unzoned: Unzoned, written: Timestamp) -> Option<Dated> {
    if let Ok(time) = text.parse() {
        return Some(Dated { time, is_guess: false });
    }
    let date: DateTime = FORMS
        .iter()
        .find_map(|form| DateTime::strptime(form, text).ok())
        .or_else(|| text.parse().ok())?;
    let as_utc = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    if unzoned == Unzoned::Utc {
        return Some(Dated { time: as_utc, is_guess: false });
    }
    let offset = offset(as_utc.as_second().checked_sub(written.as_second())?);
    let time = as_utc.checked_sub(SignedDuration::from_secs(offset.unwrap_or_default())).ok()?;
    Some(Dated { time, is_guess: offset.is_none() })
}

/// Returns the time zone offset of a local time that is `ahead` seconds ahead of the modification
/// time, allowing for the delay of writing. `None` if no time zone matches.
fn offset(ahead: i64) -> Option<i64> {
    let offset = ahead.checked_add(DELAY)?.div_euclid(QUARTER).checked_mul(QUARTER)?;
    let near = (ahead - offset).abs() <= DELAY;
    (near && OFFSETS.contains(&offset)).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_in_the_text_counts_and_else_what_the_source_says() {
        let written = Timestamp::UNIX_EPOCH;
        for (text, unzoned, time) in [
            ("2026-01-02T03:04:05+01:00", Unzoned::Local, "2026-01-02T02:04:05Z"),
            ("2026-01-02T03:04:05-00:00", Unzoned::Local, "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.250000+00:00", Unzoned::Utc, "2026-01-02T03:04:05.25Z"),
            ("2026-01-02T03:04:05.250000", Unzoned::Utc, "2026-01-02T03:04:05.25Z"),
        ] {
            let dated = read(text, unzoned, written).unwrap();
            assert_eq!((dated.time.to_string().as_str(), dated.is_guess), (time, false), "{text}");
        }
        for text in [
            "",
            "today",
            "2026-13-02T03:04:05",
            "2026-02-30T03:04:05",
            "2026-01-02T03:04:60Z",
            "10000-01-02T03:04:05",
            "20260230-030405",
            "20260102-030460",
        ] {
            assert_eq!(read(text, Unzoned::Utc, written), None, "{text}");
        }
    }

    #[test]
    fn a_local_time_has_the_offset_that_the_files_time_tells_or_is_a_guess() {
        for (written, time, is_guess) in [
            // Berlin, India, Newfoundland in summer, a machine in UTC.
            ("2026-01-02T02:04:07Z", "2026-01-02T02:04:05Z", false),
            ("2026-01-01T21:34:05Z", "2026-01-01T21:34:05Z", false),
            ("2026-01-02T05:34:30Z", "2026-01-02T05:34:05Z", false),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", false),
            // Copied minutes, hours and days after it was written.
            ("2026-01-02T02:09:05Z", "2026-01-02T03:04:05Z", true),
            ("2026-01-02T20:04:05Z", "2026-01-02T03:04:05Z", true),
            ("2026-03-02T02:04:05Z", "2026-01-02T03:04:05Z", true),
        ] {
            for text in [
                "20260102-030405",
                "2026-01-02 03:04:05",
                "2026/01/02-03:04:05",
                "01/02/26 03:04:05",
            ] {
                let dated = read(text, Unzoned::Local, written.parse().unwrap()).unwrap();
                assert_eq!(
                    (dated.time.to_string().as_str(), dated.is_guess),
                    (time, is_guess),
                    "{text} {written}"
                );
            }
        }
    }
}
