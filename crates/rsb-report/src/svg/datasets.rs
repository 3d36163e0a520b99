//! Drawing of datasets.

use super::canvas::{Anchor, Canvas, DashPattern, Pixel, Text, Tint, shorten, width_of};
use super::layout::Layout;
use crate::chart::{DASHES, Dataset, DatasetKind, HEAT_LEVELS, Paint, Point};

/// Half the height of a tick across a row of ordinary height, in pixels.
const TICK: f64 = 11.0;

pub(super) fn draw(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let paint = dataset.paint;
    let pixels: Vec<Pixel> =
        dataset.points.iter().map(|point| (layout.x(point.x), layout.y(point.y))).collect();
    match dataset.kind {
        DatasetKind::Line => {
            dataset.points.iter().for_each(|point| errors(canvas, point, paint, layout));
            line(canvas, &pixels, paint);
        }
        DatasetKind::Marks => {
            dataset.points.iter().for_each(|point| errors(canvas, point, paint, layout));
            for &pixel in &pixels {
                canvas.mark(pixel, paint);
            }
        }
        DatasetKind::Path => canvas.path(&pixels, paint, 2),
        DatasetKind::Roof { dash } => roof(canvas, dataset, &pixels, dash),
        DatasetKind::Dots => pixels.iter().for_each(|&pixel| canvas.dot(pixel, 2, paint)),
        DatasetKind::Bars { thickness } => {
            dataset.points.iter().for_each(|point| bar(canvas, point, thickness, paint, layout));
        }
        DatasetKind::Tracks { thickness } => {
            dataset.points.iter().for_each(|point| track(canvas, point, thickness, layout));
        }
        DatasetKind::Cells => {
            dataset.points.iter().for_each(|point| cell(canvas, point, paint, layout));
        }
        DatasetKind::Band => band(canvas, dataset, layout),
        DatasetKind::Columns => {
            dataset.points.iter().for_each(|point| column(canvas, point, paint, layout));
        }
        DatasetKind::Intervals => {
            dataset.points.iter().for_each(|point| interval(canvas, point, paint, layout));
        }
        DatasetKind::Ticks => ticks(canvas, dataset, layout),
        DatasetKind::Limits => pixels.iter().for_each(|&(x, y)| {
            canvas.dashed_line((x, y - layout.row / 2.0), (x, y + layout.row / 2.0), paint);
        }),
        DatasetKind::Rules => rules(canvas, dataset, layout),
    }
    if matches!(dataset.kind, DatasetKind::Line | DatasetKind::Marks | DatasetKind::Path) {
        dataset.points.iter().for_each(|point| beside(canvas, point, layout));
    }
}

/// Dash patterns of roofs, by index.
const PATTERNS: [DashPattern; DASHES] = [
    DashPattern { period: 1000.0, drawn: 1.0 },
    DashPattern { period: 16.0, drawn: 0.7 },
    DashPattern { period: 7.0, drawn: 0.5 },
    DashPattern { period: 26.0, drawn: 0.85 },
    DashPattern { period: 4.0, drawn: 0.4 },
];

/// Draws a limit with its label: left of the middle of a slope, above the end of a flat part.
fn roof(canvas: &mut Canvas<'_>, dataset: &Dataset, pixels: &[Pixel], dash: usize) {
    let (Some(&from), Some(&to)) = (pixels.first(), pixels.last()) else { return };
    canvas.dashes(from, to, dataset.paint, 2, PATTERNS[dash % DASHES]);
    let text = dataset.points.last().map_or("", |point| point.text.as_str());
    let at = if (from.1 - to.1).abs() > 1.0 {
        (f64::midpoint(from.0, to.0) - 12.0, f64::midpoint(from.1, to.1) - 6.0)
    } else {
        (to.0, to.1 - 11.0)
    };
    let look = Text { size: 13.0, ..Text::label(Anchor::End) };
    if !canvas.label(text, at, look) {
        canvas.label(text, (at.0, at.1 + 22.0), look);
    }
}

