//! From records to a run in the folder of results, and from runs to verdicts.

use std::fmt;
use std::path::{Path, PathBuf};

use rsb_model::record::EnvironmentSummary;
use rsb_model::{BenchmarkResult, Fields, Run, Timestamp};
use rsb_stats::{Policy, PolicyFile};
use rsb_store::{Recorded, Store, StoreError, new_run_id, read_recorded};

/// Why results are not kept, or not judged.
#[derive(Debug)]
pub(crate) enum KeepError {
    /// The records are not what the package writes.
    Records(serde_json::Error),
    /// The folder cannot be written.
    Store(StoreError),
    /// A file on one of the sides cannot be read.
    Side(String),
    /// The threshold is no percentage.
    Threshold(String),
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records(error) => write!(f, "these are no results: {error}; give what a benchmark returned"),
            Self::Store(error) => write!(f, "{error}"),
            Self::Side(message) => write!(f, "{message}; give the path that `store` returned"),
            Self::Threshold(message) => write!(f, "threshold_percent: {message}"),
        }
    }
}

/// Keeps `results` as a run of `suite`, with the machine and the Python environment of `program`.
pub(crate) fn store(results: &str, folder: &str, suite: &str, program: PathBuf) -> Result<String, KeepError> {
    let results: Vec<BenchmarkResult> = serde_json::from_str(results).map_err(KeepError::Records)?;
    rsb_probe::choose_python(program);
    let mut environment = rsb_probe::environment(&rsb_probe::ProbeOptions::default());
    environment.git = rsb_probe::git(Path::new("."));
    environment.state = Some(rsb_probe::state());
    let summary = EnvironmentSummary::of(&environment);
    let now = Timestamp::now();
    let commit = environment.git.as_ref().map(|git| git.commit.clone());
    let started = results.iter().map(|result| result.timestamp).min().unwrap_or(now);
    let run = Run::begin(new_run_id(now, commit.as_deref()), started, suite, "python", environment);
    let store = Store::open_for_writing(Path::new(folder)).map_err(KeepError::Store)?;
    let mut journal = store.begin(&run).map_err(KeepError::Store)?;
    let mut run = Run { run_id: journal.run_id().clone(), finished: Some(now), ..run };
    for result in results {
        run.keep(completed(result, &summary));
    }
    let path = journal.finish(&run).map_err(KeepError::Store)?;
    Ok(path.to_string_lossy().into_owned())
}

/// `result` with what this side knows of it: the machine, and the spread of its samples.
fn completed(mut result: BenchmarkResult, summary: &EnvironmentSummary) -> BenchmarkResult {
    let times: Vec<f64> = result.samples.iter().filter_map(|samples| samples.per_iteration().ok()).flatten().collect();
    result.statistics = rsb_stats::statistics(&times);
    result.environment = summary.clone();
    if let Some(fields) = result.results.first_mut() {
        add_spread(fields, &times);
    }
    result.metadata.insert("estimator".into(), rsb_stats::ESTIMATOR.into());
    result
}

fn add_spread(fields: &mut Fields, times: &[f64]) {
    if let Some(statistics) = rsb_stats::statistics(times).filter(|statistics| statistics.mean > 0.0) {
        fields.set("std_dev", statistics.std_dev);
        fields.set("cv", statistics.std_dev / statistics.mean);
    }
    fields.set("num_runs", times.len());
}

/// The comparison of the runs in files, as JSON.
pub(crate) fn gate(baseline: &[String], current: &[String], threshold: Option<f64>) -> Result<String, KeepError> {
    let file = PolicyFile { threshold_percent: threshold, ..PolicyFile::default() };
    let policy = Policy::try_from(file).map_err(|error| KeepError::Threshold(error.to_string()))?;
    let (baseline, current) = (side(baseline)?, side(current)?);
    let result = rsb_stats::gate(&baseline, &current, &policy, &[], Timestamp::now());
    serde_json::to_string(&result).map_err(KeepError::Records)
}

fn side(files: &[String]) -> Result<Vec<Run>, KeepError> {
    if files.is_empty() {
        return Err(KeepError::Side("there is no file on one side".to_owned()));
    }
    let read = |file: &String| match read_recorded(Path::new(file)) {
        Ok(Recorded::Run(run)) => Ok(vec![*run]),
        Ok(Recorded::Baseline(baseline)) => Ok(baseline.into_runs()),
        Err(error) => Err(KeepError::Side(error.to_string())),
    };
    files.iter().map(read).collect::<Result<Vec<_>, _>>().map(|runs| runs.into_iter().flatten().collect())
}
