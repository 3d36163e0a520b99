//! Input of the interface: keys, clicks, engine events, loaded data.

use rsb_model::finding::Finding;
use rsb_model::record::{
    CampaignDocument, HealthDocument, RecommendDocument, ThresholdCheck, TrackedAlert,
    TrendDocument,
};
use rsb_model::{ComparisonResult, Environment, Event, Reason, Run, RunStatus, Timestamp};
use rsb_report::{BaselineRow, RunRow};

use crate::command::Subject;
use crate::stage::Offer;

/// A key that the interface supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Key {
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    /// Ctrl-C, or a termination signal.
    Interrupt,
}

/// An input event.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted. It is never read as keys.
    Pasted(String),
    /// The mouse was clicked.
    Click {
        /// Column, from 0.
        column: u16,
        /// Row, from 0.
        row: u16,
    },
    /// The terminal was resized, or is drawn for the first time.
    Resized,
    /// The engine sent an event.
    Happened {
        /// The event.
        event: Event,
        /// Time of the event.
        at: Timestamp,
    },
    /// Requested data was loaded.
    Loaded(LoadedDocument),
    /// Requested data is not available.
    Unavailable {
        /// The requested data.
        subject: Subject,
        /// Reason, and how to fix it.
        why: String,
    },
    /// The plan is ready, or planning failed.
    Planned(Result<PlanSummary, String>),
    /// The run has ended, or did not start.
    Ended(Result<Box<RunEnd>, String>),
    /// The run was stored permanently, in this file.
    Kept(String),
    /// Loaded data may have changed, because what it describes continues.
    Due(Subject),
    /// A command other than loading or measuring has finished.
    Done,
    /// The program printed a message for the user.
    Said(String),
}

/// Requested data.
#[derive(Debug)]
pub enum LoadedDocument {
    /// Offers, with the reasons why some cannot run here.
    Offers(Vec<Offer>),
    /// Status of each component.
    Components(Vec<ComponentRow>),
    /// Stored runs, latest first, and saved baselines.
    Runs {
        /// Runs.
        runs: Vec<RunRow>,
        /// Baselines.
        baselines: Vec<BaselineRow>,
    },
    /// A stored run.
    Run(Box<Run>),
    /// The newest results of this machine in one run, for charts next to the lists.
    Recent(Box<Run>),
    /// A comparison.
    Comparison(Box<ComparisonResult>),
    /// Trends, changes and health.
    History(Box<HistoryPage>),
    /// Findings of the machine check, and the environment.
    Machine {
        /// Findings, worst first.
        findings: Vec<Finding>,
        /// The environment.
        environment: Box<Environment>,
    },
    /// The newest campaign over the nodes of a fleet.
    Fleet(Box<CampaignDocument>),
}

/// Status of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentRow {
    /// Name.
    pub name: String,
    /// `not_run`, `running`, `passed`, `warning` or `failed`.
    pub status: String,
    /// Output of `components`: version, last run, missed targets, missing requirements and how to
    /// install them.
    pub text: String,
    /// Targets with the achieved values.
    pub checks: Vec<ThresholdCheck>,
}

/// Development of metrics over the stored runs.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    /// Iteration time of every case.
    pub trends: TrendDocument,
    /// Tracked changes of level.
    pub alerts: Vec<TrackedAlert>,
    /// State of the benchmarks.
    pub health: HealthDocument,
    /// Recommendation for each measured model.
    pub models: RecommendDocument,
    /// Time of the evaluation.
    pub now: Timestamp,
}

/// A plan of cases to measure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanSummary {
    /// Number of cases that will run.
    pub cases: usize,
    /// Profile.
    pub profile: String,
    /// Reasons why cases cannot run here, with the number of cases.
    pub without: Vec<(usize, Reason)>,
    /// Notes on the plan.
    pub notes: Vec<String>,
}

/// A run that has ended.
#[derive(Debug)]
pub struct RunEnd {
    /// The run.
    pub run: Run,
    /// Final status.
    pub status: RunStatus,
    /// Storage location.
    pub stored: StoredRun,
}

/// Storage location of a measured run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredRun {
    /// Stored among the results, in this file.
    Kept(String),
    /// In this file, which is deleted when the program exits unless the run is kept.
    NotKept(String),
    /// Not stored, for this reason.
    Failed(String),
}
