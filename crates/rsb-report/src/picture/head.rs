//! The parts around the drawing: title and subtitle, horizontal axis, rule labels, legend.

use super::grid::CharGrid;
use super::{Line, PictureArea, StyledText};
use crate::chart::{Axis, AxisScale, Chart, Dataset, DatasetKind, Legend, Paint, Point};
use crate::style::{clean, columns, wrap_words};

fn plain(text: String) -> Line {
    vec![StyledText { text, paint: None }]
}

pub(super) fn faded_line(text: String) -> Line {
    vec![StyledText { text, paint: Some(Paint::Faded) }]
}

pub(super) fn title(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let mut lines = vec![plain(place.glyphs.elide(&clean(&chart.title), place.width))];
    let subtitle = clean(&chart.subtitle);
    if !subtitle.trim().is_empty() && place.height >= 8 {
        let broken = wrap_words(&subtitle, place.width);
        let most = if place.height >= 16 { 2 } else { 1 };
        let kept = broken.len().min(most);
        for (index, text) in broken.iter().take(kept).enumerate() {
            let goes_on = index + 1 == kept && broken.len() > kept;
            let text = if goes_on {
                format!("{text} {}", place.glyphs.pick('…', '~'))
            } else {
                text.clone()
            };
            lines.push(faded_line(place.glyphs.cut(&text, place.width)));
        }
    }
    lines
}

/// Returns the text shown instead of a chart that cannot be drawn.
pub(super) fn unfit(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let mut lines = title(chart, place);
    lines.push(faded_line(place.glyphs.cut("not drawn: a value in it is not finite", place.width)));
    lines
}

pub(super) fn legend(chart: &Chart, place: PictureArea) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    if chart.legend_position == Legend::Hidden {
        return lines;
    }
    let (mut used, room) = (0, place.width);
    let fills = super::bars::fills(chart, place.glyphs);
    for (dataset, fill) in chart.datasets.iter().zip(fills) {
        if dataset.name.is_empty() || dataset.points.is_empty() {
            continue;
        }
        let name = place.glyphs.elide(&clean(&dataset.name), room.saturating_sub(2));
        let ink = [
            StyledText {
                text: place.glyphs.drawn(sample(dataset, fill, place)).to_string(),
                paint: Some(dataset.paint),
            },
            StyledText { text: format!(" {name}"), paint: None },
        ];
        let wide = 2 + columns(&name);
        match lines.last_mut() {
            Some(line) if used + 3 + wide <= room => {
                line.push(StyledText { text: "   ".to_owned(), paint: None });
                line.extend(ink);
                used += 3 + wide;
            }
            _ => {
                lines.push(ink.to_vec());
                used = wide;
            }
        }
    }
    if room < 3 { Vec::new() } else { lines }
}

/// Returns the character that represents a dataset in the legend.
fn sample(dataset: &Dataset, fill: char, place: PictureArea) -> char {
    let glyphs = place.glyphs;
    match dataset.kind {
        DatasetKind::Line | DatasetKind::Marks | DatasetKind::Intervals => {
            glyphs.marker(dataset.paint.marker())
        }
        // Each bar of a change has this arrow next to it, so use it in the legend, too.
        DatasetKind::Bars { .. } if dataset.paint.is_change() => {
            glyphs.marker(dataset.paint.marker())
        }
        DatasetKind::Path | DatasetKind::Roof { .. } => glyphs.pick('─', '-'),
        DatasetKind::Dots => glyphs.pick('⠂', '.'),
        DatasetKind::Bars { .. } | DatasetKind::Columns | DatasetKind::Cells => fill,
        DatasetKind::Tracks { .. } => glyphs.pick('·', '.'),
        DatasetKind::Band => glyphs.pick('░', '~'),
        DatasetKind::Ticks => glyphs.pick('┃', '|'),
        DatasetKind::Limits | DatasetKind::Rules => glyphs.pick('┊', ':'),
    }
}

/// Returns the axis below a drawing that starts at column `left` and is `wide` columns wide: a line
/// with ticks, labels, and the title.
pub(super) fn x_axis(axis: &Axis, left: usize, wide: usize, place: PictureArea) -> Vec<Line> {
    let glyphs = place.glyphs;
    let mut grid = CharGrid::new(place.width, 3, glyphs);
    grid.put(left.saturating_sub(1), 0, glyphs.pick('└', '+'), Paint::Faded);
    (left..left + wide).for_each(|x| grid.put(x, 0, glyphs.pick('─', '-'), Paint::Faded));
    let mut free = 0;
    let field = wide / axis.labels.len().max(1);
    for label in &axis.labels {
        let x = left + across(axis.share(label.at), wide);
        grid.put(x, 0, glyphs.pick('┬', '+'), Paint::Faded);
        // Up to six columns are all named, with truncated names if necessary; if there are more,
        // only some are named.
        let is_named = axis.scale == AxisScale::Rows && axis.labels.len() <= 6;
        let room = if is_named { field.saturating_sub(1) } else { place.width };
        let text = glyphs.cut(&clean(&label.text), room);
        let length = columns(&text);
        let start = x.saturating_sub(length / 2).min(place.width.saturating_sub(length));
        if start >= free && start + length <= place.width {
            grid.text(start, 1, &text, Paint::Faded);
            free = start + length + 1;
        }
    }
    let title = glyphs.elide(&clean(&axis.title), place.width);
    let length = columns(&title);
    let start =
        (left + wide / 2).saturating_sub(length / 2).min(place.width.saturating_sub(length));
    grid.text(start, 2, &title, None::<Paint>);
    let mut lines = grid.lines();
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

pub(super) fn across(share: f64, wide: usize) -> usize {
    let last = wide.saturating_sub(1) as f64;
    (share * last).round().clamp(0.0, last) as usize
}

/// Returns the labels of rules, above a drawing that starts at column `left`. Uses a second line if
/// the first has no room, and omits labels that fit in neither.
pub(super) fn rule_words(chart: &Chart, left: usize, wide: usize, place: PictureArea) -> Vec<Line> {
    let mut grid = CharGrid::new(place.width, 2, place.glyphs);
    let mut free = [0; 2];
    for (point, paint) in rules(chart) {
        let text = place.glyphs.cut(&clean(&point.text), place.width);
        let length = columns(&text);
        let x = left + across(chart.x_axis.share(point.x), wide);
        let start = x.saturating_sub(length / 2).min(place.width.saturating_sub(length));
        let Some(line) = free.iter().position(|free| start >= *free) else { continue };
        if let (Some(end), true) = (free.get_mut(line), length > 0) {
            grid.text(start, 1 - line, &text, paint);
            *end = start + length + 1;
        }
    }
    grid.lines().into_iter().filter(|line| !line.is_empty()).collect()
}

pub(super) fn rules(chart: &Chart) -> impl Iterator<Item = (&Point, Paint)> {
    let rules = chart.datasets.iter().filter(|dataset| dataset.kind == DatasetKind::Rules);
    rules.flat_map(|dataset| dataset.points.iter().map(move |point| (point, dataset.paint)))
}
