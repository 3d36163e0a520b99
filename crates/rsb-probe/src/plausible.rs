//! Plausible ranges of hardware readings. Faulty devices report 0, all ones or garbage; values out
//! of range become `None`.

/// Returns the temperature of a running chip in °C if it is plausible. The driver writes 0 for a
/// missing sensor.
pub(crate) fn celsius(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 150.0).then_some(value)
}

/// Returns the power of a GPU in W if it is plausible.
pub(crate) fn watts(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 5000.0).then_some(value)
}

/// Returns the clock of a GPU or CPU in MHz if it is plausible.
pub(crate) fn megahertz(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 10_000.0).then_some(value)
}

/// Returns a current reading if it is plausible. It may be 0, because an idle device draws no power
/// and stops its clock.
pub(crate) fn now(value: f64, running: fn(f64) -> Option<f64>) -> Option<f64> {
    if value == 0.0 { Some(0.0) } else { running(value) }
}

/// Returns a voltage in mV if it is plausible: a GPU runs at about 1 V, its supply at 12 V or 48 V.
pub(crate) fn millivolts(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 100e3).then_some(value)
}

/// Returns the speed of a fan in revolutions per minute if it is plausible.
pub(crate) fn turns(value: f64) -> Option<f64> {
    (value > 0.0 && value <= 100e3).then_some(value)
}

/// Returns a memory size of a GPU in bytes if it is plausible: up to 64 TiB.
pub(crate) fn memory_bytes(value: u64) -> Option<u64> {
    (1..=64 << 40).contains(&value).then_some(value)
}

/// Returns the size of a cache in bytes if it is plausible: up to 16 GiB.
pub(crate) fn cache_bytes(value: u64) -> Option<u64> {
    (1..=16 << 30).contains(&value).then_some(value)
}

/// Returns the width of a memory bus in bits if it is plausible; the widest today have 8192.
pub(crate) fn width_bits(value: u32) -> Option<u32> {
    (1..=65_536).contains(&value).then_some(value)
}

/// Returns the number of compute units of a GPU if it is plausible; the largest today have 304.
pub(crate) fn compute_units(value: u32) -> Option<u32> {
    (1..=16_384).contains(&value).then_some(value)
}

/// Returns the rate of a link between GPUs in MB/s if it is plausible.
pub(crate) fn link_mb_s(value: u32) -> Option<u32> {
    (1..=10_000_000).contains(&value).then_some(value)
}

/// Returns a counter of the driver if it is plausible. A GPU that has left the bus reads as all
/// ones, with 32 or 64 bits.
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
