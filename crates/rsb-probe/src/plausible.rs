//! Figures that hardware can have. A sick GPU, or a driver that lies, tells all ones, zero or
//! nonsense; what lies beyond these limits is unknown.

/// A temperature that a running chip can have, in °C; zero is what the driver writes for a sensor
/// that is not there.
pub(crate) fn celsius(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 150.0).then_some(value)
}

/// A power that a GPU can draw, in W.
pub(crate) fn watts(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 5000.0).then_some(value)
}

/// A clock that a GPU or a CPU can have, in MHz.
pub(crate) fn megahertz(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 10_000.0).then_some(value)
}

/// What a sensor of its own tells now: what idles draws nothing and stands still, so that zero is a
/// figure.
pub(crate) fn now(value: f64, running: fn(f64) -> Option<f64>) -> Option<f64> {
    if value == 0.0 { Some(0.0) } else { running(value) }
}

/// A voltage in mV: a GPU runs at about one volt, its supply at twelve or forty-eight.
pub(crate) fn millivolts(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 100e3).then_some(value)
}

/// Turns of a fan in a minute.
pub(crate) fn turns(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 100e3).then_some(value)
}

/// Bytes of memory that a GPU can have or map: up to 64 TiB.
pub(crate) fn memory_bytes(value: u64) -> Option<u64> {
    (1..=64 << 40).contains(&value).then_some(value)
}

/// Bytes that a cache can have: up to 16 GiB.
pub(crate) fn cache_bytes(value: u64) -> Option<u64> {
    (1..=16 << 30).contains(&value).then_some(value)
}

/// Width of a bus of memory in bits: the widest of today have 8192.
pub(crate) fn width_bits(value: u32) -> Option<u32> {
    (1..=65_536).contains(&value).then_some(value)
}

/// Compute units of a GPU: the largest of today have 304.
pub(crate) fn compute_units(value: u32) -> Option<u32> {
    (1..=16_384).contains(&value).then_some(value)
}

/// What a link between GPUs can carry, in MB/s.
pub(crate) fn link_mb_s(value: u32) -> Option<u32> {
    (1..=10_000_000).contains(&value).then_some(value)
}

/// A count of the driver's. All ones, in either width, are what a GPU tells that has left the bus.
pub(crate) fn count(value: u64) -> Option<u64> {
    (value != u64::MAX && value != u64::from(u32::MAX)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_on_both_sides() {
        for (value, expected) in
            [(0.0, None), (-1.0, None), (2100.0, Some(2100.0)), (1e20, None), (f64::NAN, None)]
        {
            assert_eq!(megahertz(value), expected, "{value}");
        }
        assert_eq!(
            (watts(750.0), watts(1e7), celsius(45.0), celsius(65_261.85)),
            (Some(750.0), None, Some(45.0), None)
        );
        assert_eq!(
            (now(0.0, watts), now(1e7, watts), now(f64::NAN, turns)),
            (Some(0.0), None, None)
        );
        assert_eq!(
            (memory_bytes(0), memory_bytes(288 << 30), memory_bytes(1 << 60)),
            (None, Some(288 << 30), None)
        );
        assert_eq!(
            (cache_bytes(256 << 20), cache_bytes(u64::MAX), width_bits(8192)),
            (Some(256 << 20), None, Some(8192))
        );
        assert_eq!(
            (width_bits(u32::MAX), compute_units(304), compute_units(1 << 30)),
            (None, Some(304), None)
        );
        assert_eq!((link_mb_s(50_000), link_mb_s(u32::MAX)), (Some(50_000), None));
        assert_eq!(
            (count(0), count(7), count(u64::MAX), count(0xffff_ffff)),
            (Some(0), Some(7), None, None)
        );
    }
}
