//! Trends of metrics over many runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Severity, TrackedAlert};

/// Trends of many series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Trends, one for each metric of each case.
    pub series: Vec<SeriesTrend>,
    /// Level changes that are tracked from one analysis to the next, worst first. Only for stored
    /// runs.
    #[serde(default)]
    pub changes: Vec<TrackedAlert>,
    /// Changes of at least three series in one direction within two runs, which suggest a common
    /// cause.
    #[serde(default)]
    pub common_changes: Vec<CommonChange>,
}

/// Change of several series at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonChange {
    /// `better`, `worse`, or `changed` if the direction is unknown.
    pub direction: String,
    /// Time of the first point at the new level, in the series that changed first.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub from_timestamp: jiff::Timestamp,
    /// Time of the first point at the new level, in the series that changed last.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub to_timestamp: jiff::Timestamp,
    /// Series that changed.
    pub series: Vec<CommonMember>,
}

/// Change of one series in a [`CommonChange`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonMember {
    /// Id of the case or series.
    pub id: String,
    /// Name of the metric.
    pub metric: String,
    /// Index of the first point at the new level, as in [`ChangePoint::index`].
    pub index: usize,
    /// Change in percent.
    pub change_percent: f64,
}

/// Trend of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesTrend {
    /// Id of the case or series.
    pub id: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Number of points.
    pub n: usize,
    /// First value.
    pub first: f64,
    /// Last value.
    pub last: f64,
    /// Change from the second-last to the last value, in percent.
    pub last_change_percent: Option<f64>,
    /// Slope of the fitted line per day, in `unit`. Null if the points span less than a day.
    pub slope_per_day: Option<f64>,
    /// Value of the fitted line at the time of the first point.
    pub intercept: Option<f64>,
    /// Share of the variance explained by the line (R²).
    pub r_squared: Option<f64>,
    /// Probability of such a slope if there is no trend.
    pub p_value: Option<f64>,
    /// Direction of the fitted line.
    pub direction: Direction,
    /// Shape of the series.
    #[serde(default)]
    pub shape: TrendShape,
    /// Theil-Sen slope per day (median slope of all pairs of points), in `unit`. Null if the points
    /// span less than a day.
    #[serde(default)]
    pub theil_sen_per_day: Option<f64>,
    /// Mann-Kendall test for a monotonic trend. Null with fewer than three points, or if all values
    /// are equal.
    #[serde(default)]
    pub mann_kendall: Option<MonotoneTest>,
    /// Autocorrelation at lag 1 around the levels, from 0 to 0.8.
    #[serde(default)]
    pub autocorrelation: f64,
    /// Mean of the most recent points.
    #[serde(default)]
    pub rolling_mean: Option<f64>,
    /// Median of the most recent points.
    #[serde(default)]
    pub rolling_median: Option<f64>,
    /// Rolling mean and median of every point, if requested with `--rolling-window`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling: Option<RollingSeries>,
    /// Comparison of the most recent points with earlier points at the same level.
    #[serde(default)]
    pub recent: Option<RecentTrend>,
    /// Points at which the level changed permanently.
    pub change_points: Vec<ChangePoint>,
    /// Change at the most recent points, if they do not fit the previous level but are too few to
    /// confirm a new one. At most one entry.
    #[serde(default)]
    pub suspected: Vec<ChangePoint>,
    /// Two levels between which the points since the last change alternate, such as those of two
    /// machine types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_levels: Option<TwoLevels>,
    /// Gradual rise or fall between two levels, if it describes the series better than steps.
    #[serde(default)]
    pub ramp: Option<Ramp>,
    /// Forecast for the last requested day, if the trend is significant.
    pub forecast: Option<Forecast>,
    /// Expected values for the days after the last point, even if there is no trend.
    #[serde(default)]
    pub predicted: Vec<PredictedValue>,
    /// Points that are far from the points before them.
    #[serde(default)]
    pub anomalies: Vec<Anomaly>,
    /// Alerts, newest first.
    pub alerts: Vec<Alert>,
    /// All values, oldest first, for a sparkline.
    #[serde(skip)]
    pub values: Vec<f64>,
}

/// Rolling averages of a series, one value for each point, oldest first. The first values are of
/// fewer points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RollingSeries {
    /// Number of points of each average.
    pub window: usize,
    /// Times of the points.
    #[schemars(with = "Vec<String>")]
    pub timestamps: Vec<jiff::Timestamp>,
    /// Means.
    pub mean: Vec<f64>,
    /// Medians.
    pub median: Vec<f64>,
}

named_enum! {
    serde
    /// Direction of a series.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Direction {
        /// Significant increase.
        Increasing = "increasing",
        /// Significant decrease.
        Decreasing = "decreasing",
        /// No significant trend.
        Stable = "stable",
    }
}

