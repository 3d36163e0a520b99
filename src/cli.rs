//! The command line: clap types and help text only.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

mod baseline;
mod bisect;
mod chart;
mod config;
mod factor;
mod gate;
mod models;
mod probe;
mod project;
mod python;
mod serve;
mod stored;
mod trend;
mod tui;
mod values;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use rsb_engine::frameworks;
use rsb_engine::models::ModelRow;
use rsb_model::{Profile, Suite};

use crate::{commands, console, exit};

pub use baseline::{AcceptArgs, BaselineVerb, RefreshArgs};
pub use bisect::BisectArgs;
pub use chart::{ChartArgs, ChartFormat};
pub use config::ConfigVerb;
pub use gate::{GateArgs, JudgeArgs};
pub use models::{
    GoalArg, ModelsArgs, ModelsCompatibilityArgs, ModelsListArgs, ModelsResultsArgs, ModelsShowArgs, ModelsVerb,
    RecommendArgs,
};
pub use probe::{DoctorArgs, ProbeArgs};
pub use project::ProjectArgs;
pub use python::{ComponentsArgs, PythonArgs, PythonVerb, SetupArgs};
pub use serve::ServeArgs;
pub use stored::{
    AnswerArgs, HistoryArgs, HistoryVerb, ImportArgs, NamedArgs, PruneArgs, QueryArgs, QueryEngine, StoreVerb,
};
pub use trend::{AckState, ChangeMethodArg, FollowedArgs, TrendArgs, TrendExportFormat, TrendSettingsArgs, TrendVerb};
pub use tui::{PaletteArg, TuiArgs};
pub use values::{ReportForm, Since, VerdictFile};
use values::{parse_axis, parse_percent, profile, profiler, report_form, suite, text};
pub use watch::WatchArgs;

