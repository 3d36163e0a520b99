//! Charts of cells: a metric by two parameters as a heat map, and the result of each benchmark on
//! each device.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Field, Outcome, Run};

use super::memory::{Words, heat_map_datasets};
use super::{axis, better_words, slug};
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{benchmark_of, benchmarks, device_of, headline, is_better, results_of};
use crate::number::format_quantity;

const MAX_ROWS_AND_COLUMNS: usize = 24;

/// Parameters for rows and columns, in order of preference.
const AXES: [&str; 13] = [
    "operation",
    "model",
    "dtype",
    "size_bytes",
    "m",
    "input_shape",
    "batch_size",
    "sequence_length",
    "threads",
    "provider",
    "block_size",
    "stores",
    "cache",
];

/// Returns a heat map for each benchmark, by the two parameters with the most distinct values.
pub fn heat_maps(run: &Run, metric: Option<&'static Field>) -> Vec<Chart> {
    benchmarks(run).into_iter().filter_map(|benchmark| heat_map(run, benchmark, metric)).collect()
}

fn value(result: &BenchmarkResult, key: &str) -> Option<String> {
    let fields = result.fields()?;
    match key {
        "size_bytes" => fields.number(key).map(|size| rsb_model::shape::format_bytes(size as u64)),
        // A single size describes the shape of square products only.
        "m" if ["n", "k"].iter().any(|name| fields.number(name) != fields.number("m")) => None,
        _ => fields
            .get(key)
            .map(|json| json.as_str().map_or_else(|| json.to_string(), str::to_owned)),
    }
}

/// Returns the distinct values of a parameter. Numbers, sizes and shapes are in ascending order,
/// other values in the order of the run.
fn distinct(results: &[&BenchmarkResult], key: &str) -> Vec<String> {
    let mut values: Vec<String> =
        results.iter().filter_map(|result| value(result, key)).unique().collect();
    if values.iter().all(|value| magnitudes(value).is_some()) {
        values.sort_by_key(|value| magnitudes(value));
    }
    values
}

/// Returns the numbers that order `value`: 65536 for `64KiB`, 32 and 768 for `32x768`. `None` for
/// words such as `copy`.
fn magnitudes(value: &str) -> Option<Vec<u64>> {
    let parts = value.split(['x', ',']).map(|text| text.trim_matches(['[', ']', ' ']));
    parts
        .map(|part| if part == "0" { Some(0) } else { rsb_model::shape::parse_bytes(part).ok() })
        .collect()
}

fn position(result: &BenchmarkResult, key: &str, values: &[String]) -> Option<usize> {
    let own = value(result, key)?;
    values.iter().position(|known| *known == own)
}

fn heat_map(run: &Run, benchmark: &str, metric: Option<&'static Field>) -> Option<Chart> {
    let own: Vec<&BenchmarkResult> = results_of(run, benchmark).collect();
    let field = metric
        .or_else(|| own.iter().find_map(|result| headline(result)).map(|(field, _)| field))?;
    let mut axes: Vec<(&str, Vec<String>)> = AXES
        .into_iter()
        .map(|key| (key, distinct(&own, key)))
        .filter(|(_, values)| values.len() > 1)
        .collect();
    axes.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let [(x, columns), (y, rows), ..] = axes.as_slice() else { return None };
    let (columns, rows) = (
        &columns[..columns.len().min(MAX_ROWS_AND_COLUMNS)],
        &rows[..rows.len().min(MAX_ROWS_AND_COLUMNS)],
    );
    // If several cases share a cell, it shows the best, as noted in the subtitle.
    let mut cells: Vec<(usize, usize, f64)> = Vec::new();
    let mut several = false;
    for result in &own {
        let figure = result
            .fields()
            .and_then(|fields| fields.number(field.name))
            .filter(|value| value.is_finite());
        let Some(figure) = figure else { continue };
        let Some(column) = position(result, x, columns) else { continue };
        let Some(row) = position(result, y, rows) else { continue };
        match cells.iter_mut().find(|(a, b, _)| (*a, *b) == (column, row)) {
            Some(cell) => {
                several = true;
                if is_better(field, figure, cell.2) {
                    cell.2 = figure;
                }
            }
            None => cells.push((column, row, figure)),
        }
    }
    if cells.len() < 4 {
        return None;
    }
    let which = if several { "the best case of each cell" } else { "each cell is one case" };
    let caption = super::bars::caption(field);
    Some(Chart {
        name: slug(&format!("heat-map-{benchmark}-{}", field.name)),
        title: format!(
            "{benchmark}: {caption} by {} and {}",
            parameter_label(y),
            parameter_label(x)
        ),
        subtitle: format!("{which}{}", better_words(field)),
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis: Axis { title: parameter_label(x), ..axis::rows(columns.iter().cloned()) },
        y_axis: axis::rows(rows.iter().cloned()),
        datasets: heat_map_datasets(&cells, field.unit.symbol(), Words::Shown),
        legend_position: Legend::Below,
    })
}

