//! Burn-in: campaigns that repeat the suites of a node for hours, in segments. A segment is one
//! pass over all suites; its runs have consecutive numbers.

use std::collections::BTreeMap;
use std::path::Path;

use rsb_fleet::NodeTask;
use rsb_model::record::FleetComparisonRow;
use rsb_model::{BenchmarkResult, Run, Timestamp, Verdict};
use rsb_stats::Policy;
use serde::Serialize;

use super::compare::{NodePair, judge_pairs, whole_run};
use super::measured::{StepRun, StepRuns};

/// Share of the segments at each end that is compared: one of four.
const ENDS: usize = 4;

/// Change over a burn-in.
#[derive(Debug, Default, Serialize)]
pub struct BurnInReport {
    /// Requested duration.
    pub duration_seconds: u64,
    /// The nodes by name.
    pub nodes: BTreeMap<String, NodeBurnIn>,
    /// First against last segments, for each case of each class and node.
    pub drift: Vec<FleetComparisonRow>,
}

/// Burn-in of one node.
#[derive(Debug, Default, Serialize)]
pub struct NodeBurnIn {
    /// Number of complete segments.
    pub segments: usize,
    /// Time that they took.
    pub measured_seconds: u64,
    /// Highest temperature in °C in the first and the last segment, if it was recorded.
    pub temperature_c: Option<[f64; 2]>,
    /// Highest power in W in the first and the last segment, if it was recorded.
    pub power_w: Option<[f64; 2]>,
    /// Cases during which a GPU was throttled in the first and the last segment.
    pub throttled_cases: [usize; 2],
}

impl BurnInReport {
    /// Returns whether a node or a class became slower over the hours.
    pub fn has_drift(&self) -> bool {
        self.drift.iter().any(|row| row.comparison.verdict == Verdict::Regressed)
    }

    /// Adds the segments of a node, and returns the pair to compare if it has at least two.
    pub(super) fn add(&mut self, task: &NodeTask, runs: &StepRuns) -> Option<NodePair> {
        let segments = Segments::of(task, runs);
        let whole = segments.whole_runs();
        let (first, last) = (whole.first()?, whole.last()?);
        let ends = [first, last];
        let throttled = |run: &Run| {
            let is_throttled =
                |result: &&BenchmarkResult| result.metadata.contains_key("throttled_replicates");
            run.benchmarks.iter().filter(is_throttled).count()
        };
        let node = NodeBurnIn {
            segments: whole.len(),
            measured_seconds: segments.seconds(),
            temperature_c: highest(ends, "gpu_temperature_c"),
            power_w: highest(ends, "gpu_power_w"),
            throttled_cases: ends.map(throttled),
        };
        self.nodes.insert(task.node.clone(), node);
        if whole.len() < 2 {
            return None;
        }
        let share = (whole.len() / ENDS).max(1);
        Some(NodePair {
            node: task.node.clone(),
            class: task.class.clone(),
            before: pool(&whole[..share])?,
            after: pool(&whole[whole.len() - share..])?,
        })
    }

    /// Compares first with last segments. A change of `effect_percent` or more is called.
    pub(super) fn compare(&mut self, pairs: &[NodePair], min_nodes: usize, effect_percent: f64) {
        let mut policy = Policy::default();
        if policy.set_threshold("verdict.minimum_effect_percent", effect_percent).is_ok() {
            self.drift = judge_pairs(pairs, min_nodes, &policy).rows;
        }
    }
}

/// Returns the highest value of a field in each of two runs; `None` if one has none.
fn highest(runs: [&Run; 2], field: &str) -> Option<[f64; 2]> {
    let of = |run: &Run| {
        let values = run.benchmarks.iter().filter_map(|result| result.fields()?.number(field));
        values.reduce(f64::max)
    };
    Some([of(runs[0])?, of(runs[1])?])
}

/// Returns one run with the processes of all `runs`.
fn pool(runs: &[Run]) -> Option<Run> {
    let (first, others) = runs.split_first()?;
    let mut pooled = first.clone();
    for result in others.iter().flat_map(|run| &run.benchmarks) {
        let known =
            pooled.benchmarks.iter_mut().find(|one| one.benchmark_id == result.benchmark_id);
        let Some(known) = known else { continue };
        let next = known.samples.iter().map(|samples| samples.replicate + 1).max().unwrap_or(0);
        for samples in &result.samples {
            let mut samples = samples.clone();
            samples.replicate += next;
            known.samples.push(samples);
        }
    }
    Some(pooled)
}

/// One pass over all suites of a node.
struct Segment<'a> {
    /// Position among the segments, from 0.
    number: usize,
    /// Its runs, one per suite.
    steps: Vec<&'a StepRun>,
}

/// The complete segments of a node, oldest first.
pub(super) struct Segments<'a> {
    complete: Vec<Segment<'a>>,
    /// Number of segments that were begun.
    begun: usize,
}

impl<'a> Segments<'a> {
    pub(super) fn of(task: &NodeTask, runs: &'a StepRuns) -> Self {
        let suites = task.suites.len().max(1);
        let begun = runs.keys().max().map_or(0, |number| number.div_ceil(suites));
        let mut complete = Vec::new();
        for number in 0..begun {
            let numbers = number * suites + 1..=(number + 1) * suites;
            let steps: Option<Vec<&StepRun>> =
                numbers.map(|at| runs.get(&at).filter(|step| step.is_complete())).collect();
            complete.extend(steps.map(|steps| Segment { number, steps }));
        }
        Self { complete, begun }
    }

    /// Returns the number of the first suite of the next segment.
    pub(super) fn next_number(&self, task: &NodeTask) -> usize {
        self.begun * task.suites.len() + 1
    }

    /// Returns the time from the first to the last run of each job, by the clock of the node,
    /// without a segment that was cut off.
    pub(super) fn seconds(&self) -> u64 {
        let mut spans: BTreeMap<&Path, [Timestamp; 2]> = BTreeMap::new();
        for step in self.complete.iter().flat_map(|segment| &segment.steps) {
            let (Some(job), Some(finished)) = (step.results.parent(), step.run.finished) else {
                continue;
            };
            let [first, last] = spans.entry(job).or_insert([step.run.started, finished]);
            *first = (*first).min(step.run.started);
            *last = (*last).max(finished);
        }
        let seconds = |[first, last]: [Timestamp; 2]| last.duration_since(first).as_secs();
        spans.into_values().map(seconds).filter_map(|span| u64::try_from(span).ok()).sum()
    }

    /// Returns the numbers of the runs of the last complete segment.
    pub(super) fn last_numbers(&self, task: &NodeTask) -> Option<std::ops::Range<usize>> {
        let last = self.complete.last()?.number;
        Some(last * task.suites.len() + 1..(last + 1) * task.suites.len() + 1)
    }

    fn whole_runs(&self) -> Vec<Run> {
        let whole = |one: &Segment<'_>| whole_run(one.steps.iter().map(|step| step.run.clone()));
        self.complete.iter().filter_map(whole).collect()
    }
}
