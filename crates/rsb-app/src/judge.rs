//! The judge shared by `gate`, `compare` and charts, and functions to store comparisons and check
//! targets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use rsb_engine::{Event, Listener};
use rsb_gate::gate::{Judge, JudgedSides, SideName};
use rsb_gate::policy;
use rsb_gate::revisions::RevisionTree;
use rsb_gate::suggest::shell_quote;
use rsb_model::record::ThresholdCheck;
use rsb_model::{ComparisonResult, Environment, Fingerprint, Run};
use rsb_notify::NotifyBook;
use rsb_report::Forge;
use rsb_report::gate::CommentContext;
use rsb_stats::accept::AcceptList;
use rsb_store::{Baseline, Baselines, output};

use crate::next_step::{self, VerdictRequest};
use crate::project::{self, ProjectAtRevision};
use crate::{AppError, Exit, ProjectContext, ProjectPaths};

/// Policy that comes with the program.
const BUILT_IN_POLICY: &str = include_str!("../assets/policy.toml");

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct JudgeOptions {
    /// The threshold in percent; `None` for that of the policy.
    pub threshold: Option<f64>,
    /// Factors whose versions may differ between the sides.
    pub across: Vec<String>,
    /// Files that describe the machine of a side.
    pub environments: Vec<(SideName, PathBuf)>,
    /// Files that the verdict will be written to.
    pub files: Vec<PathBuf>,
}

impl JudgeOptions {
    /// Creates options with only a threshold in percent; `None` is that of the policy.
    pub fn of_threshold(threshold: Option<f64>) -> Self {
        Self { threshold, ..Self::default() }
    }
}

/// Opens the project and its judge. Invalid options are reported before anything is measured.
///
/// # Errors
/// If an option, the configuration, the policy or the store cannot be used.
pub fn open(
    paths: &ProjectPaths,
    options: &JudgeOptions,
    listener: &mut Listener<'_>,
) -> Result<(ProjectContext, Judge), AppError> {
    check_files(&options.files)?;
    let project = ProjectContext::open(paths)?;
    let judge = judge_of(&project, options, listener)?;
    Ok((project, judge))
}

/// Opens the project and its judge like [`open`], with every file in the repository as of
/// `revision`; `flag` is the option that names the revision.
///
/// # Errors
/// As for [`open`], and if the revision cannot be read.
pub fn open_judge_at(
    paths: &ProjectPaths,
    options: &JudgeOptions,
    revision: &str,
    flag: &str,
    listener: &mut Listener<'_>,
) -> Result<(ProjectAtRevision, Judge), AppError> {
    check_files(&options.files)?;
    let mut at_revision = project::open_at(paths, revision, flag)?;
    let tree = RevisionTree::open(revision, flag).map_err(AppError::usage)?;
    check_receivers(&mut at_revision.project, &tree, listener)?;
    let judge = judge_of(&at_revision.project, options, listener)?;
    Ok((at_revision, judge))
}

fn judge_of(
    project: &ProjectContext,
    options: &JudgeOptions,
    listener: &mut Listener<'_>,
) -> Result<Judge, AppError> {
    let mut judge = Judge::load(
        project.directories.clone(),
        &project.config.thresholds,
        options.threshold,
        options.across.clone(),
        listener,
    )?;
    let environments =
        options.environments.iter().map(|(side, path)| Ok((*side, environment_in(path)?)));
    judge.set_environments(environments.collect::<Result<_, AppError>>()?);
    Ok(judge)
}

