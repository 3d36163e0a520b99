//! Records become a run in the results directory, and files of runs become a verdict: both by the engine.

use std::path::{Path, PathBuf};

use rsb_engine::gate::Judge;
use rsb_engine::policy::Thresholds;
use rsb_engine::{Directories, EngineError, Event, machine, run};
use rsb_model::{BenchmarkResult, ComparisonResult, Field, Run};
use rsb_store::{Store, StoreError};

/// Why results are not kept, or not judged.
#[derive(Debug)]
pub(crate) enum KeepError {
    /// The records are not what the package writes.
    Records(serde_json::Error),
    /// The directory cannot be written.
    Store(StoreError),
    /// The engine refused it.
    Engine(EngineError),
    /// A side has no file.
    NoFile,
    /// A word that means nothing here, with those that do.
    Unknown(String),
}

impl std::fmt::Display for KeepError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Records(error) => write!(f, "these are no results: {error}; give what a benchmark returned"),
            Self::Store(error) => write!(f, "{error}"),
            Self::Engine(error) => write!(f, "{:#}", error.error),
            Self::Unknown(said) => write!(f, "{said}"),
            Self::NoFile => write!(f, "there is no file on one side; give the path that `store` returned"),
        }
    }
}

/// Keeps `results` as a run of `suite`, with the machine and the Python environment of `program`.
pub(crate) fn store(results: &str, directory: &str, suite: &str, program: PathBuf) -> Result<String, KeepError> {
    let results: Vec<BenchmarkResult> = serde_json::from_str(results).map_err(KeepError::Records)?;
    let fields =
        results.iter().filter_map(BenchmarkResult::fields).flat_map(|fields| fields.iter().map(|(name, _)| name));
    if let Some(name) = fields.into_iter().find(|name| Field::find(name).is_none()) {
        let said = format!("`{name}` is no field of a result; name one of docs/glossary.md, such as throughput_gb_s");
        return Err(KeepError::Unknown(said));
    }
    rsb_probe::choose_python(program);
    let store = Store::open_for_writing(Path::new(directory)).map_err(KeepError::Store)?;
    let path = run::keep(results, (suite, "python"), &store, machine::environment()).map_err(KeepError::Engine)?;
    Ok(path.to_string_lossy().into_owned())
}

/// What a gate is asked.
pub(crate) struct GateRequest {
    /// Files of the baseline's runs.
    pub(crate) baseline: Vec<String>,
    /// Files of the runs to judge.
    pub(crate) current: Vec<String>,
    /// In place of the policy's threshold, in percent.
    pub(crate) threshold_percent: Option<f64>,
    /// The policy's file; without one `baselines/policy.toml` counts where it exists.
    pub(crate) policy: Option<PathBuf>,
}

/// What became of the runs in files, and what the engine has to say beside it.
pub(crate) struct GateAnswer {
    /// The comparison.
    pub(crate) result: ComparisonResult,
    /// The runs of the baseline.
    pub(crate) baseline: Vec<Run>,
    /// The runs that were judged.
    pub(crate) current: Vec<Run>,
    /// Cases that the policy leaves out, say.
    pub(crate) notices: Vec<String>,
}

/// Judges the runs in files.
pub(crate) fn gate(request: GateRequest) -> Result<GateAnswer, KeepError> {
    if request.baseline.is_empty() || request.current.is_empty() {
        return Err(KeepError::NoFile);
    }
    let mut notices = Vec::new();
    let mut listener = |event: &Event| {
        if let Event::Notice(notice) = event {
            notices.push(notice.text.clone());
        }
    };
    let directories = Directories::new(None, None, request.policy);
    let thresholds = (&Thresholds::new(), request.threshold_percent);
    let judge = Judge::load(directories, thresholds, Vec::new(), &mut listener).map_err(KeepError::Engine)?;
    let side = |files: &[String]| judge.sides(files).map_err(KeepError::Engine);
    let (baseline, current) = (side(&request.baseline)?, side(&request.current)?);
    judge.check(&baseline, &current).map_err(KeepError::Engine)?;
    let result = judge.judge(&baseline, &current);
    Ok(GateAnswer { result, baseline, current, notices })
}

/// A document as JSON.
pub(crate) fn text(document: &impl serde::Serialize) -> Result<String, KeepError> {
    serde_json::to_string(document).map_err(KeepError::Records)
}
