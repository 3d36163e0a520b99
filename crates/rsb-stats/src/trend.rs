//! Trend analysis of a series: the fitted line, the change points of its level, a forecast, and
//! alerts.
//!
//! The fit uses the whole series. [`TrendSettings::lookback_days`] limits the alerts.

mod alert;
pub mod anomaly;
pub mod change_point;
mod common;
pub mod forecast;
mod line;
pub mod monotone;
pub mod rolling;
pub mod settings;
mod shape;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{
    Anomaly, ChangePoint, Direction, Forecast, MonotoneTest, PredictedValue, Ramp, RecentTrend,
    RollingSeries, SeriesTrend, TrendDocument, TrendShape, TwoLevels,
};
use rsb_model::{Better, Timestamp};

use crate::estimate::{mean, median};
use crate::hypothesis::mann_whitney;
use crate::multiple_testing::benjamini_hochberg;
use change_point::{DetectedChange, DetectedChanges};
use forecast::ForecastInput;
pub use line::Line;
use monotone::MannKendall;
pub use settings::{ChangeMethod, TrendSettings};
use shape::BestShape;

/// Minimum length of a series, in days, for a slope per day and a forecast. A shorter one would be
/// extrapolated from a part of a day to whole days.
const LEAST_SPAN: f64 = 1.0;

/// Maximum number of points of the same level that the recent points are compared with.
const RECENT_BEFORE: usize = 50;

/// Margin by which levels must fit a series better than a line, as twice the logarithm of a
/// likelihood ratio.
const LINE_MARGIN: f64 = 5.0;

/// Increase of the margin for each unit of the logarithm of the number of series.
const FAMILY_MARGIN: f64 = 3.0;

/// A series of values over time, in any order. Values that are not finite are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesInput {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Direction in which the metric improves; `None` if unknown.
    pub better: Option<Better>,
    /// The values.
    pub points: Vec<(Timestamp, f64)>,
}

/// Computes the trends like [`trend_with`], with the default settings.
pub fn trend(series: &[SeriesInput]) -> TrendDocument {
    trend_with(series, &TrendSettings::DEFAULT)
}

/// Computes the trend of each series that has at least one finite value, in the order given.
///
/// With fewer than three points, or if all have the same time or the same value, there is no line:
/// its fields are null and the direction is stable. A series of less than a day has a direction,
/// but neither a slope per day nor a forecast.
pub fn trend_with(series: &[SeriesInput], settings: &TrendSettings) -> TrendDocument {
    let margin = LINE_MARGIN + FAMILY_MARGIN * (series.len().max(1) as f64).ln();
    let analyses: Vec<Analysis<'_>> =
        series.iter().filter_map(|series| Analysis::of(series, settings, margin)).collect();
    let chances: Vec<f64> = analyses.iter().flat_map(Analysis::chances).collect();
    let adjusted = benjamini_hochberg(&chances);
    let (questions, _) = adjusted.as_chunks();
    let analyses = analyses.into_iter().zip(questions);
    let trends: Vec<SeriesTrend> = analyses
        .map(|(analysis, adjusted)| analysis.into_series_trend(*adjusted, chances.len()))
        .collect();
    let common_changes = common::common(series, &trends);
    TrendDocument {
        format_version: FORMAT_VERSION,
        series: trends,
        changes: Vec::new(),
        common_changes,
    }
}

/// Analysis of one series, before the correction for the number of series.
struct Analysis<'a> {
    series: &'a SeriesInput,
    settings: &'a TrendSettings,
    points: Vec<(Timestamp, f64)>,
    values: Vec<f64>,
    days: Vec<f64>,
    line: Option<Line>,
    direction: Direction,
    changes: DetectedChanges,
    climb: Option<BestShape>,
    test: Option<MannKendall>,
    /// P-value of the line, corrected for autocorrelation; 1 if levels or a climb fit the series
    /// better.
    drift_chance: f64,
}

