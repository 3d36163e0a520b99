//! What the configuration asks for once a run is measured: its reports, its comparison, its samples
//! left out.

use anyhow::anyhow;
use rsb_engine::run as engine;
use rsb_gate::gate::{self, Judge};
use rsb_gate::{Directories, policy};
use rsb_model::record::ThresholdCheck;
use rsb_model::{ComparisonResult, Fingerprint, Run};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_store::{Baselines, Store};

use super::{compare, judge, report};
use crate::cli::{ReportForm, ReportFormat};
use crate::config::Config;
use crate::exit::CliError;
use crate::{console, show};

/// The reports to write: those of `--reports`, else those that the configuration generates.
pub(super) fn forms(asked: &[ReportForm], config: &Config) -> Vec<ReportFormat> {
    let section = &config.report;
    let generated = [
        (section.generate_ascii, ReportFormat::Text),
        (section.generate_markdown, ReportFormat::Markdown),
        (section.generate_html, ReportFormat::Html),
    ];
    if asked.is_empty() && config.run.generate_reports {
        return generated
            .into_iter()
            .filter(|(is_wanted, _)| *is_wanted)
            .map(|(_, form)| form)
            .collect();
    }
    report::forms(asked)
}

/// The policy that comes with the program.
const BUILT_IN_POLICY: &str = include_str!("../../baselines/policy.toml");

/// Returns the targets of the user's policy that `run` has values for, without those that come with
/// the program.
pub(super) fn own_targets(
    config: &Config,
    directories: &Directories,
    run: &Run,
) -> Result<Vec<ThresholdCheck>, CliError> {
    let thresholds = &config.thresholds;
    let mut checks =
        policy::own_targets(directories, thresholds, BUILT_IN_POLICY, run, &mut console::tell)?;
    checks.retain(ThresholdCheck::has_figure);
    Ok(checks)
}

/// Returns the command that makes sense after `run`.
pub(super) fn next_step(directories: &Directories, run: &Run) -> &'static str {
    let baselines = Baselines::new(&directories.baselines);
    if baselines.path_of(&Fingerprint::of(&run.environment), &run.suite).exists() {
        "next: `rusty-stack-bench gate` judges it against the saved baseline"
    } else {
        "next: `rusty-stack-bench baseline save` saves it as the baseline for `gate`"
    }
}

/// Drops the samples of a stored run. Its figures and statistics stay.
pub(super) fn drop_samples(
    finished: &mut engine::FinishedRun,
    store: &Store,
) -> Result<(), CliError> {
    if finished.stored.is_err() {
        return Ok(()); // Where it is not kept as it should be, nothing is thrown away.
    }
    for result in &mut finished.run.benchmarks {
        result.samples.clear();
    }
    finished.stored = Ok(store.rewrite(&finished.run)?);
    Ok(())
}

/// Looks up what the configuration compares runs with, before anything is measured.
pub(super) fn check_baseline(config: &Config, directories: &Directories) -> Result<(), CliError> {
    let named = config.run.baseline_run_id.as_deref().filter(|_| config.run.compare_with_baseline);
    let Some(named) = named else { return Ok(()) };
    // What there is to say of it is said with the comparison.
    let judge =
        Judge::load(directories.clone(), &config.thresholds, None, Vec::new(), &mut |_| {})?;
    judge.check_before_run(named).map_err(|problem| {
        let why = show::chain(&problem.error);
        CliError::usage(anyhow!(
            "`baseline_run_id = \"{named}\"` of the configuration leads to nothing that a run can \
             be compared with: {why}; \
             `rusty-stack-bench history` lists runs and `baseline list` what is saved: name one of \
             those, or leave the key out"
        ))
    })
}

/// `run` beside what the configuration names, else beside the baseline saved for its machine and
/// suite, for people. Where nothing is there to compare with, that is said; it fails nothing.
pub(super) fn comparison_text(
    config: &Config,
    directories: &Directories,
    store: &Store,
    run: &Run,
    style: Style,
) -> String {
    let detail = if config.run.verbose { Detail::Full } else { Detail::Brief };
    let told = comparison(config, directories, store, run).and_then(|result| {
        rsb_report::gate::write(&result, GateFormat::Text, style, detail)
            .map_err(|error| error.to_string())
    });
    told.map_or_else(
        |why| format!("\nThe run is not compared: {why}"),
        |text| format!("\n{}", text.trim_end()),
    )
}

fn comparison(
    config: &Config,
    directories: &Directories,
    store: &Store,
    run: &Run,
) -> Result<ComparisonResult, String> {
    if let Some(baseline) = &config.run.baseline_run_id {
        let thresholds = &config.thresholds;
        let judge =
            Judge::load(directories.clone(), thresholds, None, Vec::new(), &mut console::tell)
                .map_err(|error| show::chain(&error.error))?;
        return compare::compare_sides(&judge, baseline, std::slice::from_ref(&run.run_id.0))
            .map(|sides| sides.result)
            .map_err(|error| show::chain(&error.error));
    }
    let policy =
        judge::policy(config, directories, None).map_err(|error| show::chain(&error.error))?;
    let saved = gate::against_saved(store, directories, run, &policy)?;
    saved.map(|saved| saved.result).ok_or_else(|| {
        "no baseline is saved for this machine and suite; `rusty-stack-bench baseline save` keeps \
         this run as one"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_chooses_the_reports_that_no_flag_names() {
        let mut config = Config::default();
        assert!(forms(&[], &config).is_empty());
        config.run.generate_reports = true;
        assert_eq!(
            forms(&[], &config),
            [ReportFormat::Text, ReportFormat::Markdown, ReportFormat::Html]
        );
        (config.report.generate_ascii, config.report.generate_html) = (false, false);
        assert_eq!(forms(&[], &config), [ReportFormat::Markdown]);
        assert_eq!(forms(&[ReportForm::One(ReportFormat::Csv)], &config), [ReportFormat::Csv]);
    }
}