/// Draws the text of a mark above it, within the frame; in a chart of rows, right of the frame.
fn beside(canvas: &mut Canvas<'_>, point: &Point, layout: &Layout<'_>) {
    if layout.has_rows() {
        canvas.text(
            &point.text,
            (layout.beside(), layout.y(point.y.round())),
            Text::label(Anchor::Start),
        );
        return;
    }
    let look = Text { size: 13.0, ..Text::label(Anchor::Middle) };
    let half = width_of(&point.text, look.size) / 2.0;
    let (left, right) = (layout.frame.left + half, layout.frame.right - half);
    let x = layout.x(point.x).clamp(left.min(right), right.max(left));
    let y = (layout.y(point.y) - 14.0).max(layout.frame.top + 8.0);
    canvas.label(&point.text, (x, y), look);
}

/// Draws an error interval: vertical, or horizontal in a chart of rows.
fn errors(
    canvas: &mut Canvas<'_>,
    point: &Point,
    paint: impl Into<Tint> + Copy,
    layout: &Layout<'_>,
) {
    let Some([low, high]) = point.error else { return };
    if layout.has_rows() {
        let y = layout.y(point.y);
        let (from, to) = (layout.x(low), layout.x(high));
        canvas.line((from, y), (to, y), paint, 1);
        for x in [from, to] {
            canvas.line((x, y - 4.0), (x, y + 4.0), paint, 1);
        }
    } else {
        let x = layout.x(point.x);
        let (from, to) = (layout.y(low), layout.y(high));
        canvas.line((x, from), (x, to), paint, 1);
        for y in [from, to] {
            canvas.line((x - 4.0, y), (x + 4.0, y), paint, 1);
        }
    }
}

fn track(canvas: &mut Canvas<'_>, point: &Point, thickness: f64, layout: &Layout<'_>) {
    let (y, half) = (layout.y(point.y), half_of(thickness, layout));
    canvas.rectangle((layout.x(0.0), y - half), (layout.x(point.x), y + half), Tint::Grid);
}

/// Returns half the height of a bar in pixels.
fn half_of(thickness: f64, layout: &Layout<'_>) -> f64 {
    (thickness * layout.row / 2.0 - 1.0).max(1.0)
}

/// Draws a cell of a matrix. In a shaded cell, the text color contrasts with the shade.
fn cell(canvas: &mut Canvas<'_>, point: &Point, paint: Paint, layout: &Layout<'_>) {
    let (left, right) = (layout.x(point.x - 0.5) + 1.0, layout.x(point.x + 0.5) - 1.0);
    let (y, half) = (layout.y(point.y), layout.row / 2.0 - 1.0);
    let color = match paint {
        Paint::Heat(level) => {
            canvas.rectangle((left, y - half), (right, y + half), paint);
            if level >= HEAT_LEVELS / 10 * 7 { Tint::Sheet } else { Tint::Ink }
        }
        _ => Tint::Of(paint),
    };
    let look = Text { color, ..Text::label(Anchor::Middle) };
    let text = shorten(&point.text, right - left, look.size);
    if !text.is_empty() {
        canvas.text(&text, (f64::midpoint(left, right), y), look);
    }
}

fn band(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let mut points: Vec<Pixel> = Vec::new();
    for point in &dataset.points {
        let upper = point.error.map_or(point.y, |[_, high]| high);
        points.push((layout.x(point.x), layout.y(upper)));
    }
    for point in dataset.points.iter().rev() {
        let lower = point.error.map_or(point.y, |[low, _]| low);
        points.push((layout.x(point.x), layout.y(lower)));
    }
    if points.len() > 2 {
        canvas.veil(&points, dataset.paint);
    }
}

/// Draws a line with marks; thinner and with dots if it has more than 40 points.
fn line(canvas: &mut Canvas<'_>, pixels: &[Pixel], paint: Paint) {
    let many = pixels.len() > 40;
    canvas.path(pixels, paint, if many { 1 } else { 2 });
    for &pixel in pixels {
        if many {
            canvas.dot(pixel, if pixels.len() > 150 { 2 } else { 3 }, paint);
        } else {
            canvas.mark(pixel, paint);
        }
    }
}

