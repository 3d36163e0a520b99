//! One series over its runs: every value, and the levels between the detected changes.

use std::ops::Range;

use rsb_model::record::{ChangePoint, Direction, SeriesTrend, TrendShape};
use rsb_model::samples::quantile_of_sorted;
use rsb_model::{Field, Unit};
use rsb_stats::thin;

use super::{axis, range, slug};
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::number::{format_percent, format_quantity};

/// Returns a chart of the series; `None` if it has fewer than two values.
pub fn trend_chart(series: &SeriesTrend) -> Option<Chart> {
    trend_window(series, 0..series.values.len(), usize::MAX)
}

/// Returns a chart of the runs `window` of the series, counted from 0, with at most `most` points.
/// If there are more, it keeps extremes and medians at their positions (`rsb_stats::thin`). `None` if
/// there are fewer than two values.
pub fn trend_window(series: &SeriesTrend, window: Range<usize>, most: usize) -> Option<Chart> {
    let shown = series.values.get(window.clone())?;
    let points: Vec<Point> = thin(shown, most)
        .into_iter()
        .filter_map(|at| Some(Point::at((window.start + at) as f64 + 1.0, *shown.get(at)?)))
        .collect();
    if points.len() < 2 {
        return None;
    }
    let is_thinned = points.len() < shown.iter().filter(|value| value.is_finite()).count();
    let (low, high) = range(points.iter().map(|point| point.y))?;
    // The axis spans at least 10 % of the value, so that noise does not look like a large change.
    let room =
        ((high - low) * 0.08).max((high.abs().max(low.abs()) * 0.1 - (high - low)) / 2.0).max(0.0);
    let y_axis = if low > 0.0 && low < high / axis::WIDE {
        axis::powers_of_ten(axis_name(series), low, high)
    } else {
        axis::linear(axis_name(series), low - room, high + room, 5)
    };
    let stretches = stretches(series);
    let mut datasets: Vec<Dataset> = noise(series, &stretches, &window).into_iter().collect();
    datasets.extend(levels(series, &window));
    // With more points, marks would overlap.
    let kind = if points.len() > MARKED { DatasetKind::Path } else { DatasetKind::Line };
    let name =
        if is_thinned { "lowest, median and highest of neighboring runs" } else { "one run" };
    datasets.push(Dataset::new(kind, Paint::Plain, points).with_name(name));
    datasets.extend(suspected_marks(series, &window));
    Some(Chart {
        name: slug(&format!("trend-{}-{}", series.id, series.metric)),
        title: title(series),
        subtitle: subtitle(series),
        place: ChartPlace::Other,
        x_axis: runs(&window),
        y_axis,
        datasets,
        legend_position: Legend::Below,
    })
}

/// Maximum number of points up to which each point has a mark.
const MARKED: usize = 2_000;

/// Returns an axis that counts runs, with a small margin at its ends and labels only at integers.
fn runs(window: &Range<usize>) -> Axis {
    let (first, last) = (window.start as f64 + 1.0, window.end as f64);
    let room = (last - first) * 0.015;
    let labels = (window.len() as u32).saturating_sub(1).clamp(1, 10);
    let mut axis = axis::exact("run, oldest first", first, last, labels);
    axis.bounds = [first - room, last + room];
    axis.labels.retain(|label| label.at.fract().abs() < 1e-6);
    axis
}

fn axis_name(series: &SeriesTrend) -> &str {
    match series.unit.as_str() {
        unit if unit == Unit::One.symbol() => {
            Field::find(&series.metric).map_or("", |field| field.name)
        }
        unit => unit,
    }
}

/// Returns the name of the series with its last change of level, or its direction.
fn title(series: &SeriesTrend) -> String {
    let finding = match (series.change_points.last(), series.direction) {
        (Some(point), _) => {
            format!("{} since {}", format_percent(point.change_percent), day(point))
        }
        (None, Direction::Stable) => format!("no change in {} runs", series.n),
        (None, direction) => direction.to_string(),
    };
    format!("{} {}: {finding}", crate::trend::short(&series.id), series.metric)
}

fn day(point: &ChangePoint) -> String {
    point.timestamp.strftime("%Y-%m-%d").to_string()
}

fn subtitle(series: &SeriesTrend) -> String {
    let [first, last] =
        [series.first, series.last].map(|value| format_quantity(value, &series.unit));
    let mut text = format!("{} runs, {}, {first} to {last}", series.n, series.direction);
    if let Some(slope) = series.slope_per_day.filter(|_| series.direction != Direction::Stable) {
        text.push_str(&format!(", {} per day", format_quantity(slope, &series.unit)));
    }
    text
}

