//! Memory over time: the memory held by the cases of a run, by kind, and by the tensors of a
//! training step.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, Run};
use serde_json::{Map, Value};

use super::{axis, range, slug};
use crate::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, HEAT_LEVELS, Label, Legend, Paint,
    Point,
};
use crate::label::{Shortener, measured_results};
use crate::number::format_quantity;

/// Kinds of memory that cases report, with their labels.
const KINDS: [(&str, &str); 5] = [
    ("memory_used_mb", "held"),
    ("memory_allocated_mb", "allocated by the framework"),
    ("gpu_memory_peak_mb", "peak of the GPU"),
    ("gpu_memory_used_mb", "GPU, all processes"),
    ("memory_average_mb", "mean"),
];

fn number(result: &BenchmarkResult, name: &str) -> Option<f64> {
    result.fields()?.number(name).filter(|value| value.is_finite() && *value >= 0.0)
}

fn seconds(run: &Run, result: &BenchmarkResult) -> f64 {
    result.timestamp.duration_since(run.started).as_secs_f64().max(0.0)
}

/// End time of a case in seconds, memory held in MB, and the case.
type MemoryCase<'a> = (f64, f64, &'a BenchmarkResult);

/// Returns the cases with a value in field `kind`, in the order in which they ended.
fn cases<'a>(run: &'a Run, kind: &str) -> Vec<MemoryCase<'a>> {
    let of = measured_results(run)
        .filter_map(|result| Some((seconds(run, result), number(result, kind)?, result)));
    let mut cases: Vec<_> = of.collect();
    cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    cases
}

/// Returns charts of memory over time: the memory held by each case of the run, and by a training
/// step from one allocation to the next.
pub fn memory_timelines(run: &Run) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    over_the_run(run, &names)
        .into_iter()
        .chain(measured_results(run).filter_map(|result| within_a_step(result, &names)))
        .collect()
}

/// Returns a chart of the memory held by cases, by their end times.
fn over_the_run(run: &Run, names: &Shortener) -> Option<Chart> {
    let cases = cases(run, KINDS[0].0);
    let held: Vec<(f64, f64)> = cases.iter().map(|(time, held, _)| (*time, *held)).collect();
    let (.., most) = cases.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let words = Timeline {
        name: "memory-timeline",
        title: &format!("Memory of the run, most by {}", names.full(&most.benchmark_id)),
        subtitle: "memory held by each case, at its end",
        time: "seconds since the run began",
        more: "more than the case before",
        less: "less",
    };
    words.chart(&held)
}

/// Returns a chart of the memory held by the tensors of a step, from the allocation events of its
/// framework.
fn within_a_step(result: &BenchmarkResult, names: &Shortener) -> Option<Chart> {
    let curve = result.fields()?.get("memory_timeline")?.as_object()?;
    let mut held: Vec<(f64, f64)> =
        numbers(curve, "time_ms")?.into_iter().map(|time| (time, 0.0)).collect();
    for name in curve.keys().filter(|name| *name != "time_ms") {
        for (sum, part) in held.iter_mut().zip(numbers(curve, name)?) {
            sum.1 += part;
        }
    }
    let name = names.full(&result.benchmark_id);
    let words = Timeline {
        name: &slug(&format!("memory-timeline-{}", result.benchmark_id.as_str())),
        title: &format!("Memory of a step of {name}"),
        subtitle: "tensors, from one allocation to the next; the profiler makes it slower",
        time: "ms since the step began",
        more: "allocated",
        less: "freed",
    };
    words.chart(&held)
}

/// Returns the list of numbers called `name`, with 0 for entries that are not numbers.
fn numbers(curve: &Map<String, Value>, name: &str) -> Option<Vec<f64>> {
    let values = curve.get(name)?.as_array()?;
    Some(values.iter().map(|value| value.as_f64().unwrap_or(0.0)).collect())
}

/// Texts of a memory chart.
struct Timeline<'a> {
    name: &'a str,
    title: &'a str,
    subtitle: &'a str,
    time: &'static str,
    more: &'static str,
    less: &'static str,
}

impl Timeline<'_> {
    /// Returns a step chart of `held` (time, megabytes), with increases and decreases marked and
    /// the peak labeled.
    fn chart(&self, held: &[(f64, f64)]) -> Option<Chart> {
        let (first, last) = (held.first()?.0, held.last()?.0);
        let peak = held.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if held.len() < 2 || last <= first {
            return None;
        }
        // Between two points the value is unknown: the line steps at the next point.
        let steps = held.iter().tuple_windows().flat_map(|(before, after)| {
            [(before.0, before.1), (after.0, before.1), (after.0, after.1)]
                .map(|(time, held)| Point::at(time, held))
        });
        let text = format!("peak {}", format_quantity(peak.1, "MB"));
        Some(Chart {
            name: self.name.to_owned(),
            title: format!("{}: {text}", self.title),
            subtitle: self.subtitle.to_owned(),
            place: ChartPlace::Other,
            x_axis: axis::exact(self.time, first, last, 8),
            y_axis: axis::linear("MB", 0.0, peak.1 * 1.08, 6),
            datasets: vec![
                Dataset::new(DatasetKind::Path, Paint::Plain, steps.collect()).with_name("held"),
                change_marks(held, Paint::Series(1), self.more, |before, after| after > before),
                change_marks(held, Paint::Series(2), self.less, |before, after| after < before),
                Dataset::new(
                    DatasetKind::Marks,
                    Paint::Warning,
                    vec![Point::at(peak.0, peak.1).saying(text.as_str())],
                )
                .with_name("peak"),
            ],
            legend_position: Legend::Below,
        })
    }
}

