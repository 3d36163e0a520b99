//! Memory over time: what the cases of a run held, one after another, and of which kind; what a
//! step held.

use rsb_model::{BenchmarkResult, Run};

use super::{axis, slug};
use crate::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, HEAT_LEVELS, Label, Legend, Paint,
    Point,
};
use crate::label::{Shortener, measured_results};
use crate::number::format_quantity;

/// Kinds of memory that cases tell of, and what they are called.
const KINDS: [(&str, &str); 5] = [
    ("memory_used_mb", "held"),
    ("memory_allocated_mb", "handed out by the framework"),
    ("gpu_memory_peak_mb", "most of the GPU's"),
    ("gpu_memory_used_mb", "the GPU's, of all"),
    ("memory_average_mb", "mean"),
];

fn number(result: &BenchmarkResult, name: &str) -> Option<f64> {
    result.fields()?.number(name).filter(|value| value.is_finite() && *value >= 0.0)
}

/// Seconds from the begin of the run to the end of a case.
fn seconds(run: &Run, result: &BenchmarkResult) -> f64 {
    result.timestamp.duration_since(run.started).as_secs_f64().max(0.0)
}

/// When a case ended, what it held, and the case.
type MemoryCase<'a> = (f64, f64, &'a BenchmarkResult);

/// Cases with a figure of memory, in the order in which they ended.
fn cases<'a>(run: &'a Run, kind: &str) -> Vec<MemoryCase<'a>> {
    let of = measured_results(run)
        .filter_map(|result| Some((seconds(run, result), number(result, kind)?, result)));
    let mut cases: Vec<_> = of.collect();
    cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    cases
}

/// Memory over time: what each case of the run held, and what a training step held from one
/// allocation to the next.
pub fn memory_timelines(run: &Run) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    over_the_run(run, &names)
        .into_iter()
        .chain(measured_results(run).filter_map(|result| within_a_step(result, &names)))
        .collect()
}

/// What cases held, by the time at which they ended.
fn over_the_run(run: &Run, names: &Shortener) -> Option<Chart> {
    let cases = cases(run, KINDS[0].0);
    let held: Vec<(f64, f64)> = cases.iter().map(|(time, held, _)| (*time, *held)).collect();
    let (.., most) = cases.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let words = Timeline {
        name: "memory-timeline",
        title: "Memory over the run",
        subtitle: &format!(
            "held by each case, at the time when it ended; most by {}",
            names.full(&most.benchmark_id)
        ),
        time: "seconds since the run began",
        more: "more than the case before",
        less: "less",
    };
    words.chart(&held)
}

/// What the tensors of a step held, by the events of its framework.
fn within_a_step(result: &BenchmarkResult, names: &Shortener) -> Option<Chart> {
    let curve = result.fields()?.get("memory_timeline")?.as_object()?;
    let column = |name: &str| {
        Some(curve.get(name)?.as_array()?.iter().map(|value| value.as_f64().unwrap_or(0.0)))
    };
    let mut held: Vec<(f64, f64)> = column("time_ms")?.map(|time| (time, 0.0)).collect();
    for part in curve.keys().filter(|name| *name != "time_ms") {
        held.iter_mut().zip(column(part)?).for_each(|(sum, part)| sum.1 += part);
    }
    let name = names.full(&result.benchmark_id);
    let words = Timeline {
        name: &slug(&format!("memory-timeline-{}", result.benchmark_id.as_str())),
        title: "Memory within a step",
        subtitle: &format!(
            "tensors of {name}, from one allocation to the next; the profiler makes it slower"
        ),
        time: "ms since the step began",
        more: "allocated",
        less: "freed",
    };
    words.chart(&held)
}

/// What the chart of a curve of memory says.
struct Timeline<'a> {
    name: &'a str,
    title: &'a str,
    subtitle: &'a str,
    time: &'static str,
    more: &'static str,
    less: &'static str,
}

impl Timeline<'_> {
    /// Steps of `held`, megabytes by time, with more and less marked and the peak named.
    fn chart(&self, held: &[(f64, f64)]) -> Option<Chart> {
        let (first, last) = (held.first()?.0, held.last()?.0);
        let peak = held.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if held.len() < 2 || last <= first {
            return None;
        }
        let marks = |paint: Paint, name: &str, is_own: fn(f64, f64) -> bool| {
            let pairs = held.windows(2).filter_map(|pair| match pair {
                [before, after] if is_own(before.1, after.1) => Some(Point::at(after.0, after.1)),
                _ => None,
            });
            Dataset::new(DatasetKind::Marks, paint, pairs.collect()).with_name(name)
        };
        // Between two points nothing is known: a step stands where the next one is.
        let steps = held.windows(2).flat_map(|pair| match pair {
            [before, after] => {
                vec![
                    Point::at(before.0, before.1),
                    Point::at(after.0, before.1),
                    Point::at(after.0, after.1),
                ]
            }
            _ => Vec::new(),
        });
        let text = format!("peak {}", format_quantity(peak.1, "MB"));
        Some(Chart {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            subtitle: self.subtitle.to_owned(),
            place: ChartPlace::Other,
            x_axis: axis::exact(self.time, first, last, 8),
            y_axis: axis::linear("MB", 0.0, peak.1 * 1.08, 6),
            datasets: vec![
                Dataset::new(DatasetKind::Path, Paint::Plain, steps.collect()).with_name("held"),
                marks(Paint::Series(1), self.more, |before, after| after > before),
                marks(Paint::Series(2), self.less, |before, after| after < before),
                Dataset::new(
                    DatasetKind::Marks,
                    Paint::Warning,
                    vec![Point::at(peak.0, peak.1).saying(text)],
                )
                .with_name("peak"),
            ],
            legend_position: Legend::Below,
        })
    }
}

