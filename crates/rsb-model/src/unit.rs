//! Units of values, their symbols, and the direction in which metrics improve.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    serde
    /// Direction in which a metric improves.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Better {
        /// Higher is better: throughput, efficiency, speedup.
        Higher = "higher",
        /// Lower is better: time, memory, error.
        Lower = "lower",
    }
}

named_enum! {
    serde
    /// Unit of a value. GB = 10⁹ bytes, MB = 10⁶ bytes; a multiply-add counts as two operations.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Unit {
        /// Nanoseconds.
        Nanoseconds = "ns",
        /// Microseconds.
        Microseconds = "µs",
        /// Milliseconds.
        Milliseconds = "ms",
        /// Seconds.
        Seconds = "s",
        /// 10⁹ bytes per second.
        GigabytesPerSecond = "GB/s",
        /// 10⁹ operations per second.
        Gigaflops = "GFLOP/s",
        /// 10¹² operations per second.
        Teraflops = "TFLOP/s",
        /// Events per second: tokens, requests, samples.
        PerSecond = "1/s",
        /// Bytes.
        Bytes = "B",
        /// 10⁶ bytes.
        Megabytes = "MB",
        /// 10⁹ bytes.
        Gigabytes = "GB",
        /// Percent.
        Percent = "%",
        /// 10⁶ cycles per second.
        Megahertz = "MHz",
        /// Degrees Celsius.
        Celsius = "°C",
        /// Watts.
        Watts = "W",
        /// Operations per byte moved.
        FlopsPerByte = "FLOP/B",
        /// Ratio or count.
        One = "1",
    }
}

impl Unit {
    /// Returns the symbol used in output and documents.
    pub const fn symbol(self) -> &'static str {
        self.as_str()
    }

    /// Formats `value` with its unit, if it has one: `104.2 GFLOP/s`.
    pub fn quantity(self, value: f64) -> String {
        if self == Self::One { figure(value) } else { format!("{} {self}", figure(value)) }
    }

    /// Returns the direction implied by a unit of another tool, such as `ns/iter` or `ops/sec`;
    /// `None` if the unit does not imply one.
    pub fn direction_of(text: &str) -> Option<Better> {
        let text = text.trim().to_ascii_lowercase();
        let rate = [
            "/s",
            "/sec",
            "/second",
            "per second",
            "ops",
            "flops",
            "flop/s",
            "hz",
            "fps",
            "iter/s",
            "bps",
        ];
        let time = [
            "ns",
            "us",
            "µs",
            "ms",
            "s",
            "sec",
            "secs",
            "seconds",
            "milliseconds",
            "nanoseconds",
            "microseconds",
        ];
        let size = ["b", "kb", "mb", "gb", "kib", "mib", "gib", "bytes", "allocs"];
        if rate.iter().any(|end| text.ends_with(end)) {
            return Some(Better::Higher);
        }
        let head = text.split('/').next().unwrap_or_default();
        (time.contains(&head) || size.contains(&head)).then_some(Better::Lower)
    }
}

/// Formats `value` with four significant digits, without trailing zeros.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if (1e-3..1e7).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
        return trim_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", trim_zeros(digits)),
        None => text,
    }
}

/// Returns `text` without trailing zeros after the decimal point.
fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// 10⁹: nanoseconds per second, bytes per GB.
pub const GIGA: f64 = 1e9;

/// Returns the bandwidth in GB/s of `bytes` moved in `nanoseconds`.
pub fn gigabytes_per_second(bytes: f64, nanoseconds: f64) -> f64 {
    bytes / nanoseconds
}

/// Returns the rate in GFLOP/s of `operations` done in `nanoseconds`.
pub fn gigaflops(operations: f64, nanoseconds: f64) -> f64 {
    operations / nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_carry_the_symbol() {
        for unit in Unit::ALL {
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.symbol());
        }
    }

    #[test]
    fn foreign_units_tell_their_direction() {
        for (text, direction) in [
            ("ns/iter", Some(Better::Lower)),
            ("ms", Some(Better::Lower)),
            ("ops/sec", Some(Better::Higher)),
            ("GB/s", Some(Better::Higher)),
            ("iter/sec", Some(Better::Higher)),
            ("MiB", Some(Better::Lower)),
            ("widgets", None),
            ("", None),
        ] {
            assert_eq!(Unit::direction_of(text), direction, "{text}");
        }
    }
}
