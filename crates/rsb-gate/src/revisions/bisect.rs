//! Finds the first commit that made a case slower, by binary search.
//!
//! Each step builds a commit and measures it interleaved with the good one, as `gate --against`
//! does. Commits that do not build or stay undecided are skipped; their outcome is never guessed.

mod case;
mod commit_range;
mod search;
mod step;

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Result, anyhow};
use rsb_model::{CaseId, Event};
use rsb_stats::Policy;

pub use commit_range::{Commit, CommitRange};
pub use search::StepOutcome;
pub use step::StepFinding;

use rsb_engine::measure::interrupt;
use rsb_engine::{EngineError, Listener};

use crate::harness::CountedMetric;
use crate::revisions::project::Project;
use crate::revisions::{ProjectOptions, Repository};
use search::Search;
use step::{CommitBuilder, StepMeasure, Steps};

/// Default time to measure a step.
const BUDGET: Duration = Duration::from_mins(1);

/// Case and commits to search, and options.
#[derive(Debug, Clone)]
pub struct BisectRequest<'a> {
    /// A revision that is still fast.
    pub good: &'a str,
    /// A revision that is slow.
    pub bad: &'a str,
    /// The case: its id, or a part of it that matches only one.
    pub case: &'a str,
    /// Time to measure a step; `None` for the default.
    pub budget: Option<Duration>,
    /// Whether instructions are compared instead of time.
    pub by_instructions: bool,
    /// How another project's benchmarks are built and run.
    pub project: &'a ProjectOptions,
}

/// Result of a bisection.
#[derive(Debug, Clone)]
pub struct Bisection {
    /// The searched commits.
    pub range: CommitRange,
    /// The case; `None` if the search was interrupted before it was found.
    pub case: Option<CaseId>,
    /// Index of each tried commit in the range, and the finding, in the order of the search.
    pub steps: Vec<(usize, StepFinding)>,
    /// How it ended.
    pub conclusion: Conclusion,
}

/// How a bisection ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Conclusion {
    /// The bad commit is either not slower or undecided.
    NotRegressed {
        /// Outcome of the bad commit.
        outcome: StepOutcome,
    },
    /// The first bad commit is one of these.
    Searched {
        /// Indices in the range.
        left: RangeInclusive<usize>,
    },
    /// The user interrupted the search while these commits were left.
    Interrupted {
        /// Indices in the range.
        left: RangeInclusive<usize>,
    },
}

impl Bisection {
    /// Returns the first bad commit and its finding.
    pub fn first_bad(&self) -> Option<(&Commit, &StepFinding)> {
        let Conclusion::Searched { left } = &self.conclusion else { return None };
        let found = *left.end();
        let (_, finding) = self.steps.iter().find(|(index, _)| *index == found)?;
        (left.start() == left.end()).then_some((self.range.after.get(found)?, finding))
    }

    /// Returns the commits that include the first bad one, unless it is found.
    pub fn suspect_commits(&self) -> Vec<&Commit> {
        let left = match &self.conclusion {
            Conclusion::Searched { left } if left.start() < left.end() => left,
            Conclusion::Interrupted { left } => left,
            _ => return Vec::new(),
        };
        left.clone().filter_map(|index| self.range.after.get(index)).collect()
    }

    /// Returns the hashes of the commits with this outcome.
    pub fn of(&self, wanted: StepOutcome) -> Vec<&str> {
        let these = self.steps.iter().filter(|(_, finding)| finding.outcome == wanted);
        these.filter_map(|(index, _)| Some(self.range.after.get(*index)?.hash.as_str())).collect()
    }
}

/// Searches for the first bad commit.
///
/// # Errors
/// If the revisions or the case are invalid, or nothing can be built here.
pub fn bisect(
    request: &BisectRequest<'_>,
    policy: &Policy,
    listener: &mut Listener<'_>,
) -> Result<Bisection, EngineError> {
    let repository = Repository::here("bisect").map_err(EngineError::usage)?;
    let range =
        CommitRange::between(&repository, request.good, request.bad).map_err(EngineError::usage)?;
    let good = (range.good.hash.as_str(), request.good);
    let project = Project::of(&repository, &[good], request.project).map_err(EngineError::usage)?;
    if request.by_instructions {
        project.check_counting(&[CountedMetric::Instructions]).map_err(EngineError::usage)?;
    }
    let measure = StepMeasure {
        budget: request.budget.unwrap_or(BUDGET),
        by_instructions: request.by_instructions,
    };
    let builder = CommitBuilder::of(&repository, &project, listener)?;
    let begun = Steps::begin(builder, &range.good, request.case, policy, measure, listener);
    let mut steps = match begun {
        // An interrupt makes the step fail, so check for it first.
        Err(_) if interrupt::is_requested() => {
            let conclusion = Conclusion::Interrupted { left: 0..=range.after.len() - 1 };
            return Ok(Bisection { range, case: None, steps: Vec::new(), conclusion });
        }
        begun => begun?,
    };
    let case = Some(steps.case().id.clone());
    let (steps, conclusion) = search(&range, &mut steps, listener)?;
    Ok(Bisection { range, case, steps, conclusion })
}

/// Searches `range`. Returns every tried commit by its index, and the conclusion.
fn search(
    range: &CommitRange,
    candidates: &mut Steps<'_>,
    listener: &mut Listener<'_>,
) -> Result<(Vec<(usize, StepFinding)>, Conclusion), EngineError> {
    let mut steps = Vec::new();
    let mut search = Search::new(range.after.len());
    let last = range.after.len() - 1;
    let [good, bad] = [&range.good, &range.after[last]].map(|commit| commit.short().to_owned());
    listener(&Event::BisectChecking { good, bad });
    let Some(first) = attempt(candidates, &range.after[last], listener)? else {
        return Ok((steps, Conclusion::Interrupted { left: search.suspect_range() }));
    };
    let outcome = first.outcome;
    if outcome == StepOutcome::Bad
        && let Some(percent) = candidates.judge_by_middle(&first)
    {
        listener(&Event::note(format!(
            "a step counts as slower from {percent:.1} %, the geometric mean of the good and the \
             bad commit"
        )));
    }
    if outcome == StepOutcome::Skipped {
        let (short, reason) = (range.after[last].short(), &first.reason);
        return Err(EngineError::usage(anyhow!(
            "the bad commit {short} cannot be judged: {reason}; choose another bad commit"
        )));
    }
    steps.push((last, first));
    if outcome != StepOutcome::Bad {
        return Ok((steps, Conclusion::NotRegressed { outcome }));
    }
    while let Some(index) = search.next() {
        listener(&Event::BisectNarrowed {
            commits: search.suspect_range().count(),
            steps: search.steps_left() as usize,
        });
        let Some(finding) = attempt(candidates, &range.after[index], listener)? else {
            return Ok((steps, Conclusion::Interrupted { left: search.suspect_range() }));
        };
        if finding.outcome == StepOutcome::Undecided {
            let short = range.after[index].short();
            listener(&Event::note(format!("{short} is undecided: {}", finding.reason)));
        }
        search.record(index, finding.outcome);
        steps.push((index, finding));
    }
    Ok((steps, Conclusion::Searched { left: search.suspect_range() }))
}

/// Tries `commit`; returns `None` if the user interrupted, whatever the result.
fn attempt(
    steps: &mut Steps<'_>,
    commit: &Commit,
    listener: &mut Listener<'_>,
) -> Result<Option<StepFinding>> {
    let tried = steps.run(commit, listener);
    if interrupt::is_requested() { Ok(None) } else { tried.map(Some) }
}
