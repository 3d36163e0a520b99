//! Charts with a numeric scale on both axes: lines, marks, columns, bands.

use super::grid::{CharGrid, DotPosition, Dots};
use super::{Line, PictureArea, bars, head};
use crate::chart::{Chart, Dataset, DatasetKind, Paint, Point};
use crate::style::{clean, columns};

/// Minimum number of lines for a useful drawing.
const LOWEST: usize = 4;

pub(super) fn lines(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let mut lines = head::title(chart, place);
    let (labels, left) = y_labels(chart, place);
    let wide = place.width.saturating_sub(left);
    let foot = head::x_axis(&chart.x_axis, left, wide, place);
    let mut legend = head::legend(chart, place);
    let mut words = head::rule_words(chart, left, wide, place);
    let mut name = y_title(chart, place);
    // If there is not enough space, drop the least important parts.
    let mut taken = lines.len() + foot.len() + LOWEST;
    for part in [&mut legend, &mut name, &mut words] {
        if taken + part.len() > place.height {
            part.clear();
        }
        taken += part.len();
    }
    let around = lines.len() + foot.len() + legend.len() + words.len() + name.len();
    let high = place.height.saturating_sub(around);
    if high < 2 || wide < 2 {
        return lines;
    }
    lines.extend(name);
    lines.extend(words);
    lines.extend(drawing(chart, &labels, left, wide, high, place));
    lines.extend(foot);
    lines.extend(legend);
    lines
}

/// Returns the title of the vertical axis, for the line above it.
fn y_title(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let title = clean(&chart.y_axis.title);
    if title.is_empty() {
        Vec::new()
    } else {
        vec![head::faded_line(place.glyphs.elide(&title, place.width))]
    }
}

/// Returns the labels of the vertical axis with their coordinates, and the first column of the
/// drawing.
fn y_labels(chart: &Chart, place: PictureArea) -> (Vec<(f64, String)>, usize) {
    let most = (place.width / 4).max(1);
    let labels = &chart.y_axis.labels;
    let cut: Vec<(f64, String)> = labels
        .iter()
        .map(|label| (label.at, place.glyphs.elide(&clean(&label.text), most)))
        .collect();
    let widest = cut.iter().map(|(_, text)| columns(text)).max().unwrap_or(0);
    (cut, widest + 2)
}

struct Field<'a> {
    chart: &'a Chart,
    place: PictureArea,
    left: usize,
    wide: usize,
    high: usize,
    dots: Dots,
    grid: CharGrid,
}

fn drawing(
    chart: &Chart,
    labels: &[(f64, String)],
    left: usize,
    wide: usize,
    high: usize,
    place: PictureArea,
) -> Vec<Line> {
    let (dots, grid) =
        (Dots::new(wide, high, place.glyphs), CharGrid::new(place.width, high, place.glyphs));
    let mut field = Field { chart, place, left, wide, high, dots, grid };
    field.axis(labels);
    let fills = bars::fills(chart, place.glyphs);
    for (dataset, fill) in chart.datasets.iter().zip(fills) {
        field.ground(dataset, fill);
    }
    for (point, paint) in head::rules(chart) {
        let x = left + head::across(chart.x_axis.share(point.x), wide);
        (0..high).for_each(|y| field.grid.put_under(x, y, place.glyphs.pick('┊', ':'), paint));
    }
    chart.datasets.iter().for_each(|dataset| field.lines(dataset));
    field.dots.onto(&mut field.grid, left, 0);
    chart.datasets.iter().for_each(|dataset| field.marks(dataset));
    chart.datasets.iter().for_each(|dataset| field.texts(dataset));
    field.grid.lines()
}

