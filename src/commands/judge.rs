//! What `gate` and `compare` share: the arguments turned into a judge, a verdict kept and shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use rsb_engine::measure::interrupt;
use rsb_gate::gate::{Basis, Judge, JudgedSides, Judgment, MissingSide};
use rsb_gate::{Directories, policy};
use rsb_model::record::ThresholdCheck;
use rsb_model::{ComparisonResult, Environment, Fingerprint, Run};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_stats::Policy;
use rsb_store::{Baseline, Baselines, output};

use super::next_step::{self, VerdictRequest, shell_quote};
use super::settings::{self, SettingsAtRevision};
use crate::cli::{JudgeArgs, VerdictFile};
use crate::config::Config;
use crate::exit::{CliError, Exit};
use crate::{console, show};

/// The judge that the arguments ask for. What is wrong with them is reported before anything is
/// measured.
pub(super) fn load(args: &JudgeArgs) -> Result<Judge, CliError> {
    check_files(&args.output)?;
    let (config, directories) = settings::load(&args.places)?;
    judge_of(args, &config, directories)
}

/// As [`load`], with every file in the repository as `revision` has it; `flag` is the option that
/// names the revision.
pub(super) fn load_at(
    args: &JudgeArgs,
    revision: &str,
    flag: &str,
) -> Result<(Judge, SettingsAtRevision), CliError> {
    check_files(&args.output)?;
    let settings = settings::load_at(&args.places, revision, flag)?;
    let judge = judge_of(args, &settings.config, settings.directories.clone())?;
    Ok((judge, settings))
}

fn judge_of(
    args: &JudgeArgs,
    config: &Config,
    directories: Directories,
) -> Result<Judge, CliError> {
    let mut judge = Judge::load(
        directories,
        &config.thresholds,
        args.threshold,
        args.across.clone(),
        &mut console::tell,
    )?;
    let environments =
        args.environment.iter().map(|(side, path)| Ok((*side, environment_in(path)?)));
    judge.set_environments(environments.collect::<Result<_, CliError>>()?);
    Ok(judge)
}

