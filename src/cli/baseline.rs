//! The words of `baseline`.

use clap::{Args, Subcommand};

use super::Places;
use super::values::{parse_percent, text};

/// What can be done with baselines.
#[derive(Debug, Clone, Subcommand)]
pub enum BaselineVerb {
    /// Save runs as the baseline of their machine
    Save {
        /// Name [default: the suite of the run]
        name: Option<String>,
        /// Run file or id [default: the latest run]; may be repeated, each is a replicate
        #[arg(long, value_name = "RUN", value_parser = text())]
        run: Vec<String>,
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
    /// List the baselines of every machine
    List {
        /// Write one JSON document
        #[arg(long)]
        json: bool,
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
    /// Show a baseline and the regressions accepted into it
    Show {
        /// Its name, or its file
        #[arg(value_parser = text())]
        name: String,
        /// Only one of this very machine; exit 4 when there is none
        #[arg(long)]
        here: bool,
        /// Write one JSON document
        #[arg(long)]
        json: bool,
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
    /// Remeasure the cases of baselines as thoroughly as before and replace them; git keeps the old ones
    Refresh(RefreshArgs),
    /// Accept a regression: the run's figures of the case replace those of the baseline, and the reason is kept
    Accept(AcceptArgs),
}

/// Arguments of `baseline refresh`.
#[derive(Debug, Clone, Args)]
pub struct RefreshArgs {
    /// Names of baselines [default: every one of this machine]
    pub name: Vec<String>,
    /// Replace a baseline even when some of its cases have no figures any more
    #[arg(long)]
    pub force: bool,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// Arguments of `baseline accept`.
#[derive(Debug, Clone, Args)]
pub struct AcceptArgs {
    /// Id of the case, or a pattern for several (`*` matches anything)
    pub id: String,
    /// Why it is accepted; kept in the baseline
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// The run in which it regressed, by file or id [default: the latest run]
    #[arg(long, value_name = "RUN", value_parser = text())]
    pub from: Option<String>,
    /// Name of the baseline [default: the one saved for the run's machine and suite]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Threshold in percent unless the policy sets another [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}
