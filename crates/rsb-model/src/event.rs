//! Progress events of measurements, comparisons and builds, for the terminal, the journal and the
//! web page.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::ids::RunId;
use crate::record::{BenchmarkResult, CheckResult};

/// Progress event. Listeners must not influence the measurement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A run begins.
    RunStarted {
        /// Id of the run.
        run_id: RunId,
        /// Number of cases that will be measured. The other cases already have a result.
        cases: usize,
    },
    /// A replicate of a case begins.
    ReplicateStarted {
        /// Case that is measured.
        case: Box<Case>,
        /// Number of this step, from 1.
        step: usize,
        /// Total number of steps.
        steps: usize,
    },
    /// New result of a case. Sent after each replicate with more samples; the last one replaces the
    /// earlier ones.
    CaseUpdated(Box<BenchmarkResult>),
    /// The run has ended. Its file is not written yet.
    RunEnded(RunStatus),
    /// Two programs are about to be measured interleaved.
    InterleavedStarted {
        /// Number of cases per program.
        cases: usize,
        /// Remaining time budget.
        left: Duration,
    },
    /// Instructions or allocations are about to be counted.
    CountingStarted {
        /// Number of cases.
        cases: usize,
    },
    /// Undecided cases are about to be remeasured.
    RemeasureStarted {
        /// Number of cases.
        cases: usize,
        /// Remaining time budget.
        left: Duration,
    },
    /// The stored program of the baseline is about to run again, interleaved with the current one.
    PairedRerunStarted {
        /// Path of the stored program.
        program: PathBuf,
        /// Baseline run that the program was stored for.
        run_id: RunId,
        /// Time at which the program was stored.
        since: jiff::Timestamp,
    },
    /// A revision is about to be built.
    BuildStarted {
        /// Short hash and subject of the commit.
        revision: String,
    },
    /// Waiting for another process that builds in the same directory.
    BuildWaiting {
        /// Build directory.
        directory: PathBuf,
    },
    /// A bisection begins by checking that the bad commit is slower.
    BisectChecking {
        /// Short hash of the good commit.
        good: String,
        /// Short hash of the bad commit.
        bad: String,
    },
    /// A bisection has narrowed its range.
    BisectNarrowed {
        /// Number of remaining commits.
        commits: usize,
        /// Approximate number of remaining steps.
        steps: usize,
    },
    /// A check of `doctor --first-day` begins.
    CheckStarted {
        /// Number of the check.
        number: u8,
        /// Total number of checks.
        checks: usize,
        /// Name of the check.
        name: String,
    },
    /// A check of `doctor --first-day` has ended.
    CheckEnded(Box<CheckResult>),
    /// Information for the user that does not change how the program continues.
    Notice(Notice),
}

impl Event {
    /// Returns a notice of level note.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Notice(Notice { level: NoticeLevel::Note, text: text.into() })
    }

    /// Returns a notice of level warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self::Notice(Notice { level: NoticeLevel::Warning, text: text.into() })
    }
}

/// Message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Level of the notice.
    pub level: NoticeLevel,
    /// Text of the message.
    pub text: String,
}

named_enum! {
    serde
    /// Level of a notice.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum NoticeLevel {
        /// Informational.
        Note = "note",
        /// Results or files may not be as intended.
        Warning = "warning",
    }
}

/// How the measurements of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every case has its result.
    Complete,
    /// The user stopped the run, for example with Ctrl-C.
    Interrupted,
    /// The time limit of the whole run expired first.
    OutOfTime,
}
