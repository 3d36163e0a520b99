//! The stages, and the selections that each offers to run.

use rsb_model::{Profile, Suite};
use rsb_report::CaseRow;

use crate::command::RunSelection;

/// A stage: a page of the interface. The stages range from the hardware, before any installation,
/// to problems of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// What this machine can measure without an ML stack.
    Measure,
    /// ML frameworks.
    Components,
    /// Native kernels on GPUs.
    GpuPerformance,
    /// A comparison of two runs.
    Comparison,
    /// Development of metrics over the stored runs.
    History,
    /// Problems of the machine and how to fix them.
    Doctor,
    /// The newest campaign over the nodes of a fleet.
    Fleet,
}

impl Stage {
    /// The stages in the order of the tabs. The last one is shown only if there is a fleet.
    const ALL: [Self; 7] = [
        Self::Measure,
        Self::Components,
        Self::GpuPerformance,
        Self::Comparison,
        Self::History,
        Self::Doctor,
        Self::Fleet,
    ];

    /// Returns the shown stages, in the order of the tabs.
    pub(crate) const fn shown(has_fleet: bool) -> &'static [Self] {
        let count = if has_fleet { Self::ALL.len() } else { Self::ALL.len() - 1 };
        Self::ALL.split_at(count).0
    }

    /// Returns the name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Measure => "Measure",
            Self::Components => "Components",
            Self::GpuPerformance => "GPU performance",
            Self::Comparison => "Comparison",
            Self::History => "History",
            Self::Doctor => "Doctor",
            Self::Fleet => "Fleet",
        }
    }

    /// Returns the name for a narrow terminal.
    pub(crate) const fn short_title(self) -> &'static str {
        match self {
            Self::GpuPerformance => "GPU",
            other => other.title(),
        }
    }

    /// Returns the description of the page for its help.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Measure => "what this machine can measure; `→` scrolls the details",
            Self::Components => {
                "ML frameworks: the status of each, and how to install what is missing"
            }
            Self::GpuPerformance => "GPU benchmarks; `→` scrolls to why some cannot run",
            Self::Comparison => "two runs compared: the slower cases first, each with its reason",
            Self::History => "the trend of each case over the stored runs, and its changes",
            Self::Doctor => "problems of this machine and how to fix them, and its description",
            Self::Fleet => "the newest campaign: nodes that are not ok first, with what to do",
        }
    }

    /// Returns whether the stage can start runs.
    pub const fn offers_runs(self) -> bool {
        matches!(self, Self::Measure | Self::Components | Self::GpuPerformance)
    }

    pub(crate) fn next(self, stages: &[Self]) -> Self {
        self.step(stages, 1)
    }

    pub(crate) fn previous(self, stages: &[Self]) -> Self {
        self.step(stages, stages.len() - 1)
    }

    fn step(self, stages: &[Self], by: usize) -> Self {
        let at = stages.iter().position(|stage| *stage == self).unwrap_or(0);
        stages.get((at + by) % stages.len()).copied().unwrap_or(self)
    }
}

/// Kind of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    /// A suite, which runs on its own.
    Suite,
    /// A benchmark or a component; several can run together.
    Benchmark,
}

/// A selection that can be started, or could be if its requirements were installed.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Stage that lists it.
    pub stage: Stage,
    /// Kind.
    pub kind: OfferKind,
    /// Name on the command line.
    pub name: String,
    /// One-line description.
    pub about: String,
    /// Backends on which its benchmarks run, with the number of planned cases, and the reasons why
    /// they cannot run on others.
    pub rows: Vec<CaseRow>,
    /// Number of cases that are measured if it is started unchanged.
    pub cases: usize,
    /// Profile that those cases are planned for.
    pub profile: Profile,
}

impl Offer {
    /// Returns the selection of benchmarks that is measured when this item is started.
    pub fn run_selection(&self) -> RunSelection {
        match self.kind {
            OfferKind::Suite => {
                RunSelection { suite: self.name.parse::<Suite>().ok(), ..RunSelection::default() }
            }
            OfferKind::Benchmark => {
                RunSelection { names: vec![self.name.clone()], ..RunSelection::default() }
            }
        }
    }

    /// Returns whether any part of it can run here.
    pub(crate) fn is_runnable(&self) -> bool {
        self.rows.iter().any(|row| row.missing.is_none() && row.cases > 0)
    }
}