/// Returns the levels of a series: first run, one past the last run, and value.
fn stretches(series: &SeriesTrend) -> Vec<(usize, usize, f64)> {
    let mut stretches = Vec::new();
    let mut from = 0;
    for point in &series.change_points {
        stretches.push((from, point.index.max(from), point.before));
        from = point.index.max(from);
    }
    stretches
        .extend(series.change_points.last().map(|last| (from, series.values.len(), last.after)));
    if stretches.is_empty() {
        let mut sorted: Vec<f64> =
            subsample(&series.values).filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        stretches.extend(
            quantile_of_sorted(&sorted, 0.5).map(|middle| (0, series.values.len(), middle)),
        );
    }
    stretches
}

/// Returns all values, or evenly spaced ones if there are more than 20,000, which is enough for
/// quantiles.
fn subsample(values: &[f64]) -> impl Iterator<Item = f64> {
    const ENOUGH: usize = 20_000;
    values.iter().copied().step_by(values.len().div_ceil(ENOUGH).max(1))
}

/// Minimum number of runs for a noise estimate.
const FEWEST: usize = 5;

/// Returns the noise band around the levels: the range that contains nine in ten runs, relative to
/// their levels. All levels are pooled because a single one may be too short. Draws the parts of
/// the levels within the window.
fn noise(
    series: &SeriesTrend,
    stretches: &[(usize, usize, f64)],
    window: &Range<usize>,
) -> Option<Dataset> {
    let around = stretches.iter().flat_map(|&(from, to, level)| {
        subsample(series.values.get(from..to).unwrap_or_default())
            .map(move |value| value / level - 1.0)
    });
    let mut around: Vec<f64> = around.filter(|share| share.is_finite()).collect();
    if around.len() < FEWEST {
        return None;
    }
    around.sort_by(f64::total_cmp);
    let (low, high) = (quantile_of_sorted(&around, 0.05)?, quantile_of_sorted(&around, 0.95)?);
    // During a ramp or drift there is no level, so deviations from one are not noise.
    let is_level = series.ramp.is_none() && series.shape != TrendShape::Drift;
    let (first, last) = (window.start as f64 + 1.0, window.end as f64);
    let seen = stretches.iter().filter(|(from, to, _)| *from < window.end && *to > window.start);
    let points = seen.flat_map(|&(from, to, level)| {
        [(from as f64 + 0.5).max(first), (to as f64 + 0.5).min(last)]
            .map(|run| Point::at(run, level).within(level * (1.0 + low), level * (1.0 + high)))
    });
    let points: Vec<Point> = points
        .filter(|point| {
            point.y.is_finite() && point.error.is_some_and(|[low, high]| (high - low).is_finite())
        })
        .collect();
    is_level.then(|| {
        Dataset::new(DatasetKind::Band, Paint::Faded, points)
            .with_name("90 % of the runs of a level")
    })
}

/// Returns marks at the newest runs that deviate from the level before them, but are too few to
/// form a new level.
fn suspected_marks(series: &SeriesTrend, window: &Range<usize>) -> Option<Dataset> {
    let from = series.suspected.first()?.index.max(window.start);
    let values = series.values.iter().enumerate().take(window.end).skip(from);
    let points = values
        .filter(|(_, value)| value.is_finite())
        .map(|(run, value)| Point::at(run as f64 + 1.0, *value));
    Some(
        Dataset::new(DatasetKind::Marks, Paint::Caution, points.collect())
            .with_name("not yet a level"),
    )
}

/// Returns a line at each level, and a rule at each change with its size, within the window.
fn levels(series: &SeriesTrend, window: &Range<usize>) -> Vec<Dataset> {
    let (first, last) = (window.start as f64 + 1.0, window.end as f64);
    let seen = series
        .change_points
        .iter()
        .filter(|point| (first..=last).contains(&change_position(point)));
    let changes = seen.map(|point| Point::at(change_position(point), 0.0).saying(change(point)));
    let mut datasets = vec![Dataset::new(DatasetKind::Rules, Paint::Faded, changes.collect())];
    let mut from = 1.0;
    for point in &series.change_points {
        datasets.extend(level_line(from, change_position(point), point.before, window));
        from = change_position(point);
    }
    if let Some(point) = series.change_points.last() {
        datasets.extend(level_line(from, series.values.len() as f64, point.after, window));
    }
    datasets
}

/// Returns a line at `value` over the part of `from` to `to` in the window, if any.
fn level_line(from: f64, to: f64, value: f64, window: &Range<usize>) -> Option<Dataset> {
    let (from, to) = (from.max(window.start as f64 + 1.0), to.min(window.end as f64));
    if from >= to {
        return None;
    }
    let points = vec![Point::at(from, value), Point::at(to, value)];
    Some(Dataset::new(DatasetKind::Path, Paint::Bad, points))
}

/// Returns the x coordinate of a change: between its run and the run before.
fn change_position(point: &ChangePoint) -> f64 {
    point.index as f64 + 0.5
}

fn change(point: &ChangePoint) -> String {
    format!("{} on {}", format_percent(point.change_percent), day(point))
}
