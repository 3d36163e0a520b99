//! The stages, and what each offers to run.

use rsb_model::{Profile, Suite};
use rsb_report::CaseRow;

use crate::command::RunSelection;

/// A stage: a page of its own, from what can be known before anything is installed to what went
/// wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The hardware, before any ML stack is installed.
    PreInstallation,
    /// ML frameworks.
    Components,
    /// Native kernels on GPUs.
    GpuPerformance,
    /// A run beside another.
    Comparison,
    /// Where figures go over the stored runs.
    History,
    /// What is wrong here, and how to cure it.
    Doctor,
}

impl Stage {
    /// Every one, in the order of the tabs.
    pub const ALL: [Self; 6] = [
        Self::PreInstallation,
        Self::Components,
        Self::GpuPerformance,
        Self::Comparison,
        Self::History,
        Self::Doctor,
    ];

    /// Its name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::PreInstallation => "Pre-installation",
            Self::Components => "Components",
            Self::GpuPerformance => "GPU performance",
            Self::Comparison => "Comparison",
            Self::History => "History",
            Self::Doctor => "Doctor",
        }
    }

    /// What is on its page, for its help.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::PreInstallation => {
                "what this machine can measure, before any ML stack is installed"
            }
            Self::Components => {
                "ML frameworks: how each stands, what is missing, and how to get it"
            }
            Self::GpuPerformance => {
                "what can be measured on GPUs here, and why the rest cannot run"
            }
            Self::Comparison => "two runs compared: the slower cases first, each with its reason",
            Self::History => "where each case goes over the stored runs, and where it changed",
            Self::Doctor => "what is wrong with this machine, and the cure; then what it is",
        }
    }

    /// Whether something can be started there.
    pub const fn offers_runs(self) -> bool {
        matches!(self, Self::PreInstallation | Self::Components | Self::GpuPerformance)
    }

    pub(crate) fn next(self) -> Self {
        self.step(1)
    }

    pub(crate) fn previous(self) -> Self {
        self.step(Self::ALL.len() - 1)
    }

    fn step(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|stage| *stage == self).unwrap_or(0);
        Self::ALL.get((at + by) % Self::ALL.len()).copied().unwrap_or(self)
    }
}

/// What an offer stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    /// A suite: it runs by itself.
    Suite,
    /// A benchmark or a component: several can run together.
    Benchmark,
}

/// Something that can be started, or could if what is missing were here.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The stage that lists it.
    pub stage: Stage,
    /// What it is.
    pub kind: OfferKind,
    /// Its name on the command line.
    pub name: String,
    /// What it measures, in a line.
    pub about: String,
    /// Where its benchmarks run, each with the number of planned cases, and why they cannot run
    /// elsewhere.
    pub rows: Vec<CaseRow>,
    /// Cases that are measured if it is started as it is.
    pub cases: usize,
    /// The profile that those cases are planned for.
    pub profile: Profile,
}

impl Offer {
    /// What starting it measures.
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

    /// Whether anything of it can run here.
    pub(crate) fn is_runnable(&self) -> bool {
        self.rows.iter().any(|row| row.missing.is_none() && row.cases > 0)
    }
}
