//! A metric by two parameters as a heat map.

use std::cmp::Ordering;

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Field, Run};

use super::memory::{Words, heat_map_datasets};
use super::{axis, better_words, range, slug};
use crate::chart::{Axis, Chart, ChartPlace, Legend};
use crate::label::{benchmarks, headline, is_better, results_of};
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
        values.sort_by(|a, b| magnitudes(a).partial_cmp(&magnitudes(b)).unwrap_or(Ordering::Equal));
    }
    values
}

/// Returns the numbers that order `value`: 65536 for `64KiB`, 32 and 768 for `32x768`, 0.5 for
/// `0.5`. `None` for words such as `copy`.
fn magnitudes(value: &str) -> Option<Vec<f64>> {
    let parts = value.split(['x', ',']).map(|text| text.trim_matches(['[', ']', ' ']));
    parts
        .map(|part| {
            let number = part.parse().ok().filter(|number: &f64| number.is_finite());
            number.or_else(|| Some(rsb_model::shape::parse_bytes(part).ok()? as f64))
        })
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
    let (low, high) = range(cells.iter().map(|(.., value)| *value))?;
    let [low, high] = [low, high].map(|value| format_quantity(value, field.unit.symbol()));
    Some(Chart {
        name: slug(&format!("heat-map-{benchmark}-{}", field.name)),
        title: format!(
            "{benchmark}: {caption} from {low} to {high} by {} and {}",
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
