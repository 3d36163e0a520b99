//! The highest bandwidth of a card's memory: width / 8 × clock × transfers in a clock, which the kind of memory decides.

/// What the kernel driver tells of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) width_bits: u32,
    pub(crate) clock_mhz: u32,
}

/// GB/s; unknown where the kind of memory is (parts that share the memory of the processor).
pub(crate) fn bandwidth_gb_s(target: Option<&str>, memory: Option<Memory>) -> Option<f64> {
    let memory = memory?;
    let transfers = transfers(target?, memory.width_bits)?;
    Some(f64::from(memory.width_bits) / 8.0 * f64::from(memory.clock_mhz) * transfers / 1e3)
}

/// Transfers in a clock as the driver counts it. Sources: AMD's data sheets, from whose bandwidth, width and clock the
/// factor follows: RX 580 256 GB/s of 256 bits at 2000 MHz, MI100 1228.8 of 4096 at 1200, MI300X 5325 of 8192 at 1300,
/// RX 7900 XTX 960 of 384 at 1250.
fn transfers(target: &str, width_bits: u32) -> Option<f64> {
    const GDDR5: f64 = 4.0;
    const HBM2: f64 = 2.0;
    const HBM3: f64 = 4.0;
    const GDDR6: f64 = 16.0;
    // Some targets came with either; no GDDR bus is that wide.
    let is_stacked = width_bits >= 1024;
    Some(match target {
        "gfx803" if !is_stacked => GDDR5,
        "gfx803" | "gfx900" | "gfx904" | "gfx906" | "gfx908" | "gfx90a" => HBM2,
        "gfx940" | "gfx941" | "gfx942" | "gfx950" => HBM3,
        "gfx1011" if is_stacked => HBM2,
        "gfx1010" | "gfx1012" | "gfx1030" | "gfx1031" | "gfx1032" | "gfx1034" | "gfx1100" | "gfx1101" | "gfx1102"
        | "gfx1200" | "gfx1201" => GDDR6,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_agree_with_the_data_sheets() {
        for (target, width_bits, clock_mhz, expected) in [
            ("gfx803", 256, 2000, 256.0),
            ("gfx803", 4096, 500, 512.0),
            ("gfx906", 4096, 1000, 1024.0),
            ("gfx908", 4096, 1200, 1228.8),
            ("gfx90a", 4096, 1600, 1638.4),
            ("gfx942", 8192, 1300, 5324.8),
            ("gfx1030", 256, 1000, 512.0),
            ("gfx1100", 384, 1250, 960.0),
            ("gfx1201", 256, 1258, 644.096),
        ] {
            let found = bandwidth_gb_s(Some(target), Some(Memory { width_bits, clock_mhz }));
            assert!(found.is_some_and(|gb_s| (gb_s - expected).abs() < 1e-9), "{target}: {found:?}");
        }
    }

    #[test]
    fn an_unknown_kind_or_figure_is_unknown() {
        let memory = Some(Memory { width_bits: 128, clock_mhz: 1000 });
        assert_eq!(bandwidth_gb_s(Some("gfx1150"), memory), None, "shares the processor's memory");
        assert_eq!(bandwidth_gb_s(Some("gfx9999"), memory), None);
        assert_eq!(bandwidth_gb_s(None, memory), None);
        assert_eq!(bandwidth_gb_s(Some("gfx1100"), None), None);
    }
}
