//! Charts of rows: bars, gauges, intervals, strips of dots, heat maps and matrices.

use std::collections::BTreeMap;

use super::grid::{CharGrid, DotPosition, Dots};
use super::{Glyphs, Line, PictureArea, bars, head};
use crate::chart::{AxisScale, Chart, Dataset, DatasetKind, Label, Paint, Point};
use crate::names::shorten_names;
use crate::style::{clean, columns};

/// Points of each dataset by the row that they belong to.
type ByRow<'a> = Vec<BTreeMap<i64, Vec<&'a Point>>>;

/// A line of the drawing: its row in the chart, and the y coordinate of the bars in it.
#[derive(Debug, Clone, Copy)]
struct RowLine {
    row: i64,
    y: f64,
    /// Whether this line shows the label of the row.
    first: bool,
}

pub(super) fn lines(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let mut lines = head::title(chart, place);
    let columns_of = columns_of(chart, place);
    let (left, wide) = (columns_of.left, columns_of.wide);
    let foot = head::x_axis(&chart.x_axis, left, wide, place);
    let mut legend = head::legend(chart, place);
    let mut words = head::rule_words(chart, left, wide, place);
    let mut taken = lines.len() + foot.len() + 2;
    for part in [&mut legend, &mut words] {
        if taken + part.len() > place.height {
            part.clear();
        }
        taken += part.len();
    }
    let room = place.height.saturating_sub(lines.len() + foot.len() + legend.len() + words.len());
    if room == 0 || wide == 0 {
        return lines;
    }
    let by_row = by_row(chart);
    let (shown, left_out) = lanes(chart, &by_row, room);
    lines.extend(words);
    lines.extend(drawing(chart, &by_row, &shown, &columns_of, place));
    if left_out > 0 {
        let (rows, mark) =
            (if left_out == 1 { "row" } else { "rows" }, place.glyphs.pick('…', '~'));
        lines.push(head::faded_line(
            place.glyphs.cut(&format!("{mark} {left_out} more {rows}"), place.width),
        ));
    }
    lines.extend(foot);
    lines.extend(legend);
    lines
}

/// Layout of the width: labels, then the drawing from column `left`, then the texts on the right.
struct Share {
    left: usize,
    wide: usize,
    beside: usize,
}

fn columns_of(chart: &Chart, place: PictureArea) -> Share {
    let widest =
        chart.y_axis.labels.iter().map(|label| columns(&clean(&label.text))).max().unwrap_or(0);
    let left = widest.min((place.width * 2 / 5).max(1)) + 2;
    let texts = chart.datasets.iter().filter(|dataset| stands_beside(dataset));
    let words =
        texts.flat_map(|dataset| dataset.points.iter().map(move |point| words(dataset, point)));
    let beside = words
        .map(|words| columns(&words))
        .max()
        .filter(|widest| *widest > 0)
        .map_or(0, |widest| widest + 1);
    let beside = beside.min(place.width / 3);
    Share { left, wide: place.width.saturating_sub(left + beside), beside }
}

/// Returns the label `text` shortened to `room` columns, but still different from all other
/// `labels`.
fn fit_label(text: &str, labels: &[Label], glyphs: Glyphs, room: usize) -> String {
    let short = shorten_names(labels.iter().map(|label| label.text.as_str()), room);
    let text = short.get(text).cloned().unwrap_or_else(|| clean(text));
    text.replace('…', &glyphs.pick('…', '~').to_string())
}

/// Returns whether the texts of the points need space on the right.
const fn stands_beside(dataset: &Dataset) -> bool {
    matches!(
        dataset.kind,
        DatasetKind::Bars { .. }
            | DatasetKind::Intervals
            | DatasetKind::Ticks
            | DatasetKind::Path
            | DatasetKind::Roof { .. }
    )
}

/// Returns the text next to a point, with space for an arrow if it is better or worse.
fn words(dataset: &Dataset, point: &Point) -> String {
    let text = clean(&point.text);
    let arrow = dataset.paint.is_change()
        && matches!(dataset.kind, DatasetKind::Bars { .. })
        && !text.is_empty();
    // The drawing code adds the arrow, which takes one column in both character sets.
    if arrow { format!("  {text}") } else { text }
}

fn by_row(chart: &Chart) -> ByRow<'_> {
    chart.datasets.iter().map(rows_of).collect()
}

fn rows_of(dataset: &Dataset) -> BTreeMap<i64, Vec<&Point>> {
    let mut rows: BTreeMap<i64, Vec<&Point>> = BTreeMap::new();
    for point in &dataset.points {
        rows.entry(point.y.round() as i64).or_default().push(point);
    }
    rows
}

