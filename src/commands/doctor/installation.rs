//! A short run that is saved as a baseline, and compared with the one saved before the software
//! changed.

use anyhow::Context;
use rsb_catalog::installation;
use rsb_engine::machine;
use rsb_gate::Directories;
use rsb_gate::gate::Judge;
use rsb_model::record::PerformanceBaseline;
use rsb_model::{ComparisonResult, Fingerprint, Run, RunStatus};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_store::{Baseline, Baselines};

use crate::cli::{DoctorArgs, MeasureArgs};
use crate::commands::{baseline, interrupt, judge, run, settings};
use crate::config::Config;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// Measures, compares, saves, shows.
pub(super) fn establish(args: &DoctorArgs, style: Style) -> CliResult {
    let (config, directories) = settings::load(&args.places)?;
    let (selection, settings) = settings::resolve(&[], None, &MeasureArgs::default(), &config)?;
    let mut plan = settings::plan(&installation::selection(selection), &machine::here(), &config)?;
    installation::narrow(&mut plan);
    interrupt::listen();
    let store = run::open_store(&directories.results)?;
    let finished = run::measure(&plan, installation::NAME, &settings, &store)?;
    if finished.status == RunStatus::Interrupted {
        console::say("it was interrupted: nothing is saved as a baseline; measure again");
        return Ok(Exit::Interrupted);
    }
    finished.stored.context("the run is not stored, so it cannot be a baseline")?;
    let now = Fingerprint::of(&finished.run.environment);
    let before = saved_baseline(&directories, &now)?;
    let mut document = installation::document(&finished.run);
    let changed =
        before.as_ref().map(|before| installation::changed_software(&before.fingerprint, &now));
    document.comparison = match (before, &changed) {
        (Some(before), Some(across)) => {
            Some(compare_installation(before, &finished.run, &config, &directories, across)?)
        }
        _ => None,
    };
    // Measured again with the same software it is no other installation: what was before stays.
    let stays = changed.is_some_and(|changed| changed.is_empty());
    let exit = run::exit_of(finished.run.counts());
    let saved = if stays {
        Baselines::new(&directories.baselines).path_of(&now, installation::NAME)
    } else {
        baseline::save_runs(Some(installation::NAME), &[finished.run], &store, &directories)?.1
    };
    document.baseline_file = Some(saved.display().to_string());
    tell(&document, stays, args.json, style)?;
    Ok(exit)
}

/// The baseline that an earlier call saved on this machine.
fn saved_baseline(
    directories: &Directories,
    now: &Fingerprint,
) -> Result<Option<Baseline>, CliError> {
    let baselines = Baselines::new(&directories.baselines);
    if !baselines.path_of(now, installation::NAME).exists() {
        return Ok(None);
    }
    Ok(Some(baselines.load(installation::NAME, Some(now)).map_err(CliError::usage)?))
}

/// `run` against what was `before`, whatever became of the software.
fn compare_installation(
    before: Baseline,
    run: &Run,
    config: &Config,
    directories: &Directories,
    across: &[String],
) -> Result<ComparisonResult, CliError> {
    let judge = Judge::load(
        directories.clone(),
        &config.thresholds,
        None,
        across.to_vec(),
        &mut console::tell,
    )?;
    let result = judge.judge(&before.into_runs(), std::slice::from_ref(run));
    judge::keep(&judge, &result);
    Ok(result)
}

fn tell(
    document: &PerformanceBaseline,
    stays: bool,
    json: bool,
    style: Style,
) -> Result<(), CliError> {
    if json {
        return Ok(show::json(document)?);
    }
    show::text(&rsb_report::installation::text(document, style))?;
    if let Some(comparison) = &document.comparison {
        show::text(&rsb_report::gate::write(comparison, GateFormat::Text, style, Detail::Full)?)?;
    }
    let file = document.baseline_file.as_deref().unwrap_or_default();
    let (run, name) = (&document.run_id, installation::NAME);
    Ok(show::text(&match (stays, &document.comparison) {
        (true, _) => {
            format!(
                "\nThe software is that of {file}, which stays; `baseline save {name} --run {run}` \
                 replaces it."
            )
        }
        (false, None) => format!(
            "\nSaved as {file}. After the installation `doctor --baseline` compares with it."
        ),
        (false, Some(_)) => {
            format!("\nSaved as {file}, in place of the one before; its run is kept.")
        }
    })?)
}
