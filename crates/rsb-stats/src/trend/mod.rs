//! Where a series goes: the fitted line, the points where its level changed, and what asks for attention.

mod alert;
mod change_point;
mod line;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{Direction, Forecast, SeriesTrend, TrendDocument};
use rsb_model::{Better, Timestamp};

pub use line::Line;

/// Chance below which a slope counts as a trend.
const SIGNIFICANT: f64 = 0.05;

/// Through less than this no slope a day is drawn, in days: it would foretell a day from a part of one.
const LEAST_SPAN: f64 = 1.0;

/// How far ahead a trend is continued, in days.
const FORECAST_DAYS: f64 = 7.0;

/// A series of figures over time, in any order. Figures that are not finite are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesInput {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way it improves; `None` where nobody says.
    pub better: Option<Better>,
    /// The figures.
    pub points: Vec<(Timestamp, f64)>,
}

/// The trend of each series that has at least one finite figure, in the order given.
///
/// With fewer than three points, with all at one time or all of one value, there is no line: its fields are null and
/// the direction is stable. Within less than a day there is a direction, and neither a slope a day nor a forecast.
pub fn trend(series: &[SeriesInput]) -> TrendDocument {
    TrendDocument { format_version: FORMAT_VERSION, series: series.iter().filter_map(of).collect() }
}

fn of(series: &SeriesInput) -> Option<SeriesTrend> {
    let mut points: Vec<(Timestamp, f64)> =
        series.points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
    points.sort_by_key(|&(time, _)| time);
    let (&(begin, first), &(_, last)) = (points.first()?, points.last()?);
    let values: Vec<f64> = points.iter().map(|&(_, value)| value).collect();
    let days: Vec<f64> = points.iter().map(|&(time, _)| days_between(begin, time)).collect();
    let line = line::fit(&days, &values);
    let direction = line.map_or(Direction::Stable, direction);
    let change_points = change_point::find(&points, line);
    let trending = line.filter(|_| direction != Direction::Stable);
    let alerts = alert::of(series, &points, &change_points, trending);
    let lasting = days.last().is_some_and(|&span| span >= LEAST_SPAN);
    Some(SeriesTrend {
        id: series.id.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        n: points.len(),
        first,
        last,
        last_change_percent: last_change_percent(&values),
        slope_per_day: line.filter(|_| lasting).map(|line| line.slope),
        intercept: line.map(|line| line.intercept),
        r_squared: line.map(|line| line.r_squared),
        p_value: line.map(|line| line.p_value),
        direction,
        change_points,
        forecast: trending
            .filter(|_| lasting)
            .zip(days.last())
            .map(|(line, &day)| Forecast { days: FORECAST_DAYS, value: line.at(day + FORECAST_DAYS) }),
        alerts,
        values,
    })
}

fn direction(line: Line) -> Direction {
    if line.p_value >= SIGNIFICANT || line.slope == 0.0 {
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

/// Change from `before` to `after` in percent of the size of `before`; `None` against zero.
fn percent_change(before: f64, after: f64) -> Option<f64> {
    Some(100.0 * (after - before) / before.abs()).filter(|percent| percent.is_finite())
}

fn days_between(begin: Timestamp, end: Timestamp) -> f64 {
    end.duration_since(begin).as_secs_f64() / 86_400.0
}
