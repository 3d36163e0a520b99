//! Judges a stored run against a baseline, and remeasures its undecided cases if it is fresh.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use itertools::Itertools as _;
use jiff::SignedDuration;
use rsb_engine::run::unlike_here;
use rsb_engine::{EngineError, ErrorKind, Listener, machine_lock};
use rsb_model::record::{ComparisonNote, ComparisonNoteCode};
use rsb_model::{ComparisonResult, Event, Fingerprint, Run, Timestamp};
use rsb_store::Baselines;

use super::judge::{Judge, SideName, is_itself};
use super::latest::{latest, of_another_tree};
use super::paired::{PairedRerun, Revisions};
use super::{BUDGET, Basis, JudgedSides, Judgment, MissingSide, remeasure};

/// Undecided cases of a run that ended at most this many minutes ago are remeasured by default.
const FRESH_MINUTES: i64 = 15;

/// Request to judge stored runs.
#[derive(Debug, Clone, Default)]
pub struct StoredRequest<'a> {
    /// Sides of the baseline; if empty, the one saved for the machine and suite of the run.
    pub baseline: Vec<String>,
    /// Sides to judge; if empty, the latest run.
    pub current: Vec<String>,
    /// Time to remeasure undecided cases; without it, only a fresh run is remeasured.
    pub budget: Option<Duration>,
    /// Provider of revisions that made baselines; without it, only kept programs are measured.
    pub revisions: Option<&'a dyn Revisions>,
}

/// Judges the sides of `request`.
///
/// # Errors
/// If a side cannot be read.
pub fn judge_stored(
    judge: &Judge,
    request: &StoredRequest<'_>,
    listener: &mut Listener<'_>,
) -> Result<Judgment, EngineError> {
    let [baseline_names, current_names] = judge.name_sides(&request.baseline, &request.current)?;
    let named = judge.place(SideName::Baseline, judge.sides(&baseline_names)?)?;
    let current = match current(judge, &current_names) {
        Ok(runs) => judge.place(SideName::Current, runs)?,
        Err(error) if error.kind == ErrorKind::NoVerdict => {
            return no_verdict(judge, &[], MissingSide::Run, &format!("{:#}", error.error));
        }
        Err(error) => return Err(error),
    };
    if let Some((text, other)) = judge.same_source(&request.current, &request.baseline) {
        let why = format!(
            "`{text}` and `{other}` are the same file or directory: nothing was measured in between"
        );
        return no_verdict(judge, &current, MissingSide::OtherRun, &why);
    }
    let saved = if request.baseline.is_empty() { saved_for(judge, &current) } else { Ok(named) };
    let baseline = match saved {
        Ok(runs) => runs,
        Err(error) if error.kind == ErrorKind::NoVerdict => {
            return no_verdict(
                judge,
                &current,
                MissingSide::Baseline,
                &format!("{:#}", error.error),
            );
        }
        Err(error) => return Err(error),
    };
    if let Some(why) = is_itself(&baseline, &current, &judge.directories) {
        return no_verdict(judge, &current, MissingSide::OtherRun, &why);
    }
    if let Some(revisions) = request.revisions {
        let made = baseline
            .iter()
            .filter_map(|run| run.environment.revision())
            .sorted_unstable()
            .dedup()
            .collect_vec();
        if let Some(why) = made.into_iter().find_map(|commit| revisions.check(commit).err()) {
            return no_verdict(judge, &current, MissingSide::Revision, &why);
        }
    }
    judge.check(&baseline, &current)?;
    for sentence in machine_lock::shared_run_warnings(baseline.iter().chain(&current)) {
        listener(&Event::note(sentence));
    }
    let sides = JudgedSides::of(&baseline, &current);
    let budget = request.budget.or_else(|| is_fresh(&current, request).then_some(BUDGET));
    if let Some(result) = again(judge, request, &baseline, &current) {
        let when = result.timestamp.strftime("%Y-%m-%d %H:%M UTC");
        let text = format!(
            "doubtful cases were measured again on {when}, and that verdict still applies; \
             `--budget 3m` measures cases that are still undecided"
        );
        listener(&Event::note(text));
        return Ok(Judgment { result, basis: Basis::Figures { remeasured: true }, sides });
    }
    let mut result = match budget {
        Some(budget) if !budget.is_zero() => {
            measure_again(judge, &baseline, current, budget, request.revisions, listener)?
        }
        _ => judge.judge(&baseline, &current),
    };
    result.notes.extend(judge.base_note());
    result.notes.extend(judge.policy_note());
    Ok(Judgment { result, basis: Basis::Figures { remeasured: budget.is_some() }, sides })
}

/// Returns the verdict of a previous call that remeasured undecided cases, so that repeated calls
/// of `gate` on one run agree. `None` if only stored values are to be judged, or if undecided cases
/// remain and a budget to measure them is set.
fn again(
    judge: &Judge,
    request: &StoredRequest<'_>,
    baseline: &[Run],
    current: &[Run],
) -> Option<ComparisonResult> {
    let ([run], true, false) = (current, request.baseline.is_empty(), judge.asks_across()) else {
        return None;
    };
    let file = Baselines::new(&judge.directories.baselines)
        .path_of(&Fingerprint::of(&run.environment), &run.suite);
    let result = judge.judge(baseline, current);
    let kept = super::judge::find_remeasured(
        &judge.store,
        &result,
        [&file, judge.directories.policy.path()],
    )?;
    // A verdict that used the baselines and policy of a merge base does not apply to those of the
    // tree, nor the other way round.
    let note = kept.notes.iter().find(|note| note.code == ComparisonNoteCode::MergeBase);
    if note != judge.base_note().as_ref() {
        return None;
    }
    let stands = match request.budget {
        None => true,
        Some(budget) => {
            !budget.is_zero() && kept.comparisons.iter().all(|row| row.verdict.is_decided())
        }
    };
    stands.then_some(kept)
}

