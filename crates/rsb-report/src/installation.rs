//! What a machine reaches with the software on it, for a terminal.

use rsb_model::record::PerformanceBaseline;

use crate::number::format_quantity;
use crate::style::Style;
use crate::table::{Cell, Column, Table};

/// A row for each figure; one that is not known says why.
pub fn text(document: &PerformanceBaseline, style: Style) -> String {
    let quantity = |value: Option<f64>, unit: &str| value.map(|value| format_quantity(value, unit));
    let bytes = |value: Option<u64>| value.map(rsb_model::shape::rounded_bytes);
    let mut table = Table::new([Column::left("figure"), Column::left("value")]);
    for (name, field, value) in [
        ("device", "", document.device.clone()),
        ("ROCm", "device_info.version", document.device_info.version.clone()),
        (
            "memory bandwidth",
            "peak_memory_bandwidth_gb_s",
            quantity(document.peak_memory_bandwidth_gb_s, "GB/s"),
        ),
        (
            "rate in f32",
            "peak_compute_tflops_fp32",
            quantity(document.peak_compute_tflops_fp32, "TFLOP/s"),
        ),
        (
            "rate in f16",
            "peak_compute_tflops_fp16",
            quantity(document.peak_compute_tflops_fp16, "TFLOP/s"),
        ),
        ("first cache", "cache_size_l1", bytes(document.cache_size_l1)),
        ("second cache", "cache_size_l2", bytes(document.cache_size_l2)),
        ("own memory", "cache_size_hbm", bytes(document.cache_size_hbm)),
        (
            "highest clock",
            "clock_rate_mhz",
            document.clock_rate_mhz.map(|mhz| format!("{mhz:.0} MHz")),
        ),
        (
            "compute units",
            "num_compute_units",
            document.num_compute_units.map(|units| units.to_string()),
        ),
    ] {
        let is_known = value.is_some();
        table.push([Cell::from(name), Cell::from(value.unwrap_or_else(|| "unknown".to_owned()))]);
        if let Some(why) = document.unknown.get(field).filter(|_| !is_known) {
            table.note(why.clone());
        }
    }
    table.text(style)
}