/// Benchmarks GPUs, CPUs and ML frameworks with Criterion, stores every result with the machine that made it,
/// compares it with a baseline, and fails only when something got more than 10 % slower.
#[derive(Debug, Parser)]
#[command(name = "rusty-stack-bench", version, after_help = exit::HELP, max_term_width = 110, propagate_version = true)]
pub struct Cli {
    /// When to use colors; NO_COLOR is honored
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub color: ColorChoice,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What is measured beside the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExtraMetric {
    /// Instructions of one iteration, by the counters of the CPU, else by Valgrind: for cases that this program works
    /// on itself on a CPU.
    Instructions,
}

/// A way to be judged on each line.
const GATE_EXAMPLES: &str = "\
Examples:
  gate                                       the latest run, against the baseline saved for this machine
  gate --against HEAD                        what did my edits change? builds both, measures them interleaved
  gate --against main --benchmark parse      only cases with `parse` in their id
  gate --against main -- -p my-crate         arguments for cargo bench
  gate --against main --custom mine.toml --build make
                                             commands of yours, in the trees of both
  gate --against main --build make --bench './bench --benchmark_format=json' --bench-format google-benchmark
  gate --baseline target/criterion@before --current target/criterion@after
                                             saved results of Criterion
  gate --against-history                     the latest run, against the earlier ones";

/// A question of each kind.
const QUERY_EXAMPLES: &str = "\
Views: benchmark_runs, benchmark_results, measurements, daily_means
Examples:
  query \"SELECT * FROM benchmark_runs ORDER BY timestamp DESC LIMIT 10\"
  query \"SELECT timestamp, value FROM measurements WHERE benchmark_id LIKE '%gemm%' AND metric = 'time_ms'\" --csv
  query \"SELECT day, mean FROM daily_means WHERE metric = 'time_ms'\" --json
  query --engine duckdb \"SELECT id, count(*), median(time_ms) FROM samples GROUP BY id\"
                                             all runs with their raw samples (`samples`)
  history slowest --sql                      the SQL of a question that has a name";

/// A chart of each source.
const CHART_EXAMPLES: &str = "\
Examples:
  chart                                      every kind, and what it needs
  chart line --benchmark memory-bandwidth    the latest run: throughput by size
  chart bar --metric time_ms --ascii         in plain characters
  chart delta --against previous             what changed since the run before
  chart trend --benchmark gemm               over the stored runs
  chart roofline --format svg -o roofline.svg";

/// A reader of each kind.
const SERVE_EXAMPLES: &str = "\
Examples:
  serve                                      at a free port of this machine; the address is printed
  serve --listen 0.0.0.0:8080 --token-file token
                                             for others, who open the printed address once
  serve --export site                        as files, for any web host
Everything is read and nothing changed.";

/// The commands; each benchmark's name is a command too.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Look, measure and compare in the terminal: a page for each stage, keys and mouse
    Tui(TuiArgs),
    /// Show the hardware and software of this machine: CPU, memory, GPUs, drivers, Python, frameworks
    Probe(ProbeArgs),
    /// Diagnose the GPUs, drivers, permissions and the ROCm installation; exits 1 on errors; measure what they reach
    Doctor(DoctorArgs),
    /// Show the capabilities of the GPUs: compute units, memory, data types, peak rates
    GpuCapability(ProbeArgs),
    /// List the benchmarks and the backends that each can run on here
    List(ListArgs),
    /// Measure a suite, or benchmarks by name, and store the results
    Run(RunArgs),
    /// Compare a run with a baseline; exits 3 on a regression, 4 without a verdict
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArgs),
    /// Compare two runs; never fails unless --check is given
    Compare(CompareArgs),
    /// Find the first commit that made a case slower
    Bisect(BisectArgs),
    /// Save, list, show and refresh baselines; accept regressions
    #[command(subcommand)]
    Baseline(BaselineVerb),
    /// Print or write what a project starts with: a policy, and a workflow that gates its pull requests
    Init(InitArgs),
    /// Show the trend of each metric over the stored runs, or over a CSV file
    Trend(TrendArgs),
    /// One page: what became worse or better, what is noisy, missing or long unmeasured, and what to do
    Health(HealthArgs),
    /// Show earlier runs and their results, or answer a question about them
    History(HistoryArgs),
    /// Ask the stored results in SQL
    #[command(after_help = QUERY_EXAMPLES)]
    Query(QueryArgs),
    /// Measure again and again, at a low priority and only while the machine is idle, and tell what changed
    Watch(WatchArgs),
    /// Export all stored results as CSV, JSON, Parquet or a database of DuckDB
    Export(ExportArgs),
    /// Import results of other tools, or the runs of another directory
    Import(ImportArgs),
    /// Delete old runs, but for those that baselines were made from and the latest
    Prune(PruneArgs),
    /// Check or repair the stored results
    #[command(subcommand)]
    Store(StoreVerb),
    /// Write a report of a run with charts
    Report(ReportArgs),
    /// Draw charts: in the terminal, as SVG or as a page; without a kind, list the kinds
    #[command(after_help = CHART_EXAMPLES)]
    Chart(ChartArgs),
    /// Serve a dashboard of the stored results, for a browser, or write it as files
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Show the status of each framework component: last results, targets, what is missing and how to get it
    Components(ComponentsArgs),
    /// Measure models of eleven families, list them, or show what one needs
    #[command(after_help = models::EXAMPLES)]
    Models(ModelsArgs),
    /// Show the best device, runtime and precision for each model: as measured, and predicted where nobody did
    Recommend(RecommendArgs),
    /// Show, diagnose or create the Python environment of the frameworks
    #[command(subcommand)]
    Python(PythonVerb),
    /// Write a configuration file with every key, or check one
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Print the JSON Schemas of the documents
    Schema(SchemaArgs),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Run one benchmark with the quick profile
    #[command(skip)]
    Benchmark(String, MeasureArgs),
}

/// Where things are kept.
#[derive(Debug, Clone, Default, Args)]
pub struct Places {
    /// Results directory [default: benchmark_results]
    #[arg(long, value_name = "DIR", env = "RSB_RESULTS_DIR", hide_env = true)]
    pub results_dir: Option<PathBuf>,
    /// Baselines directory [default: baselines]
    #[arg(long, value_name = "DIR", env = "RSB_BASELINES_DIR", hide_env = true)]
    pub baselines_dir: Option<PathBuf>,
    /// Policy file [default: policy.toml in the baselines directory, if present]
    #[arg(long, value_name = "FILE", env = "RSB_POLICY", hide_env = true)]
    pub policy: Option<PathBuf>,
    /// Configuration file [default: rusty-stack-bench.toml, if present]
    #[arg(long, value_name = "FILE", env = "RSB_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Benchmarks of your own: a TOML file of commands (docs/extending.md)
    #[arg(long, value_name = "FILE", env = "RSB_CUSTOM", hide_env = true)]
    pub custom: Option<PathBuf>,
}

