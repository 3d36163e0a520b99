//! Size against throughput: a line for each way of moving the data, with the sizes of the caches marked.

use std::collections::BTreeMap;

use rsb_model::shape::format_bytes;
use rsb_model::{BenchmarkResult, Run};

use super::axis::{Axis, Frame, draw_x, draw_y};
use super::canvas::{Anchor, Canvas, FADED, HEAD, MARGIN, Text, color, sheet, shorten};
use super::{Chart, Place, slug};
use crate::label::{benchmark_of, benchmarks, device_of, measured};

/// The parameters that tell lines apart, in the order in which they are said.
const KEYS: [&str; 7] = ["operation", "dtype", "stores", "threads", "cache", "provider", "device"];
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

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 440.0;
const LEGEND: f64 = 210.0;

fn chart(run: &Run, benchmark: &str, fixed: &[String], samples: &[&Sample<'_>]) -> Option<Chart> {
    let lines = lines(samples);
    if !lines.iter().any(|line| line.points.len() > 1) {
        return None;
    }
    let title = [&[format!("{benchmark}: throughput by size")], fixed].concat().join(", ");
    let sizes = || lines.iter().flat_map(|line| &line.points).map(|point| point.0);
    let rates = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let (low, high) =
        sizes().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), size| (low.min(size), high.max(size)));
    let frame = Frame { left: 82.0, top: HEAD + 18.0, right: WIDTH - LEGEND, bottom: HEIGHT - 58.0 };
    let x = Axis::powers_of_two(low, high, 9).over(frame.left, frame.right);
    let y = Axis::linear(0.0, rates.fold(0.0, f64::max) * 1.03, 8).over(frame.bottom, frame.top);
    let subtitle = "each point is one case; higher is better";
    let svg = sheet((WIDTH, HEIGHT), &title, subtitle, |canvas| {
        draw_y(canvas, frame, &y, "GB/s", |tick| y.plain_label(tick));
        draw_x(canvas, frame, &x, "size of one buffer", |tick| format_bytes(tick as u64));
        caches(canvas, run, frame, &x);
        for (index, line) in lines.iter().enumerate() {
            let points: Vec<_> = line.points.iter().map(|&(size, rate)| (x.at(size), y.at(rate))).collect();
            canvas.path(&points, (color(index), 2));
            for &point in &points {
                canvas.mark(point, index);
            }
        }
        legend(canvas, frame, &lines);
    })?;
    let name = slug(&format!("throughput-{benchmark}-{}", fixed.join("-")));
    Some(Chart { name, title, place: Place::Benchmark(benchmark.to_owned()), svg })
}

fn caches(canvas: &mut Canvas<'_>, run: &Run, frame: Frame, x: &Axis) {
    let caches = run.environment.cpu.iter().flat_map(|cpu| &cpu.caches);
    for cache in caches {
        let size = cache.size_bytes as f64;
        let (low, high) = x.range();
        if (low..=high).contains(&size) {
            let at = x.at(size);
            canvas.dashed((at, frame.top - 4.0), (at, frame.bottom), FADED);
            let label = format!("L{} {}", cache.level, format_bytes(cache.size_bytes));
            canvas.text(&label, (at, frame.top - 12.0), Text { size: 11.0, ..Text::faded(Anchor::Middle) });
        }
    }
}

fn legend(canvas: &mut Canvas<'_>, frame: Frame, lines: &[Line]) {
    let left = frame.right + 22.0;
    for (index, line) in lines.iter().enumerate() {
        let y = frame.top + 10.0 + 22.0 * index as f64;
        canvas.line((left, y), (left + 22.0, y), (color(index), 2));
        canvas.mark((left + 11.0, y), index);
        let look = Text::label(Anchor::Start);
        let room = WIDTH - MARGIN - left - 30.0;
        canvas.text(&shorten(&line.name, room, look.size), (left + 30.0, y), look);
    }
}
