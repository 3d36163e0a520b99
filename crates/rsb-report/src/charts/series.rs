//! Several series in one chart over time, as measured or as ratios.

use std::collections::BTreeMap;

use rsb_model::Timestamp;
use rsb_stats::thin;

use super::{axis, range, slug};
use crate::chart::{Axis, Chart, ChartPlace, Dataset, DatasetKind, Label, Legend, Paint, Point};

/// Maximum number of labels of the time axis.
const LABELS: i64 = 5;
const DAY: i64 = 86_400;
/// Number of points of a series up to which each has a mark.
const MARKED: usize = 100;

/// One of several series in a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSeries {
    /// Name in the legend.
    pub name: String,
    /// Time and value, oldest first.
    pub points: Vec<(Timestamp, f64)>,
}

impl TimeSeries {
    /// Returns each value divided by the last value of `first` at that time or before it. Values
    /// before the first one of `first` are left out.
    #[must_use]
    pub fn ratio_to(&self, first: &Self) -> Self {
        let mut points = Vec::new();
        for (at, value) in &self.points {
            let later = first.points.partition_point(|(other, _)| other <= at);
            let base = later.checked_sub(1).and_then(|place| first.points.get(place));
            points.extend(base.map(|(_, base)| (*at, value / base)));
        }
        points.retain(|(_, value)| value.is_finite());
        Self { name: self.name.clone(), points }
    }

    /// Returns each value divided by the first one.
    #[must_use]
    pub fn ratio_to_start(&self) -> Self {
        let base = self.points.first().map_or(1.0, |(_, value)| *value);
        let mut points = self.points.clone();
        for (_, value) in &mut points {
            *value /= base;
        }
        points.retain(|(_, value)| value.is_finite());
        Self { name: self.name.clone(), points }
    }
}

/// Returns the geometric mean of several series relative to its start: from one time to the next,
/// it changes by the mean of the changes of all series with a value at both. A series may therefore
/// begin or end at any time.
pub fn geometric_mean(name: &str, series: &[&[(Timestamp, f64)]]) -> TimeSeries {
    let mut changes: BTreeMap<Timestamp, (f64, usize)> = BTreeMap::new();
    for points in series {
        changes.extend(
            points
                .first()
                .filter(|(at, _)| !changes.contains_key(at))
                .map(|(at, _)| (*at, (0.0, 0))),
        );
        for pair in points.windows(2) {
            let [(_, before), (at, now)] = pair else { continue };
            let change = (now / before).ln();
            let (sum, count) = changes.entry(*at).or_default();
            if change.is_finite() {
                (*sum, *count) = (*sum + change, *count + 1);
            }
        }
    }
    let mut level = 0.0;
    let mut points = Vec::new();
    for (at, (sum, count)) in changes {
        level += if count == 0 { 0.0 } else { sum / count as f64 };
        points.push((at, f64::exp(level)));
    }
    TimeSeries { name: name.to_owned(), points }
}

/// Returns a chart of `series` over time, with at most `most` points in total. `None` without a
/// series of at least two values.
pub fn over_time(title: &str, y_title: &str, series: &[TimeSeries], most: usize) -> Option<Chart> {
    if series.iter().all(|one| one.points.len() < 2) {
        return None;
    }
    let times = || series.iter().flat_map(|one| &one.points).map(|(at, _)| at.as_second());
    let (from, to) = (times().min()?, times().max()?);
    let (low, high) = range(series.iter().flat_map(|one| &one.points).map(|(_, value)| *value))?;
    let room = ((high - low) * 0.08).max(high.abs() * 0.05);
    let y_axis = if low > 0.0 && low < high / axis::WIDE {
        axis::powers_of_ten(y_title, low, high)
    } else {
        let least = if low < 0.0 { low - room } else { (low - room).max(0.0) };
        axis::linear(y_title, least, high + room, 5)
    };
    let mut datasets = Vec::new();
    for (at, one) in series.iter().enumerate() {
        let values: Vec<f64> = one.points.iter().map(|(_, value)| *value).collect();
        let mut points = Vec::new();
        for kept in thin(&values, most / series.len().max(1)) {
            points.extend(
                one.points
                    .get(kept)
                    .map(|(time, value)| Point::at(days(time.as_second(), from), *value)),
            );
        }
        let kind = if points.len() > MARKED { DatasetKind::Path } else { DatasetKind::Line };
        datasets.push(Dataset::new(kind, Paint::Series(at), points).with_name(&one.name));
    }
    Some(Chart {
        name: slug(&format!("series-{title}")),
        title: title.to_owned(),
        subtitle: String::new(),
        place: ChartPlace::Other,
        x_axis: time_axis(from, to),
        y_axis,
        datasets,
        legend_position: Legend::Below,
    })
}

