//! Many series at a glance: a small line for each, with its last value.

use rsb_model::record::SeriesTrend;

use super::{axis, left_out, range};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::number::{format_count, format_percent, format_quantity};

const MAX_SERIES: usize = 30;
const HEIGHT: f64 = 0.8;

/// Returns a chart of the series, those that moved first; `None` if no series has three runs.
pub fn sparklines(series: &[SeriesTrend]) -> Option<Chart> {
    let mut all: Vec<&SeriesTrend> = series
        .iter()
        .filter(|one| {
            one.values.iter().filter(|value| value.is_finite()).count() >= crate::trend::FEWEST
        })
        .collect();
    all.sort_by_key(|one| crate::trend::moved_first(one));
    let rows = all.get(..all.len().min(MAX_SERIES)).filter(|rows| !rows.is_empty())?;
    let longest = rows.iter().map(|one| one.values.len()).max()?;
    let lines = rows.iter().enumerate().map(|(row, one)| line(one, row as f64, longest));
    let more = left_out(all.len() - rows.len(), "series is", "series are", "not drawn");
    Some(Chart {
        name: "sparklines".to_owned(),
        title: format!(
            "{} of {} changed their level",
            all.iter().filter(|one| !one.change_points.is_empty()).count(),
            format_count(all.len(), "series", "series")
        ),
        subtitle: format!(
            "each between its own lowest and highest value, the last value at the right{more}"
        ),
        place: ChartPlace::Other,
        x_axis: axis::exact("run, oldest first", 1.0, longest as f64, 8),
        y_axis: axis::rows(
            rows.iter().map(|one| format!("{} {}", crate::trend::short(&one.id), one.metric)),
        ),
        datasets: lines.collect(),
        legend_position: Legend::Hidden,
    })
}

/// Returns a series in its row, with its last value at the right edge.
fn line(series: &SeriesTrend, row: f64, longest: usize) -> Dataset {
    let finite = series.values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = range(finite).unwrap_or_default();
    let first = longest - series.values.len();
    let mut points: Vec<Point> = Vec::new();
    for (at, value) in series.values.iter().enumerate() {
        if !value.is_finite() {
            continue;
        }
        let height = if high > low { (value - low) / (high - low) } else { 0.5 };
        points.push(Point::at((first + at + 1) as f64, row + HEIGHT * (0.5 - height)));
    }
    if let Some(last) = points.last_mut() {
        last.text = words(series);
    }
    Dataset::new(DatasetKind::Path, Paint::Plain, points)
}

fn words(series: &SeriesTrend) -> String {
    let last = format_quantity(series.last, &series.unit);
    match series.change_points.last() {
        Some(point) => format!("{last} ({})", format_percent(point.change_percent)),
        None => last,
    }
}
