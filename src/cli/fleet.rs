//! Arguments of `fleet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Places;
use super::values::{parse_percent, parse_time, text};

/// Examples of `fleet`.
pub const FLEET_EXAMPLES: &str = "\
Examples:
  fleet init                  write fleet.toml with the partitions and classes found
  fleet plan                  what would run where, from fleet.toml; nothing is submitted
  fleet submit                one job per node, at most `max_parallel` at a time
  fleet status --watch        until no job waits or runs
  fleet report                exit 3 if a node is slow, 4 if one is not judged
  fleet resume                measure what is missing, and suspects in pairs with a good node
  fleet compare may june      the same nodes before and after an upgrade
  fleet advice                the command that drains each slow node; nothing is run";

/// Subcommands of `fleet`.
#[derive(Debug, Clone, Subcommand)]
pub enum FleetVerb {
    /// Write a fleet.toml for the cluster here, as its scheduler reports it
    Init {
        /// Write this file [default: fleet.toml]
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// List the nodes by hardware class, with missing GPUs and differing software
    Nodes(FleetViewArgs),
    /// Show the planned jobs and their duration; submit nothing
    Plan(FleetViewArgs),
    /// Submit a campaign: one job per node
    Submit {
        /// Which campaign
        #[command(flatten)]
        campaign: FleetArgs,
        /// Repeat the suites for this long, such as 8h [default: `duration`, or once]
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        duration: Option<Duration>,
    },
    /// Print the Kubernetes jobs of a campaign instead of creating them
    Manifests(FleetArgs),
    /// Show the progress of the jobs
    Status {
        /// Which campaign
        #[command(flatten)]
        campaign: FleetArgs,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Repeat every `poll_seconds` until no job waits or runs
        #[arg(long, conflicts_with = "json")]
        watch: bool,
    },
    /// Store the results of the nodes, each once
    Collect {
        /// Which campaign
        #[command(flatten)]
        campaign: FleetArgs,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Judge the nodes; exit 3 if one is slow, 4 if one is not judged
    Report {
        /// Which campaign
        #[command(flatten)]
        campaign: FleetArgs,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Compare two campaigns; exit 3 if a node or class regressed, 4 without a verdict
    Compare(FleetCompareArgs),
    /// Submit what is missing, and the pairs of suspects
    Resume(FleetArgs),
    /// End the queued and running jobs of a campaign
    Cancel(FleetArgs),
    /// Print the commands that drain the slow nodes; run nothing
    Advice(FleetArgs),
}

/// The configuration of a fleet, and the output format.
#[derive(Debug, Clone, Args)]
pub struct FleetViewArgs {
    /// Read this configuration [default: fleet.toml]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `fleet compare`.
#[derive(Debug, Clone, Args)]
pub struct FleetCompareArgs {
    /// Baseline: the campaign before the change
    #[arg(value_name = "BEFORE", value_parser = text())]
    pub before: String,
    /// Campaign to judge, after the change
    #[arg(value_name = "AFTER", value_parser = text())]
    pub after: String,
    /// Compare only this node
    #[arg(long, value_name = "NODE", value_parser = text(), conflicts_with = "class")]
    pub node: Option<String>,
    /// Compare only the classes that match this pattern
    #[arg(long, value_name = "PATTERN", value_parser = text())]
    pub class: Option<String>,
    /// Set the threshold for times; `[[threshold]]` in the policy wins [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,
    /// Read this configuration [default: fleet.toml]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// The campaign that a subcommand of `fleet` is for.
#[derive(Debug, Clone, Args)]
pub struct FleetArgs {
    /// Name the campaign [default: the latest; for `submit`, the date]
    #[arg(long, value_name = "NAME", value_parser = text())]
    pub campaign: Option<String>,
    /// Read this configuration [default: fleet.toml]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}
