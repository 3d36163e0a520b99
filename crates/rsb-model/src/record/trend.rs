//! Where the figures of a case go over many runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Severity, TrackedAlert};

/// Trends of many series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// One for each metric of each case.
    pub series: Vec<SeriesTrend>,
    /// Of stored runs: the changes of level that are followed from one look to the next, the worst
    /// first.
    #[serde(default)]
    pub changes: Vec<TrackedAlert>,
    /// Changes that at least three series have in one direction within two runs: one cause is
    /// likely.
    #[serde(default)]
    pub common_changes: Vec<CommonChange>,
}

/// A change of many series at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonChange {
    /// `better`, `worse`, or `changed` if the direction is unknown.
    pub direction: String,
    /// Time of the first point of a new level in the series that changed first.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub from_timestamp: jiff::Timestamp,
    /// The same in the series that changed last.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub to_timestamp: jiff::Timestamp,
    /// The series, each with its change.
    pub series: Vec<CommonMember>,
}

/// The part of one series in a [`CommonChange`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonMember {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Position of the first point of the new level, as in [`ChangePoint::index`].
    pub index: usize,
    /// Change in percent.
    pub change_percent: f64,
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
    /// What it is in one word.
    #[serde(default)]
    pub shape: TrendShape,
    /// Median slope of pairs of points in a day, in the unit (Theil and Sen). Null when the points
    /// span less than a day.
    #[serde(default)]
    pub theil_sen_per_day: Option<f64>,
    /// Whether it rises or falls, by order alone. Null with fewer than three points, or one value.
    #[serde(default)]
    pub mann_kendall: Option<MonotoneTest>,
    /// How alike neighbors are around the levels: autocorrelation at lag 1, from 0 to 0.8.
    #[serde(default)]
    pub autocorrelation: f64,
    /// Mean of the last points.
    #[serde(default)]
    pub rolling_mean: Option<f64>,
    /// Median of the last points.
    #[serde(default)]
    pub rolling_median: Option<f64>,
    /// The last points against those before them on their level.
    #[serde(default)]
    pub recent: Option<RecentTrend>,
    /// Points where the level changed, and holds.
    pub change_points: Vec<ChangePoint>,
    /// The newest points where they do not fit the level before them and are too few to be one. At
    /// most one.
    #[serde(default)]
    pub suspected: Vec<ChangePoint>,
    /// The two levels that the points since the last change alternate between, such as those of two
    /// machine types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_levels: Option<TwoLevels>,
    /// A climb or fall between two levels, where one tells the series better than the steps among
    /// the change points.
    #[serde(default)]
    pub ramp: Option<Ramp>,
    /// The value expected on the last day asked for, when the trend is significant.
    pub forecast: Option<Forecast>,
    /// The values expected on the days after the last point, whether there is a trend or a level.
    #[serde(default)]
    pub predicted: Vec<PredictedValue>,
    /// Points far from those before them.
    #[serde(default)]
    pub anomalies: Vec<Anomaly>,
    /// What asks for attention, the newest first.
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

/// What a series is in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrendShape {
    /// One level.
    #[default]
    Stable,
    /// Levels with steps between them.
    Step,
    /// One line, up or down.
    Drift,
    /// A level, a climb or fall, and another level.
    Ramp,
}

/// The test of Mann and Kendall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonotoneTest {
    /// Kendall's τ of values and order: from −1, always down, to 1.
    pub tau: f64,
    /// Chance of such a τ where the series goes nowhere, given how alike neighbors are.
    pub p_value: f64,
}

/// The last points against those before them on their level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecentTrend {
    /// How many points.
    pub points: usize,
    /// Change of their median against the median before, in percent.
    pub change_percent: Option<f64>,
    /// Their slope in a day, in the unit. Null when they are at one time.
    pub slope_per_day: Option<f64>,
    /// Chance of such a difference by order where there is none (Mann-Whitney). Null where too few
    /// points stand before.
    pub p_value: Option<f64>,
}

/// A climb or fall between two levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ramp {
    /// Position of its first point.
    pub from_index: usize,
    /// Position of the first point of the new level.
    pub to_index: usize,
    /// Time of its first point.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub from_timestamp: jiff::Timestamp,
    /// Time of the first point of the new level.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub to_timestamp: jiff::Timestamp,
    /// Level before.
    pub before: f64,
    /// Level after.
    pub after: f64,
    /// Change in percent.
    pub change_percent: f64,
}

/// Two levels that a series alternates between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoLevels {
    /// Median of the points at the lower level.
    pub lower: f64,
    /// Median of the points at the upper level.
    pub upper: f64,
    /// Share of the points at the upper level, as a fraction.
    pub upper_share: f64,
    /// What differs between the machines of the two levels. Null if unknown.
    #[serde(default)]
    pub separated_by: Option<LevelSeparation>,
}

/// A field of the environment whose value decides the level of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelSeparation {
    /// The field, as in `kernel` or `cpu.hypervisor`.
    pub field: String,
    /// Its values in the runs at the lower level.
    pub lower: Vec<String>,
    /// Its values in the runs at the upper level.
    pub upper: Vec<String>,
}

/// What changed of a series that alternates between two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelPart {
    /// The lower level.
    Lower,
    /// The upper level.
    Upper,
    /// The share of points at the upper level; before and after are means.
    Share,
}

/// A value expected on a later day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedValue {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
    /// Low end of the interval that holds the next value.
    pub low: f64,
    /// High end.
    pub high: f64,
}

/// A point far from those before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anomaly {
    /// Its position.
    pub index: usize,
    /// Its time.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Its value.
    pub value: f64,
    /// Standard deviations from the mean of the points before it. Null where these are equal.
    pub z_score: Option<f64>,
    /// The same by median and median absolute deviation. Null where most of these are equal.
    pub robust_z_score: Option<f64>,
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
    /// The chance corrected for everything that is asked about all series of the call (Benjamini
    /// and Hochberg).
    #[serde(default)]
    pub q_value: Option<f64>,
    /// Points at the new level.
    #[serde(default)]
    pub points: usize,
    /// What changed, if the series alternates between two levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<LevelPart>,
}

/// A value expected later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Forecast {
    /// Days after the last point.
    pub days: f64,
    /// Expected value.
    pub value: f64,
    /// Low end of the interval that holds the next value.
    #[serde(default)]
    pub low: Option<f64>,
    /// High end.
    #[serde(default)]
    pub high: Option<f64>,
    /// How often the interval holds it, as a fraction.
    #[serde(default)]
    pub confidence: Option<f64>,
}

/// What an alert rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertBasis {
    /// A change of level that holds.
    #[default]
    Confirmed,
    /// The newest points, too few to be a level.
    Suspected,
    /// A line over the whole series.
    Drift,
    /// A climb or fall between two levels.
    Ramp,
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
    /// What it rests on.
    #[serde(default)]
    pub basis: AlertBasis,
    /// Mean of the points before the change.
    #[serde(default)]
    pub baseline_mean: f64,
    /// The last value.
    #[serde(default)]
    pub current_value: f64,
    /// How far the last value lies from that mean, in percent of its size. Null against zero.
    #[serde(default)]
    pub deviation_percent: Option<f64>,
    /// All of it in one line, with the name of the series.
    #[serde(default)]
    pub message: String,
}
