//! The policy that counts: the file of the project under the thresholds of its configuration, under what is asked for.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use rsb_model::record::ThresholdCheck;
use rsb_model::{Event, Run};
use rsb_stats::{Policy, PolicyError, PolicyFile};

use crate::{Directories, EngineError, Listener};

/// Thresholds in percent by benchmark name.
pub type Thresholds = BTreeMap<String, f64>;

/// The policy of `directories`, with `thresholds` under its own rules and `percent` in place of its threshold.
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
    let mut file = if directories.policy.is_wanted() {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(EngineError::usage)?;
        toml::from_str::<PolicyFile>(&text)
            .map_err(|error| EngineError::usage(anyhow!("{}: {error}", path.display())))?
    } else {
        PolicyFile::default()
    };
    if let Some(percent) = percent {
        file.threshold_percent = Some(percent);
    }
    if file.ignore.metrics.iter().any(|metric| metric == "time_ms") {
        // A case would pass by its accuracy alone.
        return Err(EngineError::usage(anyhow!(
            "{}: `time_ms` cannot be ignored, it is what a case is judged by; ignore the case instead",
            path.display()
        )));
    }
    if !file.ignore.cases.is_empty() {
        let cases = file.ignore.cases.join(", ");
        listener(&Event::note(format!("{} leaves out the cases {cases}", path.display())));
    }
    let invalid = |error: PolicyError| EngineError::usage(anyhow!("{}: {error}", path.display()));
    let mut policy = Policy::try_from(file).map_err(invalid)?;
    for (benchmark, percent) in thresholds {
        policy = policy.or_benchmark_threshold(benchmark, *percent).map_err(invalid)?;
    }
    Ok(policy)
}

/// Every target that concerns `run`: by the policy's file, else by the text `own`, which comes with the program.
///
/// # Errors
/// As [`load`].
pub fn targets(
    (directories, thresholds): (&Directories, &Thresholds),
    own: &str,
    run: &Run,
    listener: &mut Listener<'_>,
) -> Result<Vec<ThresholdCheck>, EngineError> {
    let policy = if directories.policy.is_wanted() {
        load(directories, thresholds, None, listener)?
    } else {
        let broken = |error: String| EngineError::usage(anyhow!("the policy that comes with the program: {error}"));
        let file: PolicyFile = toml::from_str(own).map_err(|error| broken(error.to_string()))?;
        Policy::try_from(file).map_err(|error| broken(error.to_string()))?
    };
    Ok(rsb_stats::threshold_checks(std::slice::from_ref(run), &policy))
}
