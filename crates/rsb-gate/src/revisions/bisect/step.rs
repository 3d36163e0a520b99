//! Tries one commit against the good one: builds it, measures both interleaved, and concludes. A
//! commit that is the same as an earlier one is not remeasured.

use std::time::Duration;

use anyhow::Result;
use rsb_engine::{EngineError, Listener};
use rsb_model::record::Comparison;
use rsb_model::{Case, ComparisonResult, Outcome, ReasonCode, Verdict};
use rsb_stats::Policy;
use rsb_stats::policy::Override;

use super::case::{self, ChosenCase};
use super::commit_range::Commit;
use super::search::StepOutcome;
use crate::gate::{MeasureLimits, Sides};
use crate::harness::CountedMetric;
use crate::revisions::Repository;
use crate::revisions::project::{Build, Project, SideRole};
use crate::revisions::worktree::{ProgramDirectory, Worktree};

/// Finding on a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFinding {
    /// Outcome for the search.
    pub outcome: StepOutcome,
    /// Verdict of the comparison, such as improved; `None` if nothing was compared.
    pub verdict: Option<Verdict>,
    /// The reason, in a sentence.
    pub reason: String,
    /// Change of the case against the good commit, in percent.
    pub change_percent: Option<f64>,
    /// Its 95 % interval.
    pub confidence_interval: Option<[f64; 2]>,
}

impl StepFinding {
    fn without_figures(outcome: StepOutcome, reason: String) -> Self {
        Self { outcome, verdict: None, reason, change_percent: None, confidence_interval: None }
    }
}

/// State that is shared by all steps.
pub struct Steps<'a> {
    builder: CommitBuilder<'a>,
    good_name: String,
    found: ChosenCase,
    policy: Policy,
    measure: StepMeasure,
    /// The tried commits; the good one is first.
    seen: Vec<TriedCommit>,
}

/// How a commit is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepMeasure {
    /// Maximum time.
    pub(super) budget: Duration,
    /// Whether instructions are compared instead of time.
    pub(super) by_instructions: bool,
}

/// Builder of commits.
pub(super) struct CommitBuilder<'a> {
    pub(super) repository: &'a Repository,
    pub(super) project: &'a Project,
    pub(super) worktree: Worktree,
    programs: ProgramDirectory,
}

impl<'a> CommitBuilder<'a> {
    /// Creates a builder for `project`, which all commits contain.
    pub(super) fn of(
        repository: &'a Repository,
        project: &'a Project,
        listener: &mut Listener<'_>,
    ) -> Result<Self> {
        let worktree = repository.worktree()?;
        let programs = worktree.programs(project.tree_use(), listener)?;
        Ok(Self { repository, project, worktree, programs })
    }

    /// Builds `commit`; `None` if it does not build.
    fn build(
        &self,
        commit: &Commit,
        role: SideRole,
        listener: &mut Listener<'_>,
    ) -> Result<Option<Build>> {
        self.project.build(
            self.repository,
            &self.worktree,
            &self.programs,
            &commit.hash,
            role,
            listener,
        )
    }
}

/// A tried commit, with its source and its build.
struct TriedCommit {
    name: String,
    tree: String,
    build: Option<Build>,
    finding: StepFinding,
}

impl<'a> Steps<'a> {
    /// Builds the good commit and finds the case there.
    ///
    /// # Errors
    /// If it does not build, or has no such case.
    pub(super) fn begin(
        builder: CommitBuilder<'a>,
        good: &Commit,
        wanted: &str,
        policy: &'a Policy,
        measure: StepMeasure,
        listener: &mut Listener<'_>,
    ) -> Result<Self, EngineError> {
        let Some(build) = builder.build(good, SideRole::First, listener)? else {
            builder.worktree.remove_tree(listener);
            let (short, subject) = (good.short(), &good.subject);
            return Err(EngineError::usage(anyhow::anyhow!(
                "the good commit {short} ({subject}) does not build; choose one that builds"
            )));
        };
        let found = case::find(&build, wanted)?;
        let finding = StepFinding::without_figures(StepOutcome::Good, "nothing changed".to_owned());
        let good_name = good.short().to_owned();
        let seen = vec![TriedCommit {
            name: good_name.clone(),
            tree: good.tree.clone(),
            build: Some(build),
            finding,
        }];
        Ok(Self { builder, good_name, found, policy: policy.clone(), measure, seen })
    }

