//! Benchmarks of other projects, through the harness that they use: their cases listed, and one
//! case measured in a fresh process.
//!
//! Nothing is added to such a project: an executable of `cargo bench --no-run` is told, by its own
//! command line, which case to measure and for how long.

mod clock;
mod commands;
mod counting;
mod criterion;
mod divan;
mod executables;
mod libtest;
mod pairs;
mod volatile;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rsb_model::{Case, CaseId, Reason, Samples};

pub(crate) use commands::build;
pub use commands::{BenchCommand, CommandBenches};
pub(crate) use counting::{count_instructions, find_valgrind};
pub use criterion::CriterionTimes;
pub use executables::{BenchExecutable, Executables, HarnessKind};
pub use pairs::{BenchPairs, TURNS};

/// How long one process measures. Processes are the units of a verdict: many short ones show more
/// than a few long ones. In 20 ms a sample of a fast case is shorter than a scheduler's time slice:
/// with eight busy processes on two CPUs, 12 to 20 % of the samples are interrupted, and 30 to 50 %
/// in 50 ms (docs/gate-study.md).
const MEASUREMENT: Duration = Duration::from_millis(20);
/// How long it runs the case before, from which Criterion sizes its samples.
const WARM_UP: Duration = Duration::from_millis(5);
/// How long an executable may take to say what it is, or what it has.
const LISTING: Duration = Duration::from_secs(30);

/// The benchmarks of one build of a project.
#[derive(Debug)]
pub enum Benches {
    /// Executables of `cargo bench`, each of them with cases that can be asked for one by one.
    Executables(Executables),
    /// A command that measures everything, and whose output a [`rsb_store::import::Format`] reads.
    Command(CommandBenches),
}

/// How a case is asked: in the next way if a process takes too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Pace {
    /// For the short times that this program chooses.
    #[default]
    Asked,
    /// As quickly as the harness can, by a faster clock: the benchmark sets longer times itself.
    Quick,
    /// By the real clock, for which the benchmark waits.
    RealClock,
}

/// What one process measured: its samples, by the cases that it had.
type SamplesByCase = BTreeMap<CaseId, Samples>;

impl Benches {
    /// The cases that there are.
    pub fn ids(&self) -> Box<dyn Iterator<Item = &CaseId> + '_> {
        match self {
            Self::Executables(executables) => Box::new(executables.ids()),
            Self::Command(command) => Box::new(command.ids()),
        }
    }

    /// Gives cases of `other` the ids of those here if their names differ in volatile parts only.
    /// Nothing changes if a side is a command, or in use already.
    pub(crate) fn match_volatile_names(own: &mut Arc<Self>, other: &mut Arc<Self>) {
        if let (Some(Self::Executables(own)), Some(Self::Executables(other))) =
            (Arc::get_mut(own), Arc::get_mut(other))
        {
            own.match_volatile_names(other);
        }
    }

    /// Whether one process measures every case.
    const fn measures_all_at_once(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    /// The executables, where there are any.
    pub const fn executables(&self) -> Option<&Executables> {
        match self {
            Self::Executables(executables) => Some(executables),
            Self::Command(_) => None,
        }
    }

    /// How `case` is to be asked.
    fn pace(&self, case: &Case) -> Pace {
        self.executables().map_or(Pace::Asked, |executables| executables.pace(&case.id))
    }

    /// Measures `case` in a fresh process at this `pace`, which leaves its files in `scratch`.
    /// Returns the samples of every case that the process measured.
    fn measure(
        &self,
        case: &Case,
        pace: Pace,
        scratch: &Path,
        limit: Duration,
    ) -> Result<SamplesByCase, Reason> {
        match self {
            Self::Executables(executables) => {
                let samples = executables.measure(&case.id, pace, scratch, limit)?;
                Ok(SamplesByCase::from([(case.id.clone(), samples)]))
            }
            Self::Command(command) => command.measure(scratch, limit),
        }
    }
}

/// A case of another project: all that is known of it is its name.
pub fn case_of(id: CaseId) -> Case {
    Case {
        benchmark: id.as_str().split('/').next().unwrap_or_default().to_owned(),
        id,
        benchmark_type: rsb_model::BenchmarkType::CpuPerformance,
        device: rsb_model::CaseDevice::None,
        params: rsb_model::Params::new(),
    }
}
