//! Every sample of a case: a histogram for one replicate, a strip of dots for each of several.

use rsb_model::BenchmarkResult;

use super::axis::{Axis, Frame, draw_x, draw_y};
use super::canvas::{Anchor, BLUE, Canvas, HEAD, INK, MARGIN, RED, Text, sheet};
use super::{Chart, Place, slug};
use crate::label::{Shortener, benchmark_of};
use crate::number::{format_count, format_time};

const WIDTH: f64 = 900.0;
/// Fewer samples than this say nothing about their distribution.
const FEWEST: usize = 5;

/// What is drawn: times in nanoseconds by replicate, and the part of the axis that holds nearly all of them.
struct Data {
    replicates: Vec<(u32, Vec<f64>)>,
    sorted: Vec<f64>,
    low: f64,
    high: f64,
}

/// The samples of `result`; nothing when there are fewer than five or they cannot be read.
pub fn distribution(result: &BenchmarkResult) -> Option<Chart> {
    let data = data(result)?;
    let names = Shortener::default();
    let title = format!("{}: time of one iteration", names.full(&result.benchmark_id));
    let (factor, unit) = time_unit(data.high);
    let ticks = Axis::exact(data.low / factor, data.high / factor, 7);
    let svg = match data.replicates.as_slice() {
        [_] => histogram(&data, &ticks, (factor, unit), &title)?,
        _ => strips(&data, &ticks, (factor, unit), &title)?,
    };
    let name = slug(&format!("samples-{}", result.benchmark_id));
    Some(Chart { name, title, place: Place::Benchmark(benchmark_of(result).to_owned()), svg })
}

fn data(result: &BenchmarkResult) -> Option<Data> {
    let read = |samples: &rsb_model::Samples| Some((samples.replicate, samples.per_iteration().ok()?));
    let replicates: Vec<(u32, Vec<f64>)> = result.samples.iter().filter_map(read).collect();
    let mut sorted: Vec<f64> = replicates.iter().flat_map(|(_, times)| times.iter().copied()).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < FEWEST {
        return None;
    }
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let at = |share: f64| sorted.get((share * (sorted.len() - 1) as f64).round() as usize).copied();
    let (lower, upper) = (at(0.25)?, at(0.75)?);
    // One sample that was interrupted for a long time must not squeeze all others into a line.
    let reach = upper + 6.0 * (upper - lower).max(upper * 0.002);
    let high = sorted.iter().copied().rfind(|time| *time <= reach).unwrap_or(last);
    let pad = ((high - first) * 0.03).max(first * 0.001);
    Some(Data { replicates, low: (first - pad).max(0.0), high: high + pad, sorted })
}

impl Data {
    fn median(&self) -> f64 {
        median(&self.sorted)
    }

    /// How many samples lie beyond the right edge, in words.
    fn subtitle(&self) -> String {
        let beyond = self.sorted.iter().filter(|time| **time > self.high).count();
        let mut text =
            format!("{}, median {}", format_count(self.sorted.len(), "sample", "samples"), format_time(self.median()));
        if let (true, Some(last)) = (beyond > 0, self.sorted.last()) {
            text.push_str(&format!("; {beyond} beyond the right edge, up to {}", format_time(*last)));
        }
        text
    }
}

fn median(sorted: &[f64]) -> f64 {
    let upper = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(upper);
    f64::midpoint(lower, upper)
}

