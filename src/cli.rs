//! The command line: clap types and help text only.
#![allow(clippy::doc_markdown)] // The comments are the help: backticks would show on the terminal.

mod baseline;
mod bisect;
mod chart;
mod config;
mod factor;
mod filter;
mod fleet;
mod gate;
mod help;
mod models;
mod notify;
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

use clap::{
    ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};

use rsb_app::config::LogFormat;
use rsb_app::log::LogOptions;
use rsb_app::measure::MeasureOptions;
use rsb_app::report::{ReportForm, ReportFormat};
use rsb_app::{ProjectPaths, choices};
use rsb_catalog::frameworks;
use rsb_catalog::models::ModelRow;
use rsb_model::{Profile, Suite};
use rsb_store::address::without_passwords;

use crate::exit::CliError;
use crate::{console, exit};

pub use baseline::{AcceptArgs, BaselineVerb, RefreshArgs};
pub use bisect::BisectArgs;
pub use chart::{ChartArgs, ChartFormat};
pub use config::ConfigVerb;
pub use filter::FilterArgs;
pub use fleet::{FleetArgs, FleetCompareArgs, FleetVerb, FleetViewArgs};
pub use gate::{GateArgs, JudgeArgs};
pub use help::{CARD, HelpArgs, everything};
pub use models::{
    GoalArg, ModelsArgs, ModelsCompatibilityArgs, ModelsListArgs, ModelsResultsArgs,
    ModelsShowArgs, ModelsVerb, RecommendArgs,
};
pub use notify::{NotifyArgs, NotifyVerb};
pub use probe::{DoctorArgs, ProbeArgs};
pub use project::ProjectArgs;
pub use python::{ComponentsArgs, PythonArgs, PythonVerb, SetupArgs};
pub use serve::ServeArgs;
pub use stored::{
    AnswerArgs, HistoryArgs, HistoryVerb, ImportArgs, NamedArgs, PruneArgs, QueryArgs, QueryEngine,
    StoreVerb,
};
pub use trend::{
    AckState, ChangeMethodArg, FollowedArgs, TrendArgs, TrendExportFormat, TrendSettingsArgs,
    TrendVerb,
};
pub use tui::{PaletteArg, TuiArgs};
pub use values::VerdictFile;
use values::{
    log_format, parse_axis, parse_percent, profile, profiler, report_form, report_format, suite,
    text,
};
pub use watch::WatchArgs;

/// Benchmark GPUs, CPUs and ML frameworks, and detect regressions
#[derive(Debug, Parser)]
#[command(
    name = "rusty-stack-bench",
    version,
    after_help = exit::HELP,
    max_term_width = 110,
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Choose when to use colors; NO_COLOR is honored
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub color: ColorChoice,
    /// The subcommand; without one, a card shows the first steps
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Metric that is measured in addition to the time of this program's benchmarks, or instead of the
/// time in a bisection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExtraMetric {
    /// Instructions per iteration; Valgrind counts them for other projects
    Instructions,
}

/// Examples of `gate`, one for each way to judge.
const GATE_EXAMPLES: &str = "\
Examples:
  gate                                       the latest run, against the baseline saved for this machine
  gate --against HEAD                        my uncommitted edits: builds both, measures them interleaved
  gate --against main --case parse           only cases with `parse` in their id
  gate --against main -- -p my-crate         arguments for cargo bench
  gate --against main --custom mine.toml --build make
                                             commands of a TOML file, in both trees
  gate --against main --build make --bench './bench --benchmark_format=json' --bench-format google-benchmark
  gate --baseline target/criterion@before --current target/criterion@after
                                             saved results of Criterion
  gate --against-history                     the latest run, against the earlier ones";

/// Examples of `query`.
const QUERY_EXAMPLES: &str = "\
Views: benchmark_runs, benchmark_results, measurements, daily_means
Examples:
  query \"SELECT * FROM benchmark_runs ORDER BY timestamp DESC LIMIT 10\"
  query \"SELECT timestamp, value FROM measurements WHERE benchmark_id LIKE '%gemm%' AND metric = 'time_ms'\" --csv
  query \"SELECT day, mean FROM daily_means WHERE metric = 'time_ms'\" --json
  query --engine duckdb \"SELECT id, count(*), median(time_ms) FROM samples GROUP BY id\"
                                             all runs with raw samples, in the view `samples`
  history slowest --sql                      the SQL of a built-in query";

