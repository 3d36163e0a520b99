//! Arguments of `notify`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::Places;
use super::values::{parse_period, text};

/// Arguments of `notify`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NotifyArgs {
    /// The subcommand, instead of sending the messages that are due
    #[command(subcommand)]
    pub verb: Option<NotifyVerb>,
    /// Print the messages that are due without sending them
    #[arg(long)]
    pub dry_run: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Subcommands of `notify`.
#[derive(Debug, Clone, Subcommand)]
pub enum NotifyVerb {
    /// Send a test message to one receiver
    Test {
        /// Send to the receiver of this name
        #[arg(value_parser = text())]
        name: String,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Show open alerts, waiting and failed messages, and silences
    Status {
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Acknowledge an alert, so that no reminder is sent
    Ack {
        /// Id of the alert, or its beginning; `notify status` lists all
        #[arg(value_parser = text())]
        alert: String,
        /// Record the reason, in one sentence
        #[arg(long, value_name = "TEXT", value_parser = text())]
        because: String,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Hold back alerts that match a pattern, for a time
    Silence {
        /// Match a part of the alert id, machine or case; `*` matches anything
        #[arg(value_parser = text())]
        pattern: String,
        /// Hold them back this long, such as 8h or 2d
        #[arg(long = "for", value_name = "TIME", default_value = "8h", value_parser = parse_period)]
        period: Duration,
        /// Record the reason, in one sentence
        #[arg(long, value_name = "TEXT")]
        because: Option<String>,
        /// End the silence of this pattern instead
        #[arg(long, conflicts_with_all = ["period", "because"])]
        end: bool,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
}
