//! What comes in: keys, clicks, what the engine tells, what was loaded.

use rsb_model::finding::Finding;
use rsb_model::record::{HealthDocument, ThresholdCheck, TrackedAlert, TrendDocument};
use rsb_model::{ComparisonResult, Environment, Event, Reason, Run, RunStatus, Timestamp};
use rsb_report::{BaselineRow, RunRow};

use crate::command::Subject;
use crate::stage::Offer;

/// A key, as far as the interface knows keys.
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
    /// Ctrl-C, or a signal to end.
    Interrupt,
}

/// Something that came in.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// Somebody clicked there.
    Click {
        /// From the left, from 0.
        column: u16,
        /// From the top, from 0.
        row: u16,
    },
    /// The terminal has another size, or is to be drawn for the first time.
    Resized,
    /// The engine tells something.
    Happened {
        /// What.
        event: Event,
        /// When.
        at: Timestamp,
    },
    /// What a command asked for is here.
    Loaded(LoadedDocument),
    /// It is not to be had.
    Unavailable {
        /// What.
        subject: Subject,
        /// Why, and the cure.
        why: String,
    },
    /// What would be measured, or why it cannot be planned.
    Planned(Result<PlanSummary, String>),
    /// The run is over, or never began.
    Ended(Result<Box<RunEnd>, String>),
    /// The run that was not kept is kept now, in this file.
    Kept(String),
    /// A command other than loading or measuring is done.
    Done,
    /// The program has said something to a person.
    Said(String),
}

/// What a command asked for.
#[derive(Debug)]
pub enum LoadedDocument {
    /// What can run here, and why the rest cannot.
    Offers(Vec<Offer>),
    /// How each component stands.
    Components(Vec<ComponentRow>),
    /// Stored runs, the latest first, and saved baselines.
    Runs {
        /// Runs.
        runs: Vec<RunRow>,
        /// Baselines.
        baselines: Vec<BaselineRow>,
    },
    /// A stored run.
    Run(Box<Run>),
    /// A comparison.
    Comparison(Box<ComparisonResult>),
    /// Trends, changes and health.
    History(Box<HistoryPage>),
    /// What is wrong here, and what the machine is.
    Machine {
        /// The worst first.
        findings: Vec<Finding>,
        /// The machine.
        environment: Box<Environment>,
    },
}

/// How a component stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentRow {
    /// Its name.
    pub name: String,
    /// `not_run`, `running`, `passed`, `warning` or `failed`.
    pub status: String,
    /// What `components` prints of it: version, last run, missed targets, what is missing and the
    /// cure.
    pub text: String,
    /// Each target beside what was achieved.
    pub checks: Vec<ThresholdCheck>,
}

/// Where figures go over the stored runs.
#[derive(Debug, Clone)]
pub struct HistoryPage {
    /// The time of an iteration of every case.
    pub trends: TrendDocument,
    /// Changes of level that are followed.
    pub alerts: Vec<TrackedAlert>,
    /// How the benchmarks stand.
    pub health: HealthDocument,
    /// When it was looked at.
    pub now: Timestamp,
}

/// What would be measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanSummary {
    /// Cases that get a turn.
    pub cases: usize,
    /// The profile.
    pub profile: String,
    /// Cases that cannot run here, counted by what stands in their way.
    pub without: Vec<(usize, Reason)>,
    /// What is to be said of it.
    pub notes: Vec<String>,
}

/// A run that is over.
#[derive(Debug)]
pub struct RunEnd {
    /// What was measured.
    pub run: Run,
    /// How it ended.
    pub status: RunStatus,
    /// Where it is.
    pub stored: StoredRun,
}

/// Where a measured run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredRun {
    /// Among the results, in this file.
    Kept(String),
    /// In this file, which goes away with the program unless the run is kept.
    NotKept(String),
    /// Not where it belongs, and why.
    Failed(String),
}
