//! Judges runs: compares them with a baseline, with history, or with another program (interleaved),
//! and remeasures undecided cases.

mod history;
mod interleaved;
mod judge;
mod latest;
mod named;
mod notes;
mod paired;
mod remeasure;
mod schedule;
mod stored;

use std::time::Duration;

use itertools::Itertools as _;
use rsb_model::{ComparisonResult, Fingerprint, Run};

use crate::suggest::measure_again;

pub use history::against_history;
pub use interleaved::{MeasureLimits, SidePrograms, Sides};
pub use judge::{
    Judge, SavedComparison, SideName, against_saved, as_gated, is_itself, is_path, open,
};
pub use latest::{latest, latest_lenient};
pub use named::more_runs;
pub use paired::Revisions;
pub use stored::{StoredRequest, judge_stored, saved_for};

/// Smallest default time budget for measuring.
pub const BUDGET: Duration = Duration::from_mins(3);

/// Returns the default time budget for two sides of `cases` cases: 5 s per case, from 3 to 15
/// minutes.
pub fn default_budget(cases: usize) -> Duration {
    let all = Duration::from_secs(5).saturating_mul(u32::try_from(cases).unwrap_or(u32::MAX));
    all.clamp(BUDGET, Duration::from_mins(15))
}

/// A verdict and its basis.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// The comparison; without rows if nothing was compared.
    pub result: ComparisonResult,
    /// Basis of the verdict.
    pub basis: Basis,
    /// The two sides that were compared.
    pub sides: JudgedSides,
}

/// The two sides of a judgment, for the advice that follows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedSides {
    /// Revision of the baseline, if all its runs measured the same commit.
    pub baseline: Option<String>,
    /// Commit of the current side, if all its runs measured the same one.
    pub current: Option<String>,
    /// Machine of the current side, as the directory name of its hardware; `None` if its runs are
    /// from several machines.
    pub machine: Option<String>,
    /// Suite of the current side, if all its runs are of the same one.
    pub suite: Option<String>,
    /// Whether the current side had uncommitted changes.
    pub is_dirty: bool,
    /// Load while the current side was measured, if higher than a benchmark itself causes: `load
    /// 7.0 on 2 CPUs`.
    pub load: Option<String>,
    /// Subcommand that measures the cases of the baseline again; `None` without a stored baseline.
    pub measure: Option<String>,
}

impl JudgedSides {
    /// Describes the sides, given the runs of both.
    pub fn of(baseline: &[Run], current: &[Run]) -> Self {
        let git = current.iter().filter_map(|run| run.environment.git.as_ref());
        let slug = |run: &Run| Fingerprint::of(&run.environment).slug();
        let machines: Vec<String> = current.iter().map(slug).collect();
        Self {
            machine: only(machines.iter().map(|machine| Some(machine.as_str()))),
            suite: only(current.iter().map(|run| Some(run.suite.as_str()))),
            baseline: only(baseline.iter().map(|run| run.environment.revision())),
            current: only(
                current
                    .iter()
                    .map(|run| run.environment.git.as_ref().map(|git| git.commit.as_str())),
            ),
            is_dirty: git.into_iter().any(|git| git.dirty),
            load: current.iter().find_map(load),
            measure: baseline.last().map(measure_again),
        }
    }
}

/// Returns the value shared by all of `values`; `None` if they differ or one is missing.
fn only<'v>(values: impl Iterator<Item = Option<&'v str>>) -> Option<String> {
    match values.into_iter().sorted_unstable().dedup().collect_vec().as_slice() {
        [Some(only)] => Some((*only).to_owned()),
        _ => None,
    }
}

/// Describes the load average of `run` if it is higher than its own threads explain.
fn load(run: &Run) -> Option<String> {
    let load = run.environment.state.as_ref()?.load_average?;
    let cpus = run.environment.cpu.as_ref()?.usable_cores;
    (load > 1.25 * f64::from(cpus) + 1.0).then(|| format!("load {load:.1} on {cpus} CPUs"))
}

/// Reason why nothing can be compared: the missing side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingSide {
    /// There is no run to judge.
    Run,
    /// There is no baseline, or no earlier run, of this machine and suite.
    Baseline,
    /// There is no second measurement: the same run or file is on both sides.
    OtherRun,
    /// There is no usable revision: the one that made the baseline is not in the history of the
    /// judged one.
    Revision,
}

/// Basis of a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// Measured values of both sides.
    Figures {
        /// Whether undecided cases were remeasured, or a time budget for that was set.
        remeasured: bool,
    },
    /// Nothing was compared.
    Nothing {
        /// The missing side.
        lack: MissingSide,
        /// The reason and how to fix it.
        why: String,
    },
    /// Both sides are the same, so nothing needs to be measured.
    Same {
        /// Why they are the same.
        why: String,
    },
}

impl Judgment {
    fn of_figures(result: ComparisonResult, sides: JudgedSides) -> Self {
        Self { result, basis: Basis::Figures { remeasured: false }, sides }
    }
}
