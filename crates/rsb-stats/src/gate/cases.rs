//! The results of one side, by case.

use std::borrow::Cow;
use std::collections::HashMap;

use rsb_model::record::ACCEPTED_FROM;
use rsb_model::{BenchmarkResult, CaseId, DeviceType, Factors, Outcome, Run, RunId};

use super::Why;
use crate::policy::Policy;

/// The results of one side by case, in the order in which cases first appear.
pub(super) struct Cases<'a> {
    runs: &'a [Run],
    order: Vec<&'a CaseId>,
    results: HashMap<&'a CaseId, Entry<'a>>,
}

/// All results of one case on one side.
#[derive(Default)]
pub(super) struct Entry<'a> {
    measured: Vec<&'a BenchmarkResult>,
    /// Positions of the runs that measured the case.
    measured_in: Vec<usize>,
    others: Vec<&'a BenchmarkResult>,
}

/// Status of a case on one side.
pub(super) enum CaseStatus<'a> {
    /// Measured in every run.
    Measured(Vec<&'a BenchmarkResult>),
    /// Measured in some runs; missing or skipped in the listed ones.
    Partial(Vec<&'a RunId>),
    /// Failed in at least one run.
    Failed(Why<'a>),
    /// Skipped in every run that lists it.
    Skipped(Why<'a>),
    /// Ran on a fake GPU.
    Simulated(Vec<&'a BenchmarkResult>),
    /// In no run.
    Missing,
}

impl<'a> Cases<'a> {
    /// Collects the cases of `runs`, except those that the policy ignores.
    pub(super) fn of(runs: &'a [Run], policy: &Policy) -> Self {
        let mut cases = Self { runs, order: Vec::new(), results: HashMap::new() };
        let each = runs
            .iter()
            .enumerate()
            .flat_map(|(at, run)| run.benchmarks.iter().map(move |result| (at, result)));
        for (at, result) in each {
            let id = &result.benchmark_id;
            if policy.ignores_case(id.as_str()) {
                continue;
            }
            let entry = cases.results.entry(id).or_insert_with(|| {
                cases.order.push(id);
                Entry::default()
            });
            if outcome(result) == Outcome::Measured {
                entry.measured.push(result);
                entry.measured_in.push(at);
            } else {
                entry.others.push(result);
            }
        }
        cases
    }

    /// Returns the cases that a run compared with this side must have: those that were measured
    /// here, and those that failed, cannot be read or were only simulated here, which get no
    /// verdict. Skipped cases are not expected.
    pub(super) fn expected_cases(&self) -> impl Iterator<Item = &'a CaseId> {
        self.order.iter().copied().filter(|id| self.expects(id))
    }

    /// Returns whether `id` is among [`Cases::expected_cases`].
    pub(super) fn expects(&self, id: &CaseId) -> bool {
        self.find(id).is_some_and(|entry| {
            !entry.measured.is_empty()
                || entry.has(Outcome::Simulated).is_some()
                || entry.has(Outcome::Failed).is_some()
        })
    }

    /// Returns whether `result`, from a baseline, contains samples that a user accepted from one of
    /// these runs.
    pub(super) fn was_accepted(&self, result: &BenchmarkResult) -> bool {
        let from = result.metadata.get(ACCEPTED_FROM).and_then(|id| id.as_str());
        from.is_some_and(|from| self.runs.iter().any(|run| run.run_id.0 == from))
    }

    /// Returns the cases that were not skipped here, whatever their outcome.
    pub(super) fn present(&self) -> impl Iterator<Item = &'a CaseId> {
        self.order.iter().copied().filter(|id| !matches!(self.standing(id), CaseStatus::Skipped(_)))
    }

    /// Returns the cases that were planned here and skipped.
    pub(super) fn skipped_cases(&self) -> impl Iterator<Item = &'a CaseId> {
        self.order.iter().copied().filter(|id| matches!(self.standing(id), CaseStatus::Skipped(_)))
    }

    /// Returns the results of `id`.
    pub(super) fn find(&self, id: &CaseId) -> Option<&Entry<'a>> {
        self.results.get(id)
    }

    /// Returns the measured results of `id`; `None` if there are none.
    pub(super) fn measured_results(&self, id: &CaseId) -> Option<&[&'a BenchmarkResult]> {
        self.find(id).map(|entry| entry.measured.as_slice()).filter(|measured| !measured.is_empty())
    }

    /// Returns the factors of each measured result of `id`.
    pub(super) fn factors(&self, id: &CaseId) -> Vec<Cow<'a, Factors>> {
        let Some(entry) = self.find(id) else { return Vec::new() };
        let each = entry.measured.iter().zip(&entry.measured_in);
        each.map(|(result, &at)| result.factors_in(&self.runs[at].environment)).collect()
    }

    /// Returns the status of `id`. The worst outcome over all runs decides.
    pub(super) fn standing(&self, id: &CaseId) -> CaseStatus<'a> {
        let Some(entry) = self.find(id) else { return CaseStatus::Missing };
        if let Some(failed) = entry.has(Outcome::Failed) {
            CaseStatus::Failed(failed.reason.as_ref())
        } else if entry.has(Outcome::Simulated).is_some() {
            CaseStatus::Simulated(entry.all(Outcome::Simulated).collect())
        } else if entry.measured.is_empty() {
            CaseStatus::Skipped(
                entry.has(Outcome::Skipped).and_then(|result| result.reason.as_ref()),
            )
        } else {
            // An accepted result is stored in one run of a baseline only, and replaces the results
            // of all its runs.
            let is_accepted =
                entry.measured.iter().any(|result| result.metadata.contains_key(ACCEPTED_FROM));
            let without = self
                .runs
                .iter()
                .enumerate()
                .filter(|(at, _)| !is_accepted && !entry.measured_in.contains(at));
            let without: Vec<&RunId> = without.map(|(_, run)| &run.run_id).collect();
            if without.is_empty() {
                CaseStatus::Measured(entry.measured.clone())
            } else {
                CaseStatus::Partial(without)
            }
        }
    }
}

impl<'a> Entry<'a> {
    fn has(&self, wanted: Outcome) -> Option<&'a BenchmarkResult> {
        self.all(wanted).next()
    }

    fn all(&self, wanted: Outcome) -> impl Iterator<Item = &'a BenchmarkResult> {
        self.others.iter().copied().filter(move |result| outcome(result) == wanted)
    }
}

/// Returns the outcome of a result; a result of a fake GPU is always simulated, regardless of its
/// recorded outcome.
fn outcome(result: &BenchmarkResult) -> Outcome {
    if result.outcome == Outcome::Measured && result.device_type == Some(DeviceType::Simulated) {
        Outcome::Simulated
    } else {
        result.outcome
    }
}