/// Examples of `chart`, one for each source.
const CHART_EXAMPLES: &str = "\
Examples:
  chart                                      list the kinds and their data
  chart line --benchmark memory-bandwidth    the latest run: throughput by size
  chart bar --metric time_ms --ascii         in ASCII characters
  chart delta --against previous             changes since the previous run
  chart trend --benchmark gemm               over the stored runs
  chart roofline --format svg -o roofline.svg";

/// Examples of `serve`.
const SERVE_EXAMPLES: &str = "\
Examples:
  serve                                      on a free local port; prints the address
  serve --listen 0.0.0.0:8080 --token-file token
                                             for other machines, with a token
  serve --export site                        as files, for any web host
The dashboard is read-only without --write-token-file.";

/// The commands; each benchmark's name is a command too.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open the terminal interface: measure, compare, browse history
    Tui(TuiArgs),
    /// Show this machine: CPU, memory, GPUs, drivers, frameworks
    Probe(ProbeArgs),
    /// Diagnose GPUs, drivers and permissions; exit 1 on errors
    #[command(after_help = probe::EXIT_CODES)]
    Doctor(DoctorArgs),
    /// Show the capabilities and peak rates of the GPUs
    GpuCapability(ProbeArgs),
    /// List the benchmarks and their availability on this machine
    List(ListArgs),
    /// Measure a suite, or benchmarks by name, and store the results
    Run(RunArgs),
    /// Judge a run, or your tree (--against); exit 3 on a regression
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArgs),
    /// Compare two runs; exit 0 unless --check finds a regression
    Compare(CompareArgs),
    /// Find the first commit that made a case slower
    Bisect(BisectArgs),
    /// Save, list, show or refresh baselines; accept regressions
    #[command(subcommand)]
    Baseline(BaselineVerb),
    /// Print a policy and a workflow that gates pull requests
    Init(InitArgs),
    /// Show trends and change points over stored runs or a CSV file
    Trend(TrendArgs),
    /// Find slow nodes: benchmark the nodes of a cluster
    #[command(subcommand, after_help = fleet::FLEET_EXAMPLES)]
    Fleet(FleetVerb),
    /// Summarize regressions, improvements, noise and missing results
    Health(HealthArgs),
    /// List stored runs and results, or run a built-in query
    History(HistoryArgs),
    /// Query the stored results in SQL
    #[command(after_help = QUERY_EXAMPLES)]
    Query(QueryArgs),
    /// Measure periodically while the machine is idle
    Watch(WatchArgs),
    /// Send alerts to Slack, mail and other receivers; silence them
    Notify(NotifyArgs),
    /// Export results as CSV, JSON, Parquet, DuckDB or metrics
    Export(ExportArgs),
    /// Import results of other tools, or runs of another directory
    Import(ImportArgs),
    /// Delete old runs, except the latest and those of baselines
    Prune(PruneArgs),
    /// Check, copy or repair the stored results
    #[command(subcommand)]
    Store(StoreVerb),
    /// Write a report of a run with charts
    Report(ReportArgs),
    /// Draw charts in the terminal, as SVG or HTML; list the kinds
    #[command(after_help = CHART_EXAMPLES)]
    Chart(ChartArgs),
    /// Serve a dashboard of the stored results for a browser
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Show the status of each framework and how to install it
    Components(ComponentsArgs),
    /// Measure models of eleven families, list them, show one
    #[command(after_help = models::EXAMPLES)]
    Models(ModelsArgs),
    /// Recommend a device, runtime and precision per model
    Recommend(RecommendArgs),
    /// Show, diagnose or create the Python environment
    #[command(subcommand)]
    Python(PythonVerb),
    /// Write a configuration file with every key, or check one
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Print the JSON Schemas of the `--json` output
    Schema(SchemaArgs),
    /// Print shell completions
    Completions {
        /// Print completions for this shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Show the help of a command, or of all with --all
    Help(HelpArgs),
    /// Run one benchmark with the quick profile
    #[command(skip)]
    Benchmark(String, MeasureArgs),
}

