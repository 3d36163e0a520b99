//! Memory of a GPU: its kind and its peak bandwidth. Bandwidth = width / 8 × clock × transfers per
//! clock.

use super::pci::PciId;

/// Memory parameters from the kernel driver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    pub(crate) width_bits: u32,
    pub(crate) clock_mhz: f64,
}

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemoryKind {
    pub(crate) name: &'static str,
    /// Transfers per clock, for clocks as reported by the driver. Derived from bandwidth, width and
    /// clock in AMD's data sheets:
    ///
    /// - RX 580: 256 GB/s, 256 bits, 2000 MHz
    /// - MI100: 1228.8 GB/s, 4096 bits, 1200 MHz
    /// - MI300X: 5325 GB/s, 8192 bits, 1300 MHz
    /// - RX 7900 XTX: 960 GB/s, 384 bits, 1250 MHz
    transfers: f64,
}

const GDDR5: MemoryKind = MemoryKind { name: "GDDR5", transfers: 4.0 };
const GDDR6: MemoryKind = MemoryKind { name: "GDDR6", transfers: 16.0 };
const HBM: MemoryKind = MemoryKind { name: "HBM", transfers: 2.0 };
const HBM2: MemoryKind = MemoryKind { name: "HBM2", transfers: 2.0 };
const HBM2E: MemoryKind = MemoryKind { name: "HBM2e", transfers: 2.0 };
const HBM3: MemoryKind = MemoryKind { name: "HBM3", transfers: 4.0 };
const HBM3E: MemoryKind = MemoryKind { name: "HBM3E", transfers: 4.0 };

/// PCI device ID of the MI325X, which has the chip of the MI300X.
const MI325X: u32 = 0x74a5;

/// Returns the kind of memory of a chip; `None` for chips that share the CPU's memory, which may be
/// of any kind.
pub(crate) fn kind(target: &str, id: Option<PciId>, width_bits: Option<u32>) -> Option<MemoryKind> {
    // Some targets exist with both kinds of memory; no GDDR bus is this wide.
    let is_stacked = width_bits.is_some_and(|bits| bits >= 1024);
    Some(match target {
        "gfx803" if is_stacked => HBM,
        "gfx803" => GDDR5,
        "gfx900" | "gfx904" | "gfx906" | "gfx908" => HBM2,
        "gfx90a" => HBM2E,
        "gfx942" if id.is_some_and(|id| id.device == MI325X) => HBM3E,
        "gfx940" | "gfx941" | "gfx942" => HBM3,
        "gfx950" => HBM3E,
        "gfx1011" if is_stacked => HBM2,
        "gfx1010" | "gfx1012" | "gfx1030" | "gfx1031" | "gfx1032" | "gfx1034" | "gfx1100"
        | "gfx1101" | "gfx1102" | "gfx1200" | "gfx1201" => GDDR6,
        _ => return None,
    })
}

/// Returns the bandwidth of memory of that kind in GB/s.
pub(crate) fn bandwidth_gb_s(kind: MemoryKind, width_bits: u32, clock_mhz: f64) -> f64 {
    f64::from(width_bits) / 8.0 * clock_mhz * kind.transfers / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_agree_with_the_data_sheets() {
        for (target, width_bits, clock_mhz, name, expected) in [
            ("gfx803", 256, 2000.0, "GDDR5", 256.0),
            ("gfx803", 4096, 500.0, "HBM", 512.0),
            ("gfx906", 4096, 1000.0, "HBM2", 1024.0),
            ("gfx908", 4096, 1200.0, "HBM2", 1228.8),
            ("gfx90a", 4096, 1600.0, "HBM2e", 1638.4),
            ("gfx942", 8192, 1300.0, "HBM3", 5324.8),
            ("gfx950", 8192, 2000.0, "HBM3E", 8192.0),
            ("gfx1030", 256, 1000.0, "GDDR6", 512.0),
            ("gfx1100", 384, 1250.0, "GDDR6", 960.0),
            ("gfx1201", 256, 1258.0, "GDDR6", 644.096),
        ] {
            let kind = kind(target, None, Some(width_bits)).unwrap();
            let found = bandwidth_gb_s(kind, width_bits, clock_mhz);
            assert!(
                (found - expected).abs() < 1e-9 && kind.name == name,
                "{target}: {found} {}",
                kind.name
            );
        }
    }

    #[test]
    fn a_gpu_may_have_newer_memory_than_its_chip() {
        // 8192 bits at 1500 MHz: 6144 GB/s, AMD's 6 TB/s.
        for (device, name) in [(MI325X, "HBM3E"), (0x74a1, "HBM3")] {
            let found = kind("gfx942", Some(PciId { vendor: 0x1002, device }), None);
            assert_eq!(found.map(|kind| kind.name), Some(name));
        }
    }

    #[test]
    fn an_unknown_kind_is_unknown() {
        assert_eq!(
            kind("gfx1150", None, Some(128)),
            None,
            "the GPU shares the CPU's memory, whose type is unknown"
        );
        assert_eq!(kind("gfx9999", None, None), None);
    }
}
