//! All samples of a case: a histogram for one replicate, one strip of dots per replicate for
//! several.

use rsb_model::BenchmarkResult;
use rsb_stats::median;

use super::{axis, slug};
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, benchmark_of};
use crate::number::{format_count, format_time};

const FEWEST: usize = 5;

/// Times in nanoseconds by replicate, and the range of the axis, which contains nearly all times.
struct Data {
    replicates: Vec<(u32, Vec<f64>)>,
    sorted: Vec<f64>,
    low: f64,
    high: f64,
}

/// Returns a chart of the samples of `result`; `None` if fewer than five can be read.
pub fn distribution(result: &BenchmarkResult) -> Option<Chart> {
    let data = data(result)?;
    let (factor, unit) = time_unit(data.high);
    let title = format!("time of one iteration, {unit}");
    let (y_axis, datasets) = match data.replicates.as_slice() {
        [_] => histogram(&data, factor),
        _ => strips(&data, factor),
    };
    let case = Shortener::default().full(&result.benchmark_id);
    Some(Chart {
        name: slug(&format!("samples-{}", result.benchmark_id)),
        title: format!(
            "{case}: 8 in 10 iterations take {} to {}",
            format_time(value_at(&data.sorted, 0.1)?),
            format_time(value_at(&data.sorted, 0.9)?)
        ),
        subtitle: data.subtitle(),
        place: ChartPlace::Benchmark(benchmark_of(result).to_owned()),
        x_axis: axis::exact(&title, data.low / factor, data.high / factor, 7),
        y_axis,
        datasets,
        legend_position: Legend::Below,
    })
}

fn data(result: &BenchmarkResult) -> Option<Data> {
    let replicates: Vec<(u32, Vec<f64>)> = result
        .samples
        .iter()
        .filter_map(|samples| Some((samples.replicate, samples.per_iteration().ok()?)))
        .collect();
    let mut sorted: Vec<f64> =
        replicates.iter().flat_map(|(_, times)| times.iter().copied()).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < FEWEST {
        return None;
    }
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let (lower, upper) = (value_at(&sorted, 0.25)?, value_at(&sorted, 0.75)?);
    // Clip the axis: a single interrupted sample must not squeeze all others into a line.
    let reach = upper + 6.0 * (upper - lower).max(upper * 0.002);
    let high = sorted.iter().copied().rfind(|time| *time <= reach).unwrap_or(last);
    let pad = ((high - first) * 0.03).max(first * 0.001);
    Some(Data { replicates, low: (first - pad).max(0.0), high: high + pad, sorted })
}

fn value_at(sorted: &[f64], share: f64) -> Option<f64> {
    sorted.get((share * (sorted.len() - 1) as f64).round() as usize).copied()
}

impl Data {
    fn median(&self) -> f64 {
        median(&self.sorted).unwrap_or_default()
    }

    /// Describes the samples: their number, the median, and how many are beyond the right edge.
    fn subtitle(&self) -> String {
        let beyond = self.sorted.iter().filter(|time| **time > self.high).count();
        let count = format_count(self.sorted.len(), "sample", "samples");
        let mut text = format!("{count}, median {}", format_time(self.median()));
        if let (true, Some(last)) = (beyond > 0, self.sorted.last()) {
            let last = format_time(*last);
            text.push_str(&format!("; {beyond} beyond the right edge, up to {last}"));
        }
        text
    }
}

/// Returns the unit for times up to `top` nanoseconds, and its length in nanoseconds.
fn time_unit(top: f64) -> (f64, &'static str) {
    match top {
        _ if top >= 2e9 => (1e9, "s"),
        _ if top >= 2e6 => (1e6, "ms"),
        _ if top >= 2e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// Counts the samples in each of several equal parts of the axis.
fn histogram(data: &Data, factor: f64) -> (Axis, Vec<Dataset>) {
    let bins = (data.sorted.len() as f64).sqrt().ceil().clamp(5.0, 40.0) as usize;
    let width = (data.high - data.low) / bins as f64;
    let mut counts = vec![0_u32; bins];
    for time in data.sorted.iter().filter(|time| **time <= data.high) {
        let bin = (((time - data.low) / width) as usize).min(bins - 1);
        if let Some(count) = counts.get_mut(bin) {
            *count += 1;
        }
    }
    let top = f64::from(counts.iter().copied().max().unwrap_or(1));
    let mut columns = Vec::new();
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let start = (data.low + width * bin as f64) / factor;
        let end = (data.low + width * (bin + 1) as f64) / factor;
        columns.push(Point::at(f64::midpoint(start, end), f64::from(*count)).over(start, end));
    }
    let median = Point::at(data.median() / factor, 0.0).saying("median");
    let datasets = vec![
        Dataset::new(DatasetKind::Columns, Paint::Plain, columns),
        Dataset::new(DatasetKind::Rules, Paint::Bad, vec![median]),
    ];
    (axis::linear("samples", 0.0, top.max(4.0), 4), datasets)
}

/// Share of a row that its dots fill.
const FILLED: f64 = 0.52;

/// Returns a row of dots for each replicate. The height of a dot has no meaning: it follows the
/// golden ratio, which spreads any number of dots evenly without random numbers.
fn strips(data: &Data, factor: f64) -> (Axis, Vec<Dataset>) {
    let (mut dots, mut medians) = (Vec::new(), Vec::new());
    for (row, (_, times)) in data.replicates.iter().enumerate() {
        let row = row as f64;
        for (index, time) in times.iter().enumerate().filter(|(_, time)| **time <= data.high) {
            let height = (index as f64 * 0.618_033_988_75).fract() - 0.5;
            dots.push(Point::at(time / factor, row + FILLED * height));
        }
        let middle = median(times).unwrap_or_default();
        medians.push(Point::at(middle / factor, row).saying(format_time(middle)));
    }
    let datasets = vec![
        Dataset::new(DatasetKind::Dots, Paint::Plain, dots).with_name("one sample"),
        Dataset::new(DatasetKind::Ticks, Paint::Bad, medians)
            .with_name("median of the replicate, also at the right"),
    ];
    (
        axis::rows(data.replicates.iter().map(|(replicate, _)| format!("replicate {replicate}"))),
        datasets,
    )
}
