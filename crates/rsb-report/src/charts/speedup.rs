//! Speedup over a reference: other data types or implementations, more threads or GPUs.

use std::cmp::Ordering;

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Field, Run};

use super::{axis, range, slug};
use crate::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point,
};
use crate::label::{Shortener, benchmarks, group_by_key, results_of};

const MAX_BARS: usize = 40;
/// Fields that contain a speedup over a reference.
const SPEEDUPS: [&str; 2] = ["speedup", "comparison_to_pytorch"];
/// Changes up to this share are drawn as even.
const EVEN: f64 = 0.05;

/// Formats a speedup with three digits: `2.34x`.
fn times(speedup: f64) -> String {
    let decimals = if speedup < 9.995 { 2 } else { usize::from(speedup < 99.95) };
    format!("{speedup:.decimals$}x")
}

/// Returns a chart for each benchmark and kind of reference: one bar per case, and a line at the
/// reference.
pub fn speedups(run: &Run) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    let mut charts = Vec::new();
    for benchmark in benchmarks(run) {
        for field in SPEEDUPS.iter().filter_map(|name| Field::find(name)) {
            charts.extend(bars(run, benchmark, field, &names));
        }
    }
    charts
}

fn bars(run: &Run, benchmark: &str, field: &Field, names: &Shortener) -> Option<Chart> {
    let rows: Vec<(&str, f64)> = results_of(run, benchmark)
        .filter_map(|result| {
            let value = result.fields()?.number(field.name)?;
            if !value.is_finite() || value <= 0.0 {
                return None;
            }
            Some((names.case(&result.benchmark_id), value))
        })
        .take(MAX_BARS)
        .collect();
    let (most, highest) = rows.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let x_axis = axis::from_zero(
        "times as fast as the reference",
        rows.iter().map(|(_, speedup)| *speedup).chain([1.0]),
        6,
    );
    let reference = Dataset::new(
        DatasetKind::Rules,
        Paint::Faded,
        vec![Point::at(1.0, 0.0).saying("reference")],
    );
    Some(Chart {
        name: slug(&format!("speedup-{benchmark}-{}", field.name)),
        title: format!("{benchmark}: up to {} as fast as the reference ({most})", times(*highest)),
        subtitle: format!("{}{}", field.about, axis::scale_words(&x_axis)),
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis,
        y_axis: axis::rows(rows.iter().map(|(name, _)| (*name).to_owned())),
        datasets: vec![
            reference,
            speedup_bars(&rows, Paint::Good, "faster", |speedup| speedup > 1.0 + EVEN),
            speedup_bars(&rows, Paint::Even, "within 5 %", |speedup| {
                (1.0 - EVEN..=1.0 + EVEN).contains(&speedup)
            }),
            speedup_bars(&rows, Paint::Bad, "slower", |speedup| speedup < 1.0 - EVEN),
        ],
        legend_position: Legend::Below,
    })
}

/// Returns a bar for each of `rows` whose speedup `is_own` accepts.
fn speedup_bars(
    rows: &[(&str, f64)],
    paint: Paint,
    name: &str,
    is_own: fn(f64) -> bool,
) -> Dataset {
    let mut points = Vec::new();
    for (row, (_, speedup)) in rows.iter().enumerate() {
        if is_own(*speedup) {
            points.push(Point::at(*speedup, row as f64).saying(times(*speedup)));
        }
    }
    Dataset::new(DatasetKind::Bars { thickness: 0.62 }, paint, points).with_name(name)
}

/// Resources that cases scale with: CPU threads, GPUs, processes.
const RESOURCES: [&str; 3] = ["threads", "num_gpus", "num_ranks"];
const LINES: usize = 8;

/// Cases that differ only in the amount of one resource.
struct ScalingLine<'a> {
    name: String,
    /// Amount of the resource, and speed relative to the case with the least.
    points: Vec<(f64, f64)>,
    benchmark: &'a str,
}

/// Returns a chart for each benchmark and resource, with the ideal scaling.
pub fn scaling(run: &Run) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    let mut charts = Vec::new();
    for resource in RESOURCES {
        for benchmark in benchmarks(run) {
            let lines = scaling_lines(run, benchmark, resource, &names);
            charts.extend(scaling_chart(resource, benchmark, &lines));
        }
    }
    charts
}