impl<'a> Analysis<'a> {
    fn of(series: &'a SeriesInput, settings: &'a TrendSettings, margin: f64) -> Option<Self> {
        let mut points: Vec<(Timestamp, f64)> =
            series.points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
        points.sort_by_key(|&(time, _)| time);
        let &(begin, _) = points.first()?;
        let values: Vec<f64> = points.iter().map(|&(_, value)| value).collect();
        let days: Vec<f64> = points.iter().map(|&(time, _)| days_between(begin, time)).collect();
        let line = line::fit(&days, &values);
        let direction = line.map_or(Direction::Stable, |line| direction(line, settings));
        let mut changes = change_point::detect(&values, settings);
        let mut climb = None;
        let mut best = BestShape::Line;
        let is_of_parts = changes.confirmed.iter().any(|change| change.part.is_some());
        if !changes.confirmed.is_empty() && is_of_parts {
            best = BestShape::Levels;
        } else if !changes.confirmed.is_empty() {
            let tame = change_point::without_outliers(&values, settings);
            let (shape, has_levels) =
                shape::best_shape(&values, &tame, &changes.confirmed, settings.min_size, margin);
            best = shape;
            climb = matches!(best, BestShape::Climb { .. }).then_some(best);
            if !has_levels {
                // A steady climb is reported as a trend, not as a series of steps.
                changes.confirmed.clear();
                changes.suspected = None;
                changes.chance = 1.0;
            }
        }
        let around = line.map_or(0.0, |line| correlation_around(line, &days, &values));
        let around = change_point::cautious(around, values.len(), 0);
        let inflation = (1.0 + around) / (1.0 - around);
        let test = monotone::mann_kendall(&values, inflation);
        let drift_chance = match (best, line, test) {
            (BestShape::Line, Some(line), Some(test)) => {
                line.inflated_chance(values.len(), inflation).max(test.p_value)
            }
            _ => 1.0,
        };
        if let Some(line) = line.filter(|_| drift_chance <= settings.change_chance()) {
            // In a drift, the newest points always differ from those before, so they are compared
            // with the line.
            let level: Vec<f64> =
                days.iter().zip(&values).map(|(day, value)| value - line.at(*day)).collect();
            if change_point::suspected_alone(&level, settings).is_none() {
                changes.suspected = None;
            }
        }
        Some(Self {
            series,
            settings,
            points,
            values,
            days,
            line,
            direction,
            changes,
            climb,
            test,
            drift_chance,
        })
    }

    /// Returns the p-values of three null hypotheses: that the level never changed, that the newest
    /// points fit those before them, and that there is no drift.
    fn chances(&self) -> [f64; 3] {
        [
            self.changes.chance,
            self.changes.suspected.map_or(1.0, |change| change.p_value),
            self.drift_chance,
        ]
    }

    /// Keeps the changes that are significant among all series, by the `adjusted` p-values of
    /// `questions` tests. If no change of level is left, the newest points are compared with the
    /// whole series. Returns the p-value of the newest points.
    fn filter(&mut self, adjusted: [f64; 3], questions: usize) -> f64 {
        let [changed, mut newest, _] = adjusted;
        if !self.changes.confirmed.is_empty() && changed > self.settings.significance {
            self.changes.confirmed.clear();
            self.climb = None;
            self.changes.suspected = change_point::suspected_alone(&self.values, self.settings);
            newest = self
                .changes
                .suspected
                .map_or(1.0, |change| (change.p_value * questions as f64).min(1.0));
        }
        if newest > self.settings.significance {
            self.changes.suspected = None;
        }
        newest
    }