/// Returns up to `room` lines to draw, and the number of rows left out.
fn lanes(chart: &Chart, by_row: &ByRow<'_>, room: usize) -> (Vec<RowLine>, usize) {
    let [low, high] = chart.y_axis.bounds;
    let (first, last) = (low.ceil() as i64, high.floor() as i64);
    let count = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0);
    let mut lanes: Vec<RowLine> = Vec::new();
    let mut shown = 0;
    for row in (first..=last).take(room) {
        let own = of_row(row, chart, by_row);
        // Reserve a line for the note on rows left out.
        let kept = usize::from(shown + 1 < count);
        if lanes.len() + own.len() + kept > room && !(lanes.is_empty() && kept == 0) {
            if lanes.is_empty() && room > 1 {
                lanes.extend(own.into_iter().take(room - 1));
                shown += 1;
            }
            break;
        }
        lanes.extend(own);
        shown += 1;
    }
    lanes.truncate(room);
    (lanes, count - shown)
}

fn of_row(row: i64, chart: &Chart, by_row: &ByRow<'_>) -> Vec<RowLine> {
    let bars = chart.datasets.iter().zip(by_row).filter(|(dataset, _)| {
        matches!(dataset.kind, DatasetKind::Bars { .. } | DatasetKind::Tracks { .. })
    });
    let mut places: Vec<f64> =
        bars.filter_map(|(_, rows)| rows.get(&row)).flatten().map(|point| point.y).collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    if places.is_empty() {
        places.push(row as f64);
    }
    places.iter().enumerate().map(|(index, &y)| RowLine { row, y, first: index == 0 }).collect()
}

struct Field<'a> {
    chart: &'a Chart,
    place: PictureArea,
    share: &'a Share,
    grid: CharGrid,
}

fn drawing(
    chart: &Chart,
    by_row: &ByRow<'_>,
    lanes: &[RowLine],
    share: &Share,
    place: PictureArea,
) -> Vec<Line> {
    let mut field =
        Field { chart, place, share, grid: CharGrid::new(place.width, lanes.len(), place.glyphs) };
    let fills = bars::fills(chart, place.glyphs);
    let mut dots = Dots::new(share.wide, lanes.len(), place.glyphs);
    for (index, lane) in lanes.iter().enumerate() {
        field.label(index, *lane);
        for ((dataset, rows), fill) in chart.datasets.iter().zip(by_row).zip(&fills) {
            for point in rows.get(&lane.row).into_iter().flatten() {
                if is_on(dataset, point, *lane) {
                    field.ground(dataset, *fill, point, index);
                    field.dots(&mut dots, dataset, point, index);
                }
            }
            if lane.first
                && matches!(
                    dataset.kind,
                    DatasetKind::Line | DatasetKind::Path | DatasetKind::Roof { .. }
                )
            {
                field.line(
                    rows.get(&lane.row).map(Vec::as_slice).unwrap_or_default(),
                    index,
                    dataset.paint,
                );
            }
        }
    }
    dots.onto(&mut field.grid, share.left, 0);
    for (index, lane) in lanes.iter().enumerate() {
        let mut on_lane: Vec<(&Dataset, &Point)> = Vec::new();
        for (dataset, rows) in chart.datasets.iter().zip(by_row) {
            for &point in rows.get(&lane.row).into_iter().flatten() {
                if is_on(dataset, point, *lane) {
                    on_lane.push((dataset, point));
                }
            }
        }
        for (dataset, point) in &on_lane {
            field.marks(dataset, point, index);
        }
        field.texts(on_lane.into_iter(), index);
    }
    // Draw texts last, so that rules do not overwrite them.
    field.rules(lanes.len());
    field.grid.lines()
}

/// Returns whether a point is drawn in this line of its row: bars in their own line, ticks and
/// limits in all lines, others in the first.
fn is_on(dataset: &Dataset, point: &Point, lane: RowLine) -> bool {
    match dataset.kind {
        DatasetKind::Bars { .. } | DatasetKind::Tracks { .. } => (point.y - lane.y).abs() < 1e-6,
        DatasetKind::Ticks | DatasetKind::Limits => true,
        _ => lane.first,
    }
}

