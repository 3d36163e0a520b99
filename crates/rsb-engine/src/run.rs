//! A run from its plan to its file: claim the machine, measure, keep every result as it comes.

use std::path::PathBuf;

use anyhow::Context;
use rsb_model::record::EnvironmentSummary;
use rsb_model::{BenchmarkResult, Environment, Event, Note, Run, RunStatus};
use rsb_store::Store;

use crate::machine_lock;
use crate::measure::{self, Settings, assemble};
use crate::plan::{self, Plan};
use crate::recorder::Recorder;
use crate::selection::Selection;
use crate::{EngineError, Listener, WorkerCommand};

/// A run that is over.
#[derive(Debug)]
pub struct FinishedRun {
    /// What was measured.
    pub run: Run,
    /// How it ended.
    pub status: RunStatus,
    /// Its file, or why it is not where it belongs. Nothing is lost: the error says where it is.
    pub stored: anyhow::Result<PathBuf>,
}

/// Measures `plan` as a run of `suite` and keeps it in `store`.
///
/// # Errors
/// When there is no room to begin: nothing was measured then.
pub fn measure(
    (plan, suite): (&Plan, &str),
    settings: &Settings,
    store: &Store,
    (environment, workers): (Environment, &WorkerCommand),
    listener: &mut Listener<'_>,
) -> Result<FinishedRun, EngineError> {
    // Before anything is reserved: without a temporary directory nothing can be measured.
    tempfile::tempdir().context(measure::NO_SCRATCH).map_err(EngineError::usage)?;
    let mut recorder =
        Recorder::begin(store, suite, settings.profile.as_str(), environment, plan).map_err(EngineError::usage)?;
    recorder.run.notes.extend(plan.notes.iter().cloned());
    let claim = machine_lock::claim([&mut recorder.run], listener);
    listener(&Event::RunStarted { run_id: recorder.run.run_id.clone(), cases: plan.cases.len() });
    let environment = recorder.run.environment.clone();
    let status = measure::measure(plan, settings, workers, &environment, &mut |event| {
        recorder.on_event(event);
        listener(event);
    })
    .context(measure::NO_SCRATCH)?;
    claim.end([&mut recorder.run], listener);
    listener(&Event::RunEnded(status));
    let note = match status {
        RunStatus::Complete => None,
        RunStatus::Interrupted => Some(Note::Interrupted),
        RunStatus::OutOfTime => Some(Note::OutOfTime),
    };
    recorder.run.notes.extend(note);
    let stored = recorder.finish();
    Ok(FinishedRun { run: recorder.run, status, stored })
}

/// Keeps `results`, which somebody else measured on this machine, as a run of `suite` under `profile`.
///
/// # Errors
/// When they cannot be written.
pub fn keep(
    results: Vec<BenchmarkResult>,
    (suite, profile): (&str, &str),
    store: &Store,
    environment: Environment,
) -> Result<PathBuf, EngineError> {
    let summary = EnvironmentSummary::of(&environment);
    let mut recorder = Recorder::begin(store, suite, profile, environment, &Plan::default())?;
    recorder.run.program = None; // It did not measure them.
    recorder.run.started = results.iter().map(|result| result.timestamp).min().unwrap_or(recorder.run.started);
    for result in results {
        recorder.on_event(&Event::CaseUpdated(Box::new(assemble::completed(result, &summary))));
    }
    Ok(recorder.finish()?)
}

/// The suite, or for benchmarks named one by one a name that does not depend on their order and can be a file's.
pub fn suite_name(selection: &Selection) -> String {
    if selection.names.is_empty() {
        return selection.suite.as_str().to_owned();
    }
    let names: std::collections::BTreeSet<&str> = selection.names.iter().map(String::as_str).collect();
    if names.len() == rsb_workloads::all().len() {
        return plan::ALL.to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join("_")
}
