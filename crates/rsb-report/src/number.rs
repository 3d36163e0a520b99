//! Human-readable numbers: three significant digits, a suitable prefix, and never `0.00` for a
//! value that is not zero.

use std::time::Duration;

use itertools::Itertools as _;
use rsb_model::Timestamp;

/// Placeholder for an unknown value.
pub const UNKNOWN: &str = "n/a";

const TIMES: [(f64, &str); 6] =
    [(3.6e12, "h"), (6e10, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
const PREFIXES: [(f64, &str); 6] =
    [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

/// Formats a duration given in nanoseconds: `5.12 ms`.
pub fn format_time(nanoseconds: f64) -> String {
    if !nanoseconds.is_finite() {
        return UNKNOWN.to_owned();
    }
    let rounded = round_to_three_digits(nanoseconds);
    // Minutes start where seconds would need a fourth digit: 999 s, then 16.7 min.
    let unit = TIMES.iter().find(|(factor, name)| match *name {
        "min" => rounded.abs() >= 1e12,
        _ => rounded.abs() >= *factor,
    });
    let (factor, name) = unit.unwrap_or(&(1.0, "ns"));
    format!("{} {name}", plain(nanoseconds / factor))
}

/// Formats `value` in `unit` (a symbol of [`rsb_model::Unit`] or any text) with a suitable prefix:
/// `26.2 GB/s`, `1.07 TFLOP/s`.
pub fn format_quantity(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    match unit {
        "ns" | "µs" | "us" | "ms" | "s" => format_time(value * nanoseconds_in(unit)),
        "GB/s" => format_prefixed(value * 1e9, "B/s"),
        "GFLOP/s" => format_prefixed(value * 1e9, "FLOP/s"),
        "TFLOP/s" => format_prefixed(value * 1e12, "FLOP/s"),
        "B" => format_prefixed(value, "B"),
        "MB" => format_prefixed(value * 1e6, "B"),
        "GB" => format_prefixed(value * 1e9, "B"),
        "1/s" => format_prefixed(value, "/s"),
        "1" | "" if value.abs() >= 1e4 => format_prefixed(value, "").trim_end().to_owned(),
        "1" | "" => plain(value),
        _ => format!("{} {unit}", plain(value)),
    }
}

/// Formats a change in percent with its sign: `+15.9 %`, `-0.4 %`.
pub fn format_percent(percent: f64) -> String {
    let size = percent.abs();
    match percent {
        _ if !percent.is_finite() => UNKNOWN.to_owned(),
        _ if size < 0.05 => "0.0 %".to_owned(),
        _ if size < 99.95 => format!("{percent:+.1} %"),
        _ if size < 1e4 => format!("{percent:+.0} %"),
        _ => format!("{percent:+.1e} %"),
    }
}

/// Formats an interval in percent: `[+10.1, +14.6] %`.
pub fn format_interval([low, high]: [f64; 2]) -> String {
    format!("[{}, {}] %", percent_without_unit(low), percent_without_unit(high))
}

fn percent_without_unit(percent: f64) -> String {
    let text = format_percent(percent);
    text.strip_suffix(" %").map(str::to_owned).unwrap_or(text)
}

/// Formats those of `counts` that are not zero: `1 failed, 2 ok`.
pub fn count_words(counts: &[(usize, &str)]) -> String {
    counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .join(", ")
}

/// Formats a percentage setting as it was written: `10 %`, `2.5 %`. Rounding errors are removed.
pub fn format_threshold(percent: f64) -> String {
    format!("{} %", (percent * 1e9).round() / 1e9)
}

/// Formats a time to the minute: `2026-11-21 09:03 UTC`.
pub fn format_moment(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Formats the remaining time at the current pace: `80 s left`. Step `step` of `steps`, counted
/// from 1, starts after `elapsed`. `None` until the first step has finished.
pub fn format_left(elapsed: Duration, step: usize, steps: usize) -> Option<String> {
    let done = u32::try_from(step.checked_sub(1)?).ok().filter(|&done| done > 0)?;
    let left = u32::try_from(steps.saturating_sub(done as usize)).ok()?;
    Some(match (elapsed / done).saturating_mul(left).as_secs() {
        seconds @ 0..=99 => format!("{seconds} s left"),
        seconds => format!("{} min left", seconds.div_ceil(60)),
    })
}

/// Formats a count with its noun: `1 case`, `3 cases`.
pub fn format_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns the number of nanoseconds in `unit`; 1 if it is not a time unit.
pub(crate) fn nanoseconds_in(unit: &str) -> f64 {
    match unit {
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 1.0,
    }
}

fn format_prefixed(value: f64, unit: &str) -> String {
    let rounded = round_to_three_digits(value).abs();
    let (factor, prefix) =
        PREFIXES.iter().find(|(factor, _)| rounded >= *factor).unwrap_or(&(1.0, ""));
    format!("{} {prefix}{unit}", plain(value / factor))
}

/// Formats three significant digits without a unit. Uses powers of ten only for values below 1e-3
/// or from 1e7.
fn plain(value: f64) -> String {
    let size = round_to_three_digits(value).abs();
    match size {
        0.0 => "0".to_owned(),
        _ if !(1e-3..1e7).contains(&size) => format!("{value:.2e}"),
        _ => {
            let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
            format!("{:.decimals$}", round_to_three_digits(value))
        }
    }
}

/// Rounds `value` to three significant digits. The result determines the prefix, so that 999.9 µs
/// becomes 1.00 ms and not 1000 µs.
fn round_to_three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace() {
        let seconds = Duration::from_secs;
        assert_eq!(
            format_left(seconds(0), 1, 10),
            None,
            "the time left is unknown before the first step is done"
        );
        assert_eq!(format_left(seconds(20), 3, 10).as_deref(), Some("80 s left"));
        assert_eq!(format_left(seconds(121), 2, 2).as_deref(), Some("3 min left"));
        assert!(
            format_left(Duration::MAX, 2, usize::MAX).is_none()
                && format_left(seconds(1), 0, 0).is_none()
        );
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        for (nanoseconds, text) in [
            (0.0, "0 ns"),
            (0.25, "0.250 ns"),
            (4.2e-7, "4.20e-7 ns"),
            (1.0, "1.00 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (5_123_000.0, "5.12 ms"),
            (999e9, "999 s"),
            (1000e9, "16.7 min"),
            (7.2e12, "2.00 h"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
            (-1500.0, "-1.50 µs"),
        ] {
            assert_eq!(format_time(nanoseconds), text, "{nanoseconds}");
        }
    }

    #[test]
    fn quantities_keep_three_digits() {
        for (value, unit, text) in [
            (26.234, "GB/s", "26.2 GB/s"),
            (0.0123, "GB/s", "12.3 MB/s"),
            (999.96, "GFLOP/s", "1.00 TFLOP/s"),
            (0.0, "GB/s", "0 B/s"),
            (1.5, "MB", "1.50 MB"),
            (2048.0, "B", "2.05 kB"),
            (12_345.0, "1/s", "12.3 k/s"),
            (0.001_234, "%", "0.00123 %"),
            (0.000_012, "%", "1.20e-5 %"),
            (97.25, "%", "97.2 %"),
            (1.2e-7, "1", "1.20e-7"),
            (3.0, "1", "3.00"),
            (1.5e9, "1", "1.50 G"),
            (1_234_567.0, "ns/iter", "1230000 ns/iter"),
            (21.3, "FLOP/B", "21.3 FLOP/B"),
            (1500.0, "µs", "1.50 ms"),
            (f64::NEG_INFINITY, "W", "n/a"),
        ] {
            assert_eq!(format_quantity(value, unit), text, "{value} {unit}");
        }
    }

    #[test]
    fn changes_carry_their_sign() {
        for (percent, text) in [
            (15.94, "+15.9 %"),
            (-0.42, "-0.4 %"),
            (0.01, "0.0 %"),
            (-0.0, "0.0 %"),
            (250.4, "+250 %"),
            (99.97, "+100 %"),
            (1e9, "+1.0e9 %"),
            (f64::NAN, "n/a"),
        ] {
            assert_eq!(format_percent(percent), text, "{percent}");
        }
        assert_eq!(format_interval([10.06, -0.01]), "[+10.1, 0.0] %");
        assert_eq!(
            (format_threshold(10.0), format_threshold(2.5)),
            ("10 %".to_owned(), "2.5 %".to_owned())
        );
    }

    #[test]
    fn no_figure_but_zero_reads_as_zero() {
        for exponent in -300..300 {
            for unit in ["ns", "GB/s", "%", "1", "MB", "1/s", "W"] {
                let text = format_quantity(1.234 * 10_f64.powi(exponent), unit);
                assert!(text.chars().any(|c| ('1'..='9').contains(&c)), "{text}");
            }
        }
    }
}