/// Returns a mark at each point of `held` for which `is_own(before, after)` is true.
fn change_marks(
    held: &[(f64, f64)],
    paint: Paint,
    name: &str,
    is_own: fn(f64, f64) -> bool,
) -> Dataset {
    let changes = held.iter().tuple_windows().filter(|(before, after)| is_own(before.1, after.1));
    let points = changes.map(|(_, after)| Point::at(after.0, after.1));
    Dataset::new(DatasetKind::Marks, paint, points.collect()).with_name(name)
}

const COLUMNS: usize = 24;

/// Returns a heat map of memory by kind and time; darker is more.
pub fn memory_heat_map(run: &Run) -> Option<Chart> {
    let kinds: Vec<(&str, Vec<MemoryCase<'_>>)> = KINDS
        .iter()
        .map(|(field, name)| (*name, cases(run, field)))
        .filter(|(_, cases)| !cases.is_empty())
        .collect();
    let (first, last) = range(kinds.iter().flat_map(|(_, cases)| cases).map(|(time, ..)| *time))?;
    let count = kinds.iter().map(|(_, cases)| cases.len()).max()?.min(COLUMNS);
    if count < 2 || last <= first {
        return None;
    }
    let mut cells: Vec<(usize, usize, f64)> = Vec::new();
    for (row, (_, cases)) in kinds.iter().enumerate() {
        for (time, value, _) in cases {
            let share = (*time - first) / (last - first);
            let at = ((share * count as f64) as usize).min(count - 1);
            match cells.iter_mut().find(|(x, y, _)| (*x, *y) == (at, row)) {
                Some(cell) => cell.2 = cell.2.max(*value),
                None => cells.push((at, row, *value)),
            }
        }
    }
    let (_, most) = range(cells.iter().map(|(.., value)| *value))?;
    let every = count.div_ceil(8);
    let labels = (0..count).step_by(every).map(|at| {
        let seconds = first + (last - first) * at as f64 / count as f64;
        Label { at: at as f64, text: format!("{seconds:.0} s") }
    });
    Some(Chart {
        name: "memory-heat-map".to_owned(),
        title: format!("Memory of the run by kind, up to {}", format_quantity(most, "MB")),
        subtitle: "highest value of the cases that ended in each interval; empty without data"
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Shown,
    Hidden,
}

/// Returns the cells (column, row, value) of a heat map: one dataset per shade. The names of the
/// lightest and the darkest are the lowest and the highest value.
pub(super) fn heat_map_datasets(
    cells: &[(usize, usize, f64)],
    unit: &str,
    words: Words,
) -> Vec<Dataset> {
    let scale = HeatScale::new(cells);
    let mut datasets = Vec::new();
    for level in 0..HEAT_LEVELS {
        let mut points = Vec::new();
        for (x, y, value) in cells {
            if scale.level(*value) != level {
                continue;
            }
            let mut point = Point::at(*x as f64, *y as f64);
            if words == Words::Shown {
                point = point.saying(format_quantity(*value, unit));
            }
            points.push(point);
        }
        if points.is_empty() {
            continue;
        }
        datasets.push(Dataset::new(DatasetKind::Cells, Paint::Heat(level), points));
    }
    let values = || cells.iter().map(|(.., value)| *value);
    let (low, high) = range(values()).unwrap_or_default();
    if let Some(darkest) = datasets.last_mut() {
        darkest.name = format_quantity(high, unit);
    }
    if let Some(lightest) = datasets.first_mut() {
        lightest.name = format_quantity(low, unit);
    }
    datasets
}

struct HeatScale {
    /// Lowest and highest value, or their logarithms.
    from: f64,
    to: f64,
    /// Whether the scale is logarithmic. Used if values span powers of ten, because all but the
    /// highest would otherwise look the same.
    is_log: bool,
}

impl HeatScale {
    fn new(cells: &[(usize, usize, f64)]) -> Self {
        let (low, high) = range(cells.iter().map(|(.., value)| *value)).unwrap_or_default();
        if low > 0.0 && high > 20.0 * low {
            Self { from: low.ln(), to: high.ln(), is_log: true }
        } else {
            Self { from: low, to: high, is_log: false }
        }
    }

    fn level(&self, value: f64) -> u8 {
        let levels = f64::from(HEAT_LEVELS);
        let scaled = if self.is_log { value.ln() } else { value };
        let share =
            if self.to > self.from { (scaled - self.from) / (self.to - self.from) } else { 1.0 };
        (share * levels).floor().clamp(0.0, levels - 1.0) as u8
    }
}
