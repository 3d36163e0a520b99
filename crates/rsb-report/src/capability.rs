//! Capabilities of the GPUs of this machine: one row per GPU, and their peak rates.

use rsb_model::{BenchmarkResult, Dtype, Fields, Outcome, Run};

use crate::environment::has_host;
use crate::gpus::ranges;
use crate::label::group_by_key;
use crate::number::format_quantity;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::unmeasured;

/// Formats the capabilities for a terminal.
pub fn text(run: &Run, style: Style) -> String {
    let mut out = String::new();
    let known: Vec<&BenchmarkResult> =
        run.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured).collect();
    if !known.is_empty() {
        out.push_str(&gpus(&known).text(style));
        let peaks = peaks(&known);
        if !peaks.is_empty() {
            let title = "Peaks at the highest recorded clock, in TFLOP/s";
            out.push_str(&format!("\n{}\n", style.paint(Tone::Strong, title)));
            out.push_str(&peaks.text(style));
        }
        for (result, reason) in known.iter().filter_map(|result| Some((result, note(result)?))) {
            out.push_str(&format!("\n{}", style.wrap(&format!("{}: {reason}", name(result)), 0)));
        }
        if has_host(&run.environment) {
            let version = run.environment.rocm.as_deref().unwrap_or("not found");
            out.push_str(&format!("\nROCm {version}\n"));
        }
    }
    out + &unmeasured::text(run, style)
}

/// Returns the GPU's name in the machine's list, such as `gpu:0`: the last part of the id.
fn name(result: &BenchmarkResult) -> &str {
    result.benchmark_id.as_str().rsplit('/').next().unwrap_or_default()
}

fn note(result: &BenchmarkResult) -> Option<&str> {
    result.metadata.get("peaks")?.as_str()
}

fn gpus(results: &[&BenchmarkResult]) -> Table {
    let mut table = Table::new([
        Column::left("GPU"),
        Column::elided("name"),
        Column::left("target"),
        Column::right("compute units"),
        Column::right("clock"),
        Column::left("matrix unit"),
        Column::right("VRAM"),
        Column::right("bandwidth"),
        Column::right("in use").optional(),
    ]);
    for result in results {
        let Some(fields) = result.fields() else { continue };
        let cells = [
            name(result).to_owned(),
            result.environment.gpu_model.clone().unwrap_or_default(),
            fields.text("gfx_target").unwrap_or_default().to_owned(),
            format_whole(fields, "compute_units", ""),
            format_whole(fields, "gpu_max_clock_mhz", " MHz"),
            fields.text("matrix_unit").unwrap_or_default().to_owned(),
            format_field(fields, "gpu_memory_total_mb", "MB"),
            format_field(fields, "peak_bandwidth_gb_s", "GB/s"),
            format_whole(fields, "gpu_utilization_percent", " %"),
        ];
        table.push(cells.map(Cell::from));
    }
    table
}

/// Returns the number in field `name` with three digits, or an empty string.
fn format_field(fields: &Fields, name: &str, unit: &str) -> String {
    fields.number(name).map_or_else(String::new, |value| format_quantity(value, unit))
}

/// Returns the number in field `name` rounded to an integer, or an empty string.
fn format_whole(fields: &Fields, name: &str, unit: &str) -> String {
    fields.number(name).map_or_else(String::new, |value| format!("{value:.0}{unit}"))
}

/// Returns a table with one row per engine for each group of GPUs with the same peaks.
fn peaks(results: &[&BenchmarkResult]) -> Table {
    let names = ["GPUs", "engine"].map(Column::left).into_iter();
    let mut table = Table::new(names.chain(Dtype::ALL.map(|dtype| Column::right(dtype.as_str()))));
    let named = results.iter().map(|result| {
        let peaks = result.results.get(1..).unwrap_or_default();
        (peaks, name(result))
    });
    for (peaks, gpus) in group_by_key(named) {
        for engine in ["matrix", "vector"] {
            let figures = Dtype::ALL.map(|dtype| peak_text(peaks, engine, dtype));
            if figures.iter().any(|figure| !figure.is_empty()) {
                let indices = gpus.iter().filter_map(|gpu| gpu.split(':').nth(1)?.parse().ok());
                let shown = ranges(&indices.collect::<Vec<_>>());
                table.push([shown, engine.to_owned()].into_iter().chain(figures).map(Cell::from));
            }
        }
    }
    table
}

/// Returns the peak of `engine` in `dtype`, or an empty string. All values are in TFLOP/s, so that
/// columns can be compared.
fn peak_text(peaks: &[Fields], engine: &str, dtype: Dtype) -> String {
    let peak = peaks.iter().find(|fields| {
        fields.text("operation") == Some(engine) && fields.text("dtype") == Some(dtype.as_str())
    });
    let tflops = peak.and_then(|fields| fields.number("peak_tflops"));
    tflops.map_or_else(String::new, three_digits)
}

fn three_digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
