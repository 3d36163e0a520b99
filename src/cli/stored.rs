//! The words of what asks and tends the stored runs: `history`, `query`, `import`, `prune`, `store`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::Places;
use super::values::{Since, parse_since, parse_time, text};

/// Arguments of `history`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HistoryArgs {
    /// A question that has a name
    #[command(subcommand)]
    pub question: Option<HistoryVerb>,
    /// Only ids that contain this text (`*` matches anything); shows the values of each case
    #[arg(long, value_name = "PATTERN")]
    pub case: Option<String>,
    /// List comparisons instead of runs
    #[arg(long, conflicts_with = "case")]
    pub comparisons: bool,
    /// Show at most this many of the latest runs, or of comparisons with --comparisons
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

const COPY_EXAMPLES: &str = "\
Examples:
  store copy benchmark_results postgres://bench@db.example/results     send what is not there yet
  store copy postgres://bench@db.example/results benchmark_results     take in what other machines have sent";

/// The questions that have names.
#[derive(Debug, Clone, Subcommand)]
pub enum HistoryVerb {
    /// What comparisons have called Regressed
    Regressed {
        /// Since when: 30d, 6mo, 1y or a date
        #[arg(long, value_name = "TIME", value_parser = parse_since, default_value = "30d")]
        since: Since,
        /// How to answer
        #[command(flatten)]
        named: NamedArgs,
    },
    /// The cases of the latest run that take longest
    Slowest {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// How to answer
        #[command(flatten)]
        named: NamedArgs,
    },
    /// The cases that no run has measured
    Unmeasured {
        /// Since when: 30d, 6mo, 1y or a date
        #[arg(long, value_name = "TIME", value_parser = parse_since, default_value = "30d")]
        since: Since,
        /// How to answer
        #[command(flatten)]
        named: NamedArgs,
    },
    /// The means of each metric in the runs of two commits; `compare` judges them
    Between {
        /// A revision, or the beginning of a hash
        #[arg(value_name = "REV", value_parser = text())]
        before: String,
        /// Another
        #[arg(value_name = "REV", value_parser = text())]
        after: String,
        /// How to answer
        #[command(flatten)]
        named: NamedArgs,
    },
}

impl HistoryVerb {
    /// How to answer it.
    pub fn named(&self) -> &NamedArgs {
        match self {
            Self::Regressed { named, .. }
            | Self::Slowest { named, .. }
            | Self::Unmeasured { named, .. }
            | Self::Between { named, .. } => named,
        }
    }
}

/// How to answer a question that has a name.
#[derive(Debug, Clone, Args)]
pub struct NamedArgs {
    /// Print the question in SQL, to change it and give it to `query`
    #[arg(long)]
    pub sql: bool,
    /// The form of the answer
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// The form of an answer.
#[derive(Debug, Clone, Args)]
pub struct AnswerArgs {
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Wait this long for the answer, such as 90s or 3m
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    pub timeout: Duration,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// What answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryEngine {
    /// The index: quick for a few series
    Sqlite,
    /// The export in Parquet, which is kept beside the results: quick for scans of everything, with the raw samples
    Duckdb,
}

/// Arguments of `query`.
#[derive(Debug, Clone, Args)]
pub struct QueryArgs {
    /// One SELECT; a wrong name lists the tables and columns that there are
    #[arg(value_parser = text())]
    pub sql: String,
    /// What answers, in its own SQL
    #[arg(long, value_enum, value_name = "NAME", default_value_t = QueryEngine::Sqlite)]
    pub engine: QueryEngine,
    /// The form of the answer
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// The output file of the tool; or a directory of results or runs of this program, of which each run is taken in once
    pub file: PathBuf,
    /// Its format: nvbench, google-benchmark, hyperfine, pytest-benchmark, rocblas-bench, hipblaslt-bench, nccl-tests, nvbandwidth, rocprof-compute or vllm [default: detected]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `prune`.
#[derive(Debug, Clone, Args)]
pub struct PruneArgs {
    /// Delete only runs that are older than so many days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub days: u32,
    /// Keep so many of the newest runs of each machine and suite, however old they are
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
    /// Only say what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// What can be done with a directory of results.
#[derive(Debug, Clone, Subcommand)]
pub enum StoreVerb {
    /// Check the run files by their checksums, the index, and that both say the same; exits 1 when they do not
    Check {
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
    /// Copy the runs that are missing there from one store to another: directories of results, or PostgreSQL
    #[command(after_help = COPY_EXAMPLES)]
    Copy {
        /// Where the runs are: a directory of results, or postgres://USER@HOST/DATABASE
        #[arg(value_parser = text())]
        from: String,
        /// Where they are to be, too
        #[arg(value_parser = text())]
        to: String,
    },
    /// Rebuild the index from the run files; a damaged one is renamed and kept
    Repair {
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
}