/// Reads the machine from the output of `probe --json`, or from a run file.
fn environment_in(path: &Path) -> Result<Environment, AppError> {
    let bytes = rsb_store::read_bytes(path).map_err(AppError::usage)?;
    let text = String::from_utf8_lossy(&bytes);
    let problem = match rsb_store::environment_in(text.trim()) {
        Ok(environment) if environment.cpu.is_some() => return Ok(environment),
        Ok(_) => "it names no CPU".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(AppError::usage(anyhow!(
        "{} does not describe a machine: {problem}; write it with `rusty-stack-bench probe --json` \
         on the machine that measured that side",
        path.display()
    )))
}

/// Returns hints on what to do after `result`.
pub fn advice(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> Vec<String> {
    let mut sides = sides.clone();
    sides.baseline =
        sides.baseline.filter(|commit| rsb_probe::knows_commit(Path::new("."), commit));
    next_step::hints(result, &sides, request)
}

/// Returns what the comment on `result` shows in addition to it, with the forge of the repository
/// around the working directory.
pub fn comment_context(
    result: &ComparisonResult,
    sides: &JudgedSides,
    request: &VerdictRequest,
) -> CommentContext {
    let origin = rsb_probe::origin(Path::new("."));
    let forge = origin.and_then(|url| Forge::from_remote(&url));
    CommentContext { forge, ..next_step::comment_context(result, sides, request) }
}

/// Returns the request that judges `current` by `baseline`, as named by the user.
pub fn request(
    judge: &Judge,
    paths: &ProjectPaths,
    options: &JudgeOptions,
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
        threshold: options.threshold,
        paths: paths.clone(),
        ..VerdictRequest::default()
    }
}

/// Returns the arguments of `baseline accept` that name the baseline; `None` without a saved
/// baseline or a stored run.
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

/// Stores the comparison if the results directory exists.
pub fn keep(judge: &Judge, result: &ComparisonResult, listener: &mut Listener<'_>) {
    if judge.store.results_dir().is_dir()
        && let Err(error) = judge.store.save_comparison(result)
    {
        listener(&Event::warning(format!("the comparison was not stored: {error}")));
    }
}

/// Checks that `files` are distinct, however they are spelled, that none is a link, and that the
/// directory of each exists.
fn check_files(files: &[PathBuf]) -> Result<(), AppError> {
    let mut seen = BTreeSet::new();
    for path in files {
        output::refuse_link(path).map_err(|error| AppError::usage(anyhow!("--output: {error}")))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            let (path, parent) = (path.display(), parent.display());
            return Err(AppError::usage(anyhow!(
                "--output: {path}: the directory {parent} does not exist; create it first"
            )));
        }
        if !seen.insert(whole(path)) {
            let path = path.display();
            return Err(AppError::usage(anyhow!(
                "--output: {path} is given twice; each format needs a separate file"
            )));
        }
    }
    Ok(())
}

/// Returns the canonical spelling of a path whose file need not exist yet.
fn whole(path: &Path) -> PathBuf {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Returns the exit code of `result` under `gate`.
pub fn exit_of(result: &ComparisonResult) -> Exit {
    match rsb_stats::exit_code(result) {
        0 => Exit::Pass,
        3 => Exit::Regression,
        _ => Exit::NoVerdict,
    }
}

/// Reads the file of `--accept`, which must be outside the repository of `revision`.
///
/// # Errors
/// If it cannot be read, is invalid, or is in the repository.
pub fn accept_list(path: &Path, revision: &str) -> Result<AcceptList, AppError> {
    let tree = RevisionTree::open(revision, "gate --against").map_err(AppError::usage)?;
    refuse_inside(&tree, path, "--accept")?;
    let path_shown = path.display();
    let bytes = rsb_store::read_bytes(path).map_err(AppError::usage)?;
    toml::from_str(&String::from_utf8_lossy(&bytes))
        .map_err(|error| AppError::usage(anyhow!("--accept: {path_shown}: {error}")))
}

/// Refuses receivers whose files the change under test could edit. Removes all receivers if it
/// could edit their outbox.
fn check_receivers(
    project: &mut ProjectContext,
    tree: &RevisionTree,
    listener: &mut Listener<'_>,
) -> Result<(), AppError> {
    for section in &project.config.notify {
        for path in section.files() {
            refuse_inside(tree, path, &format!("`notify` \"{}\"", section.name))?;
        }
    }
    let outbox = NotifyBook::path(&project.directories.results);
    if !project.config.notify.is_empty() && tree.is_tracked(&outbox) {
        listener(&Event::warning(format!(
            "no alert is sent: git tracks {}, so the change under test could edit it; remove it \
             with `git rm --cached`",
            outbox.display()
        )));
        project.config.notify.clear();
    }
    Ok(())
}

/// Refuses the `path` given with `option` if it is inside the repository.
fn refuse_inside(tree: &RevisionTree, path: &Path, option: &str) -> Result<(), AppError> {
    if tree.name_of(path).map_err(AppError::usage)?.is_none() {
        return Ok(());
    }
    let path = path.display();
    Err(AppError::usage(anyhow!(
        "{option}: {path} is inside the repository, where the change under test could edit it; \
         use a file outside the repository"
    )))
}

/// Returns every target that concerns `run`: those of the policy file, or if there is none, those
/// that come with the program.
///
/// # Errors
/// If the policy cannot be read.
pub fn targets(
    project: &ProjectContext,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<ThresholdCheck>, AppError> {
    let thresholds = &project.config.thresholds;
    policy::targets(&project.directories, thresholds, BUILT_IN_POLICY, run, listener)
}

/// Returns the targets for which `run` has values; with `built_in`, also those that come with the
/// program.
///
/// # Errors
/// If the policy cannot be read.
pub fn targets_met(
    project: &ProjectContext,
    built_in: bool,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<ThresholdCheck>, AppError> {
    let mut checks = if built_in {
        targets(project, run, listener)?
    } else {
        let thresholds = &project.config.thresholds;
        policy::own_targets(&project.directories, thresholds, BUILT_IN_POLICY, run, listener)?
    };
    checks.retain(ThresholdCheck::has_figure);
    Ok(checks)
}
