//! Values of one side of a comparison: the low value and the median of each fresh process.

use rsb_model::BenchmarkResult;
use rsb_model::samples::share_of_sorted;

use crate::estimate::{median, sorted};

/// Share of the processes at each end that is excluded from the spread of the medians.
const FAR: f64 = 0.1;

/// Values of one side, one per fresh process, in the metric's unit: finite and above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    replicates: Vec<f64>,
    medians: Vec<f64>,
    past: Vec<Vec<f64>>,
    facts: SideFacts,
}

/// Additional data on a side for the checks of a verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideFacts {
    /// Number of samples of all processes.
    pub samples: usize,
}

impl SideFacts {
    fn of(results: &[&BenchmarkResult]) -> Self {
        let samples = results.iter().flat_map(|result| &result.samples);
        Self { samples: samples.map(|samples| samples.times_ns.len()).sum() }
    }
}

impl Side {
    /// Creates a side. Returns `None` if there is no value, or if a value is not finite or not
    /// above zero, because its ratios would be meaningless.
    pub fn new(replicates: Vec<f64>) -> Option<Self> {
        let medians = replicates.clone();
        Self::with_medians(replicates, medians)
    }

    /// Creates a side like [`Side::new`], with medians of the processes that differ from their
    /// values.
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

    /// Creates a side like [`Side::with_medians`], with the facts from its results.
    pub fn of_results(
        results: &[&BenchmarkResult],
        replicates: Vec<f64>,
        medians: Vec<f64>,
    ) -> Option<Self> {
        let side = Self::with_medians(replicates, medians)?;
        Some(Self { facts: SideFacts::of(results), ..side })
    }

    /// Adds the values of the processes of earlier runs, run by run, oldest first. Every case has
    /// the same runs; a run that did not measure the case has an empty list. The values are used
    /// for the spread between processes, not for the location, because the code may have changed.
    #[must_use]
    pub fn with_past(mut self, runs: Vec<Vec<f64>>) -> Self {
        self.past = runs
            .into_iter()
            .map(|run| if run.iter().all(|value| is_usable(*value)) { run } else { Vec::new() })
            .collect();
        self
    }

    /// Returns the values.
    pub fn replicates(&self) -> &[f64] {
        &self.replicates
    }

    /// Returns the values of the processes of earlier runs, run by run.
    pub(super) fn past(&self) -> &[Vec<f64>] {
        &self.past
    }

    /// Returns the additional facts; the default if the side was not created from results.
    pub const fn facts(&self) -> &SideFacts {
        &self.facts
    }

    /// Returns whether the side has a single process.
    pub fn is_lone(&self) -> bool {
        self.replicates.len() == 1
    }

    /// Returns the logarithm of the median over the processes' medians.
    pub(super) fn median_log(&self) -> f64 {
        median(&self.median_logs()).unwrap_or(f64::NAN) // Never empty.
    }

    /// Returns the spread of the processes' medians, as a difference of logarithms. With more than
    /// five processes, the outermost tenth at each end is left out. `None` for a single process.
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
