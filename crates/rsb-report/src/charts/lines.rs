//! A metric over an axis, such as throughput over size: one line per configuration, with the sizes
//! of the CPU caches marked.

use std::collections::BTreeMap;

use itertools::Itertools as _;
use rsb_model::shape::format_bytes;
use rsb_model::{BenchmarkResult, Field, Fields, Run, Unit};

use super::axis::AxisUnit;
use super::{axis, best_words, better_words, left_out, range, slug};
use crate::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point,
};
use crate::label::{benchmark_of, benchmarks, device_of, headline, is_better, results_of};
use crate::number::format_quantity;
use crate::spread::spread_of;
use keys::{KEYS, describe, follows, is_usual};

mod keys;

pub use keys::KEYS as LINE_KEYS;

/// Fields for the x axis, in order of preference. The size of a matrix product is used only if m, n
/// and k are equal.
pub const AXES: [&str; 11] = [
    "size_bytes",
    "m",
    "batch_size",
    "sequence_length",
    "threads",
    "num_gpus",
    "num_ranks",
    "block_size",
    "kernels",
    "request_rate",
    "concurrency",
];
const TIER: &str = "memory_tier";
/// Fields by which charts are split until at most [`LINES`] lines share a chart; the first field
/// that varies is used. The operation is missing and store kinds come last, because readers usually
/// compare these within one chart.
const SPLITS: [&str; 6] = ["device", "dtype", "threads", "cache", "provider", "stores"];
const LINES: usize = 8;
const RATES: [&str; 2] = ["bandwidth_gb_s", "throughput_gb_s"];

const EXECUTION: &str = "execution";

/// Details shown at each point in addition to its value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PointDetail {
    /// None.
    #[default]
    Figure,
    /// The interval from the 10th to the 90th percentile of its samples.
    Errors,
    /// All of its samples.
    Samples,
}

#[derive(Debug, Clone, Copy)]
struct Plot<'a> {
    run: &'a Run,
    benchmark: &'a str,
    x: &'static str,
    y: &'static Field,
    detail: PointDetail,
}

struct Sample<'a> {
    keys: BTreeMap<&'static str, String>,
    size: f64,
    rate: f64,
    result: &'a BenchmarkResult,
}

/// A line with its points sorted by size.
struct Line<'a> {
    name: String,
    paint: Paint,
    points: Vec<(f64, f64)>,
    results: Vec<&'a BenchmarkResult>,
}

impl Line<'_> {
    /// Returns whether all sizes differ. Two points of the same size differ in a parameter that is
    /// not in [`KEYS`], so a line through them would be meaningless.
    fn is_one_axis(&self) -> bool {
        self.points.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0))
    }

    fn has_length(&self) -> bool {
        self.points.first().zip(self.points.last()).is_some_and(|(first, last)| first.0 < last.0)
    }
}

/// Returns a chart for each benchmark that was measured at several sizes, or several charts if it
/// has many lines.
pub fn throughput_by_size(run: &Run) -> Vec<Chart> {
    let mut all = Vec::new();
    for benchmark in benchmarks(run) {
        for y in RATES.iter().filter_map(|rate| Field::find(rate)) {
            let detail = PointDetail::Figure;
            all.extend(charts(Plot { run, benchmark, x: "size_bytes", y, detail }));
        }
    }
    all
}

/// Returns a chart for each benchmark and each axis that it was measured along, of `metric` or of
/// the headline metric if `None`.
pub fn lines(run: &Run, metric: Option<&'static Field>, detail: PointDetail) -> Vec<Chart> {
    let mut all = Vec::new();
    for benchmark in benchmarks(run) {
        let Some(y) = metric.or_else(|| headline_field(run, benchmark)) else { continue };
        all.extend(AXES.into_iter().flat_map(|x| charts(Plot { run, benchmark, x, y, detail })));
    }
    all
}

/// Returns the [`lines`] of the headline metrics with error bars, except those that
/// [`throughput_by_size`] draws.
pub(super) fn error_bars(run: &Run) -> Vec<Chart> {
    let mut all = Vec::new();
    for benchmark in benchmarks(run) {
        let Some(y) = headline_field(run, benchmark) else { continue };
        for x in AXES {
            let plot = Plot { run, benchmark, x, y, detail: PointDetail::Errors };
            if !is_throughput(plot) {
                all.extend(charts(plot));
            }
        }
    }
    all
}

fn headline_field(run: &Run, benchmark: &str) -> Option<&'static Field> {
    results_of(run, benchmark).find_map(headline).map(|(field, _)| field)
}