/// Columns of the heat map, at most.
const COLUMNS: usize = 24;

/// Memory by kind and time: the darker, the more.
pub fn memory_heat_map(run: &Run) -> Option<Chart> {
    let kinds: Vec<(&str, Vec<MemoryCase<'_>>)> = KINDS
        .iter()
        .map(|(field, name)| (*name, cases(run, field)))
        .filter(|(_, cases)| !cases.is_empty())
        .collect();
    let times = || kinds.iter().flat_map(|(_, cases)| cases).map(|(time, ..)| *time);
    let (first, last) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    let count = kinds.iter().map(|(_, cases)| cases.len()).max()?.min(COLUMNS);
    if count < 2 || last <= first {
        return None;
    }
    let column =
        |time: f64| (((time - first) / (last - first) * count as f64) as usize).min(count - 1);
    let mut cells: Vec<(usize, usize, f64)> = Vec::new();
    for (row, (_, cases)) in kinds.iter().enumerate() {
        for (time, value, _) in cases {
            let at = column(*time);
            match cells.iter_mut().find(|(x, y, _)| (*x, *y) == (at, row)) {
                Some(cell) => cell.2 = cell.2.max(*value),
                None => cells.push((at, row, *value)),
            }
        }
    }
    let edge = |column: usize| first + (last - first) * column as f64 / count as f64;
    let every = count.div_ceil(8);
    let labels = (0..count)
        .step_by(every)
        .map(|at| Label { at: at as f64, text: format!("{:.0} s", edge(at)) });
    Some(Chart {
        name: "memory-heat-map".to_owned(),
        title: "Memory by kind over the run".to_owned(),
        subtitle: "the most that a case held which ended in that time; empty where none tells"
            .to_owned(),
        place: ChartPlace::Other,
        x_axis: Axis {
            title: "seconds since the run began".to_owned(),
            bounds: [-0.5, count as f64 - 0.5],
            labels: labels.collect(),
            scale: AxisScale::Rows,
        },
        y_axis: axis::rows(kinds.iter().map(|(name, _)| (*name).to_owned())),
        datasets: heat_map_datasets(&cells, "MB", Words::Hidden),
        legend_position: Legend::Below,
    })
}

/// Whether fields say their figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Shown,
    Hidden,
}

/// Cells (column, row, value) in the shades of a heat map, each named by the figures that it holds.
pub(super) fn heat_map_datasets(
    cells: &[(usize, usize, f64)],
    unit: &str,
    words: Words,
) -> Vec<Dataset> {
    let values = || cells.iter().map(|(.., value)| *value);
    let (low, high) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    // Figures that span powers of ten are shaded by them; else all but the highest would look
    // alike.
    let is_wide = low > 0.0 && high > 20.0 * low;
    let scaled = |value: f64| if is_wide { value.ln() } else { value };
    let (from, to) = (scaled(low), scaled(high));
    let levels = f64::from(HEAT_LEVELS);
    let level = |value: f64| {
        let share = if to > from { (scaled(value) - from) / (to - from) } else { 1.0 };
        (share * levels).floor().clamp(0.0, levels - 1.0) as u8
    };
    let bound = |level: u8| {
        let at = from + (to - from) * f64::from(level) / levels;
        if is_wide { at.exp() } else { at }
    };
    let of_level = |own: u8| {
        let cells = cells.iter().filter(|(.., value)| level(*value) == own);
        let point = |(x, y, value): &(usize, usize, f64)| {
            let point = Point::at(*x as f64, *y as f64);
            if words == Words::Shown { point.saying(format_quantity(*value, unit)) } else { point }
        };
        let name = format!(
            "{} to {}",
            format_quantity(bound(own), unit),
            format_quantity(bound(own + 1), unit)
        );
        Dataset::new(DatasetKind::Cells, Paint::Heat(own), cells.map(point).collect())
            .with_name(name)
    };
    (0..HEAT_LEVELS).map(of_level).filter(|dataset| !dataset.points.is_empty()).collect()
}
