//! Arguments of the subcommands for stored runs: `history`, `query`, `import`, `prune`, `store`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use rsb_app::history::Since;

use super::values::{import_format_help, parse_since, parse_time, text};
use super::{FilterArgs, Places};

/// Arguments of `history`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HistoryArgs {
    /// Run a built-in query
    #[command(subcommand)]
    pub question: Option<HistoryVerb>,
    /// Which cases to show the values of, instead of runs
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Show only runs of this branch
    #[arg(long, value_name = "NAME", value_parser = text())]
    pub branch: Option<String>,
    /// List comparisons instead of runs
    #[arg(long, conflicts_with_all = ["benchmark", "case", "branch"])]
    pub comparisons: bool,
    /// Show at most the N latest runs, or comparisons with --comparisons
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

const COPY_EXAMPLES: &str = "\
Examples:
  store copy benchmark_results postgres://bench@db.example/results     send the missing runs
  store copy postgres://bench@db.example/results benchmark_results     fetch the runs of other machines";

/// Built-in queries.
#[derive(Debug, Clone, Subcommand)]
pub enum HistoryVerb {
    /// List the regressions that comparisons found
    Regressed {
        /// Look back this far: 30d, 6mo, 1y or a date
        #[arg(long, value_name = "TIME", value_parser = parse_since, default_value = "30d")]
        since: Since,
        /// Output options of the query
        #[command(flatten)]
        named: NamedArgs,
    },
    /// List the slowest cases of the latest run
    Slowest {
        /// Show at most N cases
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Output options of the query
        #[command(flatten)]
        named: NamedArgs,
    },
    /// List the cases without a recent measurement
    Unmeasured {
        /// Look back this far: 30d, 6mo, 1y or a date
        #[arg(long, value_name = "TIME", value_parser = parse_since, default_value = "30d")]
        since: Since,
        /// Output options of the query
        #[command(flatten)]
        named: NamedArgs,
    },
    /// Compare the means of each metric in the runs of two commits
    Between {
        /// Read the runs of this commit, by revision or hash prefix
        #[arg(value_name = "REV", value_parser = text())]
        before: String,
        /// Compare them with the runs of this commit
        #[arg(value_name = "REV", value_parser = text())]
        after: String,
        /// Output options of the query
        #[command(flatten)]
        named: NamedArgs,
    },
}

impl HistoryVerb {
    /// Returns the options of the query.
    pub fn named_args(&self) -> &NamedArgs {
        match self {
            Self::Regressed { named, .. }
            | Self::Slowest { named, .. }
            | Self::Unmeasured { named, .. }
            | Self::Between { named, .. } => named,
        }
    }
}

/// Options of a built-in query.
#[derive(Debug, Clone, Args)]
pub struct NamedArgs {
    /// Print the SQL for `query` instead of running it
    #[arg(long)]
    pub sql: bool,
    /// Output options
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Output options of a query.
#[derive(Debug, Clone, Args)]
pub struct AnswerArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Limit the time of the query, such as 90s or 3m
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Engine that runs a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryEngine {
    /// The index: fast for a few series
    Sqlite,
    /// The Parquet export: fast for full scans, with raw samples
    Duckdb,
}

/// Arguments of `query`.
#[derive(Debug, Clone, Args)]
pub struct QueryArgs {
    /// Run this SELECT statement
    #[arg(value_parser = text())]
    pub sql: String,
    /// Choose the engine, and its SQL dialect
    #[arg(long, value_enum, value_name = "NAME", default_value_t = QueryEngine::Sqlite)]
    pub engine: QueryEngine,
    /// Output options
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Import this output file, or a directory of results or runs
    pub file: PathBuf,
    /// Name the format [default: detected]
    #[arg(long, value_name = "NAME", long_help = import_format_help())]
    pub format: Option<String>,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `prune`.
#[derive(Debug, Clone, Args)]
pub struct PruneArgs {
    /// Delete only runs older than N days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub days: u32,
    /// Keep the N newest runs of each machine and suite
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// List the runs to delete without deleting them
    #[arg(long)]
    pub dry_run: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Subcommands of `store`.
#[derive(Debug, Clone, Subcommand)]
pub enum StoreVerb {
    /// Check the run files and the index; exit 1 on a mismatch
    Check {
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Copy missing runs from one store to another
    #[command(after_help = COPY_EXAMPLES)]
    Copy {
        /// Copy from this directory or postgres://USER@HOST/DATABASE
        #[arg(value_parser = text())]
        from: String,
        /// Copy to this directory or PostgreSQL address
        #[arg(value_parser = text())]
        to: String,
    },
    /// Rebuild the index from the run files; keep a damaged index as a copy
    Repair {
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
}
