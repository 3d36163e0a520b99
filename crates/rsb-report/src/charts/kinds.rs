//! The kinds of charts by name: what each shows, what it is made of, and which benchmark gives
//! that.

use rsb_model::record::{RecommendDocument, SeriesTrend};
use rsb_model::{ComparisonResult, Field, Run};

use super::lines::PointDetail;
use super::{
    bars, changes, comparison, devices, distribution, gauges, lines, matrix, memory, models,
    recommendation, roofline, sensors, speedup, stacked, trend,
};
use crate::chart::Chart;
use crate::label::measured_results;
use crate::table::{Cell, Column, Table};

/// What a chart is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartSource {
    /// One run.
    Run,
    /// A run and what it is compared with.
    Comparison,
    /// The stored runs.
    History,
    /// What stored runs, or one of them, say of models.
    Models,
}

/// A kind of chart.
#[derive(Debug, Clone, Copy)]
pub struct ChartKind {
    /// On the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// What it is made of.
    pub source: ChartSource,
    /// Which benchmarks give what it needs.
    pub needs: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
}

/// What charts are drawn of.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChartSubject<'a> {
    /// The run.
    pub run: Option<&'a Run>,
    /// What came out of comparing it.
    pub comparison: Option<&'a ComparisonResult>,
    /// The history.
    pub series: &'a [SeriesTrend],
    /// What is best for each model.
    pub advice: Option<&'a RecommendDocument>,
    /// How to draw them.
    pub options: ChartOptions,
}

/// Options of a chart, as given on the command line. A chart that has no use for one ignores it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChartOptions {
    /// The metric to draw, instead of the main one.
    pub metric: Option<&'static Field>,
}

impl ChartKind {
    /// The kind called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        CHART_KINDS.iter().find(|kind| kind.name == name)
    }

    /// Every chart of this kind that `subject` has the data for.
    pub fn draw(&self, subject: &ChartSubject<'_>) -> Vec<Chart> {
        let mut charts = (self.draw)(subject);
        super::tell_apart(&mut charts);
        charts
    }
}

/// What `of` makes of the run.
fn of_run(subject: &ChartSubject<'_>, of: impl FnOnce(&Run) -> Vec<Chart>) -> Vec<Chart> {
    subject.run.map_or_else(Vec::new, of)
}

/// What `of` makes of the comparison.
fn of_two(
    subject: &ChartSubject<'_>,
    of: impl FnOnce(&ComparisonResult) -> Option<Chart>,
) -> Vec<Chart> {
    subject.comparison.and_then(of).into_iter().collect()
}

