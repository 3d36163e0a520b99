//! Arguments of `bisect`.

use clap::Args;

use super::values::{parse_percent, parse_time};
use super::{ExtraMetric, Places, ProjectArgs};

/// Arguments of `bisect`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "The search follows the first parents of BAD. If it finds a merge, bisect the \
    merged branch to find the commit in it. Each step builds a commit in a separate worktree and \
    measures it interleaved with GOOD; the files and the build of this tree do not change. Commits \
    that do not build, lack the case, or stay undecided within the budget are skipped.\n\n\
    Exit code 0: the commit is found, or BAD is not slower. 4: no verdict on BAD, or several \
    candidates are left because commits were skipped. 2: a revision or the case is invalid, or BAD \
    cannot be judged. 130: interrupted."
)]
pub struct BisectArgs {
    /// Start from this fast revision, an ancestor of BAD
    pub good: String,
    /// End at this slow revision
    pub bad: String,
    /// Judge the one case whose id contains ID (`*` matches anything)
    #[arg(long, value_name = "ID")]
    pub case: String,
    /// Limit the measurement time of each step, such as 90s or 3m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<std::time::Duration>,
    /// Judge by this metric instead of time
    ///
    /// Valgrind must be installed; it counts the instructions of one iteration. The load of the
    /// machine does not change the count. Works for the Criterion and Divan benchmarks of other
    /// projects. BAD counts as slower from 2 % more instructions on, unless the policy sets another
    /// threshold for `instructions`.
    #[arg(long, value_name = "METRIC", value_enum, conflicts_with = "threshold")]
    pub decide_by: Option<ExtraMetric>,
    /// Set the threshold for times; `[[threshold]]` in the policy wins [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// Another project's benchmarks
    #[command(flatten, next_help_heading = "Other projects")]
    pub project: ProjectArgs,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}
