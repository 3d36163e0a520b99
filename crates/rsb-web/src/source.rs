//! Data source of the pages. The implementation reads the store; the pages access neither files nor
//! clocks.

use std::sync::Arc;

use rsb_model::finding::Finding;
use rsb_model::record::{
    CampaignDocument, CampaignNodeDocument, HealthDocument, RecommendDocument, SeriesTrend,
    TrackedAlert,
};
use rsb_model::run::ReplicateProgress;
use rsb_model::{ComparisonResult, Environment, Outcome, Run, Timestamp};
use rsb_report::{BaselineRow, Report, ReportInput, RunRow};
use serde::Serialize;

/// An error of a data source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// There is nothing with this name.
    #[error("{0}")]
    NotThere(String),
    /// The stored data cannot answer the request, for example to compare a run with itself.
    #[error("{0}")]
    Senseless(String),
    /// The requested item exists, but cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// The requested item is being read, which takes a while.
    #[error("{0}")]
    NotReady(String),
}

/// Result of a query.
pub type SourceResult<T> = Result<T, SourceError>;

/// Data source of the pages. Requests are untrusted: a name is looked up among the stored ones, and
/// never used as a path.
pub trait PageSource {
    /// Returns every stored run, the newest first.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn runs(&self) -> SourceResult<Arc<Vec<RunRow>>>;

    /// Returns one run with the content of its report. `id` may be the beginning of one, or a
    /// branch or commit for its newest run.
    ///
    /// # Errors
    /// If there is none, several ids begin with it, or it cannot be read.
    fn run(&self, id: &str) -> SourceResult<Arc<RunReportData>>;

    /// Compares a run with another run or with a saved baseline. A branch or commit is its newest
    /// run of the suite and machine of the other side.
    ///
    /// # Errors
    /// If one does not exist, or both are the same.
    fn compare(&self, from: &str, to: &str) -> SourceResult<Arc<ComparedRuns>>;

    /// Returns every case that was ever measured, by name.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn cases(&self) -> SourceResult<Arc<Vec<StoredCase>>>;

    /// Returns a metric of a case over time. By default, that is the time of an iteration on the
    /// machine that measured last.
    ///
    /// # Errors
    /// If there is none.
    fn history(&self, id: &str, metric: &str, machine: &str) -> SourceResult<Arc<CaseHistory>>;

    /// Returns the runs of these points.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn points(&self, keys: &[PointKey]) -> SourceResult<Vec<PointRun>>;

    /// Returns the time of every case over the newest runs of the machine that measured last, only
    /// those of `branch` unless it is empty.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn lines(&self, branch: &str) -> SourceResult<Arc<Vec<CaseLine>>>;

    /// Returns the content of the overview, from the runs of `branch` unless it is empty.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn overview(&self, branch: &str) -> SourceResult<Arc<OverviewData>>;

    /// Returns the machines, the one that measured last first.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn machines(&self) -> SourceResult<Arc<Vec<StoredMachine>>>;

    /// Returns the fastest configuration for each measured model, on any machine.
    ///
    /// # Errors
    /// If the store cannot be queried.
    fn advice(&self) -> SourceResult<Arc<RecommendDocument>>;

    /// Returns every saved baseline.
    ///
    /// # Errors
    /// If the directory cannot be read.
    fn baselines(&self) -> SourceResult<Arc<Vec<BaselineRow>>>;

    /// Returns the findings of the doctor on the machine that runs the server.
    ///
    /// # Errors
    /// If the machine cannot be examined, as in an export for other machines.
    fn doctor(&self) -> SourceResult<Arc<Vec<Finding>>>;

    /// Returns the runs that are being measured into the results directory.
    ///
    /// # Errors
    /// If the directory cannot be read.
    fn live(&self) -> SourceResult<Vec<LiveRun>>;

    /// Returns the campaigns of the fleet, the newest first; none if there is no fleet.
    ///
    /// # Errors
    /// If the configuration of the fleet or the directory of its campaigns cannot be read.
    fn campaigns(&self) -> SourceResult<Arc<Vec<StoredCampaign>>>;