    /// Sets the threshold for further commits to the geometric mean of no change and the change of
    /// `finding`, the bad commit, and returns it in percent. Each commit is then judged by whether
    /// it is nearer to the good or the bad one, whatever the threshold of the policy.
    pub(super) fn judge_by_middle(&mut self, finding: &StepFinding) -> Option<f64> {
        let percent = middle_percent(finding.change_percent?);
        let id = Some(self.found.case.id.to_string());
        let metric = self.measure.by_instructions.then(|| "instructions".to_owned());
        let middle = Override { id, metric, percent };
        self.policy.add_override("bisect", middle).is_ok().then_some(percent)
    }

    /// Returns the measured case.
    pub(super) fn case(&self) -> &Case {
        &self.found.case
    }

    /// Tries `commit`.
    ///
    /// # Errors
    /// If it cannot be tried: no space, no cargo, no workers.
    pub(super) fn run(
        &mut self,
        commit: &Commit,
        listener: &mut Listener<'_>,
    ) -> Result<StepFinding> {
        let same = self.seen.iter().find(|seen| seen.tree == commit.tree);
        if let Some(finding) = same.map(|seen| seen.repeat_finding("has the same source as")) {
            return Ok(finding);
        }
        let build = self.builder.build(commit, SideRole::Second, listener)?;
        let finding = match &build {
            None => {
                StepFinding::without_figures(StepOutcome::Skipped, "it does not build".to_owned())
            }
            Some(build) => match self.same_as(commit, build)? {
                Some(seen) => seen.repeat_finding("builds the same machine code as"),
                None => self.measure(commit, build, listener)?,
            },
        };
        self.seen.push(TriedCommit {
            name: commit.short().to_owned(),
            tree: commit.tree.clone(),
            build,
            finding: finding.clone(),
        });
        Ok(finding)
    }

    /// Returns a commit that was tried before and would give the same result as `build`.
    fn same_as(&self, commit: &Commit, build: &Build) -> Result<Option<&TriedCommit>> {
        for seen in &self.seen {
            let Some(known) = &seen.build else { continue };
            let changed = self.builder.repository.changed_files(&seen.name, &commit.hash)?;
            if known.measures_alike(build, &self.found.case, &changed)? {
                return Ok(Some(seen));
            }
        }
        Ok(None)
    }

    fn measure(
        &self,
        commit: &Commit,
        build: &Build,
        listener: &mut Listener<'_>,
    ) -> Result<StepFinding> {
        if let Err(why) = case::has(build, &self.found) {
            return Ok(StepFinding::without_figures(StepOutcome::Skipped, why));
        }
        let Some(good) = self.seen.first().and_then(|seen| seen.build.as_ref()) else {
            anyhow::bail!("the good commit was not built"); // `begin` has built it.
        };
        let names = [self.good_name.as_str(), commit.short()];
        let mut sides = Sides::new(good.beside(build)?, names, vec![self.found.case.clone()]);
        if self.measure.by_instructions {
            sides.leave_times_out();
            sides.count(&[CountedMetric::Instructions], self.measure.budget, listener);
        } else {
            let limits = MeasureLimits::new(self.measure.budget);
            sides.measure(&self.policy, limits, listener)?;
        }
        let result = sides.compare(&self.policy);
        let broken =
            sides.baseline().benchmarks.iter().find(|result| result.outcome != Outcome::Measured);
        Ok(match broken {
            Some(result) => {
                let why = result
                    .reason
                    .as_ref()
                    .map_or_else(|| "it was not measured".to_owned(), ToString::to_string);
                StepFinding::without_figures(
                    StepOutcome::Undecided,
                    format!("on the good commit, {why}"),
                )
            }
            None => conclude(&result),
        })
    }
}

impl TriedCommit {
    /// Returns the finding for another commit that is the same as this one.
    fn repeat_finding(&self, how: &str) -> StepFinding {
        let reason = format!("{}; it {how} {}", self.finding.reason, self.name);
        StepFinding { reason, ..self.finding.clone() }
    }
}

/// Returns the change, as a ratio, halfway between none and `change_percent`; always positive.
fn middle_percent(change_percent: f64) -> f64 {
    100.0 * ((1.0 + change_percent / 100.0).max(0.0).sqrt() - 1.0).abs()
}