/// The machine in what `probe --json` wrote, or in the file of a run.
fn environment_in(path: &Path) -> Result<Environment, CliError> {
    let bytes = rsb_store::read_bytes(path).map_err(CliError::usage)?;
    let text = String::from_utf8_lossy(&bytes);
    let problem = match rsb_store::environment_in(text.trim()) {
        Ok(environment) if environment.cpu.is_some() => return Ok(environment),
        Ok(_) => "it names no CPU".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(CliError::usage(anyhow!(
        "{} tells no machine: {problem}; write it with `rusty-stack-bench probe --json` where that \
         side was measured",
        path.display()
    )))
}

/// Shows and writes `judgment` as the arguments ask for, keeps a comparison of figures, and says
/// what to do next; returns the exit code, which is `without` if there is no baseline to compare
/// with.
pub(super) fn conclude(
    judge: &Judge,
    args: &JudgeArgs,
    judgment: &Judgment,
    request: &VerdictRequest,
    style: Style,
    without: Exit,
) -> Exit {
    let result = &judgment.result;
    let (exit, sentence) = match &judgment.basis {
        Basis::Figures { .. } => {
            keep(judge, result);
            (if interrupt::is_requested() { Exit::Interrupted } else { exit_of(result) }, None)
        }
        Basis::Nothing { lack: MissingSide::Baseline, why } => {
            (without, Some(format!("NO VERDICT: {why}")))
        }
        Basis::Nothing { why, .. } => (Exit::NoVerdict, Some(format!("NO VERDICT: {why}"))),
        Basis::Same { why } => (Exit::Pass, Some(format!("UNCHANGED: {why}."))),
    };
    let exit = deliver(args, result, sentence.as_deref(), style, exit);
    if matches!(judgment.basis, Basis::Figures { .. }) && exit != Exit::Interrupted {
        advise(result, &judgment.sides, request);
    }
    exit
}

/// Prints what to do after `result`.
pub(super) fn advise(result: &ComparisonResult, sides: &JudgedSides, request: &VerdictRequest) {
    let mut sides = sides.clone();
    sides.baseline =
        sides.baseline.filter(|commit| rsb_probe::knows_commit(Path::new("."), commit));
    for hint in next_step::hints(result, &sides, request) {
        console::say(&format!("hint: {hint}"));
    }
}

/// Returns the request that judges `current` by `baseline`, as named on the command line.
pub(super) fn request(
    judge: &Judge,
    args: &JudgeArgs,
    baseline: &[String],
    current: &[String],
) -> VerdictRequest {
    let run = match current {
        [run] => Some(run.clone()),
        _ => None,
    };
    let accept = accept_arguments(judge, baseline, current);
    VerdictRequest {
        run,
        accept,
        places: next_step::arguments_of(&args.places),
        ..VerdictRequest::default()
    }
}

/// Returns what names the baseline for `baseline accept`; `None` without a saved baseline or a
/// stored run.
fn accept_arguments(judge: &Judge, baseline: &[String], current: &[String]) -> Option<String> {
    let run = match current {
        [] => judge.store.latest().ok()??,
        [run] => judge.store.run(run).ok()?,
        _ => return None,
    };
    let (name, argument) = match baseline {
        [] => (run.suite.as_str(), String::new()),
        [name] => (name.as_str(), format!(" --baseline {}", shell_quote(name))),
        _ => return None,
    };
    let baselines = Baselines::new(&judge.directories.baselines);
    Baseline::read(&baselines.find(name, Some(&Fingerprint::of(&run.environment))).ok()?).ok()?;
    Some(argument)
}

/// Keeps the comparison, where results are kept.
pub(super) fn keep(judge: &Judge, result: &ComparisonResult) {
    if judge.store.results_dir().is_dir()
        && let Err(error) = judge.store.save_comparison(result)
    {
        console::say(&format!("warning: the comparison is not kept: {error}"));
    }
}

/// Shows `result`, or the sentence that says it all, and writes it to every file that was asked
/// for. What could not be written is said; it is a failure where `exit` would pass, and changes no
/// verdict.
pub(super) fn deliver(
    args: &JudgeArgs,
    result: &ComparisonResult,
    sentence: Option<&str>,
    style: Style,
    exit: Exit,
) -> Exit {
    let shown = match sentence {
        Some(sentence) => say(args, result, sentence),
        None => print(args, result, style),
    };
    let written = args.output.iter().map(|file| write(file, args, result));
    let problems: Vec<anyhow::Error> =
        std::iter::once(shown).chain(written).filter_map(Result::err).collect();
    for problem in &problems {
        console::say(&format!("error: {}", show::chain(problem)));
    }
    if exit == Exit::Pass && !problems.is_empty() { Exit::Failure } else { exit }
}

/// Shows the comparison in the format that was asked for.
fn print(args: &JudgeArgs, result: &ComparisonResult, style: Style) -> anyhow::Result<()> {
    show::text(&rsb_report::gate::write(result, format(args), style, detail(args))?)
        .context(show::FAILED)
}

/// A verdict that needs no table: the sentence for people, the document for programs.
fn say(args: &JudgeArgs, result: &ComparisonResult, sentence: &str) -> anyhow::Result<()> {
    let format = format(args);
    if format == GateFormat::Text {
        return show::text(sentence).context(show::FAILED);
    }
    console::say(sentence);
    show::text(&rsb_report::gate::write(result, format, Style::PLAIN, Detail::Brief)?)
        .context(show::FAILED)
}

/// Writes the comparison to a file.
fn write(file: &VerdictFile, args: &JudgeArgs, result: &ComparisonResult) -> anyhow::Result<()> {
    let text = rsb_report::gate::write(result, file.format, Style::PLAIN, detail(args))?;
    Ok(output::write(&file.path, &text)?)
}

/// That no two of `files` are one, however they are spelled, none is a link, and each has its
/// directory.
fn check_files(files: &[VerdictFile]) -> Result<(), CliError> {
    let mut seen = BTreeSet::new();
    for file in files {
        output::refuse_link(&file.path)
            .map_err(|error| CliError::usage(anyhow!("--output: {error}")))?;
        let parent = file.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            let (path, parent) = (file.path.display(), parent.display());
            return Err(CliError::usage(anyhow!(
                "--output: {path}: there is no directory {parent}; make it first"
            )));
        }
        if !seen.insert(whole(&file.path)) {
            let path = file.path.display();
            return Err(CliError::usage(anyhow!(
                "--output: {path} is given twice; each form needs a file of its own"
            )));
        }
    }
    Ok(())
}

/// The one spelling of a path whose file need not be there yet.
fn whole(path: &Path) -> PathBuf {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

fn detail(args: &JudgeArgs) -> Detail {
    if args.verbose { Detail::Full } else { Detail::Brief }
}

/// The format that was asked for.
pub(super) fn format(args: &JudgeArgs) -> GateFormat {
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
pub(super) fn policy(
    config: &Config,
    directories: &Directories,
    percent: Option<f64>,
) -> Result<Policy, CliError> {
    policy::load(directories, &config.thresholds, percent, &mut console::tell)
}

/// Every target that concerns `run`, by the policy's file, else by those that come with the
/// program.
pub(super) fn targets(
    config: &Config,
    directories: &Directories,
    run: &Run,
) -> Result<Vec<ThresholdCheck>, CliError> {
    const OWN: &str = include_str!("../../baselines/policy.toml");
    policy::targets(directories, &config.thresholds, OWN, run, &mut console::tell)
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
