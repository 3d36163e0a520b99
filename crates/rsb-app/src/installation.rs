//! A short run that is saved as a baseline, and compared with the one saved before the software
//! changed.

use anyhow::Context;
use rsb_catalog::installation;
use rsb_catalog::plan::Plan;
use rsb_engine::measure::Settings;
use rsb_engine::run::FinishedRun;
use rsb_engine::{Listener, machine};
use rsb_gate::Directories;
use rsb_model::fingerprint::{self, Fingerprint};
use rsb_model::record::PerformanceBaseline;
use rsb_model::{ComparisonResult, Run, Verdict};
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
    /// Whether this run or an earlier one is now the baseline.
    pub update: BaselineUpdate,
    /// Exit code of the run.
    pub exit: Exit,
}

/// Whether a run became the installation baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineUpdate {
    /// The run became the first baseline of this machine.
    Created,
    /// The run replaced the earlier baseline: the software changed, and the verdict is a pass.
    Replaced,
    /// The earlier baseline is kept, because it has the same software.
    KeptSameSoftware,
    /// The earlier baseline is kept, because a case regressed or has no verdict. It stays the
    /// reference from before the change until a run passes or the user replaces it.
    KeptWithoutPass,
}

impl BaselineUpdate {
    /// Returns the update after a comparison with an earlier baseline; `across` names the factors
    /// that changed.
    const fn after_comparison(across: &[String], verdict: Verdict) -> Self {
        if across.is_empty() {
            return Self::KeptSameSoftware;
        }
        match verdict {
            Verdict::Improved | Verdict::Unchanged => Self::Replaced,
            Verdict::Regressed | Verdict::Inconclusive | Verdict::NotComparable => {
                Self::KeptWithoutPass
            }
        }
    }

    /// Returns whether the run is the baseline now.
    pub const fn is_saved(self) -> bool {
        matches!(self, Self::Created | Self::Replaced)
    }
}

/// Compares `finished` with the previous baseline, if there is one, and saves it as the next one
/// unless the previous one is kept; see [`BaselineUpdate`].
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
    let mut document = installation::document(&finished.run);
    document.baseline_run_id = Some(document.run_id.0.clone());
    let mut update = BaselineUpdate::Created;
    if let Some(before) = saved_baseline(directories, &now)? {
        let across = installation::changed_software(&before.fingerprint, &now);
        document.software_changes =
            fingerprint::software_differences(&before.environment, &finished.run.environment);
        let comparison = compare_installation(project, before, &finished.run, &across, listener)?;
        update = BaselineUpdate::after_comparison(&across, comparison.verdict);
        if !update.is_saved() {
            document.baseline_run_id = Some(comparison.baseline_run_id.clone());
        }
        document.comparison = Some(comparison);
    }
    let exit = measure::exit_of(finished.run.counts());
    let file = if update.is_saved() {
        let name = Some(installation::NAME);
        baseline::save_runs(name, &[finished.run], store, directories, listener)?.path
    } else {
        Baselines::new(&directories.baselines).path_of(&now, installation::NAME)
    };
    document.baseline_file = Some(file.display().to_string());
    Ok(InstalledBaseline { document, update, exit })
}

/// Returns the baseline that an earlier call saved on this machine.
fn saved_baseline(
    directories: &Directories,
    now: &Fingerprint,
) -> Result<Option<Baseline>, AppError> {
    Baselines::new(&directories.baselines).saved(now, installation::NAME).map_err(AppError::usage)
}

/// Compares `run` with the baseline `before`, even if the versions of the software in `across`
/// differ.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pass_across_changed_software_replaces_a_baseline() {
        struct Row {
            across: &'static [&'static str],
            verdict: Verdict,
            expected: BaselineUpdate,
        }
        let (driver, same): (&[&str], &[&str]) = (&["driver"], &[]);
        let (replaced, kept) = (BaselineUpdate::Replaced, BaselineUpdate::KeptWithoutPass);
        for Row { across, verdict, expected } in [
            Row { across: driver, verdict: Verdict::Improved, expected: replaced },
            Row { across: driver, verdict: Verdict::Unchanged, expected: replaced },
            Row { across: driver, verdict: Verdict::Regressed, expected: kept },
            Row { across: driver, verdict: Verdict::Inconclusive, expected: kept },
            Row { across: driver, verdict: Verdict::NotComparable, expected: kept },
            Row {
                across: same,
                verdict: Verdict::Improved,
                expected: BaselineUpdate::KeptSameSoftware,
            },
        ] {
            let across: Vec<String> = across.iter().map(|&name| name.to_owned()).collect();
            let update = BaselineUpdate::after_comparison(&across, verdict);
            assert_eq!(update, expected, "{verdict} across {across:?}");
        }
    }
}