    /// Returns the progress and the verdicts of a campaign, of a moment ago.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or it is being read for the first time.
    fn campaign(&self, name: &str) -> SourceResult<Arc<dyn CampaignData>>;
}

/// A campaign over the nodes of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredCampaign {
    /// Its name.
    pub campaign: String,
    /// Time of its plan, if known.
    pub planned: Option<Timestamp>,
}

/// State of a campaign.
pub trait CampaignData {
    /// Returns the state without the cases of the nodes.
    fn document(&self) -> &CampaignDocument;

    /// Returns a node with all its cases; `None` if the campaign does not have it.
    fn node(&self, name: &str) -> Option<CampaignNodeDocument>;
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
    /// Environment of the baseline side, then of the current side.
    pub environments: [Environment; 2],
}

/// A case that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredCase {
    /// Its id.
    pub id: String,
    /// Outcome of its last measurement.
    pub outcome: Outcome,
    /// Time of its last measurement.
    pub last: Timestamp,
}

/// One metric of one case on one machine over all its runs.
#[derive(Debug, Clone)]
pub struct CaseHistory {
    /// Slug of the machine.
    pub machine: String,
    /// The machines that measured the case.
    pub machines: Vec<String>,
    /// The metrics of the case on this machine.
    pub metrics: Vec<String>,
    /// The trend, with every value; positions count from the oldest.
    pub trend: SeriesTrend,
    /// Number of the oldest runs of a very long history that were not analyzed for changes of
    /// level.
    pub not_analyzed: usize,
    /// Key of the run of each value.
    pub keys: Vec<PointKey>,
    /// The changes of level that involve the case.
    pub alerts: Vec<TrackedAlert>,
}

/// Key of the run of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointKey {
    /// Start time of the run.
    pub started: Timestamp,
    /// The source's number for the run.
    pub run: i64,
}

/// The run of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointRun {
    /// Its id.
    pub run_id: String,
    /// The measured commit.
    pub commit: Option<String>,
}

/// Content of the overview.
#[derive(Debug, Clone)]
pub struct OverviewData {
    /// The health of the machine that measured last.
    pub health: HealthDocument,
    /// The changes of level that affect this health, the worst first.
    pub alerts: Vec<TrackedAlert>,
    /// The last run with its verdict; `None` if nothing is stored.
    pub latest: Option<LatestVerdict>,
    /// Notices about the store, such as files that are left out.
    pub notices: Vec<String>,
    /// Number of the newest runs that were analyzed, if there are more.
    pub only_newest: Option<usize>,
    /// Noise from run to run of the median case, in percent, if known.
    pub noise_percent: Option<f64>,
    /// Smallest change that raises an alert, in percent.
    pub alert_percent: f64,
}

/// The time of one case over the newest runs of one machine.
#[derive(Debug, Clone)]
pub struct CaseLine {
    /// The case.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// Start time and value of each run, oldest first.
    pub points: Vec<(Timestamp, f64)>,
}

/// Verdict on the last run.
#[derive(Debug, Clone)]
pub struct LatestVerdict {
    /// The run.
    pub run_id: String,
    /// Its comparison, if there was one.
    pub comparison: Option<ComparisonResult>,
    /// Reason for the missing comparison.
    pub not_compared: Option<String>,
}

/// A machine that measured something.
#[derive(Debug, Clone)]
pub struct StoredMachine {
    /// Its slug.
    pub slug: String,
    /// Number of its stored runs.
    pub runs: usize,
    /// Its newest run.
    pub latest: Arc<Run>,
}

/// A run that is being measured.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveRun {
    /// The run with its current results.
    pub run: Run,
    /// Number of its cases, if known.
    pub planned: Option<usize>,
    /// Progress of its replicates; `None` before the first result of a replicate.
    pub progress: Option<ReplicateProgress>,
}
