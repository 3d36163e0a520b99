//! Measures suspects interleaved with the program that made the baseline. Effects of the machine
//! then apply to both sides, so any remaining difference is due to the code.
//!
//! This works for code of this program on CPUs. On GPUs and in vendor libraries, both programs use
//! the same installed driver and library, which are the subject of the verdict, so only the stored
//! baseline counts. The same is true of commands in a file of `--custom`, which are not part of
//! either program.
//!
//! `rsb_store::Programs` keeps the programs. If none is kept, as on a fresh checkout, the revision
//! that made the baseline is built.

use std::fmt;
use std::time::Duration;

use anyhow::Context;
use rsb_catalog::plan;
use rsb_engine::measure::instructions::is_own_work;
use rsb_engine::{EngineError, Listener, WorkerCommand};
use rsb_model::record::{ComparisonNote, ComparisonNoteCode};
use rsb_model::{Case, ComparisonResult, Event, Outcome, Run};
use rsb_store::{KeptProgram, OF_ANOTHER_PROGRAM, ProgramUnavailable, Programs};

use super::interleaved::{MeasureLimits, SidePrograms, Sides};
use super::judge::Judge;

/// Provider of the revisions that made baselines.
pub trait Revisions: fmt::Debug {
    /// Checks that a baseline made by `commit` may be used here.
    ///
    /// # Errors
    /// If the baseline may not be used; the text gives the reason and the fix.
    fn check(&self, commit: &str) -> Result<(), String>;

    /// Returns the program of `commit`, built like this one.
    ///
    /// # Errors
    /// If the program cannot be provided; the text gives the reason and the fix.
    fn program(&self, commit: &str, listener: &mut Listener<'_>) -> Result<KeptProgram, String>;
}

/// Whether the suspects of a comparison can be decided by measuring them with the baseline's
/// program.
pub(super) enum PairedRerun<'r> {
    /// No suspect can be decided by measuring two programs.
    NotNeeded,
    /// There is no program, so only the stored baseline counts.
    RecordAlone {
        /// The reason, if it is worth reporting.
        why: Option<ComparisonNote>,
    },
    /// The program that made the baseline, and the suspects to measure with it.
    Ready(Box<ReadyRerun<'r>>),
}

/// Suspects, and the program to measure them with.
pub(super) struct ReadyRerun<'r> {
    baseline: BaselineProgram<'r>,
    current: &'r Run,
    cases: Vec<Case>,
}

/// Program of a baseline, and its origin.
struct BaselineProgram<'r> {
    program: KeptProgram,
    /// Run that it made.
    run: &'r Run,
    /// Revision that it was built from here; `None` if the program itself was kept.
    revision: Option<&'r str>,
}

impl<'r> PairedRerun<'r> {
    /// Prepares to remeasure the suspects of `result`, the verdicts on `current` against
    /// `baseline`. Builds the baseline's program if it is neither kept nor built yet.
    pub(super) fn prepare(
        result: &ComparisonResult,
        baseline: &'r [Run],
        current: &'r Run,
        revisions: Option<&dyn Revisions>,
        listener: &mut Listener<'_>,
    ) -> Self {
        if rsb_stats::suspects(result, current).is_empty() {
            return Self::NotNeeded;
        }
        let mut why_not = None;
        let mut found = find_kept_program(baseline, &mut why_not);
        let rebuildable = rebuildable_run(baseline);
        let from = found.as_ref().map(|found| found.run).or(rebuildable).or(baseline.last());
        let mut cases = from.map_or_else(Vec::new, |from| suspects(result, from, current));
        // A program that is built from a revision has only the built-in benchmarks.
        let is_measurable: fn(&str) -> bool =
            if found.is_some() { plan::has_benchmark } else { plan::is_built_in };
        cases.retain(|case| is_measurable(&case.benchmark));
        if cases.is_empty() {
            return Self::NotNeeded;
        }
        if let (None, Some(run), Some(revisions)) = (&found, rebuildable, revisions)
            && let Some(commit) = run.environment.revision()
        {
            match revisions.program(commit, listener) {
                Ok(program) => {
                    found = Some(BaselineProgram { program, run, revision: Some(commit) });
                }
                Err(why) => why_not = Some(why),
            }
        }
        match found {
            Some(baseline) => Self::Ready(Box::new(ReadyRerun { baseline, current, cases })),
            None => Self::RecordAlone { why: record_alone(baseline, why_not, listener) },
        }
    }
}

