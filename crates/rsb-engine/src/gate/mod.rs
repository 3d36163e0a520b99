//! Judging: runs against a baseline, two programs interleaved, what is undecided remeasured, a run against history.

mod budget;
mod history;
mod interleaved;
mod judge;
mod latest;
mod named;
mod notes;
mod paired;
mod remeasure;
mod stored;

use std::time::Duration;

use rsb_model::ComparisonResult;

pub use history::against_history;
pub use interleaved::{SidePrograms, Sides};
pub use judge::{Judge, SavedComparison, SideName, against_saved, as_gated, is_itself, is_path, open};
pub use latest::{latest, latest_for_a_look};
pub use named::more_runs;
pub use paired::Revisions;
pub use remeasure::unlike_here;
pub use stored::{StoredRequest, saved_for, stored};

/// How long measuring may take where nobody says anything.
pub const BUDGET: Duration = Duration::from_mins(3);

/// A verdict, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// The comparison; without rows where nothing was compared.
    pub result: ComparisonResult,
    /// What it rests on.
    pub basis: Basis,
}

/// What is missing where nothing can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingSide {
    /// A run to judge.
    Run,
    /// A baseline of this machine and suite, or earlier runs of them.
    Baseline,
    /// A second measurement: a run is on both sides.
    OtherRun,
    /// The revision that made the baseline is not in the history of what is judged.
    Revision,
}

/// What a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// Figures of both sides.
    Figures {
        /// Whether undecided cases were remeasured, or were meant to be.
        remeasured: bool,
    },
    /// There is nothing to compare, and why.
    Nothing {
        /// What is missing.
        lack: MissingSide,
        /// That, and the cure, in words.
        why: String,
    },
    /// Both sides are the same: nothing needs to be measured.
    Same {
        /// In which way.
        why: String,
    },
}

impl Judgment {
    fn of_figures(result: ComparisonResult) -> Self {
        Self { result, basis: Basis::Figures { remeasured: false } }
    }
}
