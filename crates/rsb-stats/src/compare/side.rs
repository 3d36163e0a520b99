//! The figures of one side: what each fresh process shows at its best, and in its middle.

use rsb_model::BenchmarkResult;
use rsb_model::samples::share_of_sorted;

use crate::estimate::{median, sorted};

/// How many of the processes may lie further apart than what is called their spread, at each end.
const FAR: f64 = 0.1;

/// The values of one side, one for each fresh process, in the metric's unit: finite and above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    replicates: Vec<f64>,
    medians: Vec<f64>,
    past: Vec<Vec<f64>>,
    facts: SideFacts,
}

/// Facts about a side besides its values, for the checks of a verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideFacts {
    /// Number of samples, over all processes.
    pub samples: usize,
}

impl SideFacts {
    fn of(results: &[&BenchmarkResult]) -> Self {
        let samples = results.iter().flat_map(|result| &result.samples);
        Self { samples: samples.map(|samples| samples.times_ns.len()).sum() }
    }
}

impl Side {
    /// `None` when there is no value, or one is not finite or not above zero: a ratio would mean
    /// nothing.
    pub fn new(replicates: Vec<f64>) -> Option<Self> {
        let medians = replicates.clone();
        Self::with_medians(replicates, medians)
    }

    /// As [`Side::new`], where the median of a process is another than its value.
    pub fn with_medians(replicates: Vec<f64>, medians: Vec<f64>) -> Option<Self> {
        let complete = !replicates.is_empty() && replicates.len() == medians.len();
        let usable = complete && replicates.iter().chain(&medians).all(|value| is_usable(*value));
        usable.then_some(Self {
            replicates,
            medians,
            past: Vec::new(),
            facts: SideFacts::default(),
        })
    }

    /// As [`Side::with_medians`], with the facts in the results of the side.
    pub fn of_results(
        results: &[&BenchmarkResult],
        replicates: Vec<f64>,
        medians: Vec<f64>,
    ) -> Option<Self> {
        let side = Self::with_medians(replicates, medians)?;
        Some(Self { facts: SideFacts::of(results), ..side })
    }

    /// With what processes of earlier runs gave, run by run, oldest first; the same runs for every
    /// case, and nothing for a run that has not measured this one. They tell how far processes lie
    /// apart, and nothing of where the side lies: the code may have been another.
    #[must_use]
    pub fn with_past(mut self, runs: Vec<Vec<f64>>) -> Self {
        self.past = runs
            .into_iter()
            .map(|run| if run.iter().all(|value| is_usable(*value)) { run } else { Vec::new() })
            .collect();
        self
    }

    /// The values.
    pub fn replicates(&self) -> &[f64] {
        &self.replicates
    }

    /// The processes of earlier runs, run by run.
    pub(super) fn past(&self) -> &[Vec<f64>] {
        &self.past
    }

    /// Facts besides the values. Without any if the side was not made from results.
    pub const fn facts(&self) -> &SideFacts {
        &self.facts
    }

    /// Whether a single process gave it.
    pub fn is_lone(&self) -> bool {
        self.replicates.len() == 1
    }

    /// The logarithm of the median over the processes of each one's median.
    pub(super) fn median_log(&self) -> f64 {
        median(&self.median_logs()).unwrap_or(f64::NAN) // Never empty.
    }

    /// How far the medians of the processes lie apart, on the logarithm; of more than five, the
    /// outermost tenth at each end does not count. `None` of a single process.
    pub(super) fn medians_apart(&self) -> Option<f64> {
        let logs = sorted(&self.median_logs());
        let (low, high) = (share_of_sorted(&logs, FAR)?, share_of_sorted(&logs, 1.0 - FAR)?);
        (logs.len() > 1).then_some(high - low)
    }

    fn median_logs(&self) -> Vec<f64> {
        self.medians.iter().map(|value| value.ln()).collect()
    }
}

fn is_usable(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
