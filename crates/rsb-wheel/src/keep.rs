//! Stores records as a run in the results directory, and compares runs, both with the engine.

use std::path::{Path, PathBuf};

use rsb_engine::{EngineError, Event, machine, run};
use rsb_gate::Directories;
use rsb_gate::gate::{self, Judge};
use rsb_gate::policy::{self, Thresholds};
use rsb_model::{BenchmarkResult, ComparisonResult, Field, Run};
use rsb_report::comparison::Detail;
use rsb_report::{GateFormat, Style};
use rsb_store::{Store, StoreError};

/// Error of storing or comparing results.
#[derive(Debug)]
pub(crate) enum KeepError {
    /// The records are not in the package's format.
    Records(serde_json::Error),
    /// A comparison is not in the format of schemas/comparison-result.schema.json.
    Comparison(serde_json::Error),
    /// The directory cannot be written.
    Store(StoreError),
    /// The engine rejected the request.
    Engine(EngineError),
    /// One side of the comparison has no file.
    NoFile,
    /// Invalid input. The message lists the valid values.
    Unknown(String),
}

impl std::fmt::Display for KeepError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Records(error) => {
                write!(f, "invalid results: {error}; pass the results that a benchmark returned")
            }
            Self::Comparison(error) => {
                write!(f, "invalid comparison: {error}; pass what a comparator returned")
            }
            Self::Store(error) => write!(f, "{error}"),
            Self::Engine(error) => write!(f, "{:#}", error.error),
            Self::Unknown(message) => write!(f, "{message}"),
            Self::NoFile => write!(f, "one side has no file; pass the path that `store` returned"),
        }
    }
}

/// Options for storing results.
pub(crate) struct Keeping<'a> {
    /// Results directory.
    pub(crate) directory: &'a str,
    /// Suite of the run.
    pub(crate) suite: &'a str,
    /// Whether to store the samples in the run's file.
    pub(crate) samples: bool,
}

/// Stores `results` as a run, with the machine and the Python environment of `program`.
pub(crate) fn store(
    results: &str,
    kept: &Keeping<'_>,
    program: PathBuf,
) -> Result<String, KeepError> {
    let results: Vec<BenchmarkResult> =
        serde_json::from_str(results).map_err(KeepError::Records)?;
    let fields = results
        .iter()
        .filter_map(BenchmarkResult::fields)
        .flat_map(|fields| fields.iter().map(|(name, _)| name));
    if let Some(name) = fields.into_iter().find(|name| Field::find(name).is_none()) {
        let message = format!(
            "`{name}` is not a field of a result; use one of docs/glossary.md, such as \
             throughput_gb_s"
        );
        return Err(KeepError::Unknown(message));
    }
    rsb_probe::choose_python(program);
    let store = Store::open_for_writing(Path::new(kept.directory)).map_err(KeepError::Store)?;
    let mut path = run::keep(results, kept.suite, "python", &store, &machine::environment())
        .map_err(KeepError::Engine)?;
    if !kept.samples {
        let mut run =
            rsb_store::read_run(&path).map_err(|error| KeepError::Unknown(error.to_string()))?;
        for result in &mut run.benchmarks {
            result.samples.clear();
        }
        path = store.rewrite(&run).map_err(KeepError::Store)?;
    }
    Ok(path.to_string_lossy().into_owned())
}

/// Request to compare runs with a baseline.
pub(crate) struct GateRequest {
    /// Files of the baseline runs.
    pub(crate) baseline: Vec<String>,
    /// Files of the runs to judge.
    pub(crate) current: Vec<String>,
    /// Threshold in percent that replaces the one of the policy.
    pub(crate) threshold_percent: Option<f64>,
    /// File of the policy; by default `baselines/policy.toml`, if it exists.
    pub(crate) policy: Option<PathBuf>,
}

/// Result of comparing runs, with the notices of the engine.
pub(crate) struct GateAnswer {
    /// Comparison of both sides.
    pub(crate) result: ComparisonResult,
    /// Runs of the baseline.
    pub(crate) baseline: Vec<Run>,
    /// Runs that were judged.
    pub(crate) current: Vec<Run>,
    /// Notices, such as cases that the policy excludes.
    pub(crate) notices: Vec<String>,
}

/// Compares the runs in the files of a request.
pub(crate) fn judge_files(request: GateRequest) -> Result<GateAnswer, KeepError> {
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
    let percent = request.threshold_percent;
    let judge = Judge::load(directories, &Thresholds::new(), percent, Vec::new(), &mut listener)
        .map_err(KeepError::Engine)?;
    let baseline = judge.sides(&request.baseline).map_err(KeepError::Engine)?;
    let current = judge.sides(&request.current).map_err(KeepError::Engine)?;
    judge.check(&baseline, &current).map_err(KeepError::Engine)?;
    let result = judge.judge(&baseline, &current);
    Ok(GateAnswer { result, baseline, current, notices })
}

/// Compares the run in the file `run` with the saved baseline of its machine and suite. Returns the
/// comparison, or why there is none, as text. `is_full` shows every metric.
pub(crate) fn against_saved(
    run: &str,
    results_dir: &str,
    is_full: bool,
) -> Result<GateText, KeepError> {
    let mut notices = Vec::new();
    let mut listener = |event: &Event| {
        if let Event::Notice(notice) = event {
            notices.push(notice.text.clone());
        }
    };
    let directories = Directories::new(Some(results_dir.into()), None, None);
    let policy = policy::load(&directories, &Thresholds::new(), None, &mut listener)
        .map_err(KeepError::Engine)?;
    let store = gate::open(&directories, &mut listener).map_err(KeepError::Engine)?;
    let run = rsb_store::read_run(Path::new(run))
        .map_err(|error| KeepError::Unknown(error.to_string()))?;
    let detail = if is_full { Detail::Full } else { Detail::Brief };
    let saved = gate::against_saved(&store, &directories, &run, &policy).and_then(|saved| {
        let saved = saved.ok_or_else(|| NO_BASELINE.to_owned())?;
        rsb_report::gate::write(&saved.result, GateFormat::Text, Style::PLAIN, detail)
            .map_err(|error| error.to_string())
    });
    let text = saved.unwrap_or_else(|why| format!("The run is not compared: {why}"));
    Ok(GateText { text: text.trim_end().to_owned(), notices })
}

const NO_BASELINE: &str = "no baseline is saved for this machine and suite; save this run as one \
                           with `rusty-stack-bench baseline save`";

/// A comparison as text, and notices of the engine.
pub(crate) struct GateText {
    /// Text of the comparison.
    pub(crate) text: String,
    /// Notices of the engine.
    pub(crate) notices: Vec<String>,
}

/// Serializes a document to JSON.
pub(crate) fn text(document: &impl serde::Serialize) -> Result<String, KeepError> {
    serde_json::to_string(document).map_err(KeepError::Records)
}
