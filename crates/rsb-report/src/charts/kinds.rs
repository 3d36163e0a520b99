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
    draw: DrawKind,
}

type DrawKind = fn(&ChartSubject<'_>) -> Vec<Chart>;

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
    /// The figure that was asked for; of none the one that says most.
    pub metric: Option<&'static Field>,
}

impl ChartKind {
    /// The kind called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        CHART_KINDS.iter().find(|kind| kind.name == name)
    }

    const fn shows(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    const fn needs(mut self, needs: &'static str) -> Self {
        self.needs = needs;
        self
    }

    /// Every chart of this kind that `subject` has the data for.
    pub fn draw(&self, subject: &ChartSubject<'_>) -> Vec<Chart> {
        let mut charts = (self.draw)(subject);
        super::tell_apart(&mut charts);
        charts
    }
}

fn of_run(subject: &ChartSubject<'_>, of: impl FnOnce(&Run) -> Vec<Chart>) -> Vec<Chart> {
    subject.run.map_or_else(Vec::new, of)
}

fn of_two(
    subject: &ChartSubject<'_>,
    of: impl FnOnce(&ComparisonResult) -> Option<Chart>,
) -> Vec<Chart> {
    subject.comparison.and_then(of).into_iter().collect()
}

const fn run(name: &'static str, draw: DrawKind) -> ChartKind {
    ChartKind { name, about: "", source: ChartSource::Run, needs: "", draw }
}

const fn two(name: &'static str, draw: DrawKind) -> ChartKind {
    let needs = "two runs with cases in common";
    ChartKind { name, about: "", source: ChartSource::Comparison, needs, draw }
}

const fn history(name: &'static str, draw: DrawKind) -> ChartKind {
    let needs = "two stored runs of a case";
    ChartKind { name, about: "", source: ChartSource::History, needs, draw }
}

const ONE_AXIS: &str =
    "memory-bandwidth, gemm, tensor-ops, inference, vllm: cases that differ by one axis";

