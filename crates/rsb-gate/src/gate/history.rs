//! `gate --against-history [N]`: judges the latest run, with its repeats, against the stored runs
//! before it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use rsb_engine::{EngineError, ErrorKind, Listener};
use rsb_model::{Event, Fingerprint, Run, Timestamp, factor};
use rsb_stats::history::LEVEL;
use rsb_stats::{AcceptedLevel, StoredRuns};
use rsb_store::{Baselines, RunSummary, read_run};

use super::judge::{Judge, SideName};
use super::latest::{latest, of_another_tree};
use super::{Basis, JudgedSides, Judgment, MissingSide, notes};
use crate::suggest::measure_again;

/// Runs of the same code within this time are repeats of each other. Half a day joins repeats made
/// on the same day, and keeps nightly runs of one commit apart, which are judged separately.
const REPEATED_WITHIN: jiff::SignedDuration = jiff::SignedDuration::from_hours(12);

/// Maximum number of repeats judged together with the latest run; more add no information.
const MOST_REPEATS: usize = 6;

/// Judges the latest run, or the runs in `named`, against the last `runs` stored ones.
///
/// # Errors
/// If a run, the policy or the baseline cannot be read.
pub fn against_history(
    judge: &Judge,
    named: &[String],
    runs: usize,
    listener: &mut Listener<'_>,
) -> Result<Judgment, EngineError> {
    // The stored runs record their machine.
    judge.place(SideName::Baseline, Vec::new())?;
    let known = judge.store.runs()?;
    let current = if named.is_empty() { looks(judge, &known, runs) } else { judge.sides(named) };
    let mut current = match current {
        Ok(runs) => judge.place(SideName::Current, runs)?,
        Err(error) if error.kind == ErrorKind::NoVerdict => {
            return Ok(no_verdict(judge, &[], MissingSide::Run, format!("{:#}", error.error)));
        }
        Err(error) => return Err(error),
    };
    current.sort_by_key(|run| run.started);
    let Some(first) = current.first() else {
        return Ok(no_verdict(
            judge,
            &[],
            MissingSide::Run,
            "the side to judge has no run".to_owned(),
        ));
    };
    let slugs = judge.store.slugs_of(&Fingerprint::of(&first.environment))?;
    let before = before(&known, &slugs, &current, first, runs, judge.across(), listener);
    if before.is_empty() {
        let why = format!(
            "no earlier run of this machine and the suite {} is stored in {}; each `{}` adds one, \
             and a verdict needs {LEVEL}",
            first.suite,
            judge.store.results_dir().display(),
            judge.directories.command(&measure_again(first))
        );
        return Ok(no_verdict(judge, &current, MissingSide::Baseline, why));
    }
    judge.check(&before, &current)?;
    let accepted = accepted_levels(judge, first, &known)?;
    let stored = StoredRuns { runs: &before, accepted: &accepted };
    let now = Timestamp::now();
    let mut result =
        rsb_stats::gate_history(&stored, &current, judge.policy(), judge.across(), now);
    result.notes.splice(0..0, notes::of(&before, &current, now));
    let last = before.last().map(std::slice::from_ref).unwrap_or_default();
    Ok(Judgment::of_figures(result, JudgedSides::of(last, &current)))
}

/// Returns a judgment without a verdict, for the reason `why`.
fn no_verdict(judge: &Judge, current: &[Run], lack: MissingSide, why: String) -> Judgment {
    Judgment {
        result: judge.judge(&[], current),
        basis: Basis::Nothing { lack, why },
        sides: JudgedSides::default(),
    }
}

/// Returns the latest run, together with earlier runs of the same code that it repeats. `runs` is
/// the number of stored runs to judge it against.
fn looks(judge: &Judge, known: &[RunSummary], runs: usize) -> Result<Vec<Run>, EngineError> {
    let latest = latest(&judge.store)?;
    let more = format!(" --against-history {runs}");
    if let Some(why) = of_another_tree(&latest, &judge.directories, &more) {
        return Err(EngineError::no_verdict(anyhow!(why)));
    }
    let slugs = judge.store.slugs_of(&Fingerprint::of(&latest.environment))?;
    let others = known
        .iter()
        .filter(|other| other.run_id != latest.run_id && is_alike(other, &slugs, &latest.suite));
    let recent = others
        .filter(|other| other.started <= latest.started)
        .take_while(|other| latest.started.duration_since(other.started) <= REPEATED_WITHIN);
    let mut looks = Vec::new();
    for other in recent.take(MOST_REPEATS) {
        let other = read_run(&other.path).map_err(EngineError::usage)?;
        if !is_same_code(&other, &latest) {
            break;
        }
        looks.push(other);
    }
    looks.push(latest);
    Ok(looks)
}

