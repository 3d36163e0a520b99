//! The words of `bisect`.

use clap::Args;

use super::values::{parse_percent, parse_time};
use super::{Places, ProjectArgs};

/// Arguments of `bisect`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Commits are searched along the first parents of BAD: of a merge it is said that it brought the \
    regression, not which commit of the merged branch did; bisect that branch for it. Each step builds a commit in a \
    worktree of its own, beside the build of this tree, which stays as it is, and measures it interleaved with GOOD. What \
    does not build, or does not have the case, is passed over; so is what stays undecided within the budget.\n\n\
    Exit code 0: the question is answered. 4: those passed over hide the answer. 2: the revisions or the case are wrong."
)]
pub struct BisectArgs {
    /// A revision in which the case is still fast; an ancestor of BAD
    pub good: String,
    /// A revision in which it is slow
    pub bad: String,
    /// Id of the case, or an unambiguous part of it (`*` matches anything)
    #[arg(long, value_name = "ID")]
    pub case: String,
    /// How long a step may measure at most: 90s, 3m [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<std::time::Duration>,
    /// Threshold in percent unless the policy sets another [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Write one JSON document to standard output and nothing else
    #[arg(long)]
    pub json: bool,
    /// Another project's benchmarks
    #[command(flatten, next_help_heading = "Another project")]
    pub project: ProjectArgs,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