impl ReadyRerun<'_> {
    /// Measures the suspects and returns their comparison.
    ///
    /// # Errors
    /// If this program cannot be started as a worker, or no temporary directory can be created.
    pub(super) fn measure(
        self,
        judge: &Judge,
        budget: Duration,
        listener: &mut Listener<'_>,
    ) -> Result<ComparisonResult, EngineError> {
        let Self { baseline, current, cases } = self;
        let from = baseline.run;
        listener(&Event::PairedRerunStarted {
            program: baseline.program.path().to_owned(),
            run_id: from.run_id.clone(),
            since: baseline.program.since(),
        });
        // Both sides run here, on the devices that the current run was planned for.
        let before = WorkerCommand::of(baseline.program.executable())
            .with_slowdown(from.slowdown().map(str::to_owned));
        let before = before.planned_on(&current.devices);
        let after =
            WorkerCommand::this_program().context("cannot find this program to start workers")?;
        let after =
            after.with_slowdown(current.slowdown().map(str::to_owned)).planned_on(&current.devices);
        let doubt = doubt(cases.len(), current);
        let programs = SidePrograms::Workers([vec![before], vec![after]]);
        let mut sides =
            Sides::new(programs, [from.run_id.0.as_str(), current.run_id.0.as_str()], cases);
        sides.measure(judge.policy(), MeasureLimits::new(budget), listener)?;
        let mut compared = sides.compare(judge.policy());
        // Unmatched policy patterns are reported for the whole run, not for its suspects.
        compared.notes.retain(|note| note.code != ComparisonNoteCode::Policy);
        compared.notes.push(baseline.provenance(&doubt));
        Ok(compared)
    }
}

/// Returns the latest run of the baseline whose program is kept here. Stores in `why_not` the first
/// reason why a program cannot be run.
fn find_kept_program<'r>(
    baseline: &'r [Run],
    why_not: &mut Option<String>,
) -> Option<BaselineProgram<'r>> {
    let programs = match Programs::of_user() {
        Ok(programs) => programs,
        Err(error) => {
            *why_not = Some(format!("cannot find the programs that made baselines: {error}"));
            return None;
        }
    };
    for run in baseline.iter().rev() {
        match programs.find(run) {
            Ok(program) => return Some(BaselineProgram { program, run, revision: None }),
            Err(ProgramUnavailable::Never) => {}
            Err(why) => _ = why_not.get_or_insert_with(|| why.to_string()),
        }
    }
    None
}

/// Returns the latest run of the baseline whose program can be rebuilt: this program made it, from
/// a revision.
fn rebuildable_run(baseline: &[Run]) -> Option<&Run> {
    baseline.iter().rev().find(|run| run.program.is_some() && run.environment.revision().is_some())
}

/// Returns a note that only the stored baseline counts. Results of other tools get none, because
/// they were not made by a program of ours.
fn record_alone(
    baseline: &[Run],
    why_not: Option<String>,
    listener: &mut Listener<'_>,
) -> Option<ComparisonNote> {
    let is_own = baseline.iter().any(|run| run.program.is_some());
    let why = match why_not {
        Some(why) => why,
        None if is_own => "the program that made the baseline is not kept here, and the baseline \
                           records no revision: it was made from a changed tree, or elsewhere"
            .to_owned(),
        None => return None,
    };
    listener(&Event::note(why.clone()));
    let text = format!(
        "judged only by the stored baseline, which cannot tell a slower machine from slower code: \
         {why}"
    );
    Some(ComparisonNote::new(ComparisonNoteCode::Evidence, text))
}

impl BaselineProgram<'_> {
    /// Returns a note that names the measured program and how it is known to have made the
    /// baseline. The note names its hash, because a comment on a pull request should not reveal
    /// local paths.
    fn provenance(&self, doubt: &str) -> ComparisonNote {
        let date = self.program.since().strftime("%Y-%m-%d");
        let run = &self.run.run_id;
        let whose = if let Some(commit) = self.revision {
            format!("the revision {} that made the baseline, built here on {date}", shorten(commit))
        } else {
            let hash = shorten(self.run.program.as_deref().unwrap_or_default());
            format!("the program {hash}, which this machine kept on {date} for the run {run}")
        };
        ComparisonNote::new(
            ComparisonNoteCode::Remeasured,
            format!("{doubt}, and measured interleaved with {whose}"),
        )
    }
}

/// Returns the first 12 digits of a hash.
fn shorten(hash: &str) -> String {
    hash.chars().take(12).collect()
}

/// Describes how many cases of the run were in doubt, and how busy the machine was.
fn doubt(cases: usize, current: &Run) -> String {
    let measured =
        current.benchmarks.iter().filter(|result| result.outcome == Outcome::Measured).count();
    let load = current.environment.state.as_ref().and_then(|state| state.load_average);
    let cores = current.environment.cpu.as_ref().map(|cpu| cpu.usable_cores);
    let busy = match (load, cores) {
        (Some(load), Some(cores)) => format!(" at a load average of {load:.1} on {cores} CPUs"),
        _ => String::new(),
    };
    format!("{cases} of {measured} cases were in doubt{busy}")
}

/// Returns cases that look slower or are undecided, and whose code is part of the two programs.
fn suspects(result: &ComparisonResult, baseline: &Run, current: &Run) -> Vec<Case> {
    let ids = rsb_stats::suspects(result, current);
    let mut cases = Vec::new();
    for known in current.benchmarks.iter().filter(|known| ids.contains(&known.benchmark_id)) {
        let before =
            baseline.benchmarks.iter().find(|before| before.benchmark_id == known.benchmark_id);
        let Some(before) = before else { continue };
        if !before.metadata.contains_key(OF_ANOTHER_PROGRAM) && is_own_work(known) {
            cases.extend(known.case());
        }
    }
    cases
}