fn is_alike(run: &RunSummary, slugs: &[String], suite: &str) -> bool {
    slugs.contains(&run.slug) && run.suite == suite
}

/// Returns whether two runs measured the same commit and program. If a program hash is missing,
/// both trees must be clean.
fn is_same_code(one: &Run, other: &Run) -> bool {
    let (Some(git), Some(other_git)) = (&one.environment.git, &other.environment.git) else {
        return false;
    };
    let is_clean = !git.dirty && !other_git.dirty;
    let same_program = match (&one.program, &other.program) {
        (Some(one), Some(other)) => one == other,
        _ => is_clean,
    };
    git.commit == other_git.commit && same_program
}

/// Returns those of the last `runs` runs of this machine and suite that started no later than
/// `first` and are comparable with it, oldest first.
fn before(
    known: &[RunSummary],
    slugs: &[String],
    current: &[Run],
    first: &Run,
    runs: usize,
    across: &[String],
    listener: &mut Listener<'_>,
) -> Vec<Run> {
    let here = Fingerprint::of(&first.environment);
    let factors = current
        .iter()
        .flat_map(|run| {
            run.benchmarks
                .iter()
                .map(|result| (&result.benchmark_id, result.factors_in(&run.environment)))
        })
        .collect::<BTreeMap<_, _>>();
    let earlier = known.iter().filter(|run| {
        run.started <= first.started
            && current.iter().all(|judged| judged.run_id != run.run_id)
            && is_alike(run, slugs, &first.suite)
    });
    let mut found = Vec::new();
    let mut unlike = BTreeSet::new();
    for summary in earlier.take(runs) {
        let mut run = match read_run(&summary.path) {
            Ok(run) => run,
            Err(error) => {
                listener(&Event::note(format!(
                    "the earlier run {} is ignored: {error}",
                    summary.run_id
                )));
                continue;
            }
        };
        if !Fingerprint::of(&run.environment).differences(&here).is_empty() {
            continue;
        }
        let Run { environment, benchmarks, .. } = &mut run;
        benchmarks.retain(|result| {
            let Some(now) = factors.get(&result.benchmark_id) else { return true };
            let is_alike =
                factor::differences(&result.factors_in(environment), now, across).is_empty();
            if !is_alike {
                unlike.insert(result.benchmark_id.clone());
            }
            is_alike
        });
        if !run.benchmarks.is_empty() {
            found.push(run);
        }
    }
    if !unlike.is_empty() {
        listener(&Event::note(format!(
            "earlier results of {} {} were measured with other software versions and left out; \
             --across NAME includes them",
            unlike.len(),
            if unlike.len() == 1 { "case" } else { "cases" }
        )));
    }
    found.reverse();
    found
}

/// Returns the accepted levels recorded in the baseline of this machine and suite, if there is one.
fn accepted_levels(
    judge: &Judge,
    run: &Run,
    known: &[RunSummary],
) -> Result<Vec<AcceptedLevel>, EngineError> {
    let baselines = Baselines::new(&judge.directories.baselines);
    let path = baselines.path_of(&Fingerprint::of(&run.environment), &run.suite);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let baseline = baselines.read(&path).map_err(EngineError::usage)?;
    let mut levels = Vec::new();
    for accepted in baseline.accepted {
        let from = accepted.from.as_deref();
        let run = from.and_then(|id| known.iter().find(|run| run.run_id.0 == id));
        let since = run.map_or(accepted.when, |run| run.started);
        levels.push(AcceptedLevel { since, id: accepted.id, metric: accepted.metric });
    }
    Ok(levels)
}