    /// Converts the analysis to its form in the document. `adjusted` are the p-values of its
    /// [`Self::chances`], corrected for the `questions` tests of all series.
    fn into_series_trend(mut self, adjusted: [f64; 3], questions: usize) -> SeriesTrend {
        let settings = self.settings;
        let [changed, _, drifted] = adjusted;
        let newest = self.filter(adjusted, questions);
        let confirmed: Vec<ChangePoint> = self
            .changes
            .confirmed
            .iter()
            .filter_map(|change| self.change_point(change, changed))
            .collect();
        let suspected: Vec<ChangePoint> = self
            .changes
            .suspected
            .iter()
            .filter_map(|change| self.change_point(change, newest))
            .collect();
        let ramp = self.ramp();
        let has_enough = self.points.len() >= settings.min_data_points;
        let is_rare =
            drifted <= settings.significance && self.drift_chance <= settings.change_chance();
        let is_drift = is_rare && self.direction != Direction::Stable && has_enough;
        let shape = match () {
            () if ramp.is_some() => TrendShape::Ramp,
            () if !confirmed.is_empty() => TrendShape::Step,
            () if is_drift => TrendShape::Drift,
            () => TrendShape::Stable,
        };
        let findings = alert::Findings {
            series: self.series,
            points: &self.points,
            confirmed: &confirmed,
            suspected: &suspected,
            ramp: ramp.as_ref(),
            drift: self.line.filter(|_| shape == TrendShape::Drift),
            settings,
        };
        let alerts = findings.alerts();
        let lasting = self.days.last().is_some_and(|&span| span >= LEAST_SPAN);
        let predicted = if lasting && has_enough { self.predict() } else { Vec::new() };
        let forecast =
            predicted.last().filter(|_| self.direction != Direction::Stable).map(|last| Forecast {
                days: last.days,
                value: last.value,
                low: Some(last.low),
                high: Some(last.high),
                confidence: Some(settings.confidence),
            });
        let newest =
            &self.values[self.values.len().saturating_sub(settings.rolling_window.max(1))..];
        SeriesTrend {
            id: self.series.id.clone(),
            metric: self.series.metric.clone(),
            unit: self.series.unit.clone(),
            n: self.points.len(),
            first: self.values.first().copied().unwrap_or(f64::NAN),
            last: self.values.last().copied().unwrap_or(f64::NAN),
            last_change_percent: last_change_percent(&self.values),
            slope_per_day: self.line.filter(|_| lasting).map(|line| line.slope),
            intercept: self.line.map(|line| line.intercept),
            r_squared: self.line.map(|line| line.r_squared),
            p_value: self.line.map(|line| line.p_value),
            direction: self.direction,
            shape,
            theil_sen_per_day: monotone::theil_sen(&self.days, &self.values).filter(|_| lasting),
            mann_kendall: self
                .test
                .map(|test| MonotoneTest { tau: test.tau, p_value: test.p_value }),
            autocorrelation: self.changes.correlation,
            rolling_mean: rolling::rolling_mean(newest, settings.rolling_window).last().copied(),
            rolling_median: rolling::rolling_median(newest, settings.rolling_window)
                .last()
                .copied(),
            rolling: settings.has_rolling_series.then(|| self.rolling(settings.rolling_window)),
            recent: self.recent(),
            change_points: confirmed,
            suspected,
            two_levels: self.changes.two_levels.as_ref().map(|levels| TwoLevels {
                lower: levels.lower,
                upper: levels.upper,
                upper_share: levels.upper_share(),
                separated_by: None,
            }),
            ramp,
            forecast,
            predicted,
            anomalies: self.anomalies(),
            alerts,
            values: self.values,
        }
    }

    fn rolling(&self, window: usize) -> RollingSeries {
        RollingSeries {
            window,
            timestamps: self.points.iter().map(|point| point.0).collect(),
            mean: rolling::rolling_mean(&self.values, window),
            median: rolling::rolling_median(&self.values, window),
        }
    }

    fn change_point(&self, change: &DetectedChange, q_value: f64) -> Option<ChangePoint> {
        let change_percent =
            percent_change(change.before, change.after).filter(|percent| *percent != 0.0)?;
        let timestamp = self.points.get(change.index)?.0;
        Some(ChangePoint {
            index: change.index,
            timestamp,
            before: change.before,
            after: change.after,
            change_percent,
            p_value: change.p_value,
            q_value: Some(q_value),
            points: change.points,
            part: change.part,
        })
    }

