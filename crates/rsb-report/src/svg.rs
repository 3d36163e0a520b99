//! A [`Chart`] as SVG, drawn with plotters.
//!
//! Text stays text, so that readers can search it and browsers apply their own fonts. Colors are
//! distinguishable with any kind of color vision, and shape or position always carries the same
//! information.

mod canvas;
mod datasets;
mod layout;

use std::collections::HashMap;

use canvas::{Anchor, Canvas, Text, Tint, characters_in, sheet, shorten, width_of};
use layout::Layout;

use crate::chart::{Axis, AxisScale, Chart, Dataset, DatasetKind, HEAT_LEVELS, Label, Paint};
use crate::names::shorten_names;
use crate::theme::Theme;

/// Draws the chart in the light theme; `None` if a coordinate is not finite.
pub fn svg(chart: &Chart) -> Option<String> {
    svg_in(chart, &Theme::default())
}

/// Draws the chart in the colors of `theme`; `None` if a coordinate is not finite.
pub fn svg_in(chart: &Chart, theme: &Theme) -> Option<String> {
    if !chart.is_finite() {
        return None;
    }
    let layout = Layout::of(chart);
    sheet(layout.size, chart, theme, |canvas| {
        x_axis(canvas, chart, &layout);
        y_axis(canvas, chart, &layout);
        chart.datasets.iter().for_each(|dataset| datasets::draw(canvas, dataset, &layout));
        legend(canvas, chart, &layout);
    })
}

/// Position of the data area in a picture, in units of its view box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartFrame {
    /// Left, top, right and bottom edge.
    pub edges: [f64; 4],
}

/// Returns the area in which [`svg`] draws the data of `chart`.
pub fn frame(chart: &Chart) -> ChartFrame {
    let Layout { frame, .. } = Layout::of(chart);
    ChartFrame { edges: [frame.left, frame.top, frame.right, frame.bottom] }
}

pub(crate) fn size(chart: &Chart) -> (f64, f64) {
    Layout::of(chart).size
}

/// Draws the horizontal axis with its labels below the frame, the grid lines, and its title.
fn x_axis(canvas: &mut Canvas<'_>, chart: &Chart, layout: &Layout<'_>) {
    let (frame, axis) = (layout.frame, &chart.x_axis);
    let field = (frame.right - frame.left) / axis.labels.len().max(1) as f64;
    let short = short_labels(axis, field - 4.0, Text::faded_label(Anchor::Middle).size);
    for label in &axis.labels {
        let x = layout.x(label.at);
        let look = Text::faded_label(Anchor::Middle);
        if axis.scale == AxisScale::Rows {
            canvas.text(label_text(&short, label), (x, frame.bottom + 18.0), look);
        } else {
            canvas.line((x, frame.top), (x, frame.bottom), Tint::Grid, 1);
            canvas.text(&label.text, (x, frame.bottom + 18.0), look);
        }
    }
    canvas.line((frame.left, frame.bottom), (frame.right, frame.bottom), Tint::Axis, 1);
    let [low, high] = axis.bounds;
    if axis.scale == AxisScale::Linear && low < 0.0 && high > 0.0 {
        canvas.line((layout.x(0.0), frame.top), (layout.x(0.0), frame.bottom), Tint::Axis, 2);
    }
    let middle = f64::midpoint(frame.left, frame.right);
    canvas.text(&axis.title, (middle, frame.bottom + 40.0), Text::label(Anchor::Middle));
}

/// Returns the short forms of the labels of `axis` that are wider than `room` pixels.
fn short_labels(axis: &Axis, room: f64, size: f64) -> HashMap<String, String> {
    shorten_names(axis.labels.iter().map(|label| label.text.as_str()), characters_in(room, size))
}

fn label_text<'l>(short: &'l HashMap<String, String>, label: &'l Label) -> &'l str {
    short.get(&label.text).unwrap_or(&label.text)
}

