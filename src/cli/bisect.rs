//! The words of `bisect`.

use clap::Args;

use super::values::{parse_percent, parse_time};
use super::{ExtraMetric, Places, ProjectArgs};

/// Arguments of `bisect`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Commits are searched along the first parents of BAD. If a merge is found, bisect \
                  the merged branch \
    to find its commit. Each step \
    builds a commit in a \
    worktree of its own, beside the build of this tree, which stays as it is, and measures it \
    interleaved with GOOD. What \
    does not build, or does not have the case, is passed over; so is what stays undecided within \
    the budget.\n\n\
    Exit code 0: the commit is found, or BAD is not slower. 4: no verdict on BAD, or commits that \
    were passed over hide the answer. 2: the revisions or the case are wrong, or BAD cannot be \
    judged. 130: interrupted."
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
    /// Valgrind, which must be installed, counts the instructions of one iteration; load does not
    /// change them. It works for the Criterion and Divan benchmarks of other projects. BAD must have
    /// 2 % more, unless the policy sets another threshold for `instructions`.
    #[arg(long, value_name = "METRIC", value_enum, conflicts_with = "threshold")]
    pub decide_by: Option<ExtraMetric>,
    /// Set the threshold of times; `[[threshold]]` entries win [default: 10]
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
