//! A run from its plan to its file: claims the machine, measures, and records every result
//! immediately.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use itertools::Itertools as _;
use rsb_catalog::frameworks;
use rsb_catalog::plan::Plan;
use rsb_catalog::selection::{self, Selection};
use rsb_model::{
    BenchmarkResult, Environment, Event, Fingerprint, Note, Outcome, Run, RunId, RunStatus,
    Timestamp,
};
use rsb_store::Store;

use crate::measure::{self, Settings, assemble};
use crate::recorder::{Recorder, program_hash};
use crate::{EngineError, Listener, WorkerCommand, machine, machine_lock};

/// A finished run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The run and its results.
    pub run: Run,
    /// How the run ended.
    pub status: RunStatus,
    /// Path of the run's file, or why it could not be stored. The error contains the path of a copy
    /// of the run in the temporary directory.
    pub stored: anyhow::Result<PathBuf>,
}

/// Measures `plan` as a run of `suite` and stores it in `store`.
///
/// # Errors
/// If the temporary directory or the results directory cannot be written; nothing was measured
/// then.
pub fn measure(
    plan: &Plan,
    suite: &str,
    settings: &Settings,
    store: &Store,
    environment: Environment,
    workers: &WorkerCommand,
    listener: &mut Listener<'_>,
) -> Result<FinishedRun, EngineError> {
    // Create Criterion's directory before reserving an ID, because nothing can be measured without
    // it.
    tempfile::tempdir().context(measure::NO_SCRATCH).map_err(EngineError::usage)?;
    let mut recorder = Recorder::begin(store, suite, settings.profile.as_str(), environment, plan)
        .map_err(EngineError::usage)?;
    recorder.run.notes.extend(plan.notes.iter().cloned());
    let claim = machine_lock::claim([&mut recorder.run], listener);
    recorder.run.notes.extend(machine_lock::note_of_dashboard());
    listener(&Event::RunStarted { run_id: recorder.run.run_id.clone(), cases: plan.cases.len() });
    let environment = recorder.run.environment.clone();
    let settings = &with_profiles(settings, store, &recorder.run.run_id);
    let workers = workers.clone().planned_on(&plan.run_devices());
    let status = measure::measure(plan, settings, &workers, &environment, &mut |event| {
        recorder.on_event(event);
        listener(event);
    })
    .context(measure::NO_SCRATCH)?;
    claim.end([&mut recorder.run], listener);
    listener(&Event::RunEnded(status));
    recorder.run.notes.extend(note_of(status));
    let stored = recorder.finish();
    Ok(FinishedRun { run: recorder.run, status, stored })
}

/// Returns `settings` with the profiles stored next to the run `id`.
fn with_profiles(settings: &Settings, store: &Store, id: &RunId) -> Settings {
    let profiler = settings.profiler.as_ref().map(|tool| tool.keeping_in(store.profiles_of(id)));
    Settings { profiler, ..settings.clone() }
}

/// Returns the note for a run that ended with `status`.
const fn note_of(status: RunStatus) -> Option<Note> {
    match status {
        RunStatus::Complete => None,
        RunStatus::Interrupted => Some(Note::Interrupted),
        RunStatus::OutOfTime => Some(Note::OutOfTime),
    }
}

/// Stores `results`, which another program measured on this machine, as a run of `suite` with
/// `profile`.
///
/// # Errors
/// If the results cannot be written.
pub fn keep(
    results: Vec<BenchmarkResult>,
    suite: &str,
    profile: &str,
    store: &Store,
    environment: &Environment,
) -> Result<PathBuf, EngineError> {
    let mut recorder =
        Recorder::begin(store, suite, profile, environment.clone(), &Plan::default())?;
    recorder.run.program = None; // It did not measure them.
    recorder.run.started =
        results.iter().map(|result| result.timestamp).min().unwrap_or(recorder.run.started);
    for result in results {
        recorder.on_event(&Event::CaseUpdated(Box::new(assemble::complete(result, environment))));
    }
    Ok(recorder.finish()?)
}