fn charts(plot: Plot<'_>) -> Vec<Chart> {
    let own = results_of(plot.run, plot.benchmark);
    let samples: Vec<Sample<'_>> = own.filter_map(|result| sample(result, plot)).collect();
    let parts = split(samples.iter().collect(), Vec::new());
    parts.iter().filter_map(|(fixed, samples)| chart(plot, fixed, samples)).collect()
}

fn sample<'a>(result: &'a BenchmarkResult, plot: Plot<'_>) -> Option<Sample<'a>> {
    let fields = result.fields()?;
    let (size, rate) = (fields.number(plot.x)?, fields.number(plot.y.name)?);
    // Only square products have a single size.
    let usable = size >= 1.0
        && size.is_finite()
        && rate.is_finite()
        && rate >= 0.0
        && (plot.x != "m" || is_square(fields, size));
    if !usable {
        return None;
    }
    let mut keys = BTreeMap::new();
    for &key in KEYS {
        // A parameter that grows with the axis does not distinguish lines from each other.
        if follows(key, plot.x) {
            continue;
        }
        let value = match key {
            "device" => device_of(&result.benchmark_id).map(|device| device.to_string()),
            key => fields.get(key).map(|value| keys::value(key, value)),
        };
        if let Some(value) = value {
            keys.insert(key, value);
        }
    }
    Some(Sample { keys, size, rate, result })
}

/// Returns whether the n and k of a product, if present, equal `size`.
fn is_square(fields: &Fields, size: f64) -> bool {
    ["n", "k"].iter().all(|name| fields.number(name).is_none_or(|other| (other - size).abs() < 0.5))
}

fn values<'a>(samples: &[&'a Sample<'_>], key: &str) -> Vec<&'a str> {
    samples.iter().map(|sample| value_of(sample, key)).unique().collect()
}

fn value_of<'a>(sample: &'a Sample<'_>, key: &str) -> &'a str {
    sample.keys.get(key).map_or("", String::as_str)
}

/// Returns whether samples with equal `key` also have equal `other`.
fn follows_from(samples: &[&Sample<'_>], key: &str, other: &str) -> bool {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    samples.iter().all(|sample| {
        let own = value_of(sample, other);
        *known.entry(value_of(sample, key)).or_insert(own) == own
    })
}

type Part<'a, 'b> = (Vec<String>, Vec<&'a Sample<'b>>);

/// Splits samples into parts of at most [`LINES`] lines each, with the values that all samples of a
/// part share.
fn split<'a, 'b>(samples: Vec<&'a Sample<'b>>, fixed: Vec<String>) -> Vec<Part<'a, 'b>> {
    let varying = SPLITS.iter().find(|key| values(&samples, key).len() > 1);
    match varying {
        Some(key) if collect_lines(&samples).len() > LINES => values(&samples, key)
            .into_iter()
            .flat_map(|value| {
                let part = samples
                    .iter()
                    .filter(|sample| value_of(sample, key) == value)
                    .copied()
                    .collect();
                let mut fixed = fixed.clone();
                fixed.push(describe(key, value));
                split(part, fixed)
            })
            .collect(),
        _ => vec![(fixed, samples)],
    }
}

/// Returns the paint of a data type, if it has its own color.
pub(super) fn dtype_paint(dtype: &str) -> Option<Paint> {
    Some(match dtype {
        "f32" => Paint::Fp32,
        "f16" => Paint::Fp16,
        "bf16" => Paint::Bf16,
        "tf32" => Paint::Tf32,
        _ => return None,
    })
}

/// Groups samples into lines, named by the parameters that differ, sorted by the value at their
/// last point, highest first.
fn collect_lines<'a>(samples: &[&Sample<'a>]) -> Vec<Line<'a>> {
    let mut varying: Vec<&str> =
        KEYS.iter().copied().filter(|key| values(samples, key).len() > 1).collect();
    // If each provider uses only one execution mode, the provider's name is enough to identify a
    // line.
    if varying.contains(&EXECUTION) && follows_from(samples, "provider", EXECUTION) {
        varying.retain(|key| *key != EXECUTION);
    }
    let tiers = values(samples, TIER);
    // Tiers are measured with different parameters. If each tier has only one set of parameters,
    // the tier alone names the line.
    if tiers.len() > 1 && tiers.iter().all(|tier| is_uniform_tier(samples, tier)) {
        varying = vec![TIER];
    }
    let mut lines: Vec<Line<'a>> = Vec::new();
    for sample in samples {
        let name = line_name(sample, &varying);
        let point = (sample.size, sample.rate);
        if !lines.iter().any(|line| line.name == name) {
            let paint = role(sample, &varying).unwrap_or(Paint::Plain);
            lines.push(Line { name: name.clone(), paint, points: Vec::new(), results: Vec::new() });
        }
        let line = lines.iter_mut().find(|line| line.name == name);
        if let Some(line) = line {
            let at = line.points.partition_point(|known| known.0 <= point.0);
            line.points.insert(at, point);
            line.results.insert(at, sample.result);
        }
    }
    lines.sort_by(|a, b| last(b).total_cmp(&last(a)));
    // Role marks are filled, so the other lines next to them get open marks.
    let first = if lines.iter().any(|line| line.paint != Paint::Plain) { 4 } else { 0 };
    let others = lines.iter_mut().filter(|line| line.paint == Paint::Plain);
    for (index, line) in others.enumerate() {
        line.paint = Paint::Series(first + index);
    }
    lines
}

