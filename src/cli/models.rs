//! Arguments of `models`.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use rsb_catalog::models::{Family, PRECISIONS, SizeClass};
use rsb_insight::model_results::Goal;
use rsb_model::Dtype;

use super::{MeasureArgs, Places};

/// Examples of `models`.
pub(super) const EXAMPLES: &str = "\
Sizes by parameters: tiny < 100 M, small < 500 M, base < 1 B, large < 7 B, xl < 13 B, xxl above
--backend also accepts the runtimes openvino, onnxruntime, qnn and mps, such as cpu,openvino
Examples:
  models                                     a tiny model of each family, one pass, PyTorch
  models encoder-only vision --backend cpu,openvino --batch 1,8
                                             PyTorch and OpenVINO side by side
  models --model gpt2 --workload generate    times of the first and later tokens
  models --sweep sweep.toml                  scenarios with `benchmark = \"models\"` from a file
  models --model gpt2 --rate 2,8 --dry-run   cases to measure, and skipped ones with reasons
  models show llama-2-7b --sequence 4096     parameters, and memory in each precision";

/// Arguments of `models`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    /// The subcommand, instead of measuring
    #[command(subcommand)]
    pub verb: Option<ModelsVerb>,
    /// Measure these families [default: all]
    #[arg(value_name = "FAMILY", value_parser = PossibleValuesParser::new(Family::NAMES), hide_possible_values = true)]
    pub families: Vec<String>,
    /// Choose sizes: tiny, small, base, large, xl, xxl [default: tiny]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = PossibleValuesParser::new(SizeClass::NAMES), hide_possible_values = true)]
    pub sizes: Vec<String>,
    /// Choose models by name, directory, or name of a downloaded hub model
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["families", "sizes"])]
    pub model: Vec<String>,
    /// Add the models of FILE, a TOML file of `[[model]]` tables
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Choose precisions: f32, f16, bf16, i8 [default: f32; i8 for qnn]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub precision: Vec<String>,
    /// Choose batch sizes
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub batch: Vec<String>,
    /// Choose sequence lengths [default: 128, or the nearest possible length]
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    pub sequence: Vec<String>,
    /// Choose workloads: forward, generate, load [default: by profile]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workload: Vec<String>,
    /// Tune openvino for latency or throughput [default: latency]
    #[arg(long, value_name = "HINTS", value_delimiter = ',')]
    pub hint: Vec<String>,
    /// Send this many requests per second at random times; 0 sends all at once
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub rate: Vec<String>,
    /// Measure load with this many concurrent requests
    #[arg(long, value_name = "LANES", value_delimiter = ',')]
    pub concurrency: Vec<String>,
    /// Another name of --runs: N samples per round, not iterations
    #[arg(long, value_name = "N", conflicts_with = "runs", value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub iterations: Option<u64>,
    /// How to measure; --backend also takes openvino, onnxruntime, qnn, mps, and several
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Subcommands of `models`.
#[derive(Debug, Clone, Subcommand)]
pub enum ModelsVerb {
    /// List the catalogue: family, size, parameters
    List(ModelsListArgs),
    /// Show one model and its memory needs in each precision
    Show(ModelsShowArgs),
    /// Show the results of each model in a stored run
    Results(ModelsResultsArgs),
    /// Show which family, runtime and precision combinations work
    Compatibility(ModelsCompatibilityArgs),
}

/// Goal of a recommendation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GoalArg {
    /// Shortest time per item
    Latency,
    /// Most items per second, in batches
    Throughput,
    /// Lowest cost per item; needs --prices
    Cost,
    /// Lowest energy per item, if the power was measured
    Energy,
}

impl GoalArg {
    /// Returns the goal.
    pub const fn goal(self) -> Goal {
        match self {
            Self::Latency => Goal::Latency,
            Self::Throughput => Goal::Throughput,
            Self::Cost => Goal::Cost,
            Self::Energy => Goal::Energy,
        }
    }
}

/// Arguments of `recommend`.
#[derive(Debug, Clone, Args)]
pub struct RecommendArgs {
    /// Recommend for this model [default: measured, and one per family and size]
    pub model: Option<String>,
    /// Add the models of FILE, a TOML file of `[[model]]` tables
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Optimize for this goal
    #[arg(long = "for", value_enum, default_value_t = GoalArg::Latency, value_name = "GOAL")]
    pub goal: GoalArg,
    /// Read machine prices from TOML: `[[price]]` with machine and per_hour
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Parses a type in which models are verified.
fn precision(text: &str) -> Result<Dtype, String> {
    let known = text.parse().ok().filter(|dtype| PRECISIONS.contains(dtype));
    known.ok_or_else(|| {
        format!("unknown precision; use {}", PRECISIONS.map(Dtype::as_str).join(", "))
    })
}

/// Arguments of `models list`.
#[derive(Debug, Clone, Args)]
pub struct ModelsListArgs {
    /// Also list the models of FILE
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models show`.
#[derive(Debug, Clone, Args)]
pub struct ModelsShowArgs {
    /// Show this model
    pub name: String,
    /// Choose the batch size
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub batch: u64,
    /// Choose the sequence length [default: 128, or the nearest possible length]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub sequence: Option<u64>,
    /// Choose precisions: f32, f16, bf16, i8 [default: f32,f16,i8]
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = precision)]
    pub precision: Vec<Dtype>,
    /// Also search the models of FILE
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models compatibility`.
#[derive(Debug, Clone, Args)]
pub struct ModelsCompatibilityArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `models results`.
#[derive(Debug, Clone, Args)]
pub struct ModelsResultsArgs {
    /// Show this run, by file, id, branch or commit [default: latest]
    pub run: Option<String>,
    /// Exclude outliers (Tukey's fences) instead of marking them
    #[arg(long)]
    pub without_outliers: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}
