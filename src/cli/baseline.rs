//! Arguments of `baseline`.

use clap::{Args, Subcommand};

use super::Places;
use super::values::{parse_percent, text};

/// Subcommands of `baseline`.
#[derive(Debug, Clone, Subcommand)]
pub enum BaselineVerb {
    /// Save runs as the baseline of their machine
    Save {
        /// Save under NAME [default: the suite of the run]
        name: Option<String>,
        /// Save this run, by file, id, branch or commit [default: latest]; repeatable
        #[arg(long, value_name = "RUN", value_parser = text())]
        run: Vec<String>,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// List the baselines of every machine
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Show a baseline and the regressions accepted into it
    Show {
        /// Show this baseline, by name or file
        #[arg(value_parser = text())]
        name: String,
        /// Require a baseline of this machine; exit 4 without one
        #[arg(long)]
        here: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Remeasure baselines and replace them
    Refresh(RefreshArgs),
    /// Accept a regression into the baseline, with the reason
    Accept(AcceptArgs),
}

/// Arguments of `baseline refresh`.
#[derive(Debug, Clone, Args)]
pub struct RefreshArgs {
    /// Refresh these baselines [default: all of this machine]
    pub name: Vec<String>,
    /// Replace a baseline even if some of its cases can no longer be measured
    #[arg(long)]
    pub force: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Arguments of `baseline accept`.
#[derive(Debug, Clone, Args)]
pub struct AcceptArgs {
    /// Accept this case, by id or pattern (`*` matches anything)
    pub id: String,
    /// Record this reason in the baseline
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// Take the values of this run, by file, id, branch or commit [default: latest]
    #[arg(long, value_name = "RUN", value_parser = text())]
    pub from: Option<String>,
    /// Change the baseline NAME [default: that of the run's machine and suite]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Set the threshold for times; `[[threshold]]` in the policy wins [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}