/// Draws the vertical axis with its labels left of the frame, and grid lines if it is numeric.
fn y_axis(canvas: &mut Canvas<'_>, chart: &Chart, layout: &Layout<'_>) {
    let (frame, axis) = (layout.frame, &chart.y_axis);
    let is_rows = axis.scale == AxisScale::Rows;
    let look = if is_rows { Text::label(Anchor::End) } else { Text::faded_label(Anchor::End) };
    let short = short_labels(axis, frame.left - canvas::MARGIN - layout::GAP, look.size);
    for label in &axis.labels {
        let y = layout.y(label.at);
        if !is_rows {
            canvas.line((frame.left, y), (frame.right, y), Tint::Grid, 1);
        }
        canvas.text(label_text(&short, label), (frame.left - layout::GAP, y), look);
    }
    if is_rows {
        canvas.line((frame.left, frame.top), (frame.left, frame.bottom), Tint::Axis, 1);
    }
    let middle = (20.0, f64::midpoint(frame.top, frame.bottom));
    canvas.text_upwards(&axis.title, middle, Text::label(Anchor::Middle));
}

/// Draws the legend: the name of each dataset that has a name and at least one point, next to a
/// sample of its style.
fn legend(canvas: &mut Canvas<'_>, chart: &Chart, layout: &Layout<'_>) {
    let look = Text::faded_label(Anchor::Start);
    let (left, right) = (canvas::MARGIN, layout.size.0 - canvas::MARGIN);
    let top = layout.frame.bottom + layout::LEGEND_TOP;
    if layout::is_heat_map(chart) {
        heat_scale(canvas, chart, (left, top));
        return;
    }
    let places = layout::legend_places(chart, left, right);
    for (dataset, (x, line)) in layout::listed(chart).zip(places) {
        let y = top + layout::LEGEND_LINE * line as f64;
        swatch(canvas, dataset, x + 11.0, y);
        canvas.text(&shorten(&dataset.name, right - x - 30.0, look.size), (x + 30.0, y), look);
    }
}

/// Draws the colors of a heat map side by side, between its lowest and its highest value.
fn heat_scale(canvas: &mut Canvas<'_>, chart: &Chart, at: (f64, f64)) {
    const WIDE: f64 = 5.0;
    let look = Text::faded_label(Anchor::Start);
    let names: Vec<&str> = chart.legend_datasets().map(|set| set.name.as_str()).collect();
    let (Some(lowest), Some(highest)) = (names.first(), names.last()) else { return };
    let (mut x, y) = at;
    canvas.text(lowest, (x, y), look);
    x = (x + width_of(lowest, look.size) + 6.0).round();
    for level in 0..HEAT_LEVELS {
        canvas.rectangle((x, y - 8.0), (x + WIDE, y + 8.0), Paint::Heat(level));
        x += WIDE;
    }
    canvas.text(highest, (x + 8.0, y), look);
}

fn swatch(canvas: &mut Canvas<'_>, dataset: &Dataset, x: f64, y: f64) {
    let paint = dataset.paint;
    let (left, right) = (x - 11.0, x + 11.0);
    match dataset.kind {
        DatasetKind::Line | DatasetKind::Intervals => {
            canvas.line((left, y), (right, y), paint, 2);
            canvas.mark((x, y), paint);
        }
        DatasetKind::Path | DatasetKind::Roof { .. } => {
            canvas.line((left, y), (right, y), paint, 2);
        }
        DatasetKind::Marks => canvas.mark((x, y), paint),
        DatasetKind::Dots => canvas.dot((x, y), 2, paint),
        // Each bar of a change has this mark next to it, so use it in the legend, too.
        DatasetKind::Bars { .. } if paint.is_change() => canvas.mark((x, y), paint),
        DatasetKind::Bars { .. } | DatasetKind::Columns | DatasetKind::Cells => {
            canvas.rectangle((x - 6.0, y - 6.0), (x + 6.0, y + 6.0), paint);
        }
        DatasetKind::Tracks { .. } => {
            canvas.rectangle((x - 6.0, y - 6.0), (x + 6.0, y + 6.0), Tint::Grid);
        }
        DatasetKind::Band => {
            canvas.veil(
                &[(left, y - 6.0), (right, y - 6.0), (right, y + 6.0), (left, y + 6.0)],
                paint,
            );
        }
        DatasetKind::Ticks => canvas.line((x, y - 8.0), (x, y + 8.0), paint, 3),
        DatasetKind::Limits | DatasetKind::Rules => {
            canvas.dashed_line((x, y - 9.0), (x, y + 9.0), paint);
        }
    }
}

/// Returns the width of a legend entry, including its sample.
fn legend_width(dataset: &Dataset) -> f64 {
    width_of(&dataset.name, Text::label(Anchor::Start).size) + 46.0
}
