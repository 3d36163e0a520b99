//! Expected ranges of cards, each with its source. A card that is not in the table has no ranges.

use std::fmt::Write as _;

use rsb_device::DeviceInfo;
use rsb_model::Unit;
use rsb_model::record::ExpectedRange;

/// Source of a range without a measurement to support it.
pub const AUTHOR: &str = "author's estimate, unmeasured";

/// A card with known ranges.
#[derive(Debug)]
pub struct Card {
    /// Common name.
    pub name: &'static str,
    /// Architecture.
    pub arch: &'static str,
    /// Number of compute units or multiprocessors, because several cards share an architecture.
    pub units: u32,
    /// Part of the marketing name, because several cards share the number of units.
    pub named: &'static str,
    /// Expected ranges.
    pub ranges: &'static [RangeRow],
}

/// The expected range of one quantity.
#[derive(Debug)]
pub struct RangeRow {
    /// Measured quantity: the first word names the check, the others its case.
    pub quantity: &'static str,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Unit of both bounds.
    pub unit: Unit,
    /// Source of both bounds.
    pub source: &'static str,
}

const fn row(quantity: &'static str, low: f64, high: f64, unit: Unit) -> RangeRow {
    RangeRow { quantity, low, high, unit, source: AUTHOR }
}

impl RangeRow {
    const fn from(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }
}

use Unit::{GigabytesPerSecond as Rate, Microseconds as Us, Nanoseconds as Ns, Teraflops as Tf};

const BY_AMD: &str = "around 708 TFLOP/s of AMD's Measuring Max-Achievable FLOPs, part 2, and 581 \
                      of ROCm Validation Suite";
const BY_ROOFLINE: &str =
    "around the empirical roofline of an MI210 by rocprofiler-compute (170.5 TFLOP/s in bf16)";
const BY_ROOFLINE_OF_MEMORY: &str =
    "around the empirical roofline of an MI210 by rocprofiler-compute (1389 GB/s)";