impl Field<'_> {
    fn x(&self, value: f64) -> usize {
        self.share.left + head::across(self.chart.x_axis.share(value), self.share.wide)
    }

    fn label(&mut self, line: usize, lane: RowLine) {
        let (edge, glyphs) = (self.share.left - 1, self.place.glyphs);
        self.grid.put(edge, line, glyphs.pick('│', '|'), Paint::Faded);
        let labels = &self.chart.y_axis.labels;
        let label =
            labels.iter().find(|label| label.at.round() as i64 == lane.row).filter(|_| lane.first);
        if let Some(label) = label {
            let room = edge.saturating_sub(1);
            let text = fit_label(&label.text, labels, glyphs, room);
            let start = edge.saturating_sub(columns(&text) + 1);
            self.grid.text(start, line, &text, None::<Paint>);
        }
    }

    fn rules(&mut self, lines: usize) {
        let zero = self.chart.x_axis.bounds;
        if self.chart.x_axis.scale == AxisScale::Linear && zero[0] < 0.0 && zero[1] > 0.0 {
            let x = self.x(0.0);
            (0..lines).for_each(|y| {
                self.grid.put_under(x, y, self.place.glyphs.pick('│', '|'), Paint::Faded);
            });
        }
        for (point, paint) in head::rules(self.chart) {
            let x = self.x(point.x);
            (0..lines)
                .for_each(|y| self.grid.put_under(x, y, self.place.glyphs.pick('┊', ':'), paint));
        }
    }

    fn ground(&mut self, dataset: &Dataset, fill: char, point: &Point, line: usize) {
        let (left, wide) = (self.share.left, self.share.wide);
        let axis = &self.chart.x_axis;
        let shares = point.extent.unwrap_or([0.0, point.x]).map(|edge| axis.share(edge));
        match dataset.kind {
            DatasetKind::Bars { .. } => {
                bars::across(&mut self.grid, left, wide, line, shares, fill, dataset.paint);
                self.beyond(point, line, dataset.paint);
            }
            DatasetKind::Tracks { .. } => {
                let end = self.x(point.x);
                let track = self.place.glyphs.pick('·', '.');
                (left..=end).for_each(|x| self.grid.put_under(x, line, track, dataset.paint));
            }
            DatasetKind::Cells => self.cell(dataset, fill, point, line),
            _ => {}
        }
    }

    /// Draws an arrow at the edge if the point is beyond it.
    fn beyond(&mut self, point: &Point, line: usize, paint: Paint) {
        let [low, high] = self.chart.x_axis.bounds;
        let (glyphs, left) = (self.place.glyphs, self.share.left);
        if point.x > high {
            self.grid.put(
                left + self.share.wide.saturating_sub(1),
                line,
                glyphs.pick('▶', '>'),
                paint,
            );
        } else if point.x < low {
            self.grid.put(left, line, glyphs.pick('◀', '<'), paint);
        }
    }

    /// Draws a cell of a matrix: shaded if it is part of a heat map, otherwise its text only.
    fn cell(&mut self, dataset: &Dataset, fill: char, point: &Point, line: usize) {
        let axis = &self.chart.x_axis;
        let [from, to] = [point.x - 0.5, point.x + 0.5]
            .map(|at| self.share.left + (axis.share(at) * self.share.wide as f64).round() as usize);
        let is_shaded = matches!(dataset.paint, Paint::Heat(_));
        // Leave a gap of one column between cells that are wide enough.
        let to = if to.saturating_sub(from) > 3 { to - 1 } else { to };
        if is_shaded {
            (from..to).for_each(|x| self.grid.put(x, line, fill, dataset.paint));
        }
        let room = to.saturating_sub(from);
        let text = clean(&point.text);
        let length = columns(&text);
        if is_shaded && length > 0 && length + 4 <= room {
            let start = from + (room - length) / 2;
            self.grid.text(start - 1, line, &format!(" {text} "), None::<Paint>);
        } else if !is_shaded && room > 0 {
            let text = self.place.glyphs.cut(&text, room);
            self.grid.text(from + (room - columns(&text)) / 2, line, &text, dataset.paint);
        }
    }

    fn dots(&self, dots: &mut Dots, dataset: &Dataset, point: &Point, line: usize) {
        if dataset.kind != DatasetKind::Dots {
            return;
        }
        let (_, down) = dots.parts();
        let x = dots.at(self.chart.x_axis.share(point.x), 0.0).x;
        let within =
            ((point.y - point.y.round() + 0.5) * down as f64).floor().clamp(0.0, down as f64 - 1.0);
        dots.dot(DotPosition { x, y: line * down + within as usize }, dataset.paint);
    }

    /// Draws a line within its row; the height of the character shows the value in each column.
    fn line(&mut self, points: &[&Point], line: usize, paint: Paint) {
        const UNICODE: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const ASCII: [char; 4] = ['_', '.', '-', '\''];
        let levels: &[char] = if self.place.glyphs == Glyphs::Ascii { &ASCII } else { &UNICODE };
        for pair in points.windows(2) {
            let [a, b] = pair else { continue };
            let (from, to) = (self.x(a.x), self.x(b.x));
            let (start, end) = (0.5 - (a.y - a.y.round()), 0.5 - (b.y - b.y.round()));
            for x in from.min(to)..=from.max(to) {
                let part = if from == to {
                    1.0
                } else {
                    (x as f64 - from as f64) / (to as f64 - from as f64)
                };
                // Rows leave a tenth of their height free above and below.
                let share = (start + (end - start) * part - 0.1) / 0.8;
                let level = (share * (levels.len() - 1) as f64)
                    .round()
                    .clamp(0.0, (levels.len() - 1) as f64);
                self.grid.put(x, line, levels.get(level as usize).copied().unwrap_or(' '), paint);
            }
        }
    }

    fn marks(&mut self, dataset: &Dataset, point: &Point, line: usize) {
        let (glyphs, paint) = (self.place.glyphs, dataset.paint);
        let mark = glyphs.marker(paint.marker());
        let x = self.x(point.x);
        match dataset.kind {
            DatasetKind::Intervals => {
                self.interval(point.extent.unwrap_or([point.x; 2]), line, paint);
                self.grid.put(x, line, mark, paint);
                self.beyond(point, line, paint);
            }
            DatasetKind::Bars { .. } | DatasetKind::Columns => {
                if let Some(error) = point.error {
                    self.ends(error, line, paint);
                }
            }
            DatasetKind::Line | DatasetKind::Marks => {
                if let Some(error) = point.error {
                    self.interval(error, line, paint);
                }
                self.grid.put(x, line, mark, paint);
            }
            DatasetKind::Band => self.interval(point.error.unwrap_or([point.x; 2]), line, paint),
            DatasetKind::Ticks => self.grid.put(x, line, glyphs.pick('┃', '|'), paint),
            DatasetKind::Limits => self.grid.put_under(x, line, glyphs.pick('┊', ':'), paint),
            DatasetKind::Dots
            | DatasetKind::Path
            | DatasetKind::Roof { .. }
            | DatasetKind::Rules
            | DatasetKind::Tracks { .. }
            | DatasetKind::Cells => {}
        }
    }

    /// Draws an interval with its ends, or with arrows if it extends beyond an edge.
    fn interval(&mut self, [low, high]: [f64; 2], line: usize, paint: Paint) {
        let glyphs = self.place.glyphs;
        (self.x(low)..=self.x(high))
            .for_each(|x| self.grid.put(x, line, glyphs.pick('─', '-'), paint));
        self.ends([low, high], line, paint);
    }

    /// Draws the ends of an interval, and its line only in blank cells, so that a bar stays
    /// visible.
    fn ends(&mut self, [low, high]: [f64; 2], line: usize, paint: Paint) {
        let glyphs = self.place.glyphs;
        let (from, to) = (self.x(low), self.x(high));
        (from..=to).for_each(|x| self.grid.put_under(x, line, glyphs.pick('─', '-'), paint));
        let axis = &self.chart.x_axis;
        let start = if axis.shows(low) { glyphs.pick('├', '|') } else { glyphs.pick('◀', '<') };
        let end = if axis.shows(high) { glyphs.pick('┤', '|') } else { glyphs.pick('▶', '>') };
        if from < to {
            self.grid.put(from, line, start, paint);
            self.grid.put(to, line, end, paint);
        }
    }

    /// Draws the texts of points: after the end of a bar, otherwise in the right column.
    fn texts<'a>(&mut self, points: impl Iterator<Item = (&'a Dataset, &'a Point)>, line: usize) {
        let (glyphs, width) = (self.place.glyphs, self.place.width);
        let aside = self.share.left + self.share.wide + 1;
        let mut free = 0;
        for (dataset, point) in
            points.filter(|(dataset, point)| stands_beside(dataset) && !point.text.is_empty())
        {
            let words = words(dataset, point);
            let is_bar = matches!(dataset.kind, DatasetKind::Bars { .. });
            let length = columns(&words);
            let start = if is_bar { self.behind(point, line, length) } else { aside };
            let start = start
                .max(free)
                .min(width.saturating_sub(length.min(self.share.beside)).max(self.share.left));
            let cut = glyphs.cut(&words, width.saturating_sub(start));
            self.grid.text(start, line, &cut, None::<Paint>);
            if is_bar && dataset.paint.is_change() {
                self.grid.put(start, line, glyphs.marker(dataset.paint.marker()), dataset.paint);
            }
            free = start + length + 1;
        }
    }

    /// Returns the first column after the bar, its error and any tick, with room for `length`
    /// columns.
    fn behind(&self, point: &Point, line: usize, length: usize) -> usize {
        let end = point.extent.map_or(point.x, |[_, to]| to).max(0.0);
        let end = point.error.map_or(end, |[_, high]| high.max(end));
        let mut start = (self.x(end) + 2).min(self.place.width);
        let last = self.share.left + self.share.wide;
        while start <= last
            && !self.grid.has_room(
                start.saturating_sub(1),
                line,
                (length + 1).min(last + 1 - start),
            )
        {
            start += 1;
        }
        start
    }
}