/// Measures the missing replicates of the stopped `run` and rewrites its file in `store`. Results
/// measured before are kept, even if the run is stopped again. New results are written at the end,
/// so a crash loses them.
///
/// # Errors
/// If no missing case can be measured here, or the run was measured on other hardware or by another
/// program.
pub fn resume(
    mut run: Run,
    settings: &Settings,
    store: &Store,
    workers: &WorkerCommand,
    listener: &mut Listener<'_>,
) -> Result<FinishedRun, EngineError> {
    let plan = lacking(&run, settings).map_err(EngineError::usage)?;
    let workers =
        workers.clone().with_slowdown(run.slowdown().map(str::to_owned)).planned_on(&run.devices);
    let claim = machine_lock::claim([&mut run], listener);
    let dashboard = machine_lock::note_of_dashboard().filter(|note| !run.notes.contains(note));
    run.notes.extend(dashboard);
    listener(&Event::RunStarted { run_id: run.run_id.clone(), cases: plan.cases.len() });
    let environment = run.environment.clone();
    let before = run.benchmarks.clone();
    let settings = &with_profiles(settings, store, &run.run_id);
    let status =
        measure::measure(&plan, settings, &workers, &environment, &mut |event| match event {
            Event::CaseUpdated(new) => {
                let known = before.iter().find(|known| known.benchmark_id == new.benchmark_id);
                let result = match known.filter(|known| !known.samples.is_empty()) {
                    // This case was not reached in the resumed run either; keep its earlier results
                    // without a note.
                    Some(known) if new.samples.is_empty() && new.outcome == Outcome::Skipped => {
                        known.clone()
                    }
                    Some(known) => assemble::extend(known, new),
                    None => (**new).clone(),
                };
                run.keep(result.clone());
                listener(&Event::CaseUpdated(Box::new(result)));
            }
            other => listener(other),
        })
        .context(measure::NO_SCRATCH)?;
    claim.end([&mut run], listener);
    listener(&Event::RunEnded(status));
    run.notes.retain(|note| !matches!(note, Note::Interrupted | Note::OutOfTime));
    run.notes.extend(note_of(status));
    let now = Timestamp::now();
    let again = Note::Text(format!(
        "the run was stopped, and resumed at {}",
        now.strftime("%Y-%m-%d %H:%M UTC")
    ));
    run.notes.push(again);
    run.finished = Some(now);
    let stored = store.rewrite(&run).map_err(anyhow::Error::new);
    Ok(FinishedRun { run, status, stored })
}

/// Returns the cases of `run` that have fewer replicates than `settings` require, and their number
/// of replicates.
fn lacking(run: &Run, settings: &Settings) -> anyhow::Result<Plan> {
    let id = &run.run_id;
    let again = "measure the whole run again with `rusty-stack-bench run`";
    if let Some(why) = unlike_here(run) {
        bail!("cannot resume run {id}: {why}; {again}");
    }
    let here = machine::environment_beside(&run.environment);
    for (device, driver) in &run.environment.drivers {
        if let Some(now) = here.drivers.get(device).filter(|now| *now != driver) {
            bail!(
                "cannot resume run {id}: the driver of {device} is {driver} in the run and {now} \
                 here; {again}"
            );
        }
    }
    if run.notes.iter().any(|note| matches!(note, Note::CutOff { .. })) {
        bail!("cannot resume run {id}: it was cut off, so its missing cases are unknown; {again}");
    }
    let mut plan = Plan::default();
    for result in &run.benchmarks {
        // A skipped case without a case-specific reason was not reached by the run.
        let is_due = result.outcome != Outcome::Failed
            && (!result.samples.is_empty() || measure::was_not_reached(result));
        if !is_due {
            continue;
        }
        let Some(case) = result.case() else { continue };
        let taken = u32::try_from(result.samples.len()).unwrap_or(u32::MAX);
        if taken < settings.replicates_of(&case) {
            plan.taken.insert(case.id.clone(), taken);
            plan.cases.push(case);
        }
    }
    ensure!(
        !plan.cases.is_empty(),
        "run {id} is complete: every case that can run here has all its replicates"
    );
    Ok(plan)
}

/// Returns why replicates measured here would not be comparable with those of `run`: other
/// hardware, or another program.
pub fn unlike_here(run: &Run) -> Option<String> {
    let here = machine::environment();
    let differences = Fingerprint::of(&run.environment).differences(&Fingerprint::of(&here));
    if let Some(difference) = differences.first() {
        return Some(format!(
            "{} is {} in the run and {} here",
            difference.field, difference.baseline, difference.current
        ));
    }
    (run.program != program_hash())
        .then(|| "the run was measured by another build of this program".to_owned())
}

/// Returns the name of the suite; for individually named benchmarks, a name that does not depend on
/// their order and can be used as a file name.
pub fn suite_name(selection: &Selection) -> String {
    if selection.names.is_empty() {
        return selection.suite.as_str().to_owned();
    }
    let names = selection.names.iter().map(String::as_str).sorted_unstable().dedup().collect_vec();
    if names.len() == rsb_workloads::all().len() + frameworks::all_and_models().count() {
        return selection::ALL.to_owned();
    }
    names.join("_")
}
