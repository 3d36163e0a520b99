//! What happens while something is measured, judged or built: values that a terminal, a journal or
//! a page listens to.

use std::path::PathBuf;
use std::time::Duration;

use crate::case::Case;
use crate::ids::RunId;
use crate::record::{BenchmarkResult, CheckResult};

/// One thing that happened. Whoever listens never changes what is measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A run has its id, and so many cases to measure.
    RunStarted {
        /// Its id.
        run_id: RunId,
        /// Cases that get a turn; the others have their result already.
        cases: usize,
    },
    /// A replicate of a case begins.
    ReplicateStarted {
        /// The case.
        case: Box<Case>,
        /// Which step this is, counted from 1.
        step: usize,
        /// How many there are.
        steps: usize,
    },
    /// This is known of a case now. It comes again, with more samples, after each replicate; the
    /// last one counts.
    CaseUpdated(Box<BenchmarkResult>),
    /// The run is over; its file is not written yet.
    RunEnded(RunStatus),
    /// Two programs are about to be measured interleaved, so many cases of each.
    InterleavedStarted {
        /// How many cases.
        cases: usize,
        /// What is left of the budget.
        left: Duration,
    },
    /// The instructions of cases are about to be counted.
    CountingStarted {
        /// How many cases.
        cases: usize,
    },
    /// Undecided cases are about to be remeasured.
    RemeasureStarted {
        /// How many cases.
        cases: usize,
        /// What is left of the budget.
        left: Duration,
    },
    /// The program that made the baseline is about to run again beside this one.
    PairedRerunStarted {
        /// Where it is kept.
        program: PathBuf,
        /// The run of the baseline that it was kept for.
        run_id: RunId,
        /// Since when.
        since: jiff::Timestamp,
    },
    /// A revision is about to be built.
    BuildStarted {
        /// Its short hash and subject.
        revision: String,
    },
    /// Another process builds in the same directory.
    BuildWaiting {
        /// Where.
        directory: PathBuf,
    },
    /// A bisection first asks whether the bad commit is slower at all.
    BisectChecking {
        /// The short hash of the good commit.
        good: String,
        /// The short hash of the bad one.
        bad: String,
    },
    /// A bisection has narrowed its range.
    BisectNarrowed {
        /// Commits that are left.
        commits: usize,
        /// About so many steps to go.
        steps: usize,
    },
    /// A check of the first day begins.
    CheckStarted {
        /// Its number.
        number: u8,
        /// How many checks there are.
        checks: usize,
        /// Its name.
        name: String,
    },
    /// A check of the first day has ended.
    CheckEnded(Box<CheckResult>),
    /// Something that a person should know and that changes nothing about how it goes on.
    Notice(Notice),
}

impl Event {
    /// A notice that is a note.
    pub fn note(text: impl Into<String>) -> Self {
        Self::Notice(Notice { level: NoticeLevel::Note, text: text.into() })
    }

    /// A notice that is a warning.
    pub fn warning(text: impl Into<String>) -> Self {
        Self::Notice(Notice { level: NoticeLevel::Warning, text: text.into() })
    }
}

/// A sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// The sentence.
    pub text: String,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Note,
    /// Figures or files may not be what was wanted.
    Warning,
}

impl NoticeLevel {
    /// The word before the sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// How the measuring of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Every case has its result.
    Complete,
    /// Somebody asked to stop, as with Ctrl-C.
    Interrupted,
    /// The time limit of the whole run was over first.
    OutOfTime,
}