/// Returns whether `samples` contains samples of `tier`, and all of them have equal keys.
fn is_uniform_tier(samples: &[&Sample<'_>], tier: &str) -> bool {
    let mut own =
        samples.iter().filter(|sample| sample.keys.get(TIER).map(String::as_str) == Some(tier));
    let first = own.next();
    first.is_some_and(|first| own.all(|other| other.keys == first.keys))
}

/// Returns the non-default values of `sample` in the keys `varying`, or its operation or benchmark
/// if there are none.
fn line_name(sample: &Sample<'_>, varying: &[&str]) -> String {
    let mut words = Vec::new();
    for &key in varying {
        let Some(value) = sample.keys.get(key) else { continue };
        if !is_usual(key, value) {
            words.push(describe(key, value));
        }
    }
    let name = words.join(", ");
    if !name.is_empty() {
        return name;
    }
    match sample.keys.get("operation") {
        Some(operation) => operation.clone(),
        None => benchmark_of(sample.result).to_owned(),
    }
}

/// Returns the role of a line if lines differ only in data type or memory tier.
fn role(sample: &Sample<'_>, varying: &[&str]) -> Option<Paint> {
    if varying.contains(&TIER) {
        return match sample.keys.get(TIER)?.as_str() {
            "device" => Some(Paint::DeviceCopy),
            "host" => Some(Paint::Host),
            _ => None,
        };
    }
    if varying == ["dtype"] { dtype_paint(sample.keys.get("dtype")?) } else { None }
}

fn last(line: &Line<'_>) -> f64 {
    line.points.last().map_or(0.0, |point| point.1)
}

fn chart(plot: Plot<'_>, fixed: &[String], samples: &[&Sample<'_>]) -> Option<Chart> {
    let lines = collect_lines(samples);
    if !lines.iter().any(Line::has_length) {
        return None;
    }
    let (smallest, largest) = range(points(&lines).map(|point| point.0))?;
    let (_, highest) = range(points(&lines).map(|point| point.1))?;
    let x_axis = x_axis(plot.x, smallest, largest);
    let AxisUnit { factor, symbol } = AxisUnit::of(highest, unit_of(plot.y));
    let rates = points(&lines).map(|point| point.1 * factor);
    let y_axis = axis::from_zero(symbol, rates.chain([highest * factor * 1.03]), 8);
    let mut datasets = Vec::new();
    if plot.x == "size_bytes" {
        datasets.push(Dataset::new(
            DatasetKind::Rules,
            Paint::Faded,
            caches(plot.run, x_axis.bounds),
        ));
    }
    let mut hidden = 0;
    for line in &lines {
        let points: Vec<Point> = line
            .points
            .iter()
            .zip(&line.results)
            .filter(|(point, _)| y_axis.scale == AxisScale::Linear || point.1 > 0.0)
            .map(|((size, rate), result)| scaled(plot_point(*size, *rate, result, plot), factor))
            .collect();
        hidden += line.points.len() - points.len();
        if plot.detail == PointDetail::Samples {
            let dots = every_sample(line, plot).into_iter().map(|point| scaled(point, factor));
            datasets.push(Dataset::new(DatasetKind::Dots, line.paint, dots.collect()));
        }
        let kind = if line.is_one_axis() && points.len() > 1 {
            DatasetKind::Line
        } else {
            DatasetKind::Marks
        };
        datasets.push(Dataset::new(kind, line.paint, points).with_name(&line.name));
    }
    Some(Chart {
        name: name(plot, fixed),
        title: [&[title(plot, &lines)?], fixed].concat().join(", "),
        subtitle: subtitle(plot, y_axis.scale, hidden),
        place: ChartPlace::Benchmark(plot.benchmark.to_owned()),
        x_axis,
        y_axis,
        datasets,
        legend_position: Legend::Below,
    })
}