    /// Returns the points far from those before them. With two levels, points at the other level
    /// are not anomalies.
    fn anomalies(&self) -> Vec<Anomaly> {
        let mut found =
            anomaly::anomalies(&self.points, self.settings.window_size, self.settings.anomaly_z);
        if let Some(levels) = &self.changes.two_levels {
            let reach = levels.upper - levels.lower;
            found
                .retain(|one| one.value < levels.lower - reach || one.value > levels.upper + reach);
        }
        found
    }

    fn ramp(&self) -> Option<Ramp> {
        let BestShape::Climb { from, to, before, after } = self.climb? else { return None };
        Some(Ramp {
            from_index: from,
            to_index: to,
            from_timestamp: self.points.get(from)?.0,
            to_timestamp: self.points.get(to)?.0,
            before,
            after,
            change_percent: percent_change(before, after)?,
        })
    }

    /// Returns the position at which the last level begins, or the series if its level never
    /// changed.
    fn level_from(&self) -> usize {
        let climbed = match self.climb {
            Some(BestShape::Climb { to, .. }) => to,
            _ => 0,
        };
        self.changes.confirmed.last().map_or(climbed, |change| change.index)
    }

    fn predict(&self) -> Vec<PredictedValue> {
        let from = self.level_from();
        let rho = self.changes.correlation;
        let past = ForecastInput {
            days: &self.days[from..],
            values: &self.values[from..],
            inflation: (1.0 + rho) / (1.0 - rho),
            significance: self.settings.significance,
        };
        forecast::predict_future(past, self.settings.days_ahead, self.settings.confidence)
    }

    /// Compares the last points with those before them at their level, or with those before the
    /// last change if all points since that change are recent.
    fn recent(&self) -> Option<RecentTrend> {
        let n = self.values.len();
        let points = self.settings.recent_points.min(n);
        let split = n - points;
        let level = self.level_from();
        let from = if level < split { level } else { 0 }.max(split.saturating_sub(RECENT_BEFORE));
        let (before, last) = (&self.values[from..split], &self.values[split..]);
        let line = line::fit(&self.days[split..], last);
        let change_percent = median(before)
            .zip(median(last))
            .and_then(|(before, last)| percent_change(before, last));
        (points > 0 && n > 1).then(|| RecentTrend {
            points,
            change_percent,
            slope_per_day: line.map(|line| line.slope).filter(|slope| slope.is_finite()),
            p_value: if before.len() < 2 {
                None
            } else {
                mann_whitney(before, last).map(|test| test.p_value)
            },
        })
    }
}

/// Returns the autocorrelation at lag 1 around `line`, from 0 to 0.8.
fn correlation_around(line: Line, days: &[f64], values: &[f64]) -> f64 {
    let rest: Vec<f64> =
        days.iter().zip(values).map(|(day, value)| value - line.at(*day)).collect();
    let center = mean(&rest).unwrap_or(0.0);
    let squares: f64 = rest.iter().map(|value| (value - center).powi(2)).sum();
    let lagged: f64 = rest.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center)).sum();
    if squares > 0.0 { (lagged / squares).clamp(0.0, change_point::MOST_CORRELATION) } else { 0.0 }
}

fn direction(line: Line, settings: &TrendSettings) -> Direction {
    if line.p_value >= settings.significance || line.slope == 0.0 {
        Direction::Stable
    } else if line.slope > 0.0 {
        Direction::Increasing
    } else {
        Direction::Decreasing
    }
}

fn last_change_percent(values: &[f64]) -> Option<f64> {
    let (&last, rest) = values.split_last()?;
    percent_change(*rest.last()?, last)
}

/// Returns the change from `before` to `after` in percent of the absolute value of `before`; `None`
/// if it is zero.
fn percent_change(before: f64, after: f64) -> Option<f64> {
    Some(100.0 * (after - before) / before.abs()).filter(|percent| percent.is_finite())
}

fn days_between(begin: Timestamp, end: Timestamp) -> f64 {
    end.duration_since(begin).as_secs_f64() / 86_400.0
}
