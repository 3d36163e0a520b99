//! Shares of a limit: roofline, resident waves, link bandwidth, GPU memory.

use std::collections::BTreeMap;

use rsb_model::{Field, Run, Unit};

use super::{axis, slug};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, benchmarks, device_of, measured_results, results_of};
use crate::number::format_quantity;

const MAX_GAUGES: usize = 24;
const THICKNESS: f64 = 0.6;
/// Metrics in percent that have a maximum, in order of preference.
const SHARES: [&str; 6] = [
    "roofline_percent",
    "utilization_percent",
    "occupancy_percent",
    "link_percent",
    "cache_hit_percent",
    "gpu_utilization_percent",
];

/// Returns a chart for each benchmark that reports a share of a limit. Draws `metric`; if `None`,
/// draws a chart of the memory of GPUs, then the first of [`SHARES`] that each benchmark has.
pub fn gauges(run: &Run, metric: Option<&'static Field>) -> Vec<Chart> {
    let mut charts = Vec::new();
    if metric.is_none() {
        charts.extend(gpu_memory(run));
    }
    charts.extend(shares(run, metric));
    charts
}

/// Returns the [`gauges`] of the benchmarks, without those of the GPUs.
pub(super) fn shares(run: &Run, metric: Option<&'static Field>) -> Vec<Chart> {
    let mut charts = Vec::new();
    let share = metric.filter(|field| field.unit == Unit::Percent);
    for benchmark in benchmarks(run) {
        let field = if metric.is_some() { share } else { first_share(run, benchmark) };
        charts.extend(field.and_then(|field| of_benchmark(run, benchmark, field)));
    }
    charts
}

/// Returns the first of [`SHARES`] that a case of `benchmark` has.
fn first_share(run: &Run, benchmark: &str) -> Option<&'static Field> {
    SHARES.into_iter().filter_map(Field::find).find(|field| {
        results_of(run, benchmark)
            .any(|result| result.fields().is_some_and(|own| own.number(field.name).is_some()))
    })
}

fn of_benchmark(run: &Run, benchmark: &str, field: &'static Field) -> Option<Chart> {
    let names = Shortener::of_run(run);
    let values = results_of(run, benchmark).filter_map(|result| {
        let value = result
            .fields()?
            .number(field.name)
            .filter(|value| value.is_finite() && *value >= 0.0)?;
        Some((names.case(&result.benchmark_id).to_owned(), value))
    });
    let rows: Vec<(String, f64, String)> = values
        .take(MAX_GAUGES)
        .map(|(name, value)| (name, value, format_quantity(value, "%")))
        .collect();
    chart(
        &format!("gauge-{benchmark}-{}", field.name),
        &format!("{benchmark}: {}", field.name.trim_end_matches("_percent").replace('_', " ")),
        field.about,
        ChartPlace::Benchmark(benchmark.to_owned()),
        &rows,
    )
}

/// Returns a chart of the peak memory use of each GPU while it was measured.
pub(super) fn gpu_memory(run: &Run) -> Option<Chart> {
    let names = Shortener::of_run(run);
    let mut most: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for result in measured_results(run) {
        let Some(fields) = result.fields() else { continue };
        let Some(used) = fields.number("gpu_memory_used_mb") else { continue };
        let Some(total) = fields.number("gpu_memory_total_mb") else { continue };
        if total > 0.0 {
            // `gpu-capability` identifies GPUs without a backend, as `gpu:0`.
            let id = &result.benchmark_id;
            let name = device_of(id)
                .map_or_else(|| names.case(id).to_owned(), |device| device.to_string());
            let entry = most.entry(name).or_insert((used, total));
            *entry = (entry.0.max(used), total);
        }
    }
    let mut rows = Vec::new();
    for (device, (used, total)) in most {
        let words = format!("{} of {}", format_quantity(used, "MB"), format_quantity(total, "MB"));
        rows.push((device, 100.0 * used / total, words));
    }
    chart(
        "gauge-gpu-memory",
        "GPU memory in use",
        "maximum while measured",
        ChartPlace::Other,
        &rows,
    )
}

/// Returns gauges from 0 to 100 %; a higher value is drawn with an arrow.
fn chart(
    name: &str,
    title: &str,
    subtitle: &str,
    place: ChartPlace,
    rows: &[(String, f64, String)],
) -> Option<Chart> {
    let (most, highest, _) = rows.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (mut tracks, mut bars) = (Vec::new(), Vec::new());
    for (row, (_, value, text)) in rows.iter().enumerate() {
        tracks.push(Point::at(100.0, row as f64));
        bars.push(Point::at(*value, row as f64).saying(text));
    }
    Some(Chart {
        name: slug(name),
        title: format!("{title} up to {} ({most})", format_quantity(*highest, "%")),
        subtitle: subtitle.to_owned(),
        place,
        x_axis: axis::exact("%", 0.0, 100.0, 5),
        y_axis: axis::rows(rows.iter().map(|(label, ..)| label.clone())),
        datasets: vec![
            Dataset::new(DatasetKind::Tracks { thickness: THICKNESS }, Paint::Faded, tracks),
            Dataset::new(DatasetKind::Bars { thickness: THICKNESS }, Paint::Plain, bars),
        ],
        legend_position: Legend::Hidden,
    })
}