fn name(plot: Plot<'_>, fixed: &[String]) -> String {
    let what = if is_throughput(plot) {
        "throughput".to_owned()
    } else {
        format!("{}-by-{}", plot.y.name, plot.x)
    };
    let detail = match plot.detail {
        PointDetail::Figure => "",
        PointDetail::Errors => "errors-",
        PointDetail::Samples => "samples-",
    };
    slug(&format!("{detail}{what}-{}-{}", plot.benchmark, fixed.join("-")))
}

/// Returns whether this is the throughput chart that every report includes for benchmarks with
/// sizes.
fn is_throughput(plot: Plot<'_>) -> bool {
    plot.x == "size_bytes" && RATES.contains(&plot.y.name)
}

/// Names the best value of `lines` and its case.
fn title(plot: Plot<'_>, lines: &[Line<'_>]) -> Option<String> {
    let figure =
        if is_throughput(plot) { "throughput".to_owned() } else { super::bars::caption(plot.y) };
    let all = lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
    let (line, (x, value)) = all
        .reduce(|best, other| if is_better(plot.y, other.1.1, best.1.1) { other } else { best })?;
    let at = match plot.x {
        "size_bytes" => format_bytes(*x as u64),
        "m" => format!("{x:.0} rows"),
        name => keys::describe(name, &format!("{x:.0}")),
    };
    let value = format_quantity(*value, plot.y.unit.symbol());
    let case =
        [line.name.as_str(), &at].into_iter().filter(|part| *part != plot.benchmark).join(", ");
    Some(format!("{}: {figure} {} {value} ({case})", plot.benchmark, best_words(plot.y)))
}

/// Returns `point` in another unit.
fn scaled(point: Point, factor: f64) -> Point {
    Point {
        y: point.y * factor,
        error: point.error.map(|ends| ends.map(|end| end * factor)),
        ..point
    }
}

fn unit_of(field: &Field) -> &'static str {
    match field.unit {
        Unit::PerSecond => "1/s",
        Unit::One => field.name,
        unit => unit.symbol(),
    }
}

fn x_axis(x: &str, smallest: f64, largest: f64) -> Axis {
    let counts = |title: &str| {
        axis::powers_of_two(title, smallest, largest, 9, |count| format!("{count:.0}"))
    };
    match x {
        "size_bytes" => axis::powers_of_two("size of one buffer", smallest, largest, 9, |size| {
            format_bytes(size as u64)
        }),
        "m" => counts("rows and columns of each matrix"),
        x => counts(&x.replace('_', " ")),
    }
}

fn plot_point(size: f64, rate: f64, result: &BenchmarkResult, plot: Plot<'_>) -> Point {
    let point = Point::at(size, rate);
    match spread_of(result, plot.y, rate).filter(|_| plot.detail == PointDetail::Errors) {
        Some(spread) => point.within(spread.low, spread.high),
        None => point,
    }
}

/// Returns all samples of a line's cases, each converted from a time to a value of the metric.
fn every_sample(line: &Line<'_>, plot: Plot<'_>) -> Vec<Point> {
    let all = line.points.iter().zip(&line.results).flat_map(|((size, rate), result)| {
        let values = spread_of(result, plot.y, *rate).map_or_else(Vec::new, |spread| spread.values);
        values.into_iter().map(|value| Point::at(*size, value))
    });
    all.filter(|point| point.y > 0.0).collect()
}

fn subtitle(plot: Plot<'_>, scale: AxisScale, hidden: usize) -> String {
    let detail = match plot.detail {
        PointDetail::Figure => "",
        PointDetail::Errors => "; its line covers 80 % of the samples",
        PointDetail::Samples => "; each small dot is one sample",
    };
    let scale = if scale == AxisScale::Log { "; logarithmic scale" } else { "" };
    let (one, many) = ("case with no throughput is", "cases with no throughput are");
    let more = left_out(hidden, one, many, "not drawn");
    format!("each point is one case{}{detail}{scale}{more}", better_words(plot.y))
}

fn points<'a>(lines: &'a [Line<'_>]) -> impl Iterator<Item = &'a (f64, f64)> {
    lines.iter().flat_map(|line| &line.points)
}

/// Returns the sizes of the CPU caches that are within the axis bounds.
fn caches(run: &Run, [low, high]: [f64; 2]) -> Vec<Point> {
    let caches = run.environment.cpu.iter().flat_map(|cpu| &cpu.caches);
    let on_axis = caches.filter(|cache| (low..=high).contains(&(cache.size_bytes as f64)));
    on_axis
        .map(|cache| {
            let text = format!("L{} {}", cache.level, format_bytes(cache.size_bytes));
            Point::at(cache.size_bytes as f64, 0.0).saying(text)
        })
        .collect()
}