/// The unit that fits `top` nanoseconds, and how many nanoseconds it holds.
fn time_unit(top: f64) -> (f64, &'static str) {
    match top {
        _ if top >= 2e9 => (1e9, "s"),
        _ if top >= 2e6 => (1e6, "ms"),
        _ if top >= 2e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

fn histogram(data: &Data, ticks: &Axis, (factor, unit): (f64, &str), title: &str) -> Option<String> {
    let bins = (data.sorted.len() as f64).sqrt().ceil().clamp(5.0, 40.0) as usize;
    let width = (data.high - data.low) / bins as f64;
    let mut counts = vec![0_u32; bins];
    for time in data.sorted.iter().filter(|time| **time <= data.high) {
        let bin = (((time - data.low) / width) as usize).min(bins - 1);
        if let Some(count) = counts.get_mut(bin) {
            *count += 1;
        }
    }
    let frame = Frame { left: 82.0, top: HEAD + 8.0, right: WIDTH - MARGIN - 20.0, bottom: 342.0 };
    let x = ticks.clone().over(frame.left, frame.right);
    let top = f64::from(counts.iter().copied().max().unwrap_or(1));
    let y = Axis::linear(0.0, top.max(4.0), 4).over(frame.bottom, frame.top);
    sheet((WIDTH, 400.0), title, &data.subtitle(), |canvas| {
        draw_y(canvas, frame, &y, "samples", |tick| y.plain_label(tick));
        draw_x(canvas, frame, &x, &axis_name(unit), |tick| x.plain_label(tick));
        for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let edge = |bin: usize| x.at((data.low + width * bin as f64) / factor);
            let (left, right) = (edge(bin) + 1.0, edge(bin + 1) - 1.0);
            canvas.rectangle((left, y.at(f64::from(count))), (right.max(left + 1.0), frame.bottom), BLUE);
        }
        let middle = x.at(data.median() / factor);
        canvas.line((middle, frame.top), (middle, frame.bottom), (RED, 2));
        canvas.text("median", (middle + 6.0, frame.top + 6.0), Text { color: RED, ..Text::label(Anchor::Start) });
    })
}

fn axis_name(unit: &str) -> String {
    format!("time of one iteration, {unit}")
}

const ROW: f64 = 46.0;

fn strips(data: &Data, ticks: &Axis, (factor, unit): (f64, &str), title: &str) -> Option<String> {
    let bottom = HEAD + ROW * data.replicates.len() as f64;
    let frame = Frame { left: 120.0, top: HEAD, right: WIDTH - 120.0, bottom };
    let x = ticks.clone().over(frame.left, frame.right);
    sheet((WIDTH, bottom + 84.0), title, &data.subtitle(), |canvas| {
        draw_x(canvas, frame, &x, &axis_name(unit), |tick| x.plain_label(tick));
        for (row, (replicate, times)) in data.replicates.iter().enumerate() {
            let y = frame.top + ROW * (row as f64 + 0.5);
            canvas.text(&format!("replicate {replicate}"), (frame.left - 10.0, y), Text::label(Anchor::End));
            strip(canvas, times, y, |time| (time <= data.high).then(|| x.at(time / factor)));
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let (at, middle) = (x.at(median(&sorted) / factor), median(&sorted));
            canvas.line((at, y - 16.0), (at, y + 16.0), (RED, 3));
            canvas.text(
                &format_time(middle),
                (frame.right + 10.0, y),
                Text { color: INK, ..Text::label(Anchor::Start) },
            );
        }
        let key = (frame.left + 2.0, bottom + 64.0);
        canvas.line((key.0, key.1 - 8.0), (key.0, key.1 + 8.0), (RED, 3));
        let text = "median of the replicate, also at the right; each dot is one sample";
        canvas.text(text, (key.0 + 10.0, key.1), Text::faded(Anchor::Start));
    })
}

/// Dots at the times of one replicate. Their height has no meaning: it follows the golden ratio, which spreads any
/// number of dots evenly and needs no random numbers.
fn strip(canvas: &mut Canvas<'_>, times: &[f64], y: f64, at: impl Fn(f64) -> Option<f64>) {
    for (index, &time) in times.iter().enumerate() {
        let height = (index as f64 * 0.618_033_988_75).fract() - 0.5;
        if let Some(x) = at(time) {
            canvas.dot((x, y + height * 24.0), 2, BLUE);
        }
    }
}
