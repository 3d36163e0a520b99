//! The arguments of `models`.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use rsb_engine::models::{Family, PRECISIONS, SizeClass};
use rsb_model::Dtype;

use super::{MeasureArgs, Places};

/// Models by family, by name, of one's own.
pub(super) const EXAMPLES: &str = "\
Sizes by parameters: tiny < 100 M, small < 500 M, base < 1 B, large < 7 B, xl < 13 B, xxl above
Examples:
  models                                     a tiny model of each family, one pass, PyTorch
  models encoder-only vision --backend cpu,openvino --batch 1,8
                                             PyTorch and OpenVINO side by side
  models --model gpt2 --workload generate    first and later tokens
  models --sweep sweep.toml                  scenarios of `benchmark = \"models\"` from a file
  models --model gpt2 --rate 2,8 --dry-run   what would be measured, and what not and why
  models show llama-2-7b --sequence 4096     parameters, and memory in each precision";

/// Arguments of `models`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    /// What to do in place of measuring
    #[command(subcommand)]
    pub verb: Option<ModelsVerb>,
    /// Families to measure [default: all]
    #[arg(value_name = "FAMILY", value_parser = PossibleValuesParser::new(Family::NAMES), hide_possible_values = true)]
    pub families: Vec<String>,
    /// Size classes: tiny, small, base, large, xl, xxl [default: tiny]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = PossibleValuesParser::new(SizeClass::NAMES), hide_possible_values = true)]
    pub sizes: Vec<String>,
    /// Models by name, by directory, or by the name in the hub of one that is already here
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["families", "sizes"])]
    pub model: Vec<String>,
    /// Models of your own: a TOML file with [[model]] rows; alone, all of them are measured
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Precisions: f32, f16, bf16, i8 [default: f32; i8 for qnn]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub precision: Vec<String>,
    /// Batch sizes
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub batch: Vec<String>,
    /// Positions of the input, where they can be chosen [default: 128, or as near as the model has it]
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    pub sequence: Vec<String>,
    /// One pass (forward), tokens one after another (generate), requests at random times (load) [default: forward; from the profile standard on generate too]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workload: Vec<String>,
    /// What openvino is tuned for: latency, throughput [default: latency]
    #[arg(long, value_name = "HINTS", value_delimiter = ',')]
    pub hint: Vec<String>,
    /// Requests that arrive in a second at random times, 0 for all at once: measures load
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub rate: Vec<String>,
    /// Requests worked on at the same time: measures load
    #[arg(long, value_name = "LANES", value_delimiter = ',')]
    pub concurrency: Vec<String>,
    /// Samples of each case, the same as --runs
    #[arg(long, value_name = "N", conflicts_with = "runs", value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub iterations: Option<u64>,
    /// Print what would be measured, and what not and why, without measuring
    #[arg(long)]
    pub dry_run: bool,
    /// How to measure; --backend also takes openvino, onnxruntime, qnn and mps, and several: cpu,openvino
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Commands for models.
#[derive(Debug, Clone, Subcommand)]
pub enum ModelsVerb {
    /// List the catalogue: family, size class, parameters and their source
    List(ModelsListArgs),
    /// Show one model: what it is made of, and what it needs of memory in each precision
    Show(ModelsShowArgs),
    /// Show what a stored run says of each model
    Results(ModelsResultsArgs),
    /// Show what runs where: families, runtimes and precisions, by the rules and by what stored runs have seen
    Compatibility(ModelsCompatibilityArgs),
}

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GoalArg {
    /// One item as soon as possible.
    Latency,
    /// As many items as possible, whatever the batch.
    Throughput,
    /// As little money for an item as possible: needs --prices.
    Cost,
    /// As little energy for an item as possible, where a run read the power.
    Energy,
}

/// Arguments of `recommend`.
#[derive(Debug, Clone, Args)]
pub struct RecommendArgs {
    /// The model; one of the catalogue that nobody measured is predicted [default: all that were measured, and one of each family and size]
    pub model: Option<String>,
    /// Models of your own: a TOML file with [[model]] rows
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// What it is wanted for
    #[arg(long = "for", value_enum, default_value_t = GoalArg::Latency, value_name = "GOAL")]
    pub goal: GoalArg,
    /// What machines cost: TOML with `[[price]]`, each with machine and per_hour
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// A type that models are verified in.
fn precision(text: &str) -> Result<Dtype, String> {
    let known = text.parse().ok().filter(|dtype| PRECISIONS.contains(dtype));
    known.ok_or_else(|| format!("models are measured in {}", PRECISIONS.map(Dtype::as_str).join(", ")))
}

/// Arguments of `models list`.
#[derive(Debug, Clone, Args)]
pub struct ModelsListArgs {
    /// Also list the models of this file
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models show`.
#[derive(Debug, Clone, Args)]
pub struct ModelsShowArgs {
    /// The model
    pub name: String,
    /// Items handled together
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub batch: u64,
    /// Positions of the input, where they can be chosen [default: 128, or as near as the model has it]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub sequence: Option<u64>,
    /// Precisions whose memory is shown: f32, f16, bf16, i8 [default: f32,f16,i8]
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = precision)]
    pub precision: Vec<Dtype>,
    /// Also look in this file
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `models compatibility`.
#[derive(Debug, Clone, Args)]
pub struct ModelsCompatibilityArgs {
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `models results`.
#[derive(Debug, Clone, Args)]
pub struct ModelsResultsArgs {
    /// Run file or id [default: the latest run]
    pub run: Option<String>,
    /// Leave out samples beyond Tukey's fences, which are marked otherwise
    #[arg(long)]
    pub without_outliers: bool,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
