//! Arguments of `trend`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rsb_app::trend::TrendQuery;
use rsb_model::record::AlertState;
use rsb_stats::trend::{ChangeMethod, TrendSettings};

use super::{FilterArgs, Places};

/// Arguments of `trend`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrendArgs {
    /// The subcommand, instead of showing trends
    #[command(subcommand)]
    pub verb: Option<TrendVerb>,
    /// Show only changes and alerts, without a row for each series
    #[arg(long, conflicts_with = "json")]
    pub summary: bool,
    /// Also show the output of `health`
    #[arg(long, conflicts_with_all = ["json", "summary", "input"])]
    pub dashboard: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Series to follow and changes to report
    #[command(flatten)]
    pub followed: FollowedArgs,
}

/// Selection of series, and changes to report.
#[derive(Debug, Clone, Args)]
pub struct FollowedArgs {
    /// Read a CSV with `timestamp,value[,id,unit,better]`, not stored runs
    ///
    /// Also reads the `data.js` of github-action-benchmark.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Which cases to follow
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Show only this metric, or `all` [default: time per iteration]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Use only the runs of this branch; alerts are shown, but not tracked
    #[arg(long, value_name = "NAME", conflicts_with = "input")]
    pub branch: Option<String>,
    /// Show only improvements
    #[arg(long)]
    pub improvements: bool,
    /// Thresholds of a change
    #[command(flatten, next_help_heading = "Settings")]
    pub settings: TrendSettingsArgs,
    /// Paths of the project's files and directories
    #[command(flatten, next_help_heading = "Paths")]
    pub places: Places,
}

impl FollowedArgs {
    /// Returns the query for the series to follow.
    pub fn query(&self) -> TrendQuery {
        TrendQuery {
            input: self.input.clone(),
            filter: self.filter.filter(),
            metric: self.metric.clone(),
            branch: self.branch.clone(),
            improvements: self.improvements,
            settings: self.settings.settings(),
        }
    }
}

/// Subcommands of `trend`.
#[derive(Debug, Clone, Subcommand)]
pub enum TrendVerb {
    /// Acknowledge an alert
    Ack {
        /// Acknowledge this alert, such as a-1f2e3d4c, or a prefix of it
        alert: String,
        /// Record the reason, in one sentence
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        because: String,
        /// Set the state of the alert
        #[arg(long = "as", value_name = "STATE", value_enum, default_value_t = AckState::Acknowledged)]
        state: AckState,
        /// Paths of the project's files and directories
        #[command(flatten, next_help_heading = "Paths")]
        places: Places,
    },
    /// Write the trends to a file
    Export {
        /// Write to FILE
        file: PathBuf,
        /// Choose the format
        #[arg(long, value_enum, default_value_t = TrendExportFormat::Csv)]
        format: TrendExportFormat,
        /// Series to follow and changes to report
        #[command(flatten)]
        followed: FollowedArgs,
    },
}

/// How a person classifies a change point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AckState {
    /// Known; reported in one line
    Acknowledged,
    /// Caused by another change
    Downstream,
    /// Not a real change
    Invalid,
}

impl AckState {
    /// Returns the state of the alert.
    pub const fn state(self) -> AlertState {
        match self {
            Self::Acknowledged => AlertState::Acknowledged,
            Self::Downstream => AlertState::Downstream,
            Self::Invalid => AlertState::Invalid,
        }
    }
}

/// The format of exported trends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrendExportFormat {
    /// One line per series
    Csv,
    /// The document of --json
    Json,
    /// A Markdown table
    Markdown,
    /// One row per point, change point and alert
    Parquet,
}

/// Parses the reason for a decision, which must not be empty.
fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        Err("the reason is empty; give a sentence for later readers".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// How change points are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChangeMethodArg {
    /// Exact up to 5000 points, screened above
    Auto,
    /// The best of all possible segmentations
    Exact,
    /// The best segmentation at positions where the level seems to change
    Screened,
    /// No change points
    Off,
}

/// The settings of `trend`.
#[derive(Debug, Clone, Args)]
pub struct TrendSettingsArgs {
    /// Choose how change points are detected
    #[arg(long, value_enum, default_value_t = ChangeMethodArg::Auto)]
    pub method: ChangeMethodArg,
    /// Confirm a new level after N points
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(2))]
    pub min_size: u32,
    /// Limit the share of false alerts over all series to P
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = fraction)]
    pub significance: f64,
    /// Alert on changes of at least PERCENT; twice that is critical
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = positive)]
    pub threshold: f64,
    /// Report changes older than DAYS as information only
    #[arg(long, value_name = "DAYS", default_value_t = 30.0, value_parser = positive)]
    pub lookback_days: f64,
    /// Judge only series with at least N points
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(3))]
    pub min_points: u32,
    /// Fit the recent trend to the last N points
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(1))]
    pub recent_points: u32,
    /// Add the rolling means and medians of N points to --json [default: last of 5]
    #[arg(long, value_name = "N", value_parser = count(1))]
    pub rolling_window: Option<u32>,
    /// Predict this many days ahead
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub days_ahead: u32,
    /// Set the confidence level of the predicted interval
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = fraction)]
    pub confidence: f64,
    /// Compare each point with the N points before it to detect anomalies
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count(4))]
    pub window: u32,
    /// Set the distance of an anomaly in standard deviations
    #[arg(long, value_name = "Z", default_value_t = 2.5, value_parser = positive)]
    pub z_score: f64,
}

impl TrendSettingsArgs {
    /// Returns the settings.
    pub fn settings(&self) -> TrendSettings {
        let method = match self.method {
            ChangeMethodArg::Auto => ChangeMethod::Auto,
            ChangeMethodArg::Exact => ChangeMethod::Exact,
            ChangeMethodArg::Screened => ChangeMethod::Screened,
            ChangeMethodArg::Off => ChangeMethod::Off,
        };
        TrendSettings {
            method,
            min_size: self.min_size as usize,
            significance: self.significance,
            alert_threshold_percent: self.threshold,
            lookback_days: self.lookback_days,
            min_data_points: self.min_points as usize,
            recent_points: self.recent_points as usize,
            rolling_window: self
                .rolling_window
                .map_or(TrendSettings::DEFAULT.rolling_window, |window| window as usize),
            has_rolling_series: self.rolling_window.is_some(),
            days_ahead: self.days_ahead,
            confidence: self.confidence,
            anomaly_z: self.z_score,
            window_size: self.window as usize,
        }
    }
}

fn count(least: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(least..=1_000_000)
}

fn fraction(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(format!("{value} is not between 0 and 1"))
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{value} is not above 0"))
    }
}
