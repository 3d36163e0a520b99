//! The chart kinds by name, with the data that each requires and the benchmarks that provide it.

use rsb_model::record::SeriesTrend;
use rsb_model::{ComparisonResult, Field, Run};

use super::lines::PointDetail;
use super::{
    bars, changes, comparison, gauges, lines, matrix, memory, models, roofline, sensors, simulated,
    speedup, stacked, trend,
};
use crate::chart::Chart;

/// Data source of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartSource {
    /// One run.
    Run,
    /// A run and its comparison.
    Comparison,
    /// The stored runs.
    History,
    /// The newest stored run of each machine.
    Machines,
}

/// A kind of chart.
#[derive(Debug, Clone, Copy)]
pub struct ChartKind {
    /// Name on the command line.
    pub name: &'static str,
    /// Description of the chart.
    pub about: &'static str,
    /// Data source.
    pub source: ChartSource,
    /// Benchmarks that provide the required data.
    pub needs: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
}

/// Data to draw charts from.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChartSubject<'a> {
    /// The run.
    pub run: Option<&'a Run>,
    /// Result of comparing the run.
    pub comparison: Option<&'a ComparisonResult>,
    /// The history.
    pub series: &'a [SeriesTrend],
    /// Name and newest run of each machine.
    pub machines: &'a [(&'a str, &'a Run)],
    /// Drawing options.
    pub options: ChartOptions,
}

/// Options of a chart, as given on the command line. A chart ignores options that do not apply.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChartOptions {
    /// Metric to draw instead of the headline metric.
    pub metric: Option<&'static Field>,
    /// Whether to draw simulated results of a run, too, with a mark.
    pub simulated: bool,
}

impl ChartKind {
    /// Returns the kind called `name`. Dashes may be replaced by underscores or omitted.
    pub fn find(name: &str) -> Option<&'static Self> {
        let plain = |name: &str| name.replace(['-', '_'], "");
        CHART_KINDS.iter().find(|kind| plain(kind.name) == plain(name))
    }

    /// Returns all charts of this kind that `subject` has the data for.
    pub fn draw(&self, subject: &ChartSubject<'_>) -> Vec<Chart> {
        let run = subject.run.filter(|_| subject.options.simulated);
        let simulated = run.and_then(simulated::as_measured);
        let run = simulated.as_ref().or(subject.run);
        let mut charts = (self.draw)(&ChartSubject { run, ..*subject });
        super::tell_apart(&mut charts);
        if let Some(run) = run.filter(|_| self.source == ChartSource::Run) {
            super::add_source(&mut charts, run);
        }
        if let (Some(_), Some(run)) = (&simulated, subject.run) {
            simulated::mark(&mut charts, run);
        }
        charts
    }
}

/// Applies `of` to the run, if there is one.
fn of_run(subject: &ChartSubject<'_>, of: impl FnOnce(&Run) -> Vec<Chart>) -> Vec<Chart> {
    subject.run.map_or_else(Vec::new, of)
}

/// Applies `of` to the comparison, if there is one.
fn of_two(
    subject: &ChartSubject<'_>,
    of: impl FnOnce(&ComparisonResult) -> Option<Chart>,
) -> Vec<Chart> {
    subject.comparison.and_then(of).into_iter().collect()
}

/// Returns a kind that is drawn from a run.
const fn run(
    name: &'static str,
    about: &'static str,
    needs: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
) -> ChartKind {
    ChartKind { name, about, source: ChartSource::Run, needs, draw }
}

/// Returns a kind that is drawn from two runs.
const fn two(
    name: &'static str,
    about: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
) -> ChartKind {
    ChartKind {
        name,
        about,
        source: ChartSource::Comparison,
        needs: "two runs with cases in common",
        draw,
    }
}

/// Returns a kind that is drawn from the history.
const fn history(
    name: &'static str,
    about: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
) -> ChartKind {
    ChartKind {
        name,
        about,
        source: ChartSource::History,
        needs: "two stored runs of a case",
        draw,
    }
}

