//! Stacked bars: the memory of a rank under `ZeRO`, the time of a training step, the memory of a
//! model.

use itertools::Itertools as _;
use rsb_model::{BenchmarkResult, BenchmarkType, DeviceType, Run};

use super::{axis, slug};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::label::{Shortener, benchmarks, results_of};
use crate::number::format_quantity;

const MAX_STACKS: usize = 30;

/// A part of a stacked bar: its name, its paint, and a function that returns its size in a case.
type Part = (&'static str, Paint, fn(&BenchmarkResult) -> Option<f64>);

struct StackSpec {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    parts: &'static [Part],
}

fn finite_number(result: &BenchmarkResult, name: &str) -> Option<f64> {
    result.fields()?.number(name).filter(|value| value.is_finite())
}

fn number(result: &BenchmarkResult, name: &str) -> Option<f64> {
    finite_number(result, name).filter(|value| *value >= 0.0)
}

/// Phases of a training step.
const STEP: StackSpec = StackSpec {
    name: "step",
    title: "time of a training step",
    unit: "ms",
    parts: &[
        ("forward", Paint::Series(0), |result| step(result, "forward_time_ms")),
        ("backward", Paint::Series(1), |result| step(result, "backward_time_ms")),
        ("optimizer", Paint::Series(2), |result| step(result, "optimizer_step_time_ms")),
    ],
};

/// Returns the phase `name` of a training step. `None` without a backward pass: a forward pass is
/// not a step.
fn step(result: &BenchmarkResult, name: &str) -> Option<f64> {
    number(result, "backward_time_ms")?;
    number(result, name)
}

/// Computing and communication time of a training step on several devices.
const COMMUNICATION: StackSpec = StackSpec {
    name: "communication",
    title: "computing and communication of a training step",
    unit: "ms",
    parts: &[
        ("computing", Paint::Series(0), |result| {
            Some((whole_step(result)? - number(result, "communication_overhead_ms")?).max(0.0))
        }),
        ("communication", Paint::Series(1), |result| {
            whole_step(result).and(number(result, "communication_overhead_ms"))
        }),
    ],
};

/// Returns the time of a whole step, or the sum of its phases if none is recorded.
fn whole_step(result: &BenchmarkResult) -> Option<f64> {
    number(result, "time_per_step_ms")
        .or_else(|| STEP.parts.iter().map(|(.., size)| size(result)).sum())
}

/// Memory that a rank holds, and memory that it saves because other ranks hold it.
const ZERO: StackSpec = StackSpec {
    name: "zero-memory",
    title: "weights and optimizer of one rank",
    unit: "MB",
    parts: &[
        ("held", Paint::Series(0), |result| {
            finite_number(result, "memory_saved_gb").and(number(result, "memory_used_mb"))
        }),
        // Without sharding, the saving is zero except for padding of the optimizer state.
        ("saved", Paint::Faded, |result| {
            Some(finite_number(result, "memory_saved_gb")?.max(0.0) * 1e3)
        }),
    ],
};

/// Memory of a model during inference.
const MODEL: StackSpec = StackSpec {
    name: "memory",
    title: "contents of the memory",
    unit: "MB",
    parts: &[
        ("model", Paint::Series(0), model_size),
        ("activations, keys and values", Paint::Series(1), |result| {
            beyond_model(result).filter(|_| !is_of_process(result))
        }),
    ],
};

/// Memory of a process that runs a model, if only the size of the weights is known.
const PROCESS: StackSpec = StackSpec {
    name: "process-memory",
    title: "memory of the process",
    unit: "MB",
    parts: &[
        ("model", Paint::Series(0), model_size),
        ("libraries, copies, activations", Paint::Faded, |result| {
            beyond_model(result).filter(|_| is_of_process(result))
        }),
    ],
};

fn model_size(result: &BenchmarkResult) -> Option<f64> {
    number(result, "model_size_gb").map(|size| size * 1e3)
}

fn beyond_model(result: &BenchmarkResult) -> Option<f64> {
    let rest = number(result, "memory_used_mb")? - model_size(result)?;
    Some(rest).filter(|rest| *rest >= 0.0)
}

/// Returns whether `memory_used_mb` is the memory growth of the framework's process, rather than
/// the memory that its allocator handed out.
fn is_of_process(result: &BenchmarkResult) -> bool {
    result.benchmark_type == BenchmarkType::ComponentSpecific
        && result.device_type == Some(DeviceType::Cpu)
        && number(result, "activations_memory_mb").is_none()
}

/// Memory of a training step at its peak.
const TRAINING: StackSpec = StackSpec {
    name: "training-memory",
    title: "contents of the memory at the peak of a training step",
    unit: "MB",
    parts: &[
        ("model", Paint::Series(0), |result| number(result, "model_memory_mb")),
        ("gradients", Paint::Series(1), |result| number(result, "gradients_memory_mb")),
        ("optimizer", Paint::Series(2), |result| number(result, "optimizer_memory_mb")),
        ("activations", Paint::Series(3), |result| number(result, "activations_memory_mb")),
        ("other", Paint::Series(4), |result| number(result, "other_memory_mb")),
    ],
};

/// Returns stacked charts of the memory and time of training steps, one for each benchmark that has
/// the data.
pub fn stacked_charts(run: &Run) -> Vec<Chart> {
    [ZERO, STEP, COMMUNICATION].iter().flat_map(|whole| of_whole(run, whole)).collect()
}

/// Returns charts of the known parts of each case's memory.
pub fn memory_breakdown(run: &Run) -> Vec<Chart> {
    [MODEL, PROCESS, TRAINING, ZERO].iter().flat_map(|whole| of_whole(run, whole)).collect()
}

/// Returns the charts of [`stacked_charts`] and [`memory_breakdown`], each once.
pub(super) fn parts(run: &Run) -> Vec<Chart> {
    let all = [ZERO, STEP, COMMUNICATION, MODEL, PROCESS, TRAINING];
    all.iter().flat_map(|whole| of_whole(run, whole)).collect()
}

fn of_whole(run: &Run, whole: &StackSpec) -> Vec<Chart> {
    let names = Shortener::of_run(run);
    let own = benchmarks(run).into_iter();
    own.filter_map(|benchmark| chart(run, benchmark, whole, &names)).collect()
}

fn chart(run: &Run, benchmark: &str, whole: &StackSpec, names: &Shortener) -> Option<Chart> {
    let rows: Vec<(&str, Vec<f64>)> = results_of(run, benchmark)
        .filter_map(|result| {
            let sizes: Option<Vec<f64>> =
                whole.parts.iter().map(|(.., size)| size(result)).collect();
            Some((names.case(&result.benchmark_id), sizes?))
        })
        .take(MAX_STACKS)
        .collect();
    let top = rows.iter().map(|(_, sizes)| sizes.iter().sum::<f64>()).fold(0.0, f64::max);
    if top <= 0.0 {
        return None;
    }
    let mut datasets = Vec::new();
    for (index, (name, paint, _)) in whole.parts.iter().enumerate() {
        let mut points = Vec::new();
        for (row, (_, sizes)) in rows.iter().enumerate() {
            let from: f64 = sizes.iter().take(index).sum();
            let size = sizes.get(index).copied().unwrap_or(0.0);
            let mut point = Point::at(from + size, row as f64).over(from, from + size);
            if index + 1 == sizes.len() {
                point = point.saying(words(sizes, whole.unit));
            }
            points.push(point);
        }
        let kind = DatasetKind::Bars { thickness: 0.62 };
        datasets.push(Dataset::new(kind, *paint, points).with_name(*name));
    }
    let totals = whole.parts.iter().enumerate().map(|(index, (name, ..))| {
        (name, rows.iter().filter_map(|(_, sizes)| sizes.get(index)).sum::<f64>())
    });
    let totals: Vec<_> = totals.collect();
    let (largest, size) = totals.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = 100.0 * size / totals.iter().map(|(_, size)| size).sum::<f64>();
    Some(Chart {
        name: slug(&format!("stacked-{}-{benchmark}", whole.name)),
        title: format!("{benchmark}: {share:.0} % of the {} is {largest}", whole.title),
        subtitle: whole.parts.iter().map(|(name, ..)| *name).join(" + "),
        place: ChartPlace::Benchmark(benchmark.to_owned()),
        x_axis: axis::linear(whole.unit, 0.0, top, 6),
        y_axis: axis::rows(rows.iter().map(|(name, _)| (*name).to_owned())),
        datasets,
        legend_position: Legend::Below,
    })
}

/// Formats the parts as `1.20 MB + 3.40 MB`, or as their sum if there are more than three.
fn words(sizes: &[f64], unit: &str) -> String {
    if sizes.len() > 3 {
        return format_quantity(sizes.iter().sum(), unit);
    }
    sizes.iter().map(|size| format_quantity(*size, unit)).join(" + ")
}
