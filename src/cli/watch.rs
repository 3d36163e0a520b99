//! Arguments of `watch`.

use std::time::Duration;

use clap::Args;
use rsb_model::Suite;

use super::Places;
use super::values::{parse_period, suite};

/// Arguments of `watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// Measure this often, such as 30m, 6h or 1d
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = parse_period)]
    pub every: Duration,
    /// Choose the suite
    #[arg(long, value_name = "NAME", default_value = Suite::Quick.as_str(), value_parser = suite())]
    pub suite: Suite,
    /// Skip a run above this load average [default: half of the usable CPU threads]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub max_load: Option<f64>,
    /// Measure once and exit, for a timer
    #[arg(long)]
    pub once: bool,
    /// Print a systemd timer and a cron line, and measure nothing
    #[arg(long, conflicts_with = "once")]
    pub print_unit: bool,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

/// Parses a load average, which must be positive.
fn parse_load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load: &f64| load.is_finite() && *load > 0.0);
    load.ok_or_else(|| {
        format!("`{text}` is not a load average; write a number above 0, such as 0.5")
    })
}