/// Paths of the project's files and directories.
#[derive(Debug, Clone, Default, Args)]
pub struct Places {
    /// Set the results directory [default: benchmark_results]
    #[arg(long, value_name = "DIR", env = "RSB_RESULTS_DIR", hide_env = true)]
    pub results_dir: Option<PathBuf>,
    /// Set the baselines directory [default: baselines]
    #[arg(long, value_name = "DIR", env = "RSB_BASELINES_DIR", hide_env = true)]
    pub baselines_dir: Option<PathBuf>,
    /// Set the policy file [default: policy.toml in the baselines directory]
    #[arg(long, value_name = "FILE", env = "RSB_POLICY", hide_env = true)]
    pub policy: Option<PathBuf>,
    /// Set the configuration file [default: rusty-stack-bench.toml]
    #[arg(long, value_name = "FILE", env = "RSB_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Add benchmarks from a TOML file of commands (docs/extending.md)
    #[arg(long, value_name = "FILE", env = "RSB_CUSTOM", hide_env = true)]
    pub custom: Option<PathBuf>,
}

impl Places {
    /// Returns the paths that were given.
    pub fn paths(&self) -> ProjectPaths {
        let Self { results_dir, baselines_dir, policy, config, custom } = self.clone();
        ProjectPaths { results_dir, baselines_dir, policy, config, custom }
    }

    /// Returns the paths that were given, for a subcommand that only reads the store.
    ///
    /// # Errors
    /// If the command line names a results directory that does not exist. One that the environment
    /// names may be created later.
    pub fn paths_to_read(&self) -> Result<ProjectPaths, CliError> {
        let typed = self.results_dir.as_deref().filter(|dir| {
            std::env::var_os("RSB_RESULTS_DIR").is_none_or(|variable| variable != **dir)
        });
        match typed.filter(|dir| !dir.exists()) {
            Some(dir) => Err(CliError::usage(anyhow::anyhow!(
                "{} does not exist; name the directory of stored runs with --results-dir",
                dir.display()
            ))),
            None => Ok(self.paths()),
        }
    }
}

