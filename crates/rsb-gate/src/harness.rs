//! Benchmarks of other projects, measured through their own harness: lists their cases, and
//! measures one case in a fresh process.
//!
//! Such a project needs no changes: the command line of an executable built by `cargo bench
//! --no-run` selects the case and the measuring time.

mod clock;
mod commands;
mod counting;
mod criterion;
mod divan;
mod executables;
mod gungraun;
mod heap;
mod libtest;
mod metric;
mod pairs;
mod volatile;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rsb_model::{Case, CaseId, Reason, Samples};

pub(crate) use commands::build;
pub use commands::{BenchCommand, CommandBenches};
pub(crate) use counting::{CaseCounts, count_by_harness, count_cases, find_valgrind};
pub use criterion::CriterionTimes;
pub use executables::{BenchExecutable, Executables, HarnessKind};
pub use metric::CountedMetric;
pub(crate) use metric::{CODE_SIZE, COUNTED_TOGETHER};
pub use pairs::{BenchPairs, TURNS};

/// Measuring time of one process. Verdicts compare processes, so many short ones are more
/// informative than a few long ones. In 20 ms, a sample of a fast case is shorter than a time slice
/// of the scheduler. With eight busy processes on two CPUs, 12 to 20 % of the samples are
/// interrupted in 20 ms, and 30 to 50 % in 50 ms (docs/gate-study.md).
const MEASUREMENT: Duration = Duration::from_millis(20);
/// Warm-up time of a process, from which Criterion derives the size of its samples.
const WARM_UP: Duration = Duration::from_millis(5);
/// Time limit for an executable to identify its harness and list its cases.
const LISTING: Duration = Duration::from_secs(30);

/// The benchmarks of one build of a project.
#[derive(Debug)]
pub enum Benches {
    /// Executables of `cargo bench`, whose cases can be measured one by one.
    Executables(Executables),
    /// A command that measures all cases, with output that a [`rsb_store::import::Format`] reads.
    Command(CommandBenches),
}

/// How fast a case is measured. If a process takes too long, the next pace is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Pace {
    /// With the short times chosen by this program.
    #[default]
    Asked,
    /// As fast as the harness can, with an accelerated clock, because the benchmark itself sets
    /// longer times.
    Quick,
    /// With the real clock, because the benchmark waits for it.
    RealClock,
}

/// Samples of one process, by case.
type SamplesByCase = BTreeMap<CaseId, Samples>;

impl Benches {
    /// Returns the ids of all cases.
    pub fn ids(&self) -> Box<dyn Iterator<Item = &CaseId> + '_> {
        match self {
            Self::Executables(executables) => Box::new(executables.ids()),
            Self::Command(command) => Box::new(command.ids()),
        }
    }

    /// Changes the ids of cases in `other` to those of cases in `own` whose names differ only in
    /// volatile parts. Does nothing if a side is a command or is already shared.
    pub(crate) fn match_volatile_names(own: &mut Arc<Self>, other: &mut Arc<Self>) {
        if let (Some(Self::Executables(own)), Some(Self::Executables(other))) =
            (Arc::get_mut(own), Arc::get_mut(other))
        {
            own.match_volatile_names(other);
        }
    }

    /// Returns whether one process measures every case.
    const fn measures_all_at_once(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    /// Returns the executables, if this side is not a command.
    pub const fn executables(&self) -> Option<&Executables> {
        match self {
            Self::Executables(executables) => Some(executables),
            Self::Command(_) => None,
        }
    }

    /// Returns the pace of `case`.
    fn pace(&self, case: &Case) -> Pace {
        self.executables().map_or(Pace::Asked, |executables| executables.pace(&case.id))
    }

    /// Measures `case` in a fresh process at this `pace`, with its files in `scratch`. Returns the
    /// samples of every case that the process measured.
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

/// Creates a case of another project, of which only the name is known.
pub fn case_of(id: CaseId) -> Case {
    Case {
        benchmark: id.as_str().split('/').next().unwrap_or_default().to_owned(),
        id,
        benchmark_type: rsb_model::BenchmarkType::CpuPerformance,
        device: rsb_model::CaseDevice::None,
        params: rsb_model::Params::new(),
    }
}