/// Returns the lines of `benchmark` over `resource`. Cases belong to one line if their ids are
/// equal without the resource.
fn scaling_lines<'a>(
    run: &'a Run,
    benchmark: &'a str,
    resource: &str,
    names: &Shortener,
) -> Vec<ScalingLine<'a>> {
    let axes = [format!("{resource}="), format!("{}=", short(resource))];
    let figures = results_of(run, benchmark).filter_map(|result| {
        let (count, speed) = (result.fields()?.number(resource)?, speed(result)?);
        let parts = names.case(&result.benchmark_id).split('/');
        let name = parts.filter(|part| !axes.iter().any(|axis| part.starts_with(axis))).join("/");
        (count >= 1.0 && speed.is_finite()).then_some((name, (count, speed)))
    });
    group_by_key(figures)
        .into_iter()
        .filter_map(|(name, points)| {
            Some(ScalingLine { name, points: relative_speeds(points)?, benchmark })
        })
        .take(LINES)
        .collect()
}

/// Returns `points` of (count, speed) sorted by count, with speeds relative to the lowest count.
/// `None` if there are fewer than two counts, or if a count occurs twice.
fn relative_speeds(mut points: Vec<(f64, f64)>) -> Option<Vec<(f64, f64)>> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let distinct = points.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0));
    if !distinct || points.len() < 2 {
        return None;
    }
    let (count, least) = points.first().copied()?;
    // The lowest count is assumed to scale ideally: 2 GPUs start at a speed of 2.
    Some(points.iter().map(|(of, speed)| (*of, count * speed / least)).collect())
}

fn short(resource: &str) -> &str {
    match resource {
        "num_gpus" => "gpus",
        "num_ranks" => "ranks",
        other => other,
    }
}

/// Returns the speed of a case, to be compared with other cases only. Prefers a recorded rate,
/// which accounts for work that grows with the resource, over iterations per nanosecond.
fn speed(result: &BenchmarkResult) -> Option<f64> {
    let fields = result.fields()?;
    let rate = [
        "speedup",
        "gflops",
        "bandwidth_gb_s",
        "throughput_gb_s",
        "throughput_samples_per_second",
        "tokens_per_second",
    ];
    rate.iter()
        .find_map(|name| fields.number(name))
        .or_else(|| crate::label::time_ns(result).map(f64::recip))
}

fn scaling_chart(resource: &str, benchmark: &str, lines: &[ScalingLine<'_>]) -> Option<Chart> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (first, last) = range(points().map(|(count, _)| *count))?;
    let top = points().map(|(_, speed)| *speed).fold(last, f64::max);
    let what = resource.trim_start_matches("num_");
    let ideal = Dataset::new(
        DatasetKind::Path,
        Paint::Faded,
        vec![Point::at(first, first), Point::at(last, last)],
    );
    let (count, reached) = points()
        .copied()
        .max_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(Ordering::Equal))?;
    let mut datasets = vec![ideal.with_name("ideal")];
    for (index, line) in lines.iter().enumerate() {
        let points = line
            .points
            .iter()
            .map(|(count, speed)| Point::at(*count, *speed).saying(times(*speed)));
        let name = if line.name.is_empty() { line.benchmark } else { &line.name };
        datasets.push(
            Dataset::new(DatasetKind::Line, Paint::Series(index), points.collect()).with_name(name),
        );
    }
    Some(Chart {
        name: slug(&format!("scaling-{benchmark}-{resource}")),
        title: format!("{benchmark}: {} as fast with {count:.0} {what}", times(reached)),
        subtitle: format!(
            "speed relative to one of the {what}, if the smallest case scales ideally"
        ),
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis: whole(what, first, last),
        y_axis: axis::linear("times as fast", 0.0, top, 6),
        datasets,
        legend_position: Legend::Below,
    })
}

/// Returns an axis that labels only integers.
fn whole(title: &str, first: f64, last: f64) -> Axis {
    let room = ((last - first) * 0.04).max(0.05);
    let mut axis = axis::exact(title, first, last, 8);
    axis.bounds = [first - room, last + room];
    axis.scale = AxisScale::Linear;
    axis.labels.retain(|label| label.at.fract().abs() < 1e-6);
    axis.labels.iter_mut().for_each(|label| label.text = format!("{:.0}", label.at));
    axis
}
