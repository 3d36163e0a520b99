//! What `gate` and `compare` share: the arguments turned into a judge, a verdict kept and shown.

use rsb_engine::gate::{Basis, Judge, Judgment};
use rsb_engine::measure::interrupt;
use rsb_engine::{Directories, policy};
use rsb_model::record::ThresholdCheck;
use rsb_model::{ComparisonResult, Run};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_stats::Policy;

use super::settings;
use crate::cli::JudgeArgs;
use crate::config::Config;
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The judge that the arguments ask for.
pub(super) fn load(args: &JudgeArgs) -> Result<Judge, CliError> {
    let (config, directories) = settings::load(&args.places)?;
    let thresholds = (&config.thresholds, args.threshold);
    Judge::load(directories, thresholds, args.across.clone(), &mut console::tell)
}

/// Shows `judgment` as the arguments ask for, and keeps a comparison of figures; the exit code.
pub(super) fn conclude(judge: &Judge, args: &JudgeArgs, judgment: &Judgment, style: Style) -> CliResult {
    match &judgment.basis {
        Basis::Figures { .. } => {
            keep(judge, &judgment.result);
            print(args, &judgment.result, style)?;
            Ok(if interrupt::asked() { Exit::Interrupted } else { exit_of(&judgment.result) })
        }
        Basis::Nothing { why, .. } => {
            say(args, &judgment.result, &format!("NO VERDICT: {why}"))?;
            Ok(Exit::NoVerdict)
        }
        Basis::Same { why } => {
            say(args, &judgment.result, &format!("UNCHANGED: {why}."))?;
            Ok(Exit::Pass)
        }
    }
}

/// Keeps the comparison, where results are kept.
pub(super) fn keep(judge: &Judge, result: &ComparisonResult) {
    if judge.store.results_dir().is_dir()
        && let Err(error) = judge.store.save_comparison(result)
    {
        eprintln!("warning: the comparison is not kept: {error}");
    }
}

/// Shows the comparison in the format that was asked for.
pub(super) fn print(args: &JudgeArgs, result: &ComparisonResult, style: Style) -> Result<(), CliError> {
    let detail = if args.verbose { Detail::Full } else { Detail::Brief };
    Ok(show::text(&rsb_report::gate::write(result, format(args), style, detail)?)?)
}

/// A verdict that needs no table: the sentence for people, the document for programs.
fn say(args: &JudgeArgs, result: &ComparisonResult, sentence: &str) -> Result<(), CliError> {
    let format = format(args);
    if format == GateFormat::Text {
        return Ok(show::text(sentence)?);
    }
    eprintln!("{sentence}");
    Ok(show::text(&rsb_report::gate::write(result, format, Style::PLAIN, Detail::Brief)?)?)
}

/// The format that was asked for.
fn format(args: &JudgeArgs) -> GateFormat {
    if args.json { GateFormat::Json } else { args.format }
}

/// The exit code of `result` under `gate`.
pub(super) fn exit_of(result: &ComparisonResult) -> Exit {
    match rsb_stats::exit_code(result) {
        0 => Exit::Pass,
        3 => Exit::Regression,
        _ => Exit::NoVerdict,
    }
}

/// The policy of the project, with `percent` in place of its threshold.
pub(super) fn policy(config: &Config, directories: &Directories, percent: Option<f64>) -> Result<Policy, CliError> {
    policy::load(directories, &config.thresholds, percent, &mut console::tell)
}

/// Every target that concerns `run`, by the policy's file, else by those that come with the program.
pub(super) fn targets(config: &Config, directories: &Directories, run: &Run) -> Result<Vec<ThresholdCheck>, CliError> {
    const OWN: &str = include_str!("../../baselines/policy.toml");
    policy::targets((directories, &config.thresholds), OWN, run, &mut console::tell)
}

/// The targets that `run` has figures of.
pub(super) fn targets_met(
    config: &Config,
    directories: &Directories,
    run: &Run,
) -> Result<Vec<ThresholdCheck>, CliError> {
    let mut checks = targets(config, directories, run)?;
    checks.retain(ThresholdCheck::has_figure);
    Ok(checks)
}
