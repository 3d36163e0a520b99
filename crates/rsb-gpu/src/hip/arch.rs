//! Values derived from a GPU's architecture: memory transfers per clock, and the memory-side cache,
//! which the runtime does not report.

/// Returns the architecture in a full name such as `gfx90a:sramecc+:xnack-`.
pub(super) fn architecture(full: &str) -> &str {
    full.split(':').next().unwrap_or(full)
}

/// Returns the number of compute units in one multiprocessor, as the runtime counts them. From
/// gfx10 on a multiprocessor is a work-group processor with two, unless the runtime's variable
/// `GPU_ENABLE_WGP_MODE` is 0.
pub(super) fn compute_units_each(arch: &str) -> u32 {
    let single = std::env::var_os("GPU_ENABLE_WGP_MODE").is_some_and(|mode| mode == "0");
    // gfx906 to gfx950 have three digits, gfx1010 and later have four.
    let paired = architecture(arch).strip_prefix("gfx").is_some_and(|digits| digits.len() >= 4);
    if paired && !single { 2 } else { 1 }
}

/// Returns the transfers per memory clock as reported by the driver: 2 for HBM2, 4 for HBM3 and
/// HBM3E, 16 for GDDR6. `None` if the architecture does not determine the type of memory.
fn transfers_per_clock(arch: &str) -> Option<f64> {
    match architecture(arch) {
        "gfx900" | "gfx906" | "gfx908" | "gfx90a" => Some(2.0),
        "gfx940" | "gfx941" | "gfx942" | "gfx950" => Some(4.0),
        "gfx1010" | "gfx1012" | "gfx1030" | "gfx1031" | "gfx1032" | "gfx1034" | "gfx1100"
        | "gfx1101" | "gfx1102" | "gfx1200" | "gfx1201" => Some(16.0),
        _ => None,
    }
}

/// Returns the peak memory bandwidth in GB/s, from the bus width and the clock.
pub(super) fn peak_bandwidth_gb_s(arch: &str, bus_bits: i32, clock_khz: i32) -> Option<f64> {
    if bus_bits <= 0 || clock_khz <= 0 {
        return None;
    }
    Some(f64::from(bus_bits) / 8.0 * f64::from(clock_khz) * 1e3 * transfers_per_clock(arch)? / 1e9)
}

/// Returns the size in bytes of the cache between the second level and memory (AMD Infinity Cache),
/// from AMD's data sheets. The size is the largest of any GPU of this architecture, so that a flush
/// is never too small.
pub(super) fn memory_side_cache_bytes(arch: &str) -> Option<u64> {
    let megabytes = match architecture(arch) {
        "gfx942" | "gfx950" => 256,
        "gfx1030" => 128,
        "gfx1031" | "gfx1100" => 96,
        "gfx1101" | "gfx1201" => 64,
        "gfx1032" | "gfx1102" | "gfx1151" | "gfx1200" => 32,
        "gfx1034" => 16,
        _ => return None,
    };
    Some(megabytes << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_those_of_the_data_sheets() {
        for (arch, bits, khz, expected) in [
            ("gfx90a:sramecc+:xnack-", 4096, 1_600_000, 1638.4),
            ("gfx942", 8192, 1_300_000, 5324.8),
            ("gfx1100", 384, 1_249_000, 959.2),
        ] {
            let found = peak_bandwidth_gb_s(arch, bits, khz).unwrap();
            assert!((found - expected).abs() < 0.1, "{arch}: {found}");
        }
        assert_eq!(peak_bandwidth_gb_s("gfx1151", 256, 1_000_000), None);
        assert_eq!(peak_bandwidth_gb_s("gfx90a", 0, 1_600_000), None);
    }

    #[test]
    fn multiprocessors_are_pairs_from_gfx10_on() {
        let each = ["gfx906", "gfx90a:sramecc+:xnack-", "gfx942", "gfx1030", "gfx1100", "gfx1201"]
            .map(compute_units_each);
        assert_eq!(each, [1, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn unknown_architectures_have_nothing_special() {
        assert_eq!(memory_side_cache_bytes("gfx1999"), None);
        assert_eq!(architecture("gfx90a:sramecc+"), "gfx90a");
    }
}
