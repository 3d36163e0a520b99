//! Steps that the configuration requests after a run: its reports, its comparison, and dropping its
//! samples.

use anyhow::anyhow;
use rsb_engine::Listener;
use rsb_engine::run as engine;
use rsb_gate::{Directories, gate};
use rsb_model::{ComparisonResult, Fingerprint, Run};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_store::{Baselines, Store};

use crate::config::Config;
use crate::report::{self, ReportForm, ReportFormat};
use crate::{AppError, ProjectContext, compare, error_chain};

/// Returns the reports to write: those of `--reports`, else those that the configuration generates.
pub fn forms(
    requested: &[ReportForm],
    config: &Config,
    listener: &mut Listener<'_>,
) -> Vec<ReportFormat> {
    let section = &config.report;
    let generated = [
        (section.generate_ascii, ReportFormat::Text),
        (section.generate_markdown, ReportFormat::Markdown),
        (section.generate_html, ReportFormat::Html),
        (section.generate_json, ReportFormat::Json),
    ];
    if requested.is_empty() && config.run.generate_reports {
        return generated
            .into_iter()
            .filter(|(is_wanted, _)| *is_wanted)
            .map(|(_, form)| form)
            .collect();
    }
    report::forms(requested, listener)
}

/// Returns a hint with the command to run next: `gate` if a baseline is saved for `run`, else
/// `baseline save`.
pub fn next_step(directories: &Directories, run: &Run) -> String {
    let baselines = Baselines::new(&directories.baselines);
    if baselines.path_of(&Fingerprint::of(&run.environment), &run.suite).exists() {
        format!(
            "next: `{}` judges this run against the saved baseline",
            directories.command("gate")
        )
    } else {
        let save = directories.command("baseline save");
        format!("next: `{save}` saves this run as the baseline for `gate`")
    }
}

/// Drops the samples of a stored run. Its values and statistics stay.
///
/// # Errors
/// If the run cannot be written again.
pub fn drop_samples(finished: &mut engine::FinishedRun, store: &Store) -> Result<(), AppError> {
    if finished.stored.is_err() {
        return Ok(()); // Where it is not kept as it should be, nothing is thrown away.
    }
    for result in &mut finished.run.benchmarks {
        result.samples.clear();
    }
    finished.stored = Ok(store.rewrite(&finished.run)?);
    Ok(())
}

/// Checks, before anything is measured, that the run to compare with can be read.
///
/// # Errors
/// If it cannot be read.
pub fn check_baseline(project: &ProjectContext) -> Result<(), AppError> {
    let config = &project.config;
    let named = config.run.baseline_run_id.as_deref().filter(|_| config.run.compare_with_baseline);
    let Some(named) = named else { return Ok(()) };
    // Notes about this run are reported with the comparison.
    let judge = project.judge(Vec::new(), &mut |_| {})?;
    judge.check_before_run(named).map_err(|problem| {
        let why = error_chain(&problem.error);
        AppError::usage(anyhow!(
            "`baseline_run_id = \"{named}\"` in the configuration names nothing to compare a run \
             with: {why}; name a run from `rusty-stack-bench history` or a baseline from `baseline \
             list`, or remove the key"
        ))
    })
}

/// Compares `run` with the side that the configuration names, else with the baseline saved for its
/// machine and suite. Returns the comparison as text, or a sentence if there is nothing to compare
/// with.
pub fn comparison_text(
    project: &ProjectContext,
    store: &Store,
    run: &Run,
    style: Style,
    listener: &mut Listener<'_>,
) -> String {
    let detail = if project.config.run.verbose { Detail::Full } else { Detail::Brief };
    let formatted = comparison(project, store, run, listener).and_then(|result| {
        rsb_report::gate::write(&result, GateFormat::Text, style, detail)
            .map_err(|error| error.to_string())
    });
    formatted.map_or_else(
        |why| format!("\nThe run is not compared: {why}"),
        |text| format!("\n{}", text.trim_end()),
    )
}

fn comparison(
    project: &ProjectContext,
    store: &Store,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<ComparisonResult, String> {
    if let Some(baseline) = &project.config.run.baseline_run_id {
        let judge =
            project.judge(Vec::new(), listener).map_err(|error| error_chain(&error.error))?;
        return compare::compare_sides(&judge, baseline, std::slice::from_ref(&run.run_id.0))
            .map(|sides| sides.result)
            .map_err(|error| error_chain(&error.error));
    }
    let policy = project.policy(None, listener).map_err(|error| error_chain(&error.error))?;
    let saved = gate::against_saved(store, &project.directories, run, &policy)?;
    saved.map(|saved| saved.result).ok_or_else(|| {
        let save = project.directories.command("baseline save");
        format!("no baseline is saved for this machine and suite; `{save}` saves this run as one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(asked: &[ReportForm], config: &Config) -> Vec<ReportFormat> {
        forms(asked, config, &mut |_| {})
    }

    #[test]
    fn the_configuration_chooses_the_reports_that_no_flag_names() {
        let mut config = Config::default();
        assert!(chosen(&[], &config).is_empty());
        config.run.generate_reports = true;
        assert_eq!(
            chosen(&[], &config),
            [ReportFormat::Text, ReportFormat::Markdown, ReportFormat::Html]
        );
        (config.report.generate_ascii, config.report.generate_html) = (false, false);
        assert_eq!(chosen(&[], &config), [ReportFormat::Markdown]);
        config.report.generate_json = true;
        assert_eq!(chosen(&[], &config), [ReportFormat::Markdown, ReportFormat::Json]);
        assert_eq!(chosen(&[ReportForm::One(ReportFormat::Csv)], &config), [ReportFormat::Csv]);
    }
}
