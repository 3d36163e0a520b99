//! One series over its runs: every value, and the levels between the changes that were found.

use rsb_model::record::{ChangePoint, Direction, SeriesTrend};
use rsb_model::{Field, Unit};

use super::axis::{Axis, Frame, draw_x, draw_y};
use super::canvas::{Anchor, BLUE, Canvas, FADED, HEAD, MARGIN, RED, Text, sheet};
use super::{Chart, Place, slug};
use crate::number::{format_percent, format_quantity};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 400.0;

/// The series; nothing when it has fewer than two values.
pub fn trend_chart(series: &SeriesTrend) -> Option<Chart> {
    let finite = || series.values.iter().copied().filter(|value| value.is_finite());
    if finite().count() < 2 {
        return None;
    }
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    // Small changes of a large value are shown at least 10 % high, so that noise does not look like drama.
    let room = ((high - low) * 0.08).max((high.abs().max(low.abs()) * 0.1 - (high - low)) / 2.0).max(0.0);
    let frame = Frame { left: 96.0, top: HEAD + 26.0, right: WIDTH - MARGIN - 20.0, bottom: HEIGHT - 58.0 };
    let count = series.values.len() as f64;
    let x = Axis::exact(1.0, count, (count as u32 - 1).clamp(1, 10)).over(frame.left + 12.0, frame.right - 12.0);
    let y = Axis::linear(low - room, high + room, 5).over(frame.bottom, frame.top);
    let title = format!("{}: {}", crate::trend::short(&series.id), series.metric);
    let svg = sheet((WIDTH, HEIGHT), &title, &subtitle(series), |canvas| {
        draw_y(canvas, frame, &y, axis_name(series), |tick| y.plain_label(tick));
        draw_x(canvas, frame, &x, "run, oldest first", |tick| {
            if tick.fract().abs() < 1e-6 { format!("{tick:.0}") } else { String::new() }
        });
        levels(canvas, series, frame, (&x, &y));
        let at = |(index, value): (usize, &f64)| value.is_finite().then(|| (x.at(index as f64 + 1.0), y.at(*value)));
        let points: Vec<_> = series.values.iter().enumerate().filter_map(at).collect();
        canvas.path(&points, (BLUE, 1));
        let radius = if points.len() > 150 { 2 } else { 3 };
        for &point in &points {
            canvas.dot(point, radius, BLUE);
        }
    })?;
    Some(Chart { name: slug(&format!("trend-{}-{}", series.id, series.metric)), title, place: Place::Other, svg })
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

/// A line at each level and a mark at each change, with how much it was. Labels take turns in height, since changes
/// may be close to one another.
fn levels(canvas: &mut Canvas<'_>, series: &SeriesTrend, frame: Frame, (x, y): (&Axis, &Axis)) {
    let mut from = 1.0;
    for (turn, point) in series.change_points.iter().enumerate() {
        let at = point.index as f64 + 0.5;
        canvas.line((x.at(from), y.at(point.before)), (x.at(at), y.at(point.before)), (RED, 2));
        canvas.dashed((x.at(at), frame.top), (x.at(at), frame.bottom), FADED);
        let height = frame.top - 9.0 - if turn % 2 == 1 { 14.0 } else { 0.0 };
        let anchor = if x.at(at) > frame.right - 120.0 { Anchor::End } else { Anchor::Middle };
        canvas.text(&change(point), (x.at(at), height), Text { size: 11.0, ..Text::faded(anchor) });
        from = at;
    }
    if let Some(last) = series.change_points.last() {
        let end = series.values.len() as f64;
        canvas.line((x.at(from), y.at(last.after)), (x.at(end), y.at(last.after)), (RED, 2));
    }
}

fn change(point: &ChangePoint) -> String {
    format!("{} on {}", format_percent(point.change_percent), point.timestamp.strftime("%Y-%m-%d"))
}
