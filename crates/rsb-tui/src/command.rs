//! Requests from the interface to its driver.

use rsb_model::{Profile, Suite};

/// A request to the driver. Results come back as [`crate::Message`]s.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Draw the state. The driver draws only on this command; events that need not be visible
    /// immediately do not request it.
    Draw,
    /// Load the data of a stage.
    Load(Subject),
    /// Load a stored run.
    OpenRun(String),
    /// Plan the selection, without measuring.
    Plan(RunSelection),
    /// Measure the selection.
    Measure(RunSelection),
    /// Measure the remaining cases of a stored run.
    Resume(String),
    /// Stop the engine. Results that were already measured are kept.
    Stop,
    /// Compare two sides, each in the syntax of `compare`.
    Compare {
        /// Baseline side.
        baseline: String,
        /// Current side.
        current: String,
    },
    /// Save a run as the baseline of its suite.
    SaveBaseline(String),
    /// Write the report of a run.
    WriteReport(String),
    /// Acknowledge a tracked change of level.
    Acknowledge {
        /// Id of the alert.
        alert: String,
        /// Note of the user.
        because: String,
        /// Number of decisions that the user has seen.
        seen: usize,
    },
    /// Store the latest run permanently; so far, it exists only in a temporary file.
    KeepRun,
    /// Copy text to the clipboard of the terminal.
    Copy(String),
    /// Quit with this exit code.
    Quit(u8),
}

/// Data that can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Offers, with the reasons why some cannot run here.
    Offers,
    /// Status of each component.
    Components,
    /// Stored runs and saved baselines.
    Runs,
    /// A run.
    Run,
    /// A comparison.
    Comparison,
    /// Trends, changes and health.
    History,
    /// Findings of the machine check, and the environment.
    Machine,
    /// Progress and verdicts of the newest campaign.
    Fleet,
}

impl Subject {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Offers => "the benchmarks",
            Self::Components => "the components",
            Self::Runs => "the stored runs",
            Self::Run => "the run",
            Self::Comparison => "the comparison",
            Self::History => "the history",
            Self::Machine => "the machine",
            Self::Fleet => "the campaign",
        }
    }
}

/// A selection to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSelection {
    /// Names of benchmarks and components; empty for those of the suite.
    pub names: Vec<String>,
    /// Suite, if no names are given.
    pub suite: Option<Suite>,
    /// Profile; `None` for the default of the suite and the configuration.
    pub profile: Option<Profile>,
}

impl RunSelection {
    pub(crate) fn title(&self) -> String {
        self.suite.map_or_else(|| self.names.join(", "), |suite| suite.as_str().to_owned())
    }
}
