//! Size against throughput: a line for each way of moving the data, with the sizes of the caches marked.

use std::collections::BTreeMap;

use rsb_model::environment::Cache;
use rsb_model::shape::format_bytes;
use rsb_model::{BenchmarkResult, Run};

use super::{axis, slug};
use crate::chart::{AxisScale, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{benchmark_of, benchmarks, device_of, measured};
use crate::number::format_count;

/// The parameters that tell lines apart, in the order in which they are said.
const KEYS: [&str; 13] = [
    "operation",
    "dtype",
    "stores",
    "threads",
    "cache",
    "provider",
    "host_memory",
    "memory_tier",
    "num_gpus",
    "scaling",
    "peer",
    "block_size",
    "device",
];
/// Charts are split along these, the first that varies, until no more than [`LINES`] lines share one. What people
/// compare most, operations and kinds of stores, stays together longest.
const SPLITS: [&str; 6] = ["device", "dtype", "threads", "cache", "provider", "stores"];
const LINES: usize = 8;
const RATES: [&str; 2] = ["bandwidth_gb_s", "throughput_gb_s"];

/// One measured point.
struct Sample<'a> {
    keys: BTreeMap<&'static str, String>,
    size: f64,
    rate: f64,
    result: &'a BenchmarkResult,
}

/// A line: its points by size.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Line {
    /// Whether its points differ by size alone. Two of one size differ by something that has no name here, so that a
    /// line through them would mean nothing.
    fn is_one_axis(&self) -> bool {
        self.points.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0))
    }

    /// Whether it has points of more than one size.
    fn has_length(&self) -> bool {
        self.points.first().zip(self.points.last()).is_some_and(|(first, last)| first.0 < last.0)
    }
}

/// A chart for each benchmark that was measured at several sizes; several charts where there are many lines.
pub fn throughput_by_size(run: &Run) -> Vec<Chart> {
    let mut charts = Vec::new();
    for benchmark in benchmarks(run) {
        for rate in RATES {
            let samples: Vec<Sample<'_>> = measured(run)
                .filter(|result| benchmark_of(result) == benchmark)
                .filter_map(|result| sample(result, rate))
                .collect();
            let parts = split(samples.iter().collect(), Vec::new());
            charts.extend(parts.iter().filter_map(|(fixed, samples)| chart(run, benchmark, fixed, samples)));
        }
    }
    charts
}

fn sample<'a>(result: &'a BenchmarkResult, rate: &str) -> Option<Sample<'a>> {
    let fields = result.fields()?;
    let (size, rate) = (fields.number("size_bytes")?, fields.number(rate)?);
    let value = |key: &&'static str| {
        let value = match *key {
            "device" => device_of(&result.benchmark_id)?.to_string(),
            key => fields.get(key).map(|json| json.as_str().map_or_else(|| json.to_string(), str::to_owned))?,
        };
        Some((*key, value))
    };
    let usable = size >= 1.0 && size.is_finite() && rate.is_finite() && rate >= 0.0;
    usable.then(|| Sample { keys: KEYS.iter().filter_map(value).collect(), size, rate, result })
}

