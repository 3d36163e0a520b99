//! One series over its runs: every value, and the levels between the changes that were found.

use rsb_model::record::{ChangePoint, Direction, SeriesTrend, TrendShape};
use rsb_model::samples::quantile_of_sorted;
use rsb_model::{Field, Unit};

use super::{axis, slug};
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::number::{format_percent, format_quantity};

/// The series; nothing when it has fewer than two values.
pub fn trend_chart(series: &SeriesTrend) -> Option<Chart> {
    let value = |(run, value): (usize, &f64)| value.is_finite().then(|| Point::at(run as f64 + 1.0, *value));
    let points: Vec<Point> = series.values.iter().enumerate().filter_map(value).collect();
    if points.len() < 2 {
        return None;
    }
    let bounds = |(low, high): (f64, f64), point: &Point| (low.min(point.y), high.max(point.y));
    let (low, high) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), bounds);
    // Small changes of a large value are shown at least 10 % high, so that noise does not look like drama.
    let room = ((high - low) * 0.08).max((high.abs().max(low.abs()) * 0.1 - (high - low)) / 2.0).max(0.0);
    let mut datasets: Vec<Dataset> = noise(series).into_iter().collect();
    datasets.extend(levels(series));
    datasets.push(Dataset::new(DatasetKind::Line, Paint::Plain, points).named("one run"));
    datasets.extend(suspected(series));
    Some(Chart {
        name: slug(&format!("trend-{}-{}", series.id, series.metric)),
        title: format!("{}: {}", crate::trend::short(&series.id), series.metric),
        subtitle: subtitle(series),
        place: ChartPlace::Other,
        x_axis: runs(series.values.len()),
        y_axis: axis::linear(axis_name(series), (low - room, high + room), 5),
        datasets,
        legend_position: Legend::Below,
    })
}

/// An axis that counts runs, with a little room at its ends; only whole numbers are labeled.
fn runs(count: usize) -> Axis {
    let (last, room) = (count as f64, (count as f64 - 1.0) * 0.015);
    let mut axis = axis::exact("run, oldest first", (1.0, last), (count as u32).saturating_sub(1).clamp(1, 10));
    axis.bounds = [1.0 - room, last + room];
    axis.labels.retain(|label| label.at.fract().abs() < 1e-6);
    axis
}

fn axis_name(series: &SeriesTrend) -> &str {
    match series.unit.as_str() {
        unit if unit == Unit::One.symbol() => Field::find(&series.metric).map_or("", |field| field.name),
        unit => unit,
    }
}

fn subtitle(series: &SeriesTrend) -> String {
    let direction = match series.direction {
        Direction::Increasing => "increasing",
        Direction::Decreasing => "decreasing",
        Direction::Stable => "stable",
    };
    let mut text = format!("{} runs, {direction}, last {}", series.n, format_quantity(series.last, &series.unit));
    if let Some(slope) = series.slope_per_day.filter(|_| series.direction != Direction::Stable) {
        text.push_str(&format!(", {} a day", format_quantity(slope, &series.unit)));
    }
    text
}

/// The runs of each level, from the first to the one after its last, with the value that holds there.
fn stretches(series: &SeriesTrend) -> Vec<(usize, usize, f64)> {
    let mut stretches = Vec::new();
    let mut from = 0;
    for point in &series.change_points {
        stretches.push((from, point.index.max(from), point.before));
        from = point.index.max(from);
    }
    stretches.extend(series.change_points.last().map(|last| (from, series.values.len(), last.after)));
    if stretches.is_empty() {
        let mut sorted: Vec<f64> = series.values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        stretches.extend(quantile_of_sorted(&sorted, 0.5).map(|middle| (0, series.values.len(), middle)));
    }
    stretches
}

/// Runs of one level that say something of their noise.
const FEWEST: usize = 5;

/// What is noise around the levels: from where to where nine in ten runs lie, of all levels together, as a level may be
/// too short to tell.
fn noise(series: &SeriesTrend) -> Option<Dataset> {
    let stretches = stretches(series);
    let around = stretches.iter().flat_map(|&(from, to, level)| {
        series.values.get(from..to).unwrap_or_default().iter().map(move |value| value / level - 1.0)
    });
    let mut around: Vec<f64> = around.filter(|share| share.is_finite()).collect();
    if around.len() < FEWEST {
        return None;
    }
    around.sort_by(f64::total_cmp);
    let (low, high) = (quantile_of_sorted(&around, 0.05)?, quantile_of_sorted(&around, 0.95)?);
    // A ramp or a drift is no level: what lies around one says nothing of noise.
    let is_level = series.ramp.is_none() && series.shape != TrendShape::Drift;
    let points = stretches.iter().flat_map(|&(from, to, level)| {
        let end = |run: f64| Point::at(run, level).within(level * (1.0 + low), level * (1.0 + high));
        [end((from as f64 + 0.5).max(1.0)), end((to as f64 + 0.5).min(series.values.len() as f64))]
    });
    let points: Vec<Point> = points
        .filter(|point| point.y.is_finite() && point.error.is_some_and(|[low, high]| (high - low).is_finite()))
        .collect();
    is_level.then(|| Dataset::new(DatasetKind::Band, Paint::Faded, points).named("nine in ten runs of a level"))
}

/// The newest runs where they do not fit the level before them and are too few to be one.
fn suspected(series: &SeriesTrend) -> Option<Dataset> {
    let from = series.suspected.first()?.index;
    let values = series.values.iter().enumerate().skip(from);
    let points = values.filter(|(_, value)| value.is_finite()).map(|(run, value)| Point::at(run as f64 + 1.0, *value));
    Some(Dataset::new(DatasetKind::Marks, Paint::Caution, points.collect()).named("not yet a level"))
}

/// A line at each level, and a rule at each change with how much it was.
fn levels(series: &SeriesTrend) -> Vec<Dataset> {
    let level = |from: f64, to: f64, value: f64| {
        Dataset::new(DatasetKind::Path, Paint::Bad, vec![Point::at(from, value), Point::at(to, value)])
    };
    let place = |point: &ChangePoint| point.index as f64 + 0.5;
    let changes = series.change_points.iter().map(|point| Point::at(place(point), 0.0).saying(change(point)));
    let mut datasets = vec![Dataset::new(DatasetKind::Rules, Paint::Faded, changes.collect())];
    let mut from = 1.0;
    for point in &series.change_points {
        datasets.push(level(from, place(point), point.before));
        from = place(point);
    }
    datasets.extend(series.change_points.last().map(|last| level(from, series.values.len() as f64, last.after)));
    datasets
}

fn change(point: &ChangePoint) -> String {
    format!("{} on {}", format_percent(point.change_percent), point.timestamp.strftime("%Y-%m-%d"))
}