impl Field<'_> {
    fn dot(&self, x: f64, y: f64) -> DotPosition {
        self.dots.at(self.chart.x_axis.share(x), 1.0 - self.chart.y_axis.share(y))
    }

    fn spot(&self, x: f64, y: f64) -> (usize, usize) {
        let (dot, (across, down)) = (self.dot(x, y), self.dots.parts());
        (self.left + dot.x / across, dot.y / down)
    }

    fn axis(&mut self, labels: &[(f64, String)]) {
        let (edge, glyphs) = (self.left.saturating_sub(1), self.place.glyphs);
        (0..self.high).for_each(|y| self.grid.put(edge, y, glyphs.pick('│', '|'), Paint::Faded));
        let mut free = usize::MAX;
        for (at, text) in labels {
            let (_, y) = self.spot(0.0, *at);
            // Draw the labels from the bottom up, at most one per line.
            if y < free {
                free = y;
                let start = edge.saturating_sub(columns(text));
                self.grid.text(start.saturating_sub(usize::from(start > 0)), y, text, Paint::Faded);
                self.grid.put(edge, y, glyphs.pick('┤', '+'), Paint::Faded);
            }
        }
    }

    /// Draws datasets that fill an area.
    fn ground(&mut self, dataset: &Dataset, fill: char) {
        let (left, wide, high) = (self.left, self.wide, self.high);
        let x_axis = &self.chart.x_axis;
        match dataset.kind {
            DatasetKind::Columns => {
                for point in &dataset.points {
                    let [from, to] = point
                        .extent
                        .unwrap_or([point.x; 2])
                        .map(|edge| x_axis.share(edge) * wide as f64);
                    let from = (from.round() as usize).min(wide.saturating_sub(1));
                    let to = (to.round() as usize).clamp(from + 1, wide.max(from + 1));
                    let share = self.chart.y_axis.share(point.y);
                    bars::upwards(
                        &mut self.grid,
                        left + from..left + to,
                        high,
                        high,
                        share,
                        fill,
                        dataset.paint,
                    );
                }
            }
            DatasetKind::Band => {
                dataset.points.windows(2).for_each(|pair| self.band(pair, dataset.paint));
            }
            DatasetKind::Bars { .. } | DatasetKind::Tracks { .. } | DatasetKind::Cells => {
                for point in &dataset.points {
                    let (_, y) = self.spot(point.x, point.y);
                    let shares =
                        point.extent.unwrap_or([0.0, point.x]).map(|edge| x_axis.share(edge));
                    bars::across(&mut self.grid, left, wide, y, shares, fill, dataset.paint);
                }
            }
            _ => {}
        }
    }

    /// Fills the area between two points of a band.
    fn band(&mut self, pair: &[Point], paint: Paint) {
        let [a, b] = pair else { return };
        let [from_x, from_top, from_bottom] = self.band_edges(a);
        let [to_x, to_top, to_bottom] = self.band_edges(b);
        let (first, last) = (head::across(from_x, self.wide), head::across(to_x, self.wide));
        let fill = self.place.glyphs.pick('░', '~');
        for x in first.min(last)..=first.max(last) {
            let part = if last == first {
                0.0
            } else {
                (x as f64 - first as f64) / (last as f64 - first as f64)
            };
            let top = head::across(from_top + (to_top - from_top) * part, self.high);
            let bottom = head::across(from_bottom + (to_bottom - from_bottom) * part, self.high);
            for y in top..=bottom {
                self.grid.put(self.left + x, y, fill, paint);
            }
        }
    }

    /// Returns the x coordinate of a point of a band, and the band's upper and lower edge, as
    /// shares of the frame from the left and from the top.
    fn band_edges(&self, point: &Point) -> [f64; 3] {
        let [low, high] = point.error.unwrap_or([point.y; 2]);
        let y_axis = &self.chart.y_axis;
        [self.chart.x_axis.share(point.x), 1.0 - y_axis.share(high), 1.0 - y_axis.share(low)]
    }

    fn lines(&mut self, dataset: &Dataset) {
        let dots: Vec<DotPosition> =
            dataset.points.iter().map(|point| self.dot(point.x, point.y)).collect();
        match dataset.kind {
            DatasetKind::Line | DatasetKind::Path | DatasetKind::Roof { .. } => {
                for pair in dots.windows(2) {
                    if let [from, to] = pair {
                        self.dots.line(*from, *to, dataset.paint);
                    }
                }
            }
            DatasetKind::Dots => dots.iter().for_each(|&dot| self.dots.dot(dot, dataset.paint)),
            _ => {}
        }
    }

    fn marks(&mut self, dataset: &Dataset) {
        let (glyphs, paint) = (self.place.glyphs, dataset.paint);
        let glyph = match dataset.kind {
            DatasetKind::Line | DatasetKind::Marks | DatasetKind::Intervals => {
                glyphs.marker(paint.marker())
            }
            DatasetKind::Ticks => glyphs.pick('┃', '|'),
            DatasetKind::Limits => glyphs.pick('┊', ':'),
            _ => return,
        };
        // Mark only some points of a dense line, so that the line stays visible.
        let every = match dataset.kind {
            DatasetKind::Line => (dataset.points.len() * 4).div_ceil(self.wide.max(1)).max(1),
            _ => 1,
        };
        for point in dataset.points.iter().step_by(every) {
            self.errors(point, paint);
            let (x, y) = self.spot(point.x, point.y);
            self.grid.put(x, y, glyph, paint);
        }
    }

    fn errors(&mut self, point: &Point, paint: Paint) {
        let glyphs = self.place.glyphs;
        if let Some([low, high]) = point.error {
            let ((x, top), (_, bottom)) = (self.spot(point.x, high), self.spot(point.x, low));
            for y in top..=bottom {
                let glyph = match y {
                    _ if top == bottom => glyphs.pick('╪', '+'),
                    _ if y == top => glyphs.pick('┬', '-'),
                    _ if y == bottom => glyphs.pick('┴', '-'),
                    _ => glyphs.pick('│', '|'),
                };
                self.grid.put(x, y, glyph, paint);
            }
        }
        if let Some([low, high]) = point.extent {
            let ((from, y), (to, _)) = (self.spot(low, point.y), self.spot(high, point.y));
            (from..=to).for_each(|x| self.grid.put(x, y, glyphs.pick('─', '-'), paint));
        }
    }

    fn texts(&mut self, dataset: &Dataset) {
        if dataset.kind == DatasetKind::Rules {
            return;
        }
        for point in dataset.points.iter().filter(|point| !point.text.is_empty()) {
            let (x, y) = self.spot(point.x, point.y);
            let text = clean(&point.text);
            let length = columns(&text);
            let places = [
                (Some(x + 2), Some(y)),
                (x.checked_sub(length + 1), Some(y)),
                (Some(x), y.checked_sub(1)),
                (Some(x), Some(y + 1)),
                (x.checked_sub(length / 2), y.checked_sub(1)),
            ];
            let free = places.into_iter().filter_map(|(x, y)| Some((x?, y?))).find(|&(x, y)| {
                x > self.left
                    && y < self.high
                    && self.grid.has_room(x.saturating_sub(1), y, length + 1)
            });
            if let Some((x, y)) = free {
                self.grid.text(x, y, &text, dataset.paint);
            }
        }
    }
}
