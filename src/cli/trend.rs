//! What `trend` counts as a change, and what it tells of it.

use clap::{Args, ValueEnum};

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