/// Returns the worst result of the comparison. Missed targets of the policy are ignored, because
/// they do not depend on the change between two commits.
fn conclude(result: &ComparisonResult) -> StepFinding {
    let rows =
        || result.comparisons.iter().filter(|row| row.reason_code != ReasonCode::TargetMissed);
    let (outcome, row) = if let Some(row) = rows().find(|row| row.verdict == Verdict::Regressed) {
        (StepOutcome::Bad, row)
    } else if let Some(row) = rows().find(|row| !row.verdict.is_decided()) {
        (if is_untestable(row) { StepOutcome::Skipped } else { StepOutcome::Undecided }, row)
    } else if let Some(row) = rows().next() {
        (StepOutcome::Good, row)
    } else {
        let why = "the budget ran out before it was measured, or the policy ignores it".to_owned();
        return StepFinding::without_figures(StepOutcome::Undecided, why);
    };
    StepFinding {
        outcome,
        verdict: Some(row.verdict),
        reason: row.reason.clone(),
        change_percent: row.difference_percent,
        confidence_interval: row.confidence_interval,
    }
}

/// Returns whether measuring longer would not help.
const fn is_untestable(row: &Comparison) -> bool {
    matches!(row.verdict, Verdict::NotComparable)
        || matches!(
            row.reason_code,
            ReasonCode::CaseFailed | ReasonCode::CaseSkipped | ReasonCode::Missing
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{BenchmarkResult, CaseId, Environment, Reason, Run, RunId, Samples, Timestamp};

    /// Returns a run with one case whose processes took `times`; `None` is a case that failed.
    fn run(times: Option<&[f64]>) -> Run {
        let result = BenchmarkResult {
            reason: times.is_none().then(|| Reason::new("it", "broke", "mend it")),
            samples: (0..)
                .zip(times.unwrap_or_default())
                .map(|(replicate, &time)| Samples {
                    replicate,
                    iters: vec![1; 10],
                    times_ns: vec![time * 1e6; 10],
                })
                .collect(),
            ..BenchmarkResult::new(
                CaseId::from_segments(&["cpu_performance", "made-up", "cpu:0"]),
                Timestamp::UNIX_EPOCH,
                if times.is_some() { Outcome::Measured } else { Outcome::Failed },
            )
        };
        let mut run = Run::begin(
            RunId("x".into()),
            Timestamp::UNIX_EPOCH,
            "x",
            "quick",
            Environment::default(),
        );
        run.benchmarks.push(result);
        run
    }

    #[test]
    fn the_comparison_decides_and_doubt_is_not_guessed_away() {
        let steady = [1.0, 1.001, 0.999, 1.0, 1.0];
        let policy = Policy::default();
        for (current, outcome) in [
            (Some(&[1.2, 1.201, 1.199, 1.2, 1.2][..]), StepOutcome::Bad),
            (Some(&steady), StepOutcome::Good),
            (Some(&[0.8, 0.801, 0.799, 0.8, 0.8]), StepOutcome::Good),
            (Some(&[0.7, 1.6, 0.8, 1.5, 1.3]), StepOutcome::Undecided),
            (None, StepOutcome::Skipped),
        ] {
            let result = rsb_stats::gate_paired(
                &run(Some(&steady)),
                &run(current),
                &policy,
                Timestamp::UNIX_EPOCH,
            );
            let found = conclude(&result);
            assert_eq!(found.outcome, outcome, "{current:?}: {found:?}");
            assert_eq!(found.change_percent.is_some(), current.is_some());
        }
    }

    #[test]
    fn the_middle_is_as_far_from_the_good_commit_as_from_the_bad_one() {
        for (change, middle) in [(300.0, 100.0), (21.0, 10.0), (0.0, 0.0), (-75.0, 50.0)] {
            assert!((middle_percent(change) - middle).abs() < 1e-9, "{change}");
        }
    }

    #[test]
    fn nothing_measured_decides_nothing() {
        let empty = Run { benchmarks: Vec::new(), ..run(None) };
        let result =
            rsb_stats::gate_paired(&empty, &empty, &Policy::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(conclude(&result).outcome, StepOutcome::Undecided);
    }
}