/// How to measure.
#[derive(Debug, Clone, Default, Args)]
pub struct MeasureArgs {
    /// Use only devices of this backend: auto, rocm, cuda, vulkan, opencl, oneapi or cpu [default: auto]
    #[arg(long, env = "RSB_BACKEND", hide_env = true)]
    pub backend: Option<String>,
    /// Use only these devices, such as 0,1
    #[arg(long, value_delimiter = ',', env = "RSB_DEVICE", hide_env = true)]
    pub device: Vec<u32>,
    /// Replace the values of an axis; may be repeated
    #[arg(long, value_name = "NAME=V1,V2", value_parser = parse_axis)]
    pub axis: Vec<(String, Vec<String>)>,
    /// How thoroughly
    #[arg(long, value_parser = profile(), env = "RSB_PROFILE", hide_env = true)]
    pub profile: Option<Profile>,
    /// Samples per round, at least 10
    #[arg(long, value_name = "N", env = "RSB_RUNS", hide_env = true, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub runs: Option<u64>,
    /// Warm-up iterations; at most as many as fit in a quarter of the measurement time
    #[arg(long, value_name = "N", env = "RSB_WARMUP", hide_env = true)]
    pub warmup: Option<u64>,
    /// Fresh processes per case
    #[arg(long, value_name = "N", env = "RSB_REPLICATES", hide_env = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub replicates: Option<u32>,
    /// Time limit of one replicate of a case, in seconds
    #[arg(long, value_name = "S", env = "RSB_TIMEOUT", hide_env = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Also measure this, beside the time
    #[arg(long, value_enum)]
    pub metric: Option<ExtraMetric>,
    /// Profile each case that this tool sees, once more after the samples, and keep its files beside the run
    #[arg(long, value_name = "TOOL", value_parser = profiler())]
    pub profiler: Option<String>,
    /// Python interpreter for the frameworks [default: see `python list --help`]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Measure the scenarios in this file: all combinations of batch sizes, sequence lengths, precisions and other axes
    #[arg(long, value_name = "FILE")]
    pub sweep: Option<PathBuf>,
    /// Write one JSON document to standard output and nothing else
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// Benchmarks by name [default: all of the suite]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The suite [default: quick]
    #[arg(long, value_parser = suite(), env = "RSB_SUITE", hide_env = true)]
    pub suite: Option<Suite>,
    /// Print the plan without measuring
    #[arg(long)]
    pub dry_run: bool,
    /// Measure what RUN, which was stopped, still lacks [default: the latest]; with the flags that it was begun with
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest",
        conflicts_with_all = ["names", "suite", "dry_run"])]
    pub resume: Option<String>,
    /// Also write the id of the stored run to FILE, for a script that judges this run by name
    #[arg(long, value_name = "FILE")]
    pub id_file: Option<PathBuf>,
    /// Also send this run, and earlier ones that could not be sent, to a PostgreSQL that machines share:
    /// postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "ADDRESS", env = "RSB_STORE", hide_env = true)]
    pub store: Option<String>,
    /// Also write these reports beside the results, such as html,csv, or all
    #[arg(long, value_name = "FORMS", value_delimiter = ',', value_parser = report_form())]
    pub reports: Vec<ReportForm>,
    /// Models that are not in the catalogue; those of the verb `models`, which has a document of its own
    #[arg(skip)]
    pub models: Option<Vec<ModelRow>>,
    /// How to measure
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Also show the axes of each benchmark
    #[arg(long, short)]
    pub verbose: bool,
    /// Configuration file to check [default: rusty-stack-bench.toml, if present]
    #[arg(long, value_name = "FILE", env = "RSB_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Also list the benchmarks in this file (docs/extending.md)
    #[arg(long, value_name = "FILE", env = "RSB_CUSTOM", hide_env = true)]
    pub custom: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    /// Write the files that are not there yet, in place of printing all of them
    #[arg(long)]
    pub write: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// What to compare with: run file, id, baseline file or name, previous or latest~N, or Criterion's results as DIR@NAME
    #[arg(value_parser = text())]
    pub baseline: String,
    /// What to compare: run file or id [default: the latest run]
    #[arg(value_parser = text())]
    pub current: Option<String>,
    /// Exit as `gate` does
    #[arg(long)]
    pub check: bool,
    /// How to compare
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// Arguments of `health`.
#[derive(Debug, Clone, Args)]
pub struct HealthArgs {
    /// A case is noisy from this much from run to run on, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = parse_percent)]
    pub noisy: f64,
    /// A case is unmeasured after so many days without a figure
    #[arg(long, value_name = "DAYS", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..))]
    pub unmeasured_days: u32,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One line a metric.
    Csv,
    /// Every run, whole.
    Json,
    /// A row for each process of each case, with raw samples, machine and verdict; `import` takes it back.
    Parquet,
    /// A database of DuckDB with the views of `query` as tables.
    Duckdb,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// File to write; `-` for standard output [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A page with tables, and charts beside it.
    #[default]
    Markdown,
    /// One page with everything in it, the run too: gate, compare and report read it as a run.
    Html,
    /// The same page as an accessible PDF (PDF/UA-1); builds with the feature `pdf` write it.
    Pdf,
    /// The run as stored.
    Json,
    /// One line a metric.
    Csv,
    /// For a terminal.
    Text,
    /// The charts alone.
    Svg,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportArgs {
    /// Run file or id [default: the latest run]
    #[arg(value_parser = text())]
    pub run: Option<String>,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Markdown)]
    pub format: ReportFormat,
    /// File to write (a directory for svg); `-` for standard output [default: markdown, html, pdf and svg beside the
    /// results, others to standard output]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Leave the run itself out of the page
    #[arg(long)]
    pub no_data: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `schema`.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// Name of the document; lists all without one
    pub name: Option<String>,
    /// Write every schema to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub dir: Option<PathBuf>,
}