/// Draws a bar from zero or over its extent, with its text at its end, and an arrowhead if it
/// extends beyond the edge.
fn bar(canvas: &mut Canvas<'_>, point: &Point, thickness: f64, paint: Paint, layout: &Layout<'_>) {
    let [from, to] = point.extent.unwrap_or([0.0, point.x]).map(|value| layout.x(value));
    let (start, end, y) = (from.min(to), from.max(to), layout.y(point.y));
    let half = half_of(thickness, layout);
    canvas.rectangle((start, y - half), (end.max(start + 1.0), y + half), paint);
    errors(canvas, point, Tint::Ink, layout);
    let mut text = point.error.map_or(end, |[_, high]| layout.x(high).max(end)) + 8.0;
    if !layout.shows(point.x) {
        let (tip, base) = if point.x < 0.0 { (start - 9.0, start) } else { (end + 9.0, end) };
        canvas.polygon(&[(tip, y), (base, y - half - 2.0), (base, y + half + 2.0)], paint);
        text += if point.x < 0.0 { 0.0 } else { 8.0 };
    }
    if !point.text.is_empty() {
        let arrow = if paint.is_change() { 14.0 } else { 0.0 };
        let look = Text::label(Anchor::Start);
        let wide = width_of(&point.text, look.size) + arrow;
        // Move the text past ticks that it would overlap.
        let words = end..text + wide + 6.0;
        for at in layout.ticks_in(point.y).filter(|at| words.contains(at)) {
            text = text.max(at + 8.0);
        }
        // A background keeps rules from crossing the text.
        canvas.rectangle((text - 2.0, y - half), (text + wide, y + half), Tint::Sheet);
        if paint.is_change() {
            canvas.mark((text + 5.0, y), paint);
        }
        canvas.text(&point.text, (text + arrow, y), look);
    }
}

/// Draws a bar from the horizontal axis, over the extent.
fn column(canvas: &mut Canvas<'_>, point: &Point, paint: Paint, layout: &Layout<'_>) {
    let [left, right] = point.extent.unwrap_or([point.x; 2]).map(|edge| layout.x(edge));
    let (left, right) = (left + 1.0, right - 1.0);
    canvas.rectangle(
        (left, layout.y(point.y)),
        (right.max(left + 1.0), layout.frame.bottom),
        paint,
    );
}

/// Draws a dot with its interval, and an arrowhead if either is beyond the edge.
fn interval(canvas: &mut Canvas<'_>, point: &Point, paint: Paint, layout: &Layout<'_>) {
    let color = paint;
    let y = layout.y(point.y);
    let [low, high] = point.extent.unwrap_or([point.x; 2]);
    canvas.line((layout.x(low), y), (layout.x(high), y), color, 2);
    for (value, out) in [(low.min(point.x), -1.0), (high.max(point.x), 1.0)] {
        let at = layout.x(value);
        let is_beyond = if out < 0.0 { at <= layout.frame.left } else { at >= layout.frame.right };
        if layout.shows(value) {
            canvas.line((at, y - 4.0), (at, y + 4.0), color, 2);
        } else if is_beyond {
            canvas.polygon(&[(at + 7.0 * out, y), (at, y - 5.0), (at, y + 5.0)], color);
        }
    }
    canvas.mark((layout.x(point.x), y), paint);
    canvas.text(&point.text, (layout.beside(), y), Text::label(Anchor::Start));
}

fn ticks(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let half = TICK.max(layout.row * 0.35).min(layout.row / 2.0 - 2.0);
    for point in &dataset.points {
        let (x, y) = (layout.x(point.x), layout.y(point.y));
        canvas.line((x, y - half), (x, y + half), dataset.paint, 3);
        canvas.text(&point.text, (layout.beside(), y), Text::label(Anchor::Start));
    }
}

/// Draws dashed lines from bottom to top. Their labels are above the frame, on a second line if the
/// first has no room.
fn rules(canvas: &mut Canvas<'_>, dataset: &Dataset, layout: &Layout<'_>) {
    let frame = layout.frame;
    let mut taken = [f64::NEG_INFINITY; 2];
    for point in &dataset.points {
        let x = layout.x(point.x);
        canvas.dashed_line((x, frame.top - 4.0), (x, frame.bottom), dataset.paint);
        let look = Text { size: 13.0, color: dataset.paint.into(), ..Text::label(Anchor::Middle) };
        let half = width_of(&point.text, look.size) / 2.0;
        let left = frame.left + half;
        let middle = x.clamp(left, (layout.size.0 - half - 4.0).max(left));
        let line = taken
            .iter()
            .position(|end| middle - half > *end)
            .unwrap_or_else(|| usize::from(taken[0] > taken[1]));
        if let (Some(end), false) = (taken.get_mut(line), point.text.is_empty()) {
            *end = middle + half + 4.0;
            canvas.text(&point.text, (middle, frame.top - 12.0 - 15.0 * line as f64), look);
        }
    }
}
