//! What `trend` counts as a change, and what it tells of it.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::Places;

/// Arguments of `trend`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TrendArgs {
    /// What to do with the trends beside showing them
    #[command(subcommand)]
    pub verb: Option<TrendVerb>,
    /// What is followed, and what is told of it
    #[command(flatten)]
    pub followed: FollowedArgs,
    /// Tell the changes and alerts alone, without a row for each series
    #[arg(long, conflicts_with = "json")]
    pub summary: bool,
    /// Show the table with a sparkline of every series first, and the page of `health` below
    #[arg(long, conflicts_with_all = ["json", "summary", "input"])]
    pub dashboard: bool,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What is followed.
#[derive(Debug, Clone, Args)]
pub struct FollowedArgs {
    /// A CSV file with `timestamp,value` and optional `id,unit,better`, instead of the stored runs
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Only ids that contain this text (`*` matches anything)
    #[arg(long, value_name = "PATTERN")]
    pub case: Option<String>,
    /// Only the cases of this framework component, such as pytorch
    #[arg(long, value_name = "ID", conflicts_with = "input", value_parser = component())]
    pub component: Option<String>,
    /// Only this metric [default: the time of an iteration]; `all` for every one
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Only changes for the better
    #[arg(long)]
    pub improvements: bool,
    /// What counts as a change, and what is told of it
    #[command(flatten, next_help_heading = "Settings")]
    pub settings: TrendSettingsArgs,
    /// Where things are kept
    #[command(flatten, next_help_heading = "Places")]
    pub places: Places,
}

/// What to do with the trends beside showing them.
#[derive(Debug, Clone, Subcommand)]
pub enum TrendVerb {
    /// Say of a change of level that it is known, follows from another, or is none: it is then told in one line, or not at all
    Ack {
        /// Its name, such as a-1f2e3d4c, or the beginning of it
        alert: String,
        /// Why, in a sentence
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        because: String,
        /// What it is
        #[arg(long = "as", value_name = "STATE", value_enum, default_value_t = AckState::Acknowledged)]
        state: AckState,
        /// Where things are kept
        #[command(flatten, next_help_heading = "Places")]
        places: Places,
    },
    /// Write the trends to a file
    Export {
        /// The file
        file: PathBuf,
        /// Its format
        #[arg(long, value_enum, default_value_t = TrendExportFormat::Csv)]
        format: TrendExportFormat,
        /// What is followed, and what is told of it
        #[command(flatten)]
        followed: FollowedArgs,
    },
}

/// What a person says of a change of level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AckState {
    /// It is known
    Acknowledged,
    /// It follows from another change
    Downstream,
    /// It is none
    Invalid,
}

/// The format of exported trends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrendExportFormat {
    /// A line for each series
    Csv,
    /// The document of --json
    Json,
    /// A table for people
    Markdown,
    /// A row for each point, change of level and alert
    Parquet,
}

/// Why somebody decides something: not nothing.
fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        Err("give a sentence: later readers have nothing else".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// The name of a framework component.
fn component() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(rsb_engine::frameworks::all().iter().map(|component| component.name)).map(|name| name)
}

/// How change points are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChangeMethodArg {
    /// Exact up to 5000 points, screened beyond
    Auto,
    /// The best of all segmentations
    Exact,
    /// The best among positions where windows of some width differ
    Screened,
    /// No change points
    Off,
}

/// The settings of `trend`.
#[derive(Debug, Clone, Args)]
pub struct TrendSettingsArgs {
    /// How change points are looked for
    #[arg(long, value_enum, default_value_t = ChangeMethodArg::Auto)]
    pub method: ChangeMethodArg,
    /// Points that a new level must hold for before it is confirmed; until then it is suspected
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(2))]
    pub min_size: u32,
    /// Share of false changes and drifts among those that are alerted, over all series
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = fraction)]
    pub significance: f64,
    /// Smallest change that is alerted, in percent; twice of it is critical
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = positive)]
    pub threshold: f64,
    /// Changes more days than this before the last point are told as information; every point is fitted all the same
    #[arg(long, value_name = "DAYS", default_value_t = 30.0, value_parser = positive)]
    pub lookback_days: f64,
    /// Fewest points that are judged
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(3))]
    pub min_points: u32,
    /// How many of the last points the recent trend is about
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(1))]
    pub recent_points: u32,
    /// Points of the rolling mean and median
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count(1))]
    pub rolling_window: u32,
    /// How many days are predicted
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub days_ahead: u32,
    /// How often the predicted interval holds the next value
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = fraction)]
    pub confidence: f64,
    /// How many points before it a point is compared with, to tell an anomaly
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count(4))]
    pub window: u32,
    /// Standard deviations from which on a point is an anomaly
    #[arg(long, value_name = "Z", default_value_t = 2.5, value_parser = positive)]
    pub z_score: f64,
}

fn count(least: i64) -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(least..=1_000_000)
}

fn fraction(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(format!("{value} is not between 0 and 1")) }
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(format!("{value} is not above 0")) }
}
