//! The policy that counts: the file of the project under the thresholds of its configuration, under
//! what is asked for.

mod patterns;

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use rsb_catalog::custom;
use rsb_engine::{EngineError, Listener};
use rsb_model::record::ThresholdCheck;
use rsb_model::{Event, Run};
use rsb_stats::policy::Target;
use rsb_stats::{Policy, PolicyError, PolicyFile};

use crate::Directories;

/// Thresholds in percent by benchmark name.
pub type Thresholds = BTreeMap<String, f64>;

/// The policy of `directories`, with `thresholds` under its own rules and `percent` in place of its
/// threshold.
///
/// # Errors
/// When the file is named and missing, cannot be read, or is not valid.
pub fn load(
    directories: &Directories,
    thresholds: &Thresholds,
    percent: Option<f64>,
    listener: &mut Listener<'_>,
) -> Result<Policy, EngineError> {
    let path = directories.policy.path();
    let text = directories.policy.read().with_context(|| format!("cannot read {}", path.display()));
    let file = match text.map_err(EngineError::usage)? {
        Some(text) => toml::from_str::<PolicyFile>(&text)
            .map_err(|error| EngineError::usage(anyhow!("{}: {error}", path.display())))?,
        None => PolicyFile::default(),
    };
    if file.ignore.metrics.iter().any(|metric| metric == "time_ms") {
        // A case would pass by its accuracy alone.
        return Err(EngineError::usage(anyhow!(
            "{}: `time_ms` cannot be ignored, it is what a case is judged by; ignore the case \
             instead",
            path.display()
        )));
    }
    if !file.ignore.cases.is_empty() {
        let cases = file.ignore.cases.join(", ");
        listener(&Event::note(format!("{} leaves out the cases {cases}", path.display())));
    }
    with_thresholds(file, thresholds, percent)
        .map_err(|error| EngineError::usage(anyhow!("{}: {error}", path.display())))
}

fn with_thresholds(
    file: PolicyFile,
    thresholds: &Thresholds,
    percent: Option<f64>,
) -> Result<Policy, PolicyError> {
    let mut policy = Policy::try_from(with_own_targets(file))?;
    for (benchmark, percent) in thresholds {
        policy = policy.or_benchmark_threshold(benchmark, *percent)?;
    }
    if let Some(percent) = percent {
        policy.ask_threshold("threshold_percent", percent)?;
    }
    policy.check_control()?;
    Ok(policy)
}

/// `file` with the targets that benchmarks of one's own bring along.
fn with_own_targets(mut file: PolicyFile) -> PolicyFile {
    file.target.extend(custom::targets());
    file
}

/// Looks at `policy` beside the cases called `ids` that it is for. `heard` says whether a control
/// set is.
///
/// # Errors
/// When a pattern fits nothing that is here or that this version can name, or every case belongs to
/// the control set.
pub fn check(
    policy: &Policy,
    ids: &[&str],
    heard: ControlSet,
    directories: &Directories,
) -> Result<(), EngineError> {
    let path = directories.policy.path().display();
    patterns::check(&policy.patterns(), ids)
        .map_err(|error| EngineError::usage(anyhow!("{path}: {error}")))?;
    let mut judged = ids.iter().filter(|id| !policy.ignores_case(id)).peekable();
    let all_control = judged.peek().is_some() && judged.all(|id| policy.is_control(id));
    if heard == ControlSet::Heard && all_control {
        return Err(EngineError::usage(anyhow!(
            "{path}: every case that is judged belongs to the control set (`control.cases`), so \
             nothing is left to judge: \
             measure other cases too, or name fewer"
        )));
    }
    Ok(())
}

/// Whether a control set is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlSet {
    /// The sides were measured apart: it tells what the machine did between them.
    Heard,
    /// The sides were measured in pairs: its cases are as any.
    Unheard,
}

/// Every target that concerns `run`: by the policy's file, else by the text `own`, which comes with
/// the program.
///
/// # Errors
/// As [`load`].
pub fn targets(
    directories: &Directories,
    thresholds: &Thresholds,
    own: &str,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<ThresholdCheck>, EngineError> {
    let policy = if directories.policy.is_wanted() {
        load(directories, thresholds, None, listener)?
    } else {
        built_in(own, with_own_targets)?
    };
    Ok(rsb_stats::threshold_checks(std::slice::from_ref(run), &policy))
}

/// Returns the targets of the policy's file and of user-defined benchmarks that concern `run`,
/// except those that `built_in_text`, the policy that comes with the program, has too.
///
/// # Errors
/// As [`load`].
pub fn own_targets(
    directories: &Directories,
    thresholds: &Thresholds,
    built_in_text: &str,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<ThresholdCheck>, EngineError> {
    let policy = load(directories, thresholds, None, listener)?;
    let known = built_in(built_in_text, |file| file)?;
    let own: Vec<&Target> =
        policy.targets().iter().filter(|target| !known.targets().contains(target)).collect();
    let mut checks = rsb_stats::threshold_checks(std::slice::from_ref(run), &policy);
    checks.retain(|check| own.iter().any(|target| target.is_checked_by(check)));
    Ok(checks)
}

/// The policy that comes with the program, changed by `change`.
fn built_in(
    text: &str,
    change: impl FnOnce(PolicyFile) -> PolicyFile,
) -> Result<Policy, EngineError> {
    let file: PolicyFile = toml::from_str(text).map_err(|error| invalid_built_in(&error))?;
    Policy::try_from(change(file)).map_err(|error| invalid_built_in(&error))
}

fn invalid_built_in(error: &dyn std::fmt::Display) -> EngineError {
    EngineError::usage(anyhow!("the policy that comes with the program: {error}"))
}