/// The verb that runs every benchmark.
pub const ALL: &str = rsb_engine::plan::ALL;

/// The whole command, with a verb for each benchmark.
pub fn command() -> Command {
    let verb = |name: &'static str, about: &str| MeasureArgs::augment_args(Command::new(name)).about(about.to_owned());
    let benchmarks = rsb_workloads::all().iter().map(|benchmark| verb(benchmark.name(), benchmark.about()));
    let components = frameworks::all().iter().map(|component| verb(component.name, component.about));
    Cli::command()
        .subcommands(benchmarks)
        .subcommands(components)
        .subcommand(verb(ALL, "Run every benchmark with the quick profile"))
}

/// Whether the verb `name` is made from a component; models have a verb of their own.
fn is_component(name: &str) -> bool {
    frameworks::all().iter().any(|component| component.name == name)
}

/// The command line `arguments`, the program first. Invalid ones exit with code 2 and name what is valid.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Cli {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = command().try_get_matches_from(&arguments).unwrap_or_else(|error| refuse(&error, &arguments));
    let is_benchmark = |name: &str| name == ALL || rsb_workloads::find(name).is_some() || is_component(name);
    let parsed = match matches.subcommand() {
        Some((name, own)) if is_benchmark(name) => MeasureArgs::from_arg_matches(own).map(|args| Cli {
            color: matches.get_one("color").copied().unwrap_or(ColorChoice::Auto),
            verb: Verb::Benchmark(name.to_owned(), args),
        }),
        _ => Cli::from_arg_matches(&matches),
    };
    parsed.unwrap_or_else(|error| error.format(&mut command()).exit())
}

/// Prints `error`, with what can be given if an argument is missing, and exits.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> ! {
    // A terminal that is gone takes no message.
    let _ = error.print();
    if error.kind() == clap::error::ErrorKind::MissingRequiredArgument
        && let Ok(matches) = command().ignore_errors(true).try_get_matches_from(arguments)
    {
        for line in commands::choices::of(&matches) {
            console::say(&line);
        }
    }
    std::process::exit(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_consistent_and_every_benchmark_is_a_verb() {
        let command = command();
        command.clone().debug_assert();
        for benchmark in rsb_workloads::all() {
            assert!(command.find_subcommand(benchmark.name()).is_some(), "{}", benchmark.name());
        }
    }
}
