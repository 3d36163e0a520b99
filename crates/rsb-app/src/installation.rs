//! A short run that is saved as a baseline, and compared with the one saved before the software
//! changed.

use anyhow::Context;
use rsb_catalog::installation;
use rsb_catalog::plan::Plan;
use rsb_engine::measure::Settings;
use rsb_engine::run::FinishedRun;
use rsb_engine::{Listener, machine};
use rsb_gate::Directories;
use rsb_model::record::PerformanceBaseline;
use rsb_model::{ComparisonResult, Fingerprint, Run};
use rsb_store::{Baseline, Baselines, Store};

use crate::measure::{self, MeasureOptions};
use crate::{AppError, Exit, ProjectContext, baseline, judge};

/// Plans the run, and returns its settings.
///
/// # Errors
/// If the configuration names something that is not here.
pub fn plan(project: &ProjectContext) -> Result<(Plan, Settings), AppError> {
    let config = &project.config;
    let (selection, settings) = measure::resolve(&[], None, &MeasureOptions::default(), config)?;
    let mut plan = measure::plan(&installation::selection(selection), &machine::here(), config)?;
    installation::narrow(&mut plan);
    Ok((plan, settings))
}

/// Result of establishing an installation baseline.
pub struct InstalledBaseline {
    /// The run, its comparison and its baseline.
    pub document: PerformanceBaseline,
    /// Whether the software is that of the previous baseline, which then stays.
    pub stays: bool,
    /// Exit code of the run.
    pub exit: Exit,
}

/// Compares `finished` with the previous baseline, and saves it as the next one.
///
/// # Errors
/// If the run was not stored, or the baselines cannot be read or written.
pub fn establish(
    project: &ProjectContext,
    store: &Store,
    finished: FinishedRun,
    listener: &mut Listener<'_>,
) -> Result<InstalledBaseline, AppError> {
    let directories = &project.directories;
    finished.stored.context("the run was not stored, so it cannot be a baseline")?;
    let now = Fingerprint::of(&finished.run.environment);
    let before = saved_baseline(directories, &now)?;
    let mut document = installation::document(&finished.run);
    let changed =
        before.as_ref().map(|before| installation::changed_software(&before.fingerprint, &now));
    document.comparison = match (before, &changed) {
        (Some(before), Some(across)) => {
            Some(compare_installation(project, before, &finished.run, across, listener)?)
        }
        _ => None,
    };
    // With the same software, it is the same installation, so the previous baseline stays.
    let stays = changed.is_some_and(|changed| changed.is_empty());
    let exit = measure::exit_of(finished.run.counts());
    let saved = if stays {
        Baselines::new(&directories.baselines).path_of(&now, installation::NAME)
    } else {
        let name = Some(installation::NAME);
        baseline::save_runs(name, &[finished.run], store, directories, listener)?.path
    };
    document.baseline_file = Some(saved.display().to_string());
    Ok(InstalledBaseline { document, stays, exit })
}

/// Returns the baseline that an earlier call saved on this machine.
fn saved_baseline(
    directories: &Directories,
    now: &Fingerprint,
) -> Result<Option<Baseline>, AppError> {
    let baselines = Baselines::new(&directories.baselines);
    if !baselines.path_of(now, installation::NAME).exists() {
        return Ok(None);
    }
    Ok(Some(baselines.load(installation::NAME, Some(now)).map_err(AppError::usage)?))
}

/// Compares `run` with the baseline `before`, across any software changes.
fn compare_installation(
    project: &ProjectContext,
    before: Baseline,
    run: &Run,
    across: &[String],
    listener: &mut Listener<'_>,
) -> Result<ComparisonResult, AppError> {
    let judge = project.judge(across.to_vec(), listener)?;
    let result = judge.judge(&before.into_runs(), std::slice::from_ref(run));
    judge::keep(&judge, &result, listener);
    Ok(result)
}
