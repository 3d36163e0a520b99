//! Where the figures of a case go over many runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Severity;

/// Trends of many series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// One for each metric of each case.
    pub series: Vec<SeriesTrend>,
}

/// The trend of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesTrend {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Points.
    pub n: usize,
    /// First value.
    pub first: f64,
    /// Last value.
    pub last: f64,
    /// Change of the last value against the one before, in percent.
    pub last_change_percent: Option<f64>,
    /// Change of the fitted line in a day, in the unit. Null when the points span less than a day.
    pub slope_per_day: Option<f64>,
    /// Value of the fitted line at the first point's time.
    pub intercept: Option<f64>,
    /// Share of the variance that the line explains.
    pub r_squared: Option<f64>,
    /// Chance of such a slope where there is no trend.
    pub p_value: Option<f64>,
    /// Where it goes.
    pub direction: Direction,
    /// Points where the level changed.
    pub change_points: Vec<ChangePoint>,
    /// The fitted value a week after the last point, when the trend is significant.
    pub forecast: Option<Forecast>,
    /// What asks for attention.
    pub alerts: Vec<Alert>,
    /// The values, oldest first, for a sparkline.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Where a series goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Significantly up.
    Increasing,
    /// Significantly down.
    Decreasing,
    /// Neither.
    Stable,
}

/// A point where the level of a series changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Position of the first point of the new level.
    pub index: usize,
    /// Its time.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Change in percent.
    pub change_percent: f64,
    /// Chance of such a change where there is none.
    pub p_value: f64,
}

/// A value expected later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
}

/// Something that asks for attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// The metric.
    pub metric: String,
    /// `better`, `worse`, or `changed` where the direction is unknown.
    pub direction: String,
    /// How much, in percent.
    pub change_percent: f64,
    /// How bad.
    pub severity: Severity,
    /// What happened.
    pub description: String,
    /// What to do.
    pub recommendation: String,
}
