//! The policy in effect: the policy file, completed by thresholds of the configuration, overridden
//! by the command line.

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

/// Loads the policy of `directories`. Its own rules take precedence over `thresholds`; `percent`
/// replaces its default threshold.
///
/// # Errors
/// If the file was named and is missing, cannot be read, or is not valid.
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
        // Ignoring the time would let the case pass on its accuracy alone.
        return Err(EngineError::usage(anyhow!(
            "{}: `time_ms` cannot be ignored, because cases are judged by it; ignore the case \
             instead",
            path.display()
        )));
    }
    if !file.ignore.cases.is_empty() {
        let cases = file.ignore.cases.join(", ");
        listener(&Event::note(format!("{} ignores the cases {cases}", path.display())));
    }
    with_thresholds(file, thresholds, percent)
        .map_err(|error| EngineError::usage(anyhow!("{}: {error}", directories.policy.describe())))
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

/// Adds the targets of user-defined benchmarks to `file`.
fn with_own_targets(mut file: PolicyFile) -> PolicyFile {
    file.target.extend(custom::targets());
    file
}

/// Checks `policy` against the case `ids` that it applies to. `heard` selects whether a control set
/// is used.
///
/// # Errors
/// If a pattern matches no case here and none that this version can name, or if every case belongs
/// to the control set.
pub fn check(
    policy: &Policy,
    ids: &[&str],
    heard: ControlSet,
    directories: &Directories,
) -> Result<(), EngineError> {
    let described = directories.policy.describe();
    patterns::check(&policy.patterns(), ids)
        .map_err(|error| EngineError::usage(anyhow!("{described}: {error}")))?;
    let mut judged = ids.iter().filter(|id| !policy.ignores_case(id)).peekable();
    let all_control = judged.peek().is_some() && judged.all(|id| policy.is_control(id));
    if heard == ControlSet::Heard && all_control {
        return Err(EngineError::usage(anyhow!(
            "{described}: every judged case belongs to the control set (`control.cases`), so \
             nothing is left to judge: measure other cases too, or set a smaller control set in {}",
            directories.policy.path().display()
        )));
    }
    Ok(())
}

/// Whether a control set is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlSet {
    /// The sides were measured separately, so the control set is used to detect changes of the
    /// machine between them.
    Heard,
    /// The sides were measured in pairs, so the cases of the control set are judged like other
    /// cases.
    Unheard,
}

/// Checks every target that concerns `run`: those of the policy file, or if there is none, those of
/// `own`, the policy that comes with the program.
///
/// # Errors
/// Same as [`load`].
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

/// Checks the targets of the policy file and of user-defined benchmarks that concern `run`, except
/// those that are also in `built_in_text`, the policy that comes with the program.
///
/// # Errors
/// Same as [`load`].
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

/// Parses the policy that comes with the program, changed by `change`.
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
