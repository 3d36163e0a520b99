//! Charts of results; [`CHART_KINDS`] lists them all. Each function is pure: it turns a run, a
//! comparison or a series into the view model of [`crate::chart`] and draws nothing.

mod axis;
mod backends;
mod bars;
mod changes;
mod comparison;
mod distribution;
mod gauges;
mod kinds;
mod lines;
mod machines;
mod matrix;
mod memory;
mod models;
mod roofline;
mod selection;
mod sensors;
mod series;
mod simulated;
mod sparklines;
mod speedup;
mod stacked;
#[cfg(test)]
mod tests;
mod trend;

pub use backends::backends;
pub use bars::bars;
pub use changes::{before_after, delta};
pub use comparison::comparison;
pub use distribution::distribution;
pub use kinds::{CHART_KINDS, ChartKind, ChartOptions, ChartSource, ChartSubject};
pub use lines::{AXES as LINE_AXES, LINE_KEYS, throughput_by_size};
pub use machines::machines;
pub use selection::ChartSelection;
pub use series::{TimeSeries, geometric_mean, over_time};
pub use trend::{trend_chart, trend_window};

use std::collections::HashMap;

use itertools::Itertools as _;
use rsb_model::shown::short_hash;
use rsb_model::{BenchmarkResult, Better, Field, Run};

use crate::chart::{Chart, ChartPlace};
use crate::label::{measured_results, spread_percent};
use crate::number::format_count;
use crate::report::Report;
use crate::report::content::machine_name;

/// Number of cases whose distribution is drawn: those with the widest spread.
const NOISIEST: usize = 3;

/// Returns all charts for `report`. The charts that a report shows come first.
pub fn all(report: &Report<'_>) -> Vec<Chart> {
    ChartSelection::of(report).into_all()
}

/// Returns the lowest and highest of `values`, ignoring NaN.
fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let numbers = values.into_iter().filter(|value| !value.is_nan());
    numbers.minmax_by(f64::total_cmp).into_option()
}

/// Returns a note on omitted items, such as `; 3 cases are not drawn`. Empty if `count` is 0.
fn left_out(count: usize, one: &str, many: &str, how: &str) -> String {
    if count == 0 { String::new() } else { format!("; {} {how}", format_count(count, one, many)) }
}

/// Returns `; higher is better` or `; lower is better`, or an empty string if the direction is
/// unknown.
fn better_words(field: &Field) -> &'static str {
    match field.better() {
        Some(Better::Higher) => "; higher is better",
        Some(Better::Lower) => "; lower is better",
        None => "",
    }
}

/// Returns the machine, the commit and the date of a run, which the subtitles of its charts begin
/// with.
fn source(run: &Run) -> String {
    let commit = run.environment.git.as_ref().map(|git| git.commit.chars().take(7).collect());
    let day = run.started.strftime("%Y-%m-%d").to_string();
    [Some(machine_name(run)), commit, Some(day)].into_iter().flatten().join(" · ")
}

/// Writes the source of `run` into the subtitle of each of `charts`.
fn add_source(charts: &mut [Chart], run: &Run) {
    let source = source(run);
    for chart in charts {
        let rest = std::mem::take(&mut chart.subtitle);
        let rest = if rest.is_empty() { rest } else { format!("; {rest}") };
        chart.subtitle = format!("{source}{rest}");
    }
}

/// Returns `up to` or `from`, for a title with the best value of `field`.
fn best_words(field: &Field) -> &'static str {
    if field.better() == Some(Better::Lower) { "from" } else { "up to" }
}

/// Returns the charts of the values of each benchmark, the most informative kind first.
fn value_charts(run: &Run) -> Vec<Chart> {
    let by_size = throughput_by_size(run);
    let sized: Vec<ChartPlace> = by_size.iter().map(|chart| chart.place.clone()).collect();
    // A chart by size already shows these cases, so bars would repeat their values.
    let bars = bars(run).into_iter().filter(|chart| !sized.contains(&chart.place)).collect();
    let kinds = [
        by_size,
        models::models(run),
        lines::error_bars(run),
        speedup::speedups(run),
        bars,
        matrix::heat_maps(run, None),
    ];
    kinds.into_iter().flatten().collect()
}

/// Returns the charts that compare each benchmark's values with something else (parts of the value,
/// a reference, more resources, a limit, other values), the most informative kind first.
fn meaning_charts(run: &Run) -> Vec<Chart> {
    let kinds = [
        stacked::parts(run),
        speedup::scaling(run),
        gauges::shares(run, None),
        noisy_distributions(run),
    ];
    kinds.into_iter().flatten().collect()
}

/// Returns the charts that cover the whole run, without those of its backends.
fn run_charts(run: &Run) -> Vec<Chart> {
    let kinds = [
        roofline::roofline(run),
        memory::memory_timelines(run),
        gauges::gpu_memory(run).into_iter().collect(),
        sensors::sensors(run),
        memory::memory_heat_map(run).into_iter().collect(),
    ];
    kinds.into_iter().flatten().collect()
}

/// Returns the distributions of the cases with the widest spread.
fn noisy_distributions(run: &Run) -> Vec<Chart> {
    let results = noisiest(measured_results(run));
    results.into_iter().filter_map(distribution).take(NOISIEST).collect()
}

/// Returns the results that have a spread, widest first.
fn noisiest<'a>(results: impl Iterator<Item = &'a BenchmarkResult>) -> Vec<&'a BenchmarkResult> {
    let mut noisiest: Vec<_> =
        results.filter_map(|result| Some((spread_percent(result)?, result))).collect();
    noisiest.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    noisiest.into_iter().map(|(_, result)| result).collect()
}

/// Converts `text` to a part of a file name.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '.' => slug.push(c.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    if slug.len() > 100 {
        slug.truncate(90);
        slug = format!("{}-{}", slug.trim_end_matches(['-', '.']), short_hash(text));
    }
    slug.trim_end_matches(['-', '.']).to_owned()
}

/// Makes chart names, and so file names, unique: adds a number to later duplicates.
fn tell_apart(charts: &mut [Chart]) {
    let mut known: HashMap<String, usize> = HashMap::new();
    for chart in charts {
        let count = known.entry(chart.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            // Slugs contain no underscore, so this name cannot collide with one.
            chart.name = format!("{}_{count}", chart.name);
        }
    }
}