/// A kind that is made of a run.
const fn run(
    name: &'static str,
    about: &'static str,
    needs: &'static str,
    draw: fn(&ChartSubject<'_>) -> Vec<Chart>,
) -> ChartKind {
    ChartKind { name, about, source: ChartSource::Run, needs, draw }
}

/// A kind that is made of two runs.
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

/// A kind that is made of the history.
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

/// Every kind.
pub const CHART_KINDS: [ChartKind; 26] = [
    run(
        "line",
        "a figure over size, batch size, threads, requests a second …, a line for each way of \
         doing it",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Figure))
        },
    ),
    run(
        "error-bars",
        "the same, with from where to where eight in ten samples lie",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Errors))
        },
    ),
    run(
        "scatter",
        "the same, with every sample as a dot",
        "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis",
        |subject| {
            of_run(subject, |run| lines::lines(run, subject.options.metric, PointDetail::Samples))
        },
    ),
    run(
        "bar",
        "a figure of each case, with a mark at what the hardware can do",
        "any benchmark with two cases that tell a rate, such as gemm, tensor-core, \
         flash-attention; without one, name a figure: --metric time_ms",
        |subject| of_run(subject, |run| bars::bars_of(run, subject.options.metric)),
    ),
    run(
        "stacked-bar",
        "the parts of a training step: forward, backward, optimizer; computing and \
         communication; memory held and saved under ZeRO",
        "deepspeed, pytorch (training), multi-gpu (data-parallel)",
        |subject| of_run(subject, stacked::stacked_charts),
    ),
    run(
        "gauge",
        "shares of what could be: roofline, occupancy, link, cache, load, memory of each GPU",
        "gemm, tensor-ops, occupancy, cache-hit-rate, memory-transfer, smi-metrics; a GPU for its \
         memory",
        |subject| of_run(subject, |run| gauges::gauges(run, subject.options.metric)),
    ),
    run(
        "gpus",
        "the GPUs of the machine: compute units, memory, runtime",
        "a run on a machine with a GPU",
        |subject| of_run(subject, |run| gauges::gpus(run).into_iter().collect()),
    ),
    run(
        "sensors",
        "power, clocks, temperature, load and memory of GPUs over the time of the run, and \
         what held them back",
        "any benchmark on a GPU with sensors, above all smi-metrics",
        |subject| of_run(subject, sensors::sensors),
    ),
    run(
        "devices",
        "many devices of one kind as a grid, and which of them falls behind",
        "any benchmark on eight devices or more of one backend",
        |subject| of_run(subject, |run| devices::device_grids(run, subject.options.metric)),
    ),
    run(
        "heat-map",
        "a figure by the two parameters that vary most",
        "memory-bandwidth, tensor-ops, gemm: four cases that differ by two parameters",
        |subject| of_run(subject, |run| matrix::heat_maps(run, subject.options.metric)),
    ),
    run(
        "matrix",
        "the best figure of each benchmark on each device, or why there is none",
        "any benchmark",
        |subject| of_run(subject, |run| matrix::matrix(run).into_iter().collect()),
    ),
    run(
        "backends",
        "the backends of one piece of hardware side by side",
        "`run --suite hardware-acceleration` where two backends reach one device",
        |subject| of_run(subject, super::backends),
    ),
    run(
        "models",
        "the time of one pass of each model, a bar for each runtime and device",
        "`models --backend cpu,openvino`",
        |subject| of_run(subject, models::models),
    ),
    run(
        "speedup",
        "how many times faster than the reference",
        "precision, multi-gpu, flash-attention, triton",
        |subject| of_run(subject, speedup::speedups),
    ),
    run(
        "scaling",
        "how many times as fast with more threads, GPUs or processes, the ideal beside it",
        "any CPU benchmark with `--axis threads=1,2,4`, multi-gpu, all-reduce, deepspeed",
        |subject| of_run(subject, speedup::scaling),
    ),
    run(
        "roofline",
        "rate over operations for each byte, under what memory and units can do",
        "gemm or tensor-ops, with memory-bandwidth in the same run for the slope",
        |subject| of_run(subject, roofline::roofline),
    ),
    run(
        "memory-timeline",
        "what cases held over the time of the run, and a training step over its own: more and \
         less, and the peak",
        "pytorch, flash-attention, inference, memory-fragmentation: two cases that tell of memory, \
         or one of training",
        |subject| of_run(subject, memory::memory_timelines),
    ),
    run(
        "memory-breakdown",
        "what holds the memory: the model, gradients, optimizer, keys and values, activations; \
         a rank's under ZeRO",
        "inference, deepspeed, pytorch (training)",
        |subject| of_run(subject, stacked::memory_breakdown),
    ),
    run(
        "memory-heat-map",
        "memory by kind over the time of the run",
        "pytorch, inference, memory-fragmentation: two cases that tell of memory",
        |subject| of_run(subject, |run| memory::memory_heat_map(run).into_iter().collect()),
    ),
    run("distribution", "every sample of the noisiest cases", "any benchmark", |subject| {
        of_run(subject, |run| {
            let results = super::noisiest(measured_results(run));
            results.into_iter().filter_map(distribution).take(super::NOISIEST).collect()
        })
    }),
    two("delta", "the signed change of each figure: better, worse, or within 5 %", |subject| {
        of_two(subject, changes::delta)
    }),
    two("before-after", "each figure before and after", |subject| {
        of_two(subject, changes::before_after)
    }),
    two(
        "verdicts",
        "the change of each figure for the worse, with its interval, its verdict and the \
         threshold",
        |subject| of_two(subject, comparison),
    ),
    history("trend", "a series over its runs: levels, noise around them, changes", |subject| {
        subject.series.iter().filter_map(trend::trend_chart).collect()
    }),
    history("sparkline", "many series at a glance", |subject| {
        super::sparklines::sparklines(subject.series).into_iter().collect()
    }),
    ChartKind {
        name: "recommendation",
        about: "the fastest device, runtime and precision for each family and size of model",
        source: ChartSource::Models,
        needs: "`models --backend cpu,openvino`, on one machine or several",
        draw: |subject| {
            subject.advice.and_then(recommendation::recommendation).into_iter().collect()
        },
    },
];

/// For a terminal: every kind with what it needs.
pub fn kinds_table() -> Table {
    let mut table = Table::new([Column::left("kind"), Column::left("of"), Column::left("shows")]);
    for kind in &CHART_KINDS {
        let source = match kind.source {
            ChartSource::Run => "a run",
            ChartSource::Comparison => "two runs",
            ChartSource::History => "the history",
            ChartSource::Models => "stored models",
        };
        table.push([Cell::from(kind.name), Cell::from(source), Cell::from(kind.about)]);
        table.note(format!("from {}", kind.needs));
    }
    table
}