/// Options of a measurement.
#[derive(Debug, Clone, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // Each is a flag.
pub struct MeasureArgs {
    /// Choose auto, or one or more of rocm,cuda,vulkan,opencl,oneapi,cpu
    #[arg(long, env = "RSB_BACKEND", hide_env = true)]
    pub backend: Option<String>,
    /// Use only these devices, by index, such as 0,1
    #[arg(long, value_delimiter = ',', env = "RSB_DEVICE", hide_env = true)]
    pub device: Vec<u32>,
    /// Replace the values of an axis, such as dtype=f32,f64; repeatable
    #[arg(long, value_name = "NAME=V1,V2", value_parser = parse_axis)]
    pub axis: Vec<(String, Vec<String>)>,
    /// Choose how thoroughly to measure
    #[arg(long, value_parser = profile(), env = "RSB_PROFILE", hide_env = true)]
    pub profile: Option<Profile>,
    /// Take N samples per round, at least 10
    #[arg(long, value_name = "N", env = "RSB_RUNS", hide_env = true, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    pub runs: Option<u64>,
    /// Run N warm-up iterations, for at most a quarter of the measurement time
    #[arg(long, value_name = "N", env = "RSB_WARMUP", hide_env = true)]
    pub warmup: Option<u64>,
    /// Measure each case in N fresh processes
    #[arg(long, value_name = "N", env = "RSB_REPLICATES", hide_env = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub replicates: Option<u32>,
    /// Limit one replicate of a case to S seconds
    #[arg(long, value_name = "S", env = "RSB_TIMEOUT", hide_env = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Also measure this metric
    #[arg(long, value_enum)]
    pub metric: Option<ExtraMetric>,
    /// Profile each case once more with TOOL and keep its files next to the run
    #[arg(long, value_name = "TOOL", value_parser = profiler())]
    pub profiler: Option<String>,
    /// Use this Python for the frameworks [default: see `python list --help`]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// Measure all combinations of the axes in this file
    #[arg(long, value_name = "FILE")]
    pub sweep: Option<PathBuf>,
    /// Print the plan without measuring; exit as the run would
    #[arg(long)]
    pub dry_run: bool,
    /// Show each case as it is measured, and why others were skipped
    #[arg(long, short)]
    pub verbose: bool,
    /// Also show the built-in targets, such as cache hits above 90 %
    #[arg(long)]
    pub targets: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// Write the log of the run into DIR [default: `logs` in the results directory]
    #[arg(long, value_name = "DIR")]
    pub log_dir: Option<PathBuf>,
    /// Choose the format of the log [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = log_format())]
    pub log_format: Option<LogFormat>,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

impl MeasureArgs {
    /// Returns the measurement options.
    pub fn options(&self) -> MeasureOptions {
        MeasureOptions {
            backend: self.backend.clone(),
            device: self.device.clone(),
            axis: self.axis.clone(),
            profile: self.profile,
            runs: self.runs,
            warmup: self.warmup,
            replicates: self.replicates,
            timeout: self.timeout,
            count_instructions: self.metric == Some(ExtraMetric::Instructions),
            profiler: self.profiler.clone(),
            sweep: self.sweep.clone(),
            log: LogOptions { dir: self.log_dir.clone(), format: self.log_format },
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// Measure these benchmarks [default: all of the suite]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Choose the suite [default: quick]
    #[arg(long, value_parser = suite(), env = "RSB_SUITE", hide_env = true)]
    pub suite: Option<Suite>,
    /// Resume a stopped run with its original flags [default: latest]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest",
        conflicts_with_all = ["names", "suite", "dry_run"])]
    pub resume: Option<String>,
    /// Write the id of the stored run to FILE, for scripts
    #[arg(long, value_name = "FILE")]
    pub id_file: Option<PathBuf>,
    /// Write progress events as JSON lines to FILE, or with `-` to standard output
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub events: Option<PathBuf>,
    /// Also send unsent runs to PostgreSQL: postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "ADDRESS", env = "RSB_STORE", hide_env = true)]
    pub store: Option<String>,
    /// Also write these reports next to the results, such as html,csv
    #[arg(long, value_name = "FORMS", value_delimiter = ',', value_parser = report_form())]
    pub reports: Vec<ReportForm>,
    /// Models that are not in the catalogue, from the subcommand `models`
    #[arg(skip)]
    pub models: Option<Vec<ModelRow>>,
    /// Measurement options
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Also show how to add missing requirements, and the axes of each benchmark
    #[arg(long, short)]
    pub verbose: bool,
    /// Also check this configuration file [default: rusty-stack-bench.toml]
    #[arg(long, value_name = "FILE", env = "RSB_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Also list the benchmarks in this file (docs/extending.md)
    #[arg(long, value_name = "FILE", env = "RSB_CUSTOM", hide_env = true)]
    pub custom: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    /// Write the missing files instead of printing all files
    #[arg(long)]
    pub write: bool,
    /// Choose the CI to configure; `none` creates a script for any other CI
    #[arg(long, value_enum, default_value_t)]
    pub ci: CiName,
}

/// The CI that `init` configures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CiName {
    /// GitHub Actions
    #[default]
    Github,
    /// GitLab CI
    Gitlab,
    /// Any other
    None,
}

/// Arguments of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Compare with this run, branch, baseline, previous or Criterion DIR@NAME
    #[arg(value_parser = text())]
    pub baseline: String,
    /// Compare this run, by file, id, branch or commit [default: latest]
    #[arg(value_parser = text())]
    pub current: Option<String>,
    /// Exit with the codes of `gate`
    #[arg(long)]
    pub check: bool,
    /// Comparison options
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// Arguments of `health`.
#[derive(Debug, Clone, Args)]
pub struct HealthArgs {
    /// Call a case noisy if its runs vary by more than PERCENT
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = parse_percent)]
    pub noisy: f64,
    /// Call a case unmeasured after DAYS without a result
    #[arg(long, value_name = "DAYS", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..))]
    pub unmeasured_days: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One line per metric
    Csv,
    /// Every run in full
    Json,
    /// One row per process and case, with samples, machine and verdict
    Parquet,
    /// A DuckDB database with the views of `query` as tables
    Duckdb,
    /// Metrics for Prometheus: times, verdicts, runs and alerts
    Openmetrics,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Choose the format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// Write to FILE [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write at most N series of single cases as openmetrics [default: 5000]
    #[arg(long, value_name = "N")]
    pub max_series: Option<usize>,
    /// Replace the names of this user and host in json
    #[arg(long)]
    pub anonymous: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Report on this run, by file, id, branch or commit [default: latest]
    #[arg(value_parser = text())]
    pub run: Option<String>,
    /// Choose the format
    #[arg(long, default_value = "markdown", value_parser = report_format())]
    pub format: ReportFormat,
    /// Write to PATH, a directory for svg [default: next to the results, or stdout]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Do not embed the data of the run in the HTML page
    #[arg(long)]
    pub no_data: bool,
    /// Draw simulated results, too, marked as such
    #[arg(long)]
    pub simulated: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `schema`.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// Print this schema [default: list all names]
    pub name: Option<String>,
    /// Write every schema to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub dir: Option<PathBuf>,
}