/// Every kind.
pub const CHART_KINDS: [ChartKind; 26] = [
    run("line", |subject| {
        of_run(subject, |run| lines::lines(run, subject.metric, PointDetail::Figure))
    })
    .shows(
        "a figure over size, batch size, threads, requests a second …, a line for each \
         way of doing it",
    )
    .needs(ONE_AXIS),
    run("error-bars", |subject| {
        of_run(subject, |run| lines::lines(run, subject.metric, PointDetail::Errors))
    })
    .shows("the same, with from where to where eight in ten samples lie")
    .needs(ONE_AXIS),
    run("scatter", |subject| {
        of_run(subject, |run| lines::lines(run, subject.metric, PointDetail::Samples))
    })
    .shows("the same, with every sample as a dot")
    .needs(ONE_AXIS),
    run("bar", |subject| of_run(subject, |run| bars::bars_of(run, subject.metric)))
        .shows("a figure of each case, with a mark at what the hardware can do")
        .needs(
            "any benchmark with two cases that tell a rate, such as gemm, tensor-core, \
         flash-attention; without one, name a figure: --metric time_ms",
        ),
    run("stacked-bar", |subject| of_run(subject, stacked::stacked_charts))
        .shows(
            "the parts of a training step: forward, backward, optimizer; computing and \
         communication; memory held and saved under ZeRO",
        )
        .needs("deepspeed, pytorch (training), multi-gpu (data-parallel)"),
    run("gauge", |subject| of_run(subject, |run| gauges::gauges(run, subject.metric)))
        .shows(
            "shares of what could be: roofline, occupancy, link, cache, load, memory of \
         each GPU",
        )
        .needs(
            "gemm, tensor-ops, occupancy, cache-hit-rate, memory-transfer, smi-metrics; a \
         GPU for its memory",
        ),
    run("gpus", |subject| of_run(subject, |run| gauges::gpus(run).into_iter().collect()))
        .shows("the GPUs of the machine: compute units, memory, runtime")
        .needs("a run on a machine with a GPU"),
    run("sensors", |subject| of_run(subject, sensors::sensors))
        .shows(
            "power, clocks, temperature, load and memory of GPUs over the time of the run, \
         and what held them back",
        )
        .needs("any benchmark on a GPU with sensors, above all smi-metrics"),
    run("devices", |subject| of_run(subject, |run| devices::device_grids(run, subject.metric)))
        .shows("many devices of one kind as a grid, and which of them falls behind")
        .needs("any benchmark on eight devices or more of one backend"),
    run("heat-map", |subject| of_run(subject, |run| matrix::heat_maps(run, subject.metric)))
        .shows("a figure by the two parameters that vary most")
        .needs("memory-bandwidth, tensor-ops, gemm: four cases that differ by two parameters"),
    run("matrix", |subject| of_run(subject, |run| matrix::matrix(run).into_iter().collect()))
        .shows("the best figure of each benchmark on each device, or why there is none")
        .needs("any benchmark"),
    run("backends", |subject| of_run(subject, super::backends))
        .shows("the backends of one piece of hardware side by side")
        .needs("`run --suite hardware-acceleration` where two backends reach one device"),
    run("models", |subject| of_run(subject, models::models))
        .shows("the time of one pass of each model, a bar for each runtime and device")
        .needs("`models --backend cpu,openvino`"),
    run("speedup", |subject| of_run(subject, speedup::speedups))
        .shows("how many times faster than the reference")
        .needs("precision, multi-gpu, flash-attention, triton"),
    run("scaling", |subject| of_run(subject, speedup::scaling))
        .shows(
            "how many times as fast with more threads, GPUs or processes, the ideal beside \
         it",
        )
        .needs(
            "any CPU benchmark with `--axis threads=1,2,4`, multi-gpu, all-reduce, \
         deepspeed",
        ),
    run("roofline", |subject| of_run(subject, roofline::roofline))
        .shows("rate over operations for each byte, under what memory and units can do")
        .needs("gemm or tensor-ops, with memory-bandwidth in the same run for the slope"),
    run("memory-timeline", |subject| of_run(subject, memory::memory_timelines))
        .shows(
            "what cases held over the time of the run, and a training step over its own: \
         more and less, and the peak",
        )
        .needs(
            "pytorch, flash-attention, inference, memory-fragmentation: two cases that tell \
         of memory, or one of training",
        ),
    run("memory-breakdown", |subject| of_run(subject, stacked::memory_breakdown))
        .shows(
            "what holds the memory: the model, gradients, optimizer, keys and values, \
         activations; a rank's under ZeRO",
        )
        .needs("inference, deepspeed, pytorch (training)"),
    run("memory-heat-map", |subject| {
        of_run(subject, |run| memory::memory_heat_map(run).into_iter().collect())
    })
    .shows("memory by kind over the time of the run")
    .needs("pytorch, inference, memory-fragmentation: two cases that tell of memory"),
    run("distribution", |subject| {
        of_run(subject, |run| {
            let results = super::noisiest(measured_results(run));
            results.into_iter().filter_map(distribution).take(super::NOISIEST).collect()
        })
    })
    .shows("every sample of the noisiest cases")
    .needs("any benchmark"),
    two("delta", |subject| of_two(subject, changes::delta))
        .shows("the signed change of each figure: better, worse, or within 5 %"),
    two("before-after", |subject| of_two(subject, changes::before_after))
        .shows("each figure before and after"),
    two("verdicts", |subject| of_two(subject, comparison)).shows(
        "the change of each figure for the worse, with its interval, its verdict and \
         the threshold",
    ),
    history("trend", |subject| subject.series.iter().filter_map(trend::trend_chart).collect())
        .shows("a series over its runs: levels, noise around them, changes"),
    history("sparkline", |subject| {
        super::sparklines::sparklines(subject.series).into_iter().collect()
    })
    .shows("many series at a glance"),
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
