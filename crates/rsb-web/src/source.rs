//! What the pages ask: whoever answers reads the store, and the pages know neither files nor
//! clocks.

use std::sync::Arc;

use rsb_model::finding::Finding;
use rsb_model::record::{HealthDocument, RecommendDocument, SeriesTrend, TrackedAlert};
use rsb_model::run::ReplicateProgress;
use rsb_model::{ComparisonResult, Environment, Outcome, Run, Timestamp};
use rsb_report::{BaselineRow, Report, ReportInput, RunRow};
use serde::Serialize;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Nothing is called so.
    #[error("{0}")]
    NotThere(String),
    /// What is asked makes no sense with what is stored, such as a run compared with itself.
    #[error("{0}")]
    Senseless(String),
    /// It is there, and cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// An answer.
pub type SourceResult<T> = Result<T, SourceError>;

/// Where the pages get what they show. Whatever is asked may come from anybody: a name is looked up
/// among what is stored, and never taken for a path.
pub trait PageSource {
    /// Every stored run, the newest first.
    ///
    /// # Errors
    /// When the store does not answer.
    fn runs(&self) -> SourceResult<Arc<Vec<RunRow>>>;

    /// One run, with what a report says of it. `id` may be the beginning of one.
    ///
    /// # Errors
    /// When there is none, several begin so, or it cannot be read.
    fn run(&self, id: &str) -> SourceResult<Arc<RunReportData>>;

    /// The comparison of a run or a saved baseline with a run.
    ///
    /// # Errors
    /// When one is not there, or both are one.
    fn compare(&self, from: &str, to: &str) -> SourceResult<Arc<ComparedRuns>>;

    /// Every case that was ever measured, by name.
    ///
    /// # Errors
    /// When the store does not answer.
    fn cases(&self) -> SourceResult<Arc<Vec<StoredCase>>>;

    /// A figure of a case over time. Where no metric or machine is named, the time of an iteration
    /// on the machine that measured last.
    ///
    /// # Errors
    /// When there is none.
    fn history(&self, id: &str, metric: &str, machine: &str) -> SourceResult<Arc<CaseHistory>>;

    /// The runs of these points.
    ///
    /// # Errors
    /// When the store does not answer.
    fn points(&self, keys: &[PointKey]) -> SourceResult<Vec<PointRun>>;

    /// How everything stands.
    ///
    /// # Errors
    /// When the store does not answer.
    fn overview(&self) -> SourceResult<Arc<OverviewData>>;

    /// The machines, the one that measured last first.
    ///
    /// # Errors
    /// When the store does not answer.
    fn machines(&self) -> SourceResult<Arc<Vec<StoredMachine>>>;

    /// What is the fastest for each model that was measured, on any machine.
    ///
    /// # Errors
    /// When the store does not answer.
    fn advice(&self) -> SourceResult<Arc<RecommendDocument>>;

    /// Every saved baseline.
    ///
    /// # Errors
    /// When the directory cannot be read.
    fn baselines(&self) -> SourceResult<Arc<Vec<BaselineRow>>>;

    /// What is wrong on the machine that serves.
    ///
    /// # Errors
    /// When nobody can look, as in an export for other machines.
    fn doctor(&self) -> SourceResult<Arc<Vec<Finding>>>;

    /// What is being measured into the results directory now.
    ///
    /// # Errors
    /// When the directory cannot be read.
    fn live(&self) -> SourceResult<Vec<LiveRun>>;
}

/// A run with the content of its report.
#[derive(Debug, Clone)]
pub struct RunReportData {
    /// The run.
    pub run: Run,
    /// Content of the report in addition to the run.
    pub input: ReportInput,
    /// Id of the previous run of the same machine and suite.
    pub previous: Option<String>,
}

impl RunReportData {
    /// Returns the report on the run.
    pub fn report(&self) -> Report<'_> {
        self.input.report(&self.run)
    }
}

/// Two sides of a comparison.
#[derive(Debug, Clone)]
pub struct ComparedRuns {
    /// The verdicts.
    pub result: ComparisonResult,
    /// The machine of the side that is compared with, and of the other one.
    pub environments: [Environment; 2],
}

/// A case that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredCase {
    /// Its id.
    pub id: String,
    /// How it ended the last time.
    pub outcome: Outcome,
    /// When that was.
    pub last: Timestamp,
}

/// One figure of one case on one machine over all its runs.
#[derive(Debug, Clone)]
pub struct CaseHistory {
    /// The machine, by its slug.
    pub machine: String,
    /// The machines that measured the case.
    pub machines: Vec<String>,
    /// The figures that it has there.
    pub metrics: Vec<String>,
    /// The trend, with every value; positions count from the oldest.
    pub trend: SeriesTrend,
    /// How many of the oldest runs were not looked at for changes of level, of a very long history.
    pub not_analyzed: usize,
    /// Which run each value is of.
    pub keys: Vec<PointKey>,
    /// The changes of level that the case has part in.
    pub alerts: Vec<TrackedAlert>,
}

/// What finds the run of a point again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointKey {
    /// When the run began.
    pub started: Timestamp,
    /// What the source calls the run.
    pub run: i64,
}

/// The run of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointRun {
    /// Its id.
    pub run_id: String,
    /// The commit measured.
    pub commit: Option<String>,
}

/// How everything stands.
#[derive(Debug, Clone)]
pub struct OverviewData {
    /// The health of the machine that measured last.
    pub health: HealthDocument,
    /// The changes of level that it rests on, the worst first.
    pub alerts: Vec<TrackedAlert>,
    /// The last run with the verdict on it; none where nothing is stored.
    pub latest: Option<LatestVerdict>,
    /// What a reader should know of the store, such as files that are left out.
    pub notices: Vec<String>,
    /// How many of the newest runs were looked at, where there are more.
    pub only_newest: Option<usize>,
}

/// What came out of the last run.
#[derive(Debug, Clone)]
pub struct LatestVerdict {
    /// The run.
    pub run_id: String,
    /// What it was compared with, if anything.
    pub comparison: Option<ComparisonResult>,
    /// Why it was not.
    pub not_compared: Option<String>,
}

/// A machine that measured something.
#[derive(Debug, Clone)]
pub struct StoredMachine {
    /// Its slug.
    pub slug: String,
    /// How many runs are stored of it.
    pub runs: usize,
    /// Its newest run.
    pub latest: Arc<Run>,
}

/// A run that is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveRun {
    /// The run with what it has measured so far.
    pub run: Run,
    /// How many cases it has, where that is known.
    pub planned: Option<usize>,
    /// How many replicates it has taken; `None` before the first result of a replicate.
    pub progress: Option<ReplicateProgress>,
}