/// The values that `samples` take for `key`.
fn values<'a>(samples: &[&'a Sample<'_>], key: &str) -> Vec<&'a str> {
    let mut values: Vec<&str> = Vec::new();
    for sample in samples {
        let value = sample.keys.get(key).map_or("", String::as_str);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

type Part<'a, 'b> = (Vec<String>, Vec<&'a Sample<'b>>);

/// Parts with at most [`LINES`] lines each, and what all samples of a part share.
fn split<'a, 'b>(samples: Vec<&'a Sample<'b>>, fixed: Vec<String>) -> Vec<Part<'a, 'b>> {
    let varying = SPLITS.iter().find(|key| values(&samples, key).len() > 1);
    match varying {
        Some(key) if lines(&samples).len() > LINES => values(&samples, key)
            .into_iter()
            .flat_map(|value| {
                let is = |sample: &&&Sample<'_>| sample.keys.get(key).map_or("", String::as_str) == value;
                let part = samples.iter().filter(is).copied().collect();
                let mut fixed = fixed.clone();
                fixed.push(describe(key, value));
                split(part, fixed)
            })
            .collect(),
        _ => vec![(fixed, samples)],
    }
}

fn describe(key: &str, value: &str) -> String {
    match key {
        "threads" if value == "1" => "1 thread".to_owned(),
        "threads" => format!("{value} threads"),
        "cache" => format!("{value} cache"),
        "num_gpus" => format!("{value} GPUs"),
        "block_size" => format!("blocks of {value}"),
        _ if value.is_empty() => format!("any {key}"),
        _ => value.to_owned(),
    }
}

/// What a line is where its name does not say otherwise.
fn is_usual(key: &str, value: &str) -> bool {
    matches!((key, value), ("stores", "temporal") | ("cache", "hot") | ("threads", "1"))
}

/// The lines, named by what differs between them, the one that ends highest first.
fn lines(samples: &[&Sample<'_>]) -> Vec<Line> {
    let varying: Vec<&str> = KEYS.into_iter().filter(|key| values(samples, key).len() > 1).collect();
    let mut lines: Vec<Line> = Vec::new();
    for sample in samples {
        let word =
            |key: &&str| sample.keys.get(key).filter(|value| !is_usual(key, value)).map(|value| describe(key, value));
        let mut name = varying.iter().filter_map(word).collect::<Vec<_>>().join(", ");
        if name.is_empty() {
            name = sample.keys.get("operation").cloned().unwrap_or_else(|| benchmark_of(sample.result).to_owned());
        }
        let point = (sample.size, sample.rate);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines.sort_by(|a, b| last(b).total_cmp(&last(a)));
    lines
}

fn last(line: &Line) -> f64 {
    line.points.last().map_or(0.0, |point| point.1)
}

fn chart(run: &Run, benchmark: &str, fixed: &[String], samples: &[&Sample<'_>]) -> Option<Chart> {
    let lines = lines(samples);
    if !lines.iter().any(Line::has_length) {
        return None;
    }
    let (sizes, rates) = (range(&lines, |point| point.0)?, range(&lines, |point| point.1)?);
    let x_axis = axis::powers_of_two("size of one buffer", sizes, 9, |size| format_bytes(size as u64));
    let y_axis = if is_wide(&lines) {
        axis::powers_of_ten("GB/s", range(&lines, |point| if point.1 > 0.0 { point.1 } else { f64::NAN })?)
    } else {
        axis::linear("GB/s", (0.0, rates.1 * 1.03), 8)
    };
    let mut datasets = vec![Dataset::new(DatasetKind::Rules, Paint::Faded, caches(run, x_axis.bounds))];
    let mut hidden = 0;
    for (index, line) in lines.iter().enumerate() {
        let is_shown = |point: &&(f64, f64)| y_axis.scale == AxisScale::Linear || point.1 > 0.0;
        let points: Vec<Point> =
            line.points.iter().filter(is_shown).map(|&(size, rate)| Point::at(size, rate)).collect();
        hidden += line.points.len() - points.len();
        let kind = if line.is_one_axis() && points.len() > 1 { DatasetKind::Line } else { DatasetKind::Marks };
        datasets.push(Dataset::new(kind, Paint::Series(index), points).named(&line.name));
    }
    Some(Chart {
        name: slug(&format!("throughput-{benchmark}-{}", fixed.join("-"))),
        title: [&[format!("{benchmark}: throughput by size")], fixed].concat().join(", "),
        subtitle: subtitle(y_axis.scale, hidden),
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis,
        y_axis,
        datasets,
        legend: Legend::Right,
    })
}

fn subtitle(scale: AxisScale, hidden: usize) -> String {
    let mut text = "each point is one case; higher is better".to_owned();
    if scale == AxisScale::Log {
        text.push_str("; logarithmic scale");
    }
    if hidden > 0 {
        text.push_str(&format!(
            "; {} not drawn",
            format_count(hidden, "case with no throughput is", "cases with no throughput are")
        ));
    }
    text
}

/// Whether some rates would lie on the axis if it began at zero: below a tenth of the highest.
fn is_wide(lines: &[Line]) -> bool {
    let positive = range(lines, |point| if point.1 > 0.0 { point.1 } else { f64::NAN });
    positive.is_some_and(|(low, high)| low < high / 10.0)
}

/// Lowest and highest of what `of` takes from each point, NaN left out.
fn range(lines: &[Line], of: impl Fn(&(f64, f64)) -> f64) -> Option<(f64, f64)> {
    let values = lines.iter().flat_map(|line| &line.points).map(of).filter(|value| !value.is_nan());
    values.fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The sizes of the CPU's caches that lie on the axis.
fn caches(run: &Run, [low, high]: [f64; 2]) -> Vec<Point> {
    let caches = run.environment.cpu.iter().flat_map(|cpu| &cpu.caches);
    let on_axis = caches.filter(|cache| (low..=high).contains(&(cache.size_bytes as f64)));
    let point = |cache: &Cache| {
        let text = format!("L{} {}", cache.level, format_bytes(cache.size_bytes));
        Point::at(cache.size_bytes as f64, 0.0).saying(text)
    };
    on_axis.map(point).collect()
}
