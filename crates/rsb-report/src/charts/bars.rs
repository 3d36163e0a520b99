//! The headline value of each case of a benchmark as a horizontal bar, with a mark at the hardware
//! peak.

use rsb_model::{BenchmarkResult, DeviceType, Field, Run};

use super::axis::AxisUnit;
use super::lines::dtype_paint;
use super::{axis, best_words, better_words, left_out, slug};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, benchmark_of, headline, is_better, measured_results};
use crate::number::format_quantity;

const MAX_BARS: usize = 40;
const THICKNESS: f64 = 0.62;

struct Bar<'a> {
    label: &'a str,
    value: f64,
    peak: Option<f64>,
    paint: Paint,
}

/// Results of one chart: one benchmark, one metric, one device type.
struct Group<'a> {
    benchmark: &'a str,
    field: &'static Field,
    device: Option<DeviceType>,
    results: Vec<&'a BenchmarkResult>,
}

/// Returns a chart for each benchmark, metric and device type with at least two cases, or with one
/// case that has a known peak.
pub fn bars(run: &Run) -> Vec<Chart> {
    bars_of(run, None)
}

/// Returns the [`bars`] of `metric`, or of the headline metric of each case if `None`.
pub fn bars_of(run: &Run, metric: Option<&'static Field>) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    let groups = groups(run, metric);
    groups.iter().filter_map(|group| chart(group, &names)).collect()
}

/// Returns `metric` of `result`, or its headline metric if `None`.
fn figure(
    result: &BenchmarkResult,
    metric: Option<&'static Field>,
) -> Option<(&'static Field, f64)> {
    match metric {
        Some(field) => Some((field, result.fields()?.number(field.name)?)),
        None => headline(result),
    }
}

fn groups<'a>(run: &'a Run, metric: Option<&'static Field>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for result in measured_results(run) {
        let Some((field, value)) = figure(result, metric) else { continue };
        let (benchmark, device) = (benchmark_of(result), result.device_type);
        if !value.is_finite() || value < 0.0 {
            continue;
        }
        let known = groups.iter_mut().find(|group| {
            group.benchmark == benchmark && group.field.name == field.name && group.device == device
        });
        match known {
            Some(group) => group.results.push(result),
            None => groups.push(Group { benchmark, field, device, results: vec![result] }),
        }
    }
    groups
}

fn chart(group: &Group<'_>, names: &Shortener) -> Option<Chart> {
    let Group { benchmark, field, device, results } = group;
    let bars: Vec<Bar<'_>> =
        results.iter().take(MAX_BARS).filter_map(|result| bar(result, field, names)).collect();
    let top = bars.iter().map(|bar| bar.value.max(bar.peak.unwrap_or(0.0))).fold(0.0, f64::max);
    let best = bars
        .iter()
        .reduce(|best, bar| if is_better(field, bar.value, best.value) { bar } else { best })?;
    let has_peaks = bars.iter().any(|bar| bar.peak.is_some());
    // Equal bars show nothing that the table does not say in one word.
    let is_flat = bars.iter().all(|bar| text(bar.value, field) == text(best.value, field));
    if top <= 0.0 || (is_flat && !has_peaks) {
        return None;
    }
    let AxisUnit { factor, symbol: unit } = AxisUnit::of(top, field.unit.symbol());
    let mut peaks = Vec::new();
    for (row, bar) in bars.iter().enumerate() {
        if let Some(peak) = bar.peak {
            peaks.push(Point::at(peak * factor, row as f64));
        }
    }
    let mut datasets = datasets_by_dtype(&bars, factor, field.unit.symbol());
    datasets.push(
        Dataset::new(DatasetKind::Ticks, Paint::Bad, peaks)
            .with_name(peak_field(field).map_or("", |peak| peak.about)),
    );
    let kind = device.map_or("", DeviceType::as_str);
    let all = bars.iter().flat_map(|bar| [Some(bar.value), bar.peak]).flatten();
    let x_axis = axis::from_zero(unit, all.map(|value| value * factor), 6);
    Some(Chart {
        name: slug(&format!("bars-{benchmark}-{}-{kind}", field.name)),
        title: format!(
            "{benchmark}: {} {} {} ({})",
            caption(field),
            best_words(field),
            text(best.value, field),
            best.label
        )
        .trim_start_matches(": ")
        .to_owned(),
        subtitle: subtitle(field, *device, results.len().saturating_sub(MAX_BARS))
            + axis::scale_words(&x_axis),
        place: ChartPlace::Benchmark((*benchmark).to_owned()),
        x_axis,
        y_axis: axis::rows(bars.iter().map(|bar| bar.label.to_owned())),
        datasets,
        legend_position: Legend::Below,
    })
}