fn parameter_label(key: &str) -> String {
    match key {
        "size_bytes" | "m" => "size".to_owned(),
        key => key.replace('_', " "),
    }
}

/// Returns a chart of each benchmark on each device: its best value, or whether it was simulated,
/// skipped or failed.
pub fn matrix(run: &Run) -> Option<Chart> {
    let (rows, devices) = (benchmarks(run), devices(run));
    if rows.is_empty() || devices.is_empty() {
        return None;
    }
    let mut datasets = [Paint::Good, Paint::Faded, Paint::Warning, Paint::Error]
        .map(|paint| Dataset::new(DatasetKind::Cells, paint, Vec::new()));
    for (row, benchmark) in rows.iter().take(MAX_ROWS_AND_COLUMNS).enumerate() {
        for (column, device) in devices.iter().take(MAX_ROWS_AND_COLUMNS).enumerate() {
            let own: Vec<&BenchmarkResult> = run
                .benchmarks
                .iter()
                .filter(|result| benchmark_of(result) == *benchmark)
                .filter(|result| device_name(result) == *device)
                .collect();
            let Some((index, words)) = field(&own) else { continue };
            if let Some(dataset) = datasets.get_mut(index) {
                dataset.points.push(Point::at(column as f64, row as f64).saying(words));
            }
        }
    }
    Some(Chart {
        name: "matrix".to_owned(),
        title: "Benchmarks by device".to_owned(),
        subtitle: "the best value of each, or why there is none".to_owned(),
        place: ChartPlace::Other,
        x_axis: axis::rows(devices.iter().take(MAX_ROWS_AND_COLUMNS).cloned()),
        y_axis: axis::rows(rows.iter().take(MAX_ROWS_AND_COLUMNS).map(|name| (*name).to_owned())),
        datasets: datasets.into_iter().filter(|dataset| !dataset.points.is_empty()).collect(),
        legend_position: Legend::Hidden,
    })
}

fn device_name(result: &BenchmarkResult) -> String {
    device_of(&result.benchmark_id).map_or_else(|| "any".to_owned(), |device| device.to_string())
}

fn devices(run: &Run) -> Vec<String> {
    run.benchmarks.iter().map(device_name).unique().collect()
}

/// Returns the index of the dataset for a cell, and the cell's text. Any failure determines the
/// dataset, so that a value does not hide it.
fn field(own: &[&BenchmarkResult]) -> Option<(usize, String)> {
    let failed = count_outcome(own, Outcome::Failed);
    let best = own
        .iter()
        .filter(|result| result.outcome == Outcome::Measured)
        .filter_map(|result| headline(result))
        .reduce(|best, other| {
            let wins = best.0.name == other.0.name && is_better(best.0, other.1, best.1);
            if wins { other } else { best }
        });
    let figure = best.map(|(field, value)| format_quantity(value, field.unit.symbol()));
    match (failed, figure) {
        (1.., Some(figure)) => Some((3, format!("{figure}, {failed} failed"))),
        (1.., None) => Some((3, format!("{failed} failed"))),
        (0, Some(figure)) => Some((0, figure)),
        _ if count_outcome(own, Outcome::Measured) > 0 => Some((0, "measured".to_owned())),
        _ if count_outcome(own, Outcome::Simulated) > 0 => Some((1, "simulated".to_owned())),
        _ if count_outcome(own, Outcome::Skipped) > 0 => Some((2, "skipped".to_owned())),
        _ => None,
    }
}

fn count_outcome(results: &[&BenchmarkResult], outcome: Outcome) -> usize {
    results.iter().filter(|result| result.outcome == outcome).count()
}