/// All chart kinds.
pub const CHART_KINDS: [ChartKind; 23] = [
    run(
        "line",
        "a metric over size, batch size, threads, requests per second …, one line per variant",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Figure))
        },
    ),
    run(
        "error-bars",
        "like `line`, with the range of 80 % of the samples",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Errors))
        },
    ),
    run(
        "scatter",
        "like `line`, with every sample as a dot",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Samples))
        },
    ),
    run(
        "bar",
        "a metric of each case, with a mark at the peak of the hardware",
        "any benchmark with two cases that have a rate, such as gemm, tensor-core, \
         flash-attention; without one, name a metric: --metric time_ms",
        |subject| of_run(subject, |run| bars::bars_of(run, subject.options.metric)),
    ),
    run(
        "stacked-bar",
        "the parts of a training step: forward, backward, optimizer; computation and \
         communication; memory held and saved by ZeRO",
        "deepspeed, pytorch (training), multi-gpu (data-parallel)",
        |subject| of_run(subject, stacked::stacked_charts),
    ),
    run(
        "gauge",
        "shares of the maximum: roofline, occupancy, link, cache, load, memory of each GPU",
        "gemm, tensor-ops, occupancy, cache-hit-rate, memory-transfer, smi-metrics; a GPU for its \
         memory",
        |subject| of_run(subject, |run| gauges::gauges(run, subject.options.metric)),
    ),
    run(
        "sensors",
        "power, clocks, temperature, load and memory of GPUs over the time of the run, and \
         throttling",
        "any benchmark on a GPU with sensors, such as smi-metrics",
        |subject| of_run(subject, sensors::sensors),
    ),
    run(
        "heat-map",
        "a metric by the two parameters that vary most",
        "memory-bandwidth, tensor-ops, gemm: four cases that differ by two parameters",
        |subject| of_run(subject, |run| matrix::heat_maps(run, subject.options.metric)),
    ),
    run(
        "backends",
        "the backends of one piece of hardware side by side",
        "`run --suite hardware-acceleration` with two backends for one device",
        |subject| of_run(subject, super::backends),
    ),
    run(
        "models",
        "the time of one pass of each model, one bar per runtime and device",
        "`models --backend cpu,openvino`",
        |subject| of_run(subject, models::models),
    ),
    run(
        "speedup",
        "speed relative to the reference",
        "precision, multi-gpu, flash-attention, triton",
        |subject| of_run(subject, speedup::speedups),
    ),
    run(
        "scaling",
        "speed with more threads, GPUs or processes, compared with the ideal",
        "any CPU benchmark with `--axis threads=1,2,4`, multi-gpu, all-reduce, deepspeed",
        |subject| of_run(subject, speedup::scaling),
    ),
    run(
        "roofline",
        "rate over operations per byte, with the limits of memory and arithmetic",
        "gemm or tensor-ops, with memory-bandwidth in the same run for the slope",
        |subject| of_run(subject, roofline::roofline),
    ),
    run(
        "memory-timeline",
        "memory of the cases over the time of the run, and of a training step over its time, with \
         the peak",
        "pytorch, flash-attention, inference, memory-fragmentation: two cases that report memory, \
         or one of training",
        |subject| of_run(subject, memory::memory_timelines),
    ),
    run(
        "memory-breakdown",
        "the contents of the memory: model, gradients, optimizer, keys and values, activations; \
         one rank with ZeRO",
        "inference, deepspeed, pytorch (training)",
        |subject| of_run(subject, stacked::memory_breakdown),
    ),
    run(
        "memory-heat-map",
        "memory by kind over the time of the run",
        "pytorch, inference, memory-fragmentation: two cases that report memory",
        |subject| of_run(subject, |run| memory::memory_heat_map(run).into_iter().collect()),
    ),
    run("distribution", "every sample of the noisiest cases", "any benchmark", |subject| {
        of_run(subject, super::noisy_distributions)
    }),
    two("delta", "the signed change of each value: better, worse, or within 5 %", |subject| {
        of_two(subject, changes::delta)
    }),
    two("before-after", "each value before and after", |subject| {
        of_two(subject, changes::before_after)
    }),
    two(
        "verdicts",
        "the worsening of each value, with its interval, its verdict and the threshold",
        |subject| of_two(subject, comparison),
    ),
    history("trend", "a series over its runs: levels, noise around them, changes", |subject| {
        let mut series: Vec<&SeriesTrend> = subject.series.iter().collect();
        series.sort_by_key(|one| crate::trend::moved_first(one));
        series.into_iter().filter_map(trend::trend_chart).collect()
    }),
    history("sparkline", "many series at a glance", |subject| {
        super::sparklines::sparklines(subject.series).into_iter().collect()
    }),
    ChartKind {
        name: "machines",
        about: "the time of each case by machine, relative to the fastest",
        source: ChartSource::Machines,
        needs: "stored runs of two machines with cases in common",
        draw: |subject| super::machines(subject.machines),
    },
];
