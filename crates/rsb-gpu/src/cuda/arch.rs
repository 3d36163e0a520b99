//! Values derived from a GPU's compute capability and memory clock: the compiler's architecture
//! name, and the peak memory bandwidth.

/// Returns the compiler's name of capability `major`.`minor`: `sm_90`.
pub(super) fn name(major: i32, minor: i32) -> String {
    format!("sm_{major}{minor}")
}

/// Returns the peak memory bandwidth in GB/s. The driver scales the reported clock so that all
/// types of memory transfer data twice per cycle (CUDA's own sample deviceQuery computes it this
/// way).
pub(super) fn peak_bandwidth_gb_s(bus_bits: i32, clock_khz: i32) -> Option<f64> {
    let is_known = bus_bits > 0 && clock_khz > 0;
    is_known.then(|| f64::from(bus_bits) / 8.0 * f64::from(clock_khz) * 1e3 * 2.0 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_those_of_the_data_sheets() {
        for (gpu, bits, khz, expected) in [
            ("A100 SXM 40 GB", 5120, 1_215_000, 1555.2),
            ("H100 SXM", 5120, 2_619_000, 3352.3),
            ("H200", 6144, 3_201_000, 4916.7),
            ("GeForce RTX 4090", 384, 10_501_000, 1008.1),
        ] {
            let found = peak_bandwidth_gb_s(bits, khz).unwrap();
            assert!((found - expected).abs() < 0.1, "{gpu}: {found}");
        }
        assert_eq!(peak_bandwidth_gb_s(0, 1), None);
        assert_eq!(name(9, 0), "sm_90");
        assert_eq!(name(12, 1), "sm_121");
    }
}
