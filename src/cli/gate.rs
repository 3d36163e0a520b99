//! Arguments of `gate`, some of them shared with `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rsb_app::judge::JudgeOptions;
use rsb_gate::gate::SideName;
use rsb_gate::harness::CountedMetric;
use rsb_model::Suite;
use rsb_report::GateFormat;

use super::Places;
use super::factor;
use super::project::ProjectArgs;
use super::values::{
    VerdictFile, counted_metric, gate_format, parse_percent, parse_side, parse_time,
    parse_verdict_file, suite, text,
};

/// Options of a comparison.
#[derive(Debug, Clone, Args)]
pub struct JudgeArgs {
    /// Choose the output format
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = gate_format())]
    pub format: GateFormat,
    /// Print JSON, as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Also write the verdict to FILE in the format FORM; repeatable
    #[arg(long, value_name = "FORM=FILE", value_parser = parse_verdict_file)]
    pub output: Vec<VerdictFile>,
    /// Set the threshold for times; `[[threshold]]` in the policy wins [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Allow different versions of these factors, such as rocm,driver,torch
    #[arg(long, value_delimiter = ',', value_name = "FACTOR", value_parser = factor::parse)]
    pub across: Vec<String>,
    /// Read the machine of a side from `probe --json`, such as current=a.json
    #[arg(long, value_name = "SIDE=FILE", value_parser = parse_side)]
    pub environment: Vec<(SideName, PathBuf)>,
    /// Also list unchanged cases; with `compare`, add statistics of each case
    #[arg(long, short)]
    pub verbose: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

impl JudgeArgs {
    /// Returns the options of the comparison.
    pub fn options(&self) -> JudgeOptions {
        JudgeOptions {
            threshold: self.threshold,
            across: self.across.clone(),
            environments: self.environment.clone(),
            files: self.output.iter().map(|file| file.path.clone()).collect(),
        }
    }
}

/// Tree whose new benchmarks are added to the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchesFrom {
    /// The tree as it is
    This,
}

/// Arguments of `gate`.
#[derive(Debug, Clone, Args)]
pub struct GateArgs {
    /// Compare with this run, branch, baseline or Criterion's DIR@NAME; repeatable
    ///
    /// A run file, a baseline file, the name of a saved baseline, a branch or commit (its newest run
    /// of the same suite and machine), or Criterion's results as DIR@NAME, where `*` matches several
    /// names. The default is the baseline saved for this machine and suite.
    #[arg(long, value_name = "X", value_parser = text())]
    pub baseline: Vec<String>,
    /// Judge this run, by file, id, branch or latest~N; repeatable [default: latest]
    ///
    /// Also accepts what --baseline accepts. Each of several runs is a replicate.
    #[arg(long, value_name = "Y", value_parser = text())]
    pub current: Vec<String>,
    /// Build revision REV and the working tree, and measure both interleaved
    ///
    /// Works in any cargo project with Criterion, Divan, gungraun, bencher or #[bench] benchmarks,
    /// and in any other project with --bench or --custom.
    #[arg(long, value_name = "REV", conflicts_with_all = ["baseline", "current", "environment"])]
    pub against: Option<String>,
    /// Judge against the last N stored runs of this machine and suite [default: 50]
    ///
    /// Runs of the same commit on the same day count as replicates.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50", value_parser = clap::value_parser!(u32).range(15..=10_000), conflicts_with_all = ["against", "baseline", "budget", "baseline_optional"])]
    pub against_history: Option<u32>,
    /// Choose the suite, with --against [default: quick]
    #[arg(long, value_parser = suite(), requires = "against")]
    pub suite: Option<Suite>,
    /// Measure only this benchmark, with --against; repeatable
    #[arg(long, value_name = "NAME", requires = "against")]
    pub benchmark: Vec<String>,
    /// Measure only cases with PATTERN in their id, with --against; repeatable
    #[arg(long, value_name = "PATTERN", requires = "against")]
    pub case: Vec<String>,
    /// Also count and compare these metrics, separated by commas, with --against
    ///
    /// code-size works for all bench targets of other projects, the others for Criterion and Divan.
    /// gungraun counts only instructions, and so do this program's own benchmarks. The threshold is
    /// 2 %, of the number of allocations 10 %, unless the policy sets another for the metric.
    #[arg(long, value_delimiter = ',', value_parser = counted_metric(), requires = "against")]
    pub metric: Vec<CountedMetric>,
    /// Judge by these metrics instead of time, with --against
    ///
    /// The load of the machine does not change the counts. For other projects only, with the same
    /// metrics as --metric. The thresholds are those of --metric. A count is not the time: code with
    /// more instructions can be faster. --budget limits the time for counting.
    #[arg(
        long,
        value_name = "METRIC",
        value_delimiter = ',',
        value_parser = counted_metric(),
        requires = "against",
        conflicts_with_all = ["metric", "layouts", "fail_fast", "wait_for_quiet", "threshold"]
    )]
    pub decide_by: Vec<CountedMetric>,
    /// Also measure this tree's new benchmarks on both sides, with --against
    ///
    /// Their files, `[[bench]]` tables and dev-dependencies are added to REV before it is built.
    /// Benchmarks that already exist in REV are not changed.
    #[arg(long, value_name = "SIDE", value_enum, requires = "against")]
    pub benches_from: Option<BenchesFrom>,
    /// Also measure cases with identical code on both sides, with --against
    #[arg(long, requires = "against")]
    pub measure_equal: bool,
    /// Link each side in N code layouts and measure them in turn, with --against
    ///
    /// Each layout has another order of functions and another position of the stack, so that an
    /// effect of the code's position is not mistaken for a change of the code.
    #[arg(long, value_name = "N", requires = "against", value_parser = clap::value_parser!(u32).range(8..=40))]
    pub layouts: Option<u32>,
    /// Remeasure undecided cases for up to TIME, such as 90s or 3m; 0s disables it
    ///
    /// Cases are measured in fresh processes, interleaved with the program that measured the
    /// baseline. The default is 3m for a run that was measured here in the last 15 minutes; with
    /// --against, 5 s per case, from 3m to 15m.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<std::time::Duration>,
    /// Stop at the first confirmed regression, with --against
    ///
    /// Cases that are still undecided stay Inconclusive. The exit code is 3.
    #[arg(long, requires = "against")]
    pub fail_fast: bool,
    /// Pause for up to MAX in total while other programs are busy, with --against
    ///
    /// Other programs are busy if they use more than half of the CPUs. Pauses do not count toward
    /// the budget.
    #[arg(long, value_name = "MAX", requires = "against", value_parser = parse_time)]
    pub wait_for_quiet: Option<std::time::Duration>,
    /// Exit 0 instead of 4 when there is no baseline for this machine
    #[arg(long, conflicts_with = "baseline")]
    pub baseline_optional: bool,
    /// Accept the regressions and removals listed in FILE, with --against
    ///
    /// FILE must be outside the repository, so that a change cannot accept its own regressions.
    /// Each `[[accept]]` has `case` (an id or a pattern), `because`, and `limit_percent` or
    /// `removed = true`.
    #[arg(long, value_name = "FILE", requires = "against")]
    pub accept: Option<PathBuf>,
    /// Read baseline and policy from the merge base with REV, such as origin/main
    ///
    /// A pull request then cannot change its own baseline or policy.
    #[arg(long, value_name = "REV", conflicts_with_all = ["against", "against_history", "baseline"])]
    pub base: Option<String>,
    /// Comparison options
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Another project's benchmarks
    #[command(flatten, next_help_heading = "Other projects, with --against")]
    pub project: ProjectArgs,
}
