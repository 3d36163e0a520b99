//! What the interface asks of whoever drives it.

use rsb_model::{Profile, Suite};

/// What to do. Whatever comes of it comes back as a [`crate::Message`].
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Draw the state. Nothing else draws: an event that a person need not see at once asks for
    /// none.
    Draw,
    /// Load what a stage shows.
    Load(Subject),
    /// Load a stored run.
    OpenRun(String),
    /// Plan what was chosen, and measure nothing.
    Plan(RunSelection),
    /// Measure what was chosen.
    Measure(RunSelection),
    /// Measure what a stored run still lacks.
    Resume(String),
    /// Ask the engine to stop. What was measured is kept.
    Stop,
    /// Compare two sides, each as `compare` takes it.
    Compare {
        /// What is compared with.
        baseline: String,
        /// What is compared.
        current: String,
    },
    /// Save a run as the baseline of its suite.
    SaveBaseline(String),
    /// Write the report of a run.
    WriteReport(String),
    /// Keep the run that was measured last and is not kept yet.
    KeepRun,
    /// End, by this exit code.
    Quit(u8),
}

/// What can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// What can run here, and why the rest cannot.
    Offers,
    /// How each component stands.
    Components,
    /// Stored runs and saved baselines.
    Runs,
    /// A run.
    Run,
    /// A comparison.
    Comparison,
    /// Trends, changes and health.
    History,
    /// What is wrong here, and what the machine is.
    Machine,
}

impl Subject {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Offers => "what can run here",
            Self::Components => "the components",
            Self::Runs => "the stored runs",
            Self::Run => "the run",
            Self::Comparison => "the comparison",
            Self::History => "the history",
            Self::Machine => "the machine",
        }
    }
}

/// What was chosen to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSelection {
    /// Benchmarks and components by name; none means those of the suite.
    pub names: Vec<String>,
    /// The suite, where no names are given.
    pub suite: Option<Suite>,
    /// How thoroughly; `None` is what the suite and the configuration say.
    pub profile: Option<Profile>,
}

impl RunSelection {
    pub(crate) fn title(&self) -> String {
        self.suite.map_or_else(|| self.names.join(", "), |suite| suite.as_str().to_owned())
    }
}
