//! The words of `bisect`.

use clap::Args;

use super::values::{parse_percent, parse_time};
use super::{ExtraMetric, Places, ProjectArgs};

/// Arguments of `bisect`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Commits are searched along the first parents of BAD: of a merge it is said that \
                  it brought the \
    regression, not which commit of the merged branch did; bisect that branch for it. Each step \
    builds a commit in a \
    worktree of its own, beside the build of this tree, which stays as it is, and measures it \
    interleaved with GOOD. What \
    does not build, or does not have the case, is passed over; so is what stays undecided within \
    the budget.\n\n\
    Exit code 0: the question is answered. 4: those passed over hide the answer. 2: the revisions \
    or the case are wrong."
)]
pub struct BisectArgs {
    /// Start from this fast revision, an ancestor of BAD
    pub good: String,
    /// End at this slow revision
    pub bad: String,
    /// Judge the one case whose id contains ID (`*` matches anything)
    #[arg(long, value_name = "ID")]
    pub case: String,
    /// Limit the measuring of each step, such as 90s or 3m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<std::time::Duration>,
    /// Judge by this metric alone and measure no time
    ///
    /// Valgrind counts the instructions of one iteration, which no other program on the machine
    /// changes. It works for benchmarks of Criterion and Divan.
    #[arg(long, value_name = "METRIC", value_enum)]
    pub decide_by: Option<ExtraMetric>,
    /// Set the threshold, unless the policy sets another [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// Another project's benchmarks
    #[command(flatten, next_help_heading = "Another project")]
    pub project: ProjectArgs,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
