//! What a trend is asked for, in one place, with the defaults that docs/trend-study.md was measured
//! with.

/// How change points are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeMethod {
    /// [`ChangeMethod::Exact`] up to [`TrendSettings::EXACT_UP_TO`] points,
    /// [`ChangeMethod::Screened`] beyond.
    #[default]
    Auto,
    /// The best of all segmentations, by dynamic programming: time grows with the square of the
    /// points.
    Exact,
    /// The best among positions where windows of some width differ: time grows with the points.
    Screened,
    /// No change points.
    Off,
}

/// What a trend is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendSettings {
    /// How change points are looked for.
    pub method: ChangeMethod,
    /// Points that a new level must hold for before it is confirmed; until then it is suspected. At
    /// least 2.
    pub min_size: usize,
    /// The share of false discoveries among all series, and the chance below which a slope is a
    /// trend.
    pub significance: f64,
    /// Smallest change that an alert is raised for, in percent; from twice of it on, a change for
    /// the worse is critical.
    pub alert_threshold_percent: f64,
    /// How many days before its last point alerts reach back with their full severity. What is
    /// fitted is the whole series.
    pub lookback_days: f64,
    /// Fewer points than these have no change points, no alerts and no prediction.
    pub min_data_points: usize,
    /// How many of the last points the recent trend is about.
    pub recent_points: usize,
    /// Points of a rolling mean and median.
    pub rolling_window: usize,
    /// How many days are predicted.
    pub days_ahead: u32,
    /// How often a predicted interval holds the value, as a fraction.
    pub confidence: f64,
    /// Standard deviations from which on a point is an anomaly.
    pub anomaly_z: f64,
    /// How many points before it a point is compared with.
    pub window_size: usize,
}

impl TrendSettings {
    /// Up to so many points every segmentation is considered.
    pub const EXACT_UP_TO: usize = 5000;

    /// What is used where nobody says otherwise.
    pub const DEFAULT: Self = Self {
        method: ChangeMethod::Auto,
        min_size: 5,
        significance: 0.05,
        alert_threshold_percent: 10.0,
        lookback_days: 30.0,
        min_data_points: 5,
        recent_points: 5,
        rolling_window: 5,
        days_ahead: 7,
        confidence: 0.95,
        anomaly_z: 2.5,
        window_size: 10,
    };

    /// The chance below which one series has a change point: a tenth of [`Self::significance`],
    /// since a series is asked again with each of its points.
    pub fn change_chance(&self) -> f64 {
        self.significance / 10.0
    }
}

impl Default for TrendSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