named_enum! {
    serde
    /// Shape of a series.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum TrendShape {
        /// One level.
        #[default]
        Stable = "stable",
        /// Several levels with steps between them.
        Step = "step",
        /// One line, rising or falling.
        Drift = "drift",
        /// One level, a gradual rise or fall, and another level.
        Ramp = "ramp",
    }
}

/// Result of a Mann-Kendall test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonotoneTest {
    /// Kendall's τ of values and order: −1 for a steady decrease, 1 for a steady increase.
    pub tau: f64,
    /// Probability of such a τ if there is no trend, corrected for autocorrelation.
    pub p_value: f64,
}

/// Comparison of the most recent points with earlier points at the same level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecentTrend {
    /// Number of most recent points.
    pub points: usize,
    /// Change of their median relative to that of the earlier points, in percent.
    pub change_percent: Option<f64>,
    /// Slope of these points per day, in the unit of the series. Null if all have the same time.
    pub slope_per_day: Option<f64>,
    /// Probability of such a difference if there is none (Mann-Whitney test). Null with too few
    /// earlier points.
    pub p_value: Option<f64>,
}

/// Gradual rise or fall between two levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ramp {
    /// Index of the first point of the ramp.
    pub from_index: usize,
    /// Index of the first point at the new level.
    pub to_index: usize,
    /// Time of the first point of the ramp.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub from_timestamp: jiff::Timestamp,
    /// Time of the first point at the new level.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub to_timestamp: jiff::Timestamp,
    /// Level before the ramp.
    pub before: f64,
    /// Level after the ramp.
    pub after: f64,
    /// Change in percent.
    pub change_percent: f64,
}

/// Two levels between which a series alternates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoLevels {
    /// Median of the points at the lower level.
    pub lower: f64,
    /// Median of the points at the upper level.
    pub upper: f64,
    /// Share of points at the upper level, from 0 to 1.
    pub upper_share: f64,
    /// Difference between the machines of the two levels. Null if unknown.
    #[serde(default)]
    pub separated_by: Option<LevelSeparation>,
}

/// Field of the environment whose value determines the level of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelSeparation {
    /// Name of the field, such as `kernel` or `cpu.hypervisor`.
    pub field: String,
    /// Values in the runs at the lower level.
    pub lower: Vec<String>,
    /// Values in the runs at the upper level.
    pub upper: Vec<String>,
}

/// Part of a two-level series that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelPart {
    /// Lower level.
    Lower,
    /// Upper level.
    Upper,
    /// Share of points at the upper level. The levels before and after the change are then means.
    Share,
}

/// Expected value on a later day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedValue {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
    /// Lower bound of the prediction interval of the next value.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Point that is far from the points before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anomaly {
    /// Index of the point.
    pub index: usize,
    /// Time of the point.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Value of the point.
    pub value: f64,
    /// Distance from the mean of the points before it, in standard deviations. Null if these are
    /// all equal.
    pub z_score: Option<f64>,
    /// Distance from their median, scaled by the median absolute deviation. Null if most of these
    /// points are equal.
    pub robust_z_score: Option<f64>,
}

/// Point at which the level of a series changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// Index of the first point at the new level.
    pub index: usize,
    /// Time of that point.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Level before the change.
    pub before: f64,
    /// Level after the change.
    pub after: f64,
    /// Change in percent.
    pub change_percent: f64,
    /// Probability of such a change if there is none.
    pub p_value: f64,
    /// Probability adjusted for all tests of all series in the call (Benjamini-Hochberg).
    #[serde(default)]
    pub q_value: Option<f64>,
    /// Number of points at the new level.
    #[serde(default)]
    pub points: usize,
    /// Part that changed, if the series alternates between two levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<LevelPart>,
}

/// Expected value on a later day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
    /// Lower bound of the prediction interval of the next value.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper bound.
    #[serde(default)]
    pub high: Option<f64>,
    /// Coverage of the interval, from 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
}

/// Evidence for an alert.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertBasis {
    /// Confirmed change of level.
    #[default]
    Confirmed,
    /// Most recent points, too few to confirm a level.
    Suspected,
    /// Line through the whole series.
    Drift,
    /// Gradual rise or fall between two levels.
    Ramp,
}

/// Alert about a change that needs attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// Name of the metric.
    pub metric: String,
    /// `better`, `worse`, or `changed` if the direction is unknown.
    pub direction: String,
    /// Change in percent.
    pub change_percent: f64,
    /// Severity of the change.
    pub severity: Severity,
    /// Description of the change.
    pub description: String,
    /// Recommended action.
    pub recommendation: String,
    /// Evidence for the alert.
    #[serde(default)]
    pub basis: AlertBasis,
    /// Mean of the points before the change.
    #[serde(default)]
    pub baseline_mean: f64,
    /// Last value.
    #[serde(default)]
    pub current_value: f64,
    /// Difference between the last value and that mean, in percent of the mean. Null if the mean is
    /// zero.
    #[serde(default)]
    pub deviation_percent: Option<f64>,
    /// Summary in one line, with the name of the series.
    #[serde(default)]
    pub message: String,
}