fn days(at: i64, from: i64) -> f64 {
    (at - from) as f64 / DAY as f64
}

/// Returns an axis in days since `from`, labeled with dates, or with times of day if it is short.
fn time_axis(from: i64, to: i64) -> Axis {
    let span = (to - from).max(1);
    let step = (span / LABELS).max(1);
    let (step, format) = match span / DAY {
        0 => (step, "%H:%M"),
        1..300 => ((step + DAY - 1) / DAY * DAY, "%-d %b"),
        _ => ((step + DAY - 1) / DAY * DAY, "%b %Y"),
    };
    let mut labels = Vec::new();
    let mut at = from;
    while at <= to {
        let text = Timestamp::from_second(at).map(|time| time.strftime(format).to_string());
        labels.extend(text.ok().map(|text| Label { at: days(at, from), text }));
        at += step;
    }
    let room = days(span, 0) * 0.02;
    let mut axis = axis::exact("began", 0.0, days(to, from), 1);
    (axis.bounds, axis.labels) = ([-room, days(to, from) + room], labels);
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(i64, f64)]) -> TimeSeries {
        let points = points
            .iter()
            .map(|(day, value)| (Timestamp::from_second(day * DAY).unwrap(), *value))
            .collect();
        TimeSeries { name: name.to_owned(), points }
    }

    fn values(series: &TimeSeries) -> Vec<f64> {
        series.points.iter().map(|(_, value)| (value * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn a_ratio_is_to_the_last_value_of_the_first_series() {
        let first = series("f32", &[(1, 2.0), (3, 4.0)]);
        let other = series("f16", &[(0, 1.0), (1, 1.0), (2, 3.0), (3, 1.0)]);
        assert_eq!(values(&other.ratio_to(&first)), [0.5, 1.5, 0.25]);
        assert_eq!(values(&other.ratio_to_start()), [1.0, 1.0, 3.0, 1.0]);
    }

    #[test]
    fn a_series_that_begins_late_does_not_move_the_geometric_mean() {
        let early = series("a", &[(0, 1.0), (1, 2.0), (2, 2.0)]);
        let late = series("b", &[(1, 100.0), (2, 400.0)]);
        let mean = geometric_mean("mean", &[&early.points, &late.points]);
        assert_eq!(values(&mean), [1.0, 2.0, 4.0]);
    }

    #[test]
    fn a_chart_of_several_series_has_a_name_for_each_and_few_points() {
        let long: Vec<(i64, f64)> = (0..5_000).map(|day| (day, 1.0 + (day % 7) as f64)).collect();
        let chart =
            over_time("gemm", "ms", &[series("a", &long), series("b", &long)], 2_000).unwrap();
        let names: Vec<&str> = chart.datasets.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let count: usize = chart.datasets.iter().map(|one| one.points.len()).sum();
        assert!(count <= 2_000, "{count}");
        assert!(chart.x_axis.labels.len() <= 7, "{:?}", chart.x_axis.labels);
        assert!(over_time("gemm", "ms", &[series("a", &[(0, 1.0)])], 100).is_none());
    }
}