/// Every card, by vendor.
pub const CARDS: &[Card] = &[
    Card {
        name: "AMD Instinct MI300X",
        arch: "gfx942",
        units: 304,
        named: "MI300X",
        ranges: &[
            row("launch single", 5.0, 20.0, Us),
            row("launch back-to-back", 2.0, 8.0, Us),
            row("launch graph", 1.0, 6.0, Us),
            row("bandwidth copy", 3900.0, 4500.0, Rate),
            row("latency 16KiB", 50.0, 90.0, Ns),
            row("latency 2MiB", 110.0, 220.0, Ns),
            row("latency 64MiB", 200.0, 320.0, Ns),
            row("latency 2GiB", 330.0, 850.0, Ns),
            row("compute f32", 130.0, 163.0, Tf),
            row("compute f64", 65.0, 82.0, Tf),
            row("matrix f16", 900.0, 1250.0, Tf),
            row("matrix bf16", 900.0, 1250.0, Tf),
            row("matrix fp8", 1700.0, 2500.0, Tf),
            row("matrix f64", 115.0, 160.0, Tf),
            row("gemm bf16", 500.0, 720.0, Tf).from(BY_AMD),
            row("gemm fp8", 900.0, 1350.0, Tf)
                .from("around 1273 TFLOP/s of AMD's Measuring Max-Achievable FLOPs, part 2"),
            row("all-reduce 8 x 8MiB", 145.0, 175.0, Rate)
                .from("around 161 GB/s by rccl-tests on eight MI300X"),
            row("all-reduce 8 x 1GiB", 280.0, 350.0, Rate),
        ],
    },
    Card {
        name: "AMD Instinct MI210",
        arch: "gfx90a",
        units: 104,
        named: "MI210",
        ranges: &[
            row("launch single", 5.0, 20.0, Us),
            row("launch back-to-back", 2.0, 8.0, Us),
            row("launch graph", 1.0, 6.0, Us),
            row("bandwidth copy", 1250.0, 1450.0, Rate).from(BY_ROOFLINE_OF_MEMORY),
            row("compute f32", 36.0, 45.0, Tf),
            row("compute f64", 20.0, 22.6, Tf),
            row("matrix f16", 160.0, 178.0, Tf).from(BY_ROOFLINE),
            row("matrix bf16", 160.0, 178.0, Tf).from(BY_ROOFLINE),
            row("gemm bf16", 110.0, 150.0, Tf),
        ],
    },
    Card {
        name: "AMD Radeon RX 7900 XTX",
        arch: "gfx1100",
        units: 96,
        named: "7900 XTX",
        ranges: &[
            row("launch single", 5.0, 20.0, Us),
            row("launch back-to-back", 2.0, 8.0, Us),
            row("launch graph", 1.0, 6.0, Us),
            row("bandwidth copy", 780.0, 920.0, Rate),
            row("compute f32", 45.0, 66.0, Tf),
            row("compute f64", 1.6, 2.2, Tf),
            row("matrix f16", 95.0, 130.0, Tf),
            row("matrix bf16", 95.0, 130.0, Tf),
            row("gemm bf16", 70.0, 110.0, Tf),
        ],
    },
    Card {
        name: "NVIDIA H100 SXM",
        arch: "sm_90",
        units: 132,
        named: "H100",
        ranges: &[
            row("launch single", 2.0, 8.0, Us),
            row("launch back-to-back", 1.5, 4.0, Us),
            row("launch graph", 0.6, 2.0, Us),
            row("bandwidth copy", 2900.0, 3150.0, Rate),
            row("bandwidth read", 2900.0, 3150.0, Rate),
            row("bandwidth triad", 2900.0, 3150.0, Rate),
            row("latency 16KiB", 17.0, 30.0, Ns),
            row("latency 8MiB", 120.0, 220.0, Ns),
            row("latency 1GiB", 350.0, 800.0, Ns),
            row("compute f32", 55.0, 67.0, Tf),
            row("compute f64", 27.0, 34.0, Tf),
            row("compute f16", 105.0, 134.0, Tf),
            row("matrix f16", 650.0, 960.0, Tf),
            row("matrix bf16", 650.0, 960.0, Tf),
            row("matrix fp8", 1300.0, 1900.0, Tf),
            row("matrix tf32", 330.0, 480.0, Tf),
            row("matrix f64", 50.0, 67.0, Tf),
            row("matrix i8", 1300.0, 1900.0, Tf),
            row("gemm bf16", 600.0, 800.0, Tf).from(
                "up to 780 TFLOP/s by torch.matmul at the best of many shapes \
                       (docs/methods/gemm.md)",
            ),
            row("gemm fp8", 1000.0, 1500.0, Tf),
            row("all-reduce 8 x 1GiB", 400.0, 480.0, Rate),
        ],
    },
    Card {
        name: "NVIDIA GeForce RTX 4090",
        arch: "sm_89",
        units: 128,
        named: "4090",
        ranges: &[
            row("launch single", 2.0, 8.0, Us),
            row("launch back-to-back", 1.5, 4.0, Us),
            row("launch graph", 0.6, 2.0, Us),
            row("bandwidth copy", 900.0, 960.0, Rate),
            row("bandwidth read", 900.0, 960.0, Rate),
            row("bandwidth triad", 900.0, 960.0, Rate),
            row("compute f32", 70.0, 88.0, Tf),
            row("compute f64", 1.1, 1.4, Tf),
            row("compute f16", 70.0, 88.0, Tf),
            row("matrix f16", 150.0, 185.0, Tf),
            row("matrix i8", 560.0, 720.0, Tf),
            row("gemm bf16", 140.0, 175.0, Tf),
        ],
    },
];

/// Returns the architecture of `device` without the features that HIP adds to it: `gfx942` of
/// `gfx942:sramecc+:xnack-`.
pub(super) fn arch(device: &DeviceInfo) -> Option<&str> {
    device.arch.as_deref()?.split(':').next()
}

/// Returns the table entry of `device`, if there is one.
pub fn card(device: &DeviceInfo) -> Option<&'static Card> {
    CARDS.iter().find(|card| {
        let is_of_arch = arch(device) == Some(card.arch) && device.units == card.units;
        is_of_arch && device.name.contains(card.named)
    })
}

/// Returns the range expected for `quantity` on `device`, if there is one.
pub(super) fn range(device: &DeviceInfo, quantity: &str) -> Option<ExpectedRange> {
    let row = card(device)?.ranges.iter().find(|row| row.quantity == quantity)?;
    Some(ExpectedRange { low: Some(row.low), high: Some(row.high), source: row.source.to_owned() })
}

/// Returns the ranges as Markdown: a heading and a list for each card.
pub fn markdown() -> String {
    let mut out = String::new();
    for card in CARDS {
        // Writing to a string cannot fail.
        let _ = write!(out, "### {}\n\n`{}`, {} units.\n\n", card.name, card.arch, card.units);
        for row in card.ranges {
            let RangeRow { quantity, low, high, unit, source } = row;
            let _ = write!(out, "- {quantity}: {low} to {high} {unit}");
            // The page says once that ranges without a source are the author's.
            if *source != AUTHOR {
                let _ = write!(out, "; {source}");
            }
            out.push('\n');
        }
        out.push('\n');
    }
    out
}