/// Returns whether `current` was measured recently on a machine like this one, so that new
/// replicates are comparable with the existing ones.
fn is_fresh(current: &[Run], request: &StoredRequest<'_>) -> bool {
    let limit = SignedDuration::from_mins(FRESH_MINUTES);
    let just_now =
        |run: &Run| run.finished.is_some_and(|then| Timestamp::now().duration_since(then) < limit);
    request.current.is_empty()
        && current.iter().all(|run| just_now(run) && unlike_here(run).is_none())
}

/// Judges after comparing suspects with the program that made the baseline, if available, and
/// remeasuring cases that are still undecided.
fn measure_again(
    judge: &Judge,
    baseline: &[Run],
    current: Vec<Run>,
    budget: Duration,
    revisions: Option<&dyn Revisions>,
    listener: &mut Listener<'_>,
) -> Result<ComparisonResult, EngineError> {
    let result = judge.judge(baseline, &current);
    let Ok([run]) = <[Run; 1]>::try_from(current) else {
        listener(&Event::note("nothing is remeasured: several runs are judged together"));
        return Ok(result);
    };
    if !judge.store.holds(&run) {
        listener(&Event::note(format!(
            "nothing is remeasured: the run {} is not stored in these results",
            run.run_id
        )));
        return Ok(result);
    }
    if let Some(why) = unlike_here(&run) {
        listener(&Event::note(format!("nothing is remeasured: {why}")));
        return Ok(result);
    }
    let rerun = if judge.asks_across() {
        PairedRerun::NotNeeded
    } else {
        PairedRerun::prepare(&result, baseline, &run, revisions, listener)
    };
    let began = Instant::now();
    let (paired, alone) = match rerun {
        PairedRerun::NotNeeded => (None, None),
        PairedRerun::RecordAlone { why } => (None, why),
        PairedRerun::Ready(rerun) => (Some(rerun.measure(judge, budget, listener)?), None),
    };
    let settled = paired
        .iter()
        .flat_map(|found| &found.comparisons)
        .map(|row| row.id.clone())
        .sorted_unstable()
        .dedup()
        .collect_vec();
    let left = budget.saturating_sub(began.elapsed());
    let (run, is_longer) = remeasure::resolve(judge, baseline, run, left, &settled, listener)?;
    let mut result = judge.judge(baseline, &[run]);
    if let Some(paired) = paired {
        result = rsb_stats::with_paired(result, &paired, judge.policy());
        result.notes.extend(paired.notes);
    }
    result.notes.extend(alone);
    if is_longer {
        let text = "undecided cases were measured again, in fresh processes";
        result.notes.push(ComparisonNote::new(ComparisonNoteCode::Remeasured, text));
    }
    Ok(result)
}

/// Returns the runs in `named`, or the latest run, which must match the source tree here.
fn current(judge: &Judge, named: &[String]) -> Result<Vec<Run>, EngineError> {
    if !named.is_empty() {
        return judge.sides(named);
    }
    let run = latest(&judge.store)?;
    match of_another_tree(&run, &judge.directories, "") {
        Some(why) => Err(EngineError::no_verdict(anyhow!(why))),
        None => Ok(vec![run]),
    }
}

/// Returns a judgment without a verdict, because there is nothing to compare with.
fn no_verdict(
    judge: &Judge,
    current: &[Run],
    lack: MissingSide,
    why: &str,
) -> Result<Judgment, EngineError> {
    // If there is no run, a pattern may refer to the cases of another tool, so do not report it.
    if !current.is_empty() {
        judge.check(&[], current)?;
    }
    let basis = Basis::Nothing { lack, why: why.to_owned() };
    Ok(Judgment { result: judge.judge(&[], current), basis, sides: JudgedSides::default() })
}

/// Returns the baseline saved for the machine and suite of `current`.
///
/// # Errors
/// If there is none (no verdict), or it cannot be read.
pub fn saved_for(judge: &Judge, current: &[Run]) -> Result<Vec<Run>, EngineError> {
    let first =
        current.first().ok_or_else(|| EngineError::no_verdict(anyhow!("no run to judge")))?;
    let fingerprint = Fingerprint::of(&first.environment);
    let baselines = Baselines::new(&judge.directories.baselines);
    let saved = baselines.saved(&fingerprint, &first.suite).map_err(EngineError::usage)?;
    let Some(saved) = saved else {
        let others = baselines.list();
        let others = if others.is_empty() {
            String::new()
        } else {
            let names: Vec<String> =
                others.iter().map(|info| format!("{}/{}", info.slug, info.name)).collect();
            format!("; saved baselines: {}", names.join(", "))
        };
        return Err(EngineError::no_verdict(anyhow!(
            "no baseline `{}` was saved for this machine ({}){others}; save one with `{}`",
            first.suite,
            fingerprint.slug(),
            judge.directories.command("baseline save")
        )));
    };
    let runs = saved.into_runs();
    match runs.iter().find(|run| run.suite != first.suite) {
        // The baseline has the name of this suite, but contains runs of another.
        Some(other) => Err(EngineError::usage(anyhow!(
            "the baseline `{}` is of the suite {}: save one of this suite, or name that one with \
             --baseline",
            first.suite,
            other.suite
        ))),
        None => Ok(runs),
    }
}