/// The subcommand that runs every benchmark.
pub const ALL: &str = rsb_catalog::selection::ALL;

/// Builds the whole command, with a subcommand for each benchmark.
pub fn command() -> Command {
    let benchmarks = rsb_workloads::all()
        .iter()
        .map(|benchmark| measure_command(benchmark.name(), benchmark.info().about));
    let components =
        frameworks::all().iter().map(|component| measure_command(component.name, component.about));
    Cli::command()
        .subcommands(benchmarks)
        .subcommands(components)
        .subcommand(measure_command(ALL, "Run every benchmark, with the quick profile by default"))
        .override_help(help::overview())
}

fn measure_command(name: &'static str, about: &str) -> Command {
    MeasureArgs::augment_args(Command::new(name)).about(about.to_owned())
}

/// Returns whether the subcommand `name` is a framework component with a generated subcommand.
fn is_component(name: &str) -> bool {
    frameworks::all().iter().any(|component| component.name == name)
}

/// Parses the command line `arguments`, starting with the program name. Exits with code 2 on
/// invalid arguments, and lists the valid ones.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Cli {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = command()
        .try_get_matches_from(&arguments)
        .unwrap_or_else(|error| refuse(&error, &arguments));
    let is_benchmark =
        |name: &str| name == ALL || rsb_workloads::find(name).is_some() || is_component(name);
    let parsed = match matches.subcommand() {
        Some((name, own)) if is_benchmark(name) => {
            MeasureArgs::from_arg_matches(own).map(|args| Cli {
                color: matches.get_one("color").copied().unwrap_or(ColorChoice::Auto),
                verb: Some(Verb::Benchmark(name.to_owned(), args)),
            })
        }
        _ => Cli::from_arg_matches(&matches),
    };
    parsed.unwrap_or_else(|error| error.format(&mut command()).exit())
}

/// Prints `error` and exits. If an argument is missing, also lists the possible values.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> ! {
    // An argument that clap quotes may be an address with a password.
    let text = error.render().to_string();
    if without_passwords(&text) == text {
        // Ignore a closed terminal.
        let _ = error.print();
    } else {
        console::say(&text);
    }
    if error.kind() == clap::error::ErrorKind::MissingRequiredArgument
        && let Ok(matches) = command().ignore_errors(true).try_get_matches_from(arguments)
    {
        for line in choices_for(&matches) {
            console::say(&line);
        }
    }
    std::process::exit(error.exit_code())
}

/// Returns lines that list the possible arguments of the subcommand in `matches`.
fn choices_for(matches: &ArgMatches) -> Vec<String> {
    let Some((name, own)) = matches.subcommand() else { return Vec::new() };
    let (name, own) = match own.subcommand() {
        Some((inner, own)) if name == "baseline" => (inner, own),
        _ => (name, own),
    };
    if !choices::SUBCOMMANDS.contains(&name) {
        return Vec::new();
    }
    let places = Places::from_arg_matches(own).unwrap_or_default();
    choices::of(name, &places.paths(), &mut console::tell)
}

#[cfg(test)]
mod tests {
    use rsb_app::environment;

    use super::*;

    #[test]
    fn the_command_is_consistent_and_every_benchmark_is_a_verb() {
        let command = command();
        command.clone().debug_assert();
        for benchmark in rsb_workloads::all() {
            assert!(command.find_subcommand(benchmark.name()).is_some(), "{}", benchmark.name());
        }
    }

    #[test]
    fn every_variable_of_a_flag_is_known() {
        let command = command();
        let mut pending = vec![&command];
        while let Some(command) = pending.pop() {
            pending.extend(command.get_subcommands());
            for argument in command.get_arguments() {
                let Some(variable) = argument.get_env() else { continue };
                let flag = format!("--{}", argument.get_long().unwrap_or_default());
                let known = environment::KNOWN.iter().find(|(name, _)| variable == *name);
                assert_eq!(known.map(|(_, about)| *about), Some(flag.as_str()), "{variable:?}");
            }
        }
    }
}
