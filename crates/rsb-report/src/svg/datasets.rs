//! The shapes of the datasets.

use super::canvas::{Anchor, Canvas, Pixel, Text, WHITE, paint_of, width_of};
use super::layout::Layout;
use crate::chart::{Dataset, DatasetKind, Paint, Point};

/// Half the height of a tick across a row, for rows of ordinary height.
const TICK: f64 = 11.0;

pub(super) fn draw(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let paint = dataset.paint;
    let pixels: Vec<Pixel> = dataset.points.iter().map(|point| (layout.x(point.x), layout.y(point.y))).collect();
    match dataset.kind {
        DatasetKind::Line => line(canvas, &pixels, paint),
        DatasetKind::Marks => pixels.iter().for_each(|&pixel| canvas.mark(pixel, paint)),
        DatasetKind::Path => canvas.path(&pixels, (paint_of(paint), 2)),
        DatasetKind::Dots => pixels.iter().for_each(|&pixel| canvas.dot(pixel, 2, paint_of(paint))),
        DatasetKind::Bars { thickness } => {
            dataset.points.iter().for_each(|point| bar(canvas, point, (thickness, paint), layout));
        }
        DatasetKind::Columns => dataset.points.iter().for_each(|point| column(canvas, point, paint, layout)),
        DatasetKind::Intervals => dataset.points.iter().for_each(|point| interval(canvas, point, paint, layout)),
        DatasetKind::Ticks => ticks(canvas, dataset, layout),
        DatasetKind::Limits => pixels.iter().for_each(|&(x, y)| {
            canvas.dashed((x, y - layout.row / 2.0), (x, y + layout.row / 2.0), paint_of(paint));
        }),
        DatasetKind::Rules => rules(canvas, dataset, layout),
    }
}

/// Thin lines and small marks where there are very many points.
fn line(canvas: &mut Canvas<'_>, pixels: &[Pixel], paint: Paint) {
    let many = pixels.len() > 40;
    canvas.path(pixels, (paint_of(paint), if many { 1 } else { 2 }));
    for &pixel in pixels {
        if many {
            canvas.dot(pixel, if pixels.len() > 150 { 2 } else { 3 }, paint_of(paint));
        } else {
            canvas.mark(pixel, paint);
        }
    }
}

/// A bar from zero with its text at its end; an arrow head where it goes on beyond the edge.
fn bar(canvas: &mut Canvas<'_>, point: &Point, (thickness, paint): (f64, Paint), layout: &Layout<'_>) {
    let (start, end, y) = (layout.x(0.0), layout.x(point.x), layout.y(point.y));
    let half = (thickness * layout.row / 2.0 - 1.0).max(1.0);
    canvas.rectangle((start, y - half), (end.max(start + 1.0), y + half), paint_of(paint));
    let mut text = end + 8.0;
    if !layout.shows(point.x) {
        let (top, bottom) = (y - half - 2.0, y + half + 2.0);
        canvas.polygon(&[(end + 9.0, y), (end, top), (end, bottom)], paint_of(paint));
        text += 8.0;
    }
    if !point.text.is_empty() {
        let look = Text::label(Anchor::Start);
        let wide = width_of(&point.text, look.size);
        // Behind a tick that stands where the words would.
        let in_the_way = |at: &f64| (end..text + wide + 6.0).contains(at);
        text = layout.ticks_in(point.y).filter(in_the_way).map(|at| at + 8.0).fold(text, f64::max);
        let right = text + wide;
        // A white ground keeps rules out of the words.
        canvas.rectangle((text - 2.0, y - half), (right, y + half), WHITE);
        canvas.text(&point.text, (text, y), look);
    }
}

/// A bar from the horizontal axis over the extent.
fn column(canvas: &mut Canvas<'_>, point: &Point, paint: Paint, layout: &Layout<'_>) {
    let [left, right] = point.extent.unwrap_or([point.x; 2]).map(|edge| layout.x(edge));
    let (left, right) = (left + 1.0, right - 1.0);
    canvas.rectangle((left, layout.y(point.y)), (right.max(left + 1.0), layout.frame.bottom), paint_of(paint));
}

/// A dot with its interval; an arrow head where the interval goes on beyond the edge.
fn interval(canvas: &mut Canvas<'_>, point: &Point, paint: Paint, layout: &Layout<'_>) {
    let color = paint_of(paint);
    let y = layout.y(point.y);
    let [low, high] = point.extent.unwrap_or([point.x; 2]);
    canvas.line((layout.x(low), y), (layout.x(high), y), (color, 2));
    for (value, out) in [(low, -1.0), (high, 1.0)] {
        let at = layout.x(value);
        if layout.shows(value) {
            canvas.line((at, y - 4.0), (at, y + 4.0), (color, 2));
        } else {
            canvas.polygon(&[(at + 7.0 * out, y), (at, y - 5.0), (at, y + 5.0)], color);
        }
    }
    canvas.dot((layout.x(point.x), y), 5, color);
    canvas.text(&point.text, (layout.beside(), y), Text::label(Anchor::Start));
}

fn ticks(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let half = TICK.max(layout.row * 0.35).min(layout.row / 2.0 - 2.0);
    for point in &dataset.points {
        let (x, y) = (layout.x(point.x), layout.y(point.y));
        canvas.line((x, y - half), (x, y + half), (paint_of(dataset.paint), 3));
        canvas.text(&point.text, (layout.beside(), y), Text::label(Anchor::Start));
    }
}

/// Broken lines from bottom to top. Their words stand over the frame, in a second line where there is no room in the
/// first.
fn rules(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let frame = layout.frame;
    let mut taken = [f64::NEG_INFINITY; 2];
    for point in &dataset.points {
        let x = layout.x(point.x);
        canvas.dashed((x, frame.top - 4.0), (x, frame.bottom), paint_of(dataset.paint));
        let look = Text { size: 11.0, color: paint_of(dataset.paint), ..Text::label(Anchor::Middle) };
        let half = width_of(&point.text, look.size) / 2.0;
        let middle = x.clamp(half + 4.0, (layout.size.0 - half - 4.0).max(half + 4.0));
        let free = |end: &f64| middle - half > *end;
        let line = taken.iter().position(free).unwrap_or_else(|| usize::from(taken[0] > taken[1]));
        if let (Some(end), false) = (taken.get_mut(line), point.text.is_empty()) {
            *end = middle + half + 4.0;
            canvas.text(&point.text, (middle, frame.top - 11.0 - 13.0 * line as f64), look);
        }
    }
}
