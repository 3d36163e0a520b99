//! Settings of a trend analysis; docs/trend-study.md was measured with the defaults.

/// Method of change point detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeMethod {
    /// [`ChangeMethod::Exact`] up to [`TrendSettings::EXACT_UP_TO`] points,
    /// [`ChangeMethod::Screened`] beyond.
    #[default]
    Auto,
    /// The best of all segmentations, by dynamic programming: time is quadratic in the number of
    /// points.
    Exact,
    /// The best segmentation at positions where windows of some width differ: time is linear in the
    /// number of points.
    Screened,
    /// No change points.
    Off,
}

/// Settings of a trend analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendSettings {
    /// Method of change point detection.
    pub method: ChangeMethod,
    /// Minimum number of points at a new level for it to be confirmed; until then it is suspected.
    /// At least 2.
    pub min_size: usize,
    /// False discovery rate over all series, and p-value below which a slope counts as a trend.
    pub significance: f64,
    /// Smallest change, in percent, that raises an alert. A change for the worse of at least twice
    /// this size is critical.
    pub alert_threshold_percent: f64,
    /// Number of days before the last point within which alerts have their full severity. The fit
    /// always uses the whole series.
    pub lookback_days: f64,
    /// Minimum number of points for change points, alerts and a forecast.
    pub min_data_points: usize,
    /// Number of the last points that make up the recent trend.
    pub recent_points: usize,
    /// Number of points of a rolling mean and median.
    pub rolling_window: usize,
    /// Whether the rolling mean and median of every point are returned, not only the last ones.
    pub has_rolling_series: bool,
    /// Number of days to forecast.
    pub days_ahead: u32,
    /// Coverage of the prediction intervals, as a fraction.
    pub confidence: f64,
    /// Distance, in standard deviations, from which a point is an anomaly.
    pub anomaly_z: f64,
    /// Number of preceding points that a point is compared with.
    pub window_size: usize,
}

impl TrendSettings {
    /// Number of points up to which every segmentation is considered.
    pub const EXACT_UP_TO: usize = 5000;

    /// Default settings.
    pub const DEFAULT: Self = Self {
        method: ChangeMethod::Auto,
        min_size: 5,
        significance: 0.05,
        alert_threshold_percent: 10.0,
        lookback_days: 30.0,
        min_data_points: 5,
        recent_points: 5,
        rolling_window: 5,
        has_rolling_series: false,
        days_ahead: 7,
        confidence: 0.95,
        anomaly_z: 2.5,
        window_size: 10,
    };

    /// Returns the p-value below which a single series has a change point: a tenth of
    /// [`Self::significance`], because a series is tested again with each new point.
    pub fn change_chance(&self) -> f64 {
        self.significance / 10.0
    }
}

impl Default for TrendSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
