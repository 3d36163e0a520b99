//! The words of `gate`, and those that it shares with `compare`.

use std::path::PathBuf;

use clap::Args;
use rsb_engine::gate::SideName;
use rsb_model::Suite;
use rsb_report::GateFormat;

use super::factor;
use super::project::ProjectArgs;
use super::values::{VerdictFile, gate_format, parse_percent, parse_side, parse_time, parse_verdict_file, suite, text};
use super::{ExtraMetric, Places};

/// How to compare.
#[derive(Debug, Clone, Args)]
pub struct JudgeArgs {
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = gate_format())]
    pub format: GateFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Also write the verdict to FILE, in FORM (as with --format); may be repeated, all forms are of one judgment
    #[arg(long, value_name = "FORM=FILE", value_parser = parse_verdict_file)]
    pub output: Vec<VerdictFile>,
    /// Threshold in percent unless the policy sets another [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Compare although these versions differ: driver, rocm, python or a framework, such as rocm,driver
    #[arg(long, value_delimiter = ',', value_name = "FACTOR", value_parser = factor::parse)]
    pub across: Vec<String>,
    /// What `probe --json` wrote on the machine of a side whose own file does not tell it; once for each side
    #[arg(long, value_name = "SIDE=FILE", value_parser = parse_side)]
    pub environment: Vec<(SideName, PathBuf)>,
    /// Also list unchanged cases; `compare` adds textbook statistics of each case
    #[arg(long, short)]
    pub verbose: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `gate`.
#[derive(Debug, Clone, Args)]
pub struct GateArgs {
    /// Run file, baseline file, name of a saved baseline, or Criterion's results as DIR@NAME, where `*` fits several
    /// [default: the baseline saved for this machine and suite]; may be repeated
    #[arg(long, value_name = "X", value_parser = text())]
    pub baseline: Vec<String>,
    /// Run file or id, latest~N, or as --baseline [default: the latest run]; may be repeated, each is a replicate
    #[arg(long, value_name = "Y", value_parser = text())]
    pub current: Vec<String>,
    /// Build this git revision and the working tree, and measure both here, interleaved: in any cargo project with
    /// benchmarks of Criterion or Divan, or the commands of --custom in any project
    #[arg(long, value_name = "REV", conflicts_with_all = ["baseline", "current"])]
    pub against: Option<String>,
    /// Judge the run against the last N stored runs of its machine and suite [default: 50]; runs of one commit on the
    /// same day are repeats of it
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50", value_parser = clap::value_parser!(u32).range(15..=10_000), conflicts_with_all = ["against", "baseline", "budget", "baseline_optional"])]
    pub against_history: Option<u32>,
    /// With --against: the suite [default: quick]
    #[arg(long, value_parser = suite(), requires = "against")]
    pub suite: Option<Suite>,
    /// With --against: only this benchmark, in another project only cases that contain this (`*` matches anything); may be
    /// repeated
    #[arg(long, value_name = "NAME", requires = "against")]
    pub benchmark: Vec<String>,
    /// With --against: also compare this, beside the time
    #[arg(long, value_enum, requires = "against")]
    pub metric: Option<ExtraMetric>,
    /// With --against: also measure what is the same on both sides, as when one asks how noisy the machine is
    #[arg(long, requires = "against")]
    pub measure_equal: bool,
    /// With --against: link each side in N layouts, its functions in another order and its stack elsewhere in each, and measure
    /// them in turn, so that where code happens to lie is not taken for what it does
    #[arg(long, value_name = "N", requires = "against", value_parser = clap::value_parser!(u32).range(8..=40))]
    pub layouts: Option<u32>,
    /// Time for remeasuring undecided cases, in fresh processes and interleaved with the program that made the baseline,
    /// such as 90s or 3m; 0s judges the stored figures alone [default: 3m for a run measured here in the last 15 minutes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<std::time::Duration>,
    /// Exit 0 instead of 4 when there is no baseline for this machine
    #[arg(long, conflicts_with = "baseline")]
    pub baseline_optional: bool,
    /// Take baseline and policy as they are where the history of this tree left that of REV, such as origin/main: a pull
    /// request does not choose what it is judged by
    #[arg(long, value_name = "REV", conflicts_with_all = ["against", "against_history", "baseline"])]
    pub base: Option<String>,
    /// How to compare
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Another project's benchmarks
    #[command(flatten, next_help_heading = "Another project, with --against")]
    pub project: ProjectArgs,
}
