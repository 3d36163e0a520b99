//! Layout of a picture, in pixels.

use super::canvas::{Head, MARGIN, SIZE, WIDTH, width_of};
use super::legend_width;
use crate::chart::{Axis, AxisScale, Chart, Dataset, DatasetKind, Legend, Paint};

/// Distance between a row's label and the frame.
pub(super) const GAP: f64 = 10.0;
pub(super) const LEGEND_LINE: f64 = 22.0;
/// Distance from the frame to the middle of the first line of the legend.
pub(super) const LEGEND_TOP: f64 = 66.0;
const FRAME_HEIGHT: f64 = 310.0;
/// Maximum width of a row's label.
const WIDEST_LABEL: f64 = 270.0;

/// Edges of the data area.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

pub(super) struct Layout<'a> {
    pub(super) size: (f64, f64),
    pub(super) frame: Frame,
    pub(super) row: f64,
    chart: &'a Chart,
}

impl<'a> Layout<'a> {
    pub(super) fn of(chart: &'a Chart) -> Self {
        let y_axis = &chart.y_axis;
        let row = row_height(chart);
        let height = match y_axis.scale {
            AxisScale::Rows => row * (y_axis.bounds[1] - y_axis.bounds[0]),
            AxisScale::Linear | AxisScale::Log => FRAME_HEIGHT,
        };
        // Leave space for two lines of labels above the frame, because rules may be close together.
        let has_words = chart
            .datasets
            .iter()
            .any(|set| set.kind == DatasetKind::Rules && set.points.iter().any(has_text));
        let top = Head::of(chart).height() + if has_words { 34.0 } else { 4.0 };
        let frame = Frame {
            left: left_margin(y_axis),
            top,
            right: WIDTH - right(chart),
            bottom: top + height,
        };
        let places = legend_places(chart, MARGIN, WIDTH - MARGIN);
        let lines = if is_heat_map(chart) { Some(1) } else { places.last().map(|(_, at)| at + 1) };
        let legend = lines.map_or(0.0, |lines| 4.0 + LEGEND_LINE * lines as f64);
        Self { size: (WIDTH, frame.bottom + 58.0 + legend), frame, row, chart }
    }

    /// Returns the pixel of an x coordinate; at the edge if it is out of bounds.
    pub(super) fn x(&self, value: f64) -> f64 {
        let share = self.chart.x_axis.share(value);
        self.frame.left + share * (self.frame.right - self.frame.left)
    }

    /// Returns the pixel of a y coordinate, or of a row.
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = self.chart.y_axis.share(value);
        let height = self.frame.bottom - self.frame.top;
        match self.chart.y_axis.scale {
            AxisScale::Rows => self.frame.top + share * height,
            AxisScale::Linear | AxisScale::Log => self.frame.bottom - share * height,
        }
    }

    /// Returns whether an x coordinate is within the bounds, so that it is not drawn at the edge.
    pub(super) fn shows(&self, x: f64) -> bool {
        self.chart.x_axis.shows(x)
    }

    pub(super) fn has_rows(&self) -> bool {
        self.chart.y_axis.scale == AxisScale::Rows
    }

    /// Returns the x pixels of the ticks across row `y`.
    pub(super) fn ticks_in(&self, y: f64) -> impl Iterator<Item = f64> {
        let ticks = self.chart.datasets.iter().filter(|dataset| dataset.kind == DatasetKind::Ticks);
        let points = ticks.flat_map(|dataset| &dataset.points);
        points.filter(move |point| (point.y - y).abs() < 0.5).map(|point| self.x(point.x))
    }

    /// Returns the x pixel of texts right of the frame, for rows without bars.
    pub(super) fn beside(&self) -> f64 {
        self.frame.right + GAP
    }
}

fn has_text(point: &crate::chart::Point) -> bool {
    !point.text.is_empty()
}

/// Returns the height of a row for the content of the chart.
fn row_height(chart: &Chart) -> f64 {
    let mut height: f64 = 24.0;
    for dataset in &chart.datasets {
        height = height.max(match dataset.kind {
            DatasetKind::Bars { thickness } => 16.0 / thickness.max(0.05),
            DatasetKind::Tracks { .. } => 26.0,
            DatasetKind::Dots => 46.0,
            DatasetKind::Cells => 30.0,
            _ => 24.0,
        });
    }
    height
}

/// Returns the space for the title and labels of the vertical axis.
fn left_margin(axis: &Axis) -> f64 {
    let widest = axis.labels.iter().map(|label| width_of(&label.text, SIZE)).fold(0.0, f64::max);
    match axis.scale {
        AxisScale::Rows => MARGIN + widest.clamp(60.0, WIDEST_LABEL) + GAP,
        AxisScale::Linear | AxisScale::Log => 34.0 + widest.clamp(40.0, 100.0) + GAP,
    }
}

/// Returns the space for the texts next to rows.
fn right(chart: &Chart) -> f64 {
    let rows = chart.datasets.iter().filter(|_| chart.y_axis.scale == AxisScale::Rows);
    let texts = rows
        .filter(|dataset| !matches!(dataset.kind, DatasetKind::Rules | DatasetKind::Cells))
        .flat_map(|dataset| &dataset.points);
    texts.map(|point| width_of(&point.text, SIZE)).fold(16.0, f64::max).min(200.0)
        + MARGIN
        + 2.0 * GAP
}

/// Returns whether the legend is a scale of colors.
pub(super) fn is_heat_map(chart: &Chart) -> bool {
    chart.datasets.iter().any(|dataset| matches!(dataset.paint, Paint::Heat(_)))
}

/// Returns the datasets that the legend lists. Roofs are labeled where they are drawn.
pub(super) fn listed(chart: &Chart) -> impl Iterator<Item = &Dataset> {
    let is_shown = chart.legend_position != Legend::Hidden;
    let is_roof = |dataset: &&Dataset| matches!(dataset.kind, DatasetKind::Roof { .. });
    chart.legend_datasets().filter(move |dataset| is_shown && !is_roof(dataset))
}

/// Returns the x pixel and the line of each entry of the legend.
pub(super) fn legend_places(chart: &Chart, left: f64, right: f64) -> Vec<(f64, usize)> {
    let mut places = Vec::new();
    let (mut x, mut line) = (left, 0);
    for dataset in listed(chart) {
        let width = legend_width(dataset);
        if x > left && x + width > right {
            (x, line) = (left, line + 1);
        }
        places.push((x, line));
        x += width;
    }
    places
}
