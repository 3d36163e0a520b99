//! Peak performance of a machine with its installed software, for a terminal.

use rsb_model::fingerprint::Difference;
use rsb_model::record::PerformanceBaseline;
use rsb_model::shape::rounded_bytes;

use crate::number::format_quantity;
use crate::style::Style;
use crate::table::{Cell, Column, Table};

/// Formats one row per value; for an unknown value, with the reason.
pub fn text(document: &PerformanceBaseline, style: Style) -> String {
    let mut table = Table::new([Column::left("property"), Column::left("value")]);
    for (name, field, value) in [
        ("device", "", document.device.clone()),
        ("ROCm", "device_info.version", document.device_info.version.clone()),
        (
            "memory bandwidth",
            "peak_memory_bandwidth_gb_s",
            document.peak_memory_bandwidth_gb_s.map(|rate| format_quantity(rate, "GB/s")),
        ),
        (
            "rate in f32",
            "peak_compute_tflops_fp32",
            document.peak_compute_tflops_fp32.map(|rate| format_quantity(rate, "TFLOP/s")),
        ),
        (
            "rate in f16",
            "peak_compute_tflops_fp16",
            document.peak_compute_tflops_fp16.map(|rate| format_quantity(rate, "TFLOP/s")),
        ),
        ("first cache", "cache_size_l1", document.cache_size_l1.map(rounded_bytes)),
        ("second cache", "cache_size_l2", document.cache_size_l2.map(rounded_bytes)),
        ("own memory", "cache_size_hbm", document.cache_size_hbm.map(rounded_bytes)),
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

/// Formats the software that changed since the previously saved run, one line per part; empty if
/// nothing changed.
pub fn software_changes(document: &PerformanceBaseline, style: Style) -> String {
    let Some(comparison) = &document.comparison else { return String::new() };
    if document.software_changes.is_empty() {
        return String::new();
    }
    let since = &comparison.baseline_run_id;
    let mut out = style.wrap(&format!("Software that changed since run {since}:"), 0);
    for Difference { field, baseline, current } in &document.software_changes {
        out.push_str(&style.wrap(&format!("{field}: {baseline} → {current}"), 2));
    }
    out
}