fn text(value: f64, field: &Field) -> String {
    format_quantity(value, field.unit.symbol())
}

/// Data types that have their own color, and their names in the legend.
const DTYPES: [(Paint, &str); 4] =
    [(Paint::Fp32, "f32"), (Paint::Fp16, "f16"), (Paint::Bf16, "bf16"), (Paint::Tf32, "tf32")];

/// Returns the bars; one dataset per data type if there are several.
fn datasets_by_dtype(bars: &[Bar<'_>], factor: f64, unit: &str) -> Vec<Dataset> {
    let several = bars.iter().any(|bar| Some(bar.paint) != bars.first().map(|first| first.paint));
    if !several {
        return vec![bar_dataset(bars, None, factor, unit)];
    }
    let mut datasets = Vec::new();
    for (paint, name) in DTYPES {
        datasets.push(bar_dataset(bars, Some(paint), factor, unit).with_name(name));
    }
    let others = bar_dataset(bars, Some(Paint::Plain), factor, unit);
    datasets.push(others.with_name("other types"));
    datasets.retain(|set| !set.points.is_empty());
    datasets
}

/// Returns the bars of one paint, or all of them if `None`, with their values in `unit`.
fn bar_dataset(bars: &[Bar<'_>], paint: Option<Paint>, factor: f64, unit: &str) -> Dataset {
    let mut points = Vec::new();
    for (row, bar) in bars.iter().enumerate() {
        if paint.is_none_or(|paint| bar.paint == paint) {
            let text = format_quantity(bar.value, unit);
            points.push(Point::at(bar.value * factor, row as f64).saying(text));
        }
    }
    let kind = DatasetKind::Bars { thickness: THICKNESS };
    Dataset::new(kind, paint.unwrap_or(Paint::Plain), points)
}

fn bar<'a>(
    result: &'a BenchmarkResult,
    field: &'static Field,
    names: &Shortener,
) -> Option<Bar<'a>> {
    let (_, value) = figure(result, Some(field))?;
    let in_unit = if field.name == "tflops" { 1e-3 } else { 1.0 };
    let peak = peak_field(field)
        .and_then(|peak| result.fields()?.number(peak.name))
        .map(|peak| peak * in_unit);
    let label = result.benchmark_id.as_str();
    let short = names.case(&result.benchmark_id);
    let dtype = result.fields().and_then(|fields| fields.text("dtype"));
    let paint = dtype.and_then(dtype_paint).unwrap_or(Paint::Plain);
    let label = if short.is_empty() { label } else { short };
    Some(Bar { label, value, peak: peak.filter(|peak| *peak > 0.0), paint })
}

/// Returns the name of the field for a title. Units are omitted because the axis shows them, and
/// `gflops` becomes "arithmetic rate".
pub(super) fn caption(field: &Field) -> String {
    let words =
        field.name.trim_end_matches("_gb_s").trim_end_matches("_percent").trim_end_matches("_ns");
    match words {
        "gflops" | "tflops" => "arithmetic rate".to_owned(),
        words => words.trim_end_matches("_us").trim_end_matches("_ms").replace('_', " "),
    }
}

fn subtitle(field: &Field, device: Option<DeviceType>, more: usize) -> String {
    let kind = device.map_or_else(String::new, |kind| format!("device: {kind}"));
    let rest = left_out(more, "case is", "cases are", "in the table only");
    format!("{kind}{}{rest}", better_words(field)).trim_start_matches("; ").to_owned()
}

/// Returns the field that contains the hardware limit of `field`.
fn peak_field(field: &Field) -> Option<&'static Field> {
    match field.name {
        "gflops" | "tflops" => Field::find("peak_gflops"),
        "bandwidth_gb_s" => Field::find("peak_bandwidth_gb_s"),
        _ => None,
    }
}
