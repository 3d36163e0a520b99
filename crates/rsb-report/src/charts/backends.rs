//! The backends of one piece of hardware: for each workload a bar a backend, as long as its speed against the native run
//! time. Workloads have unlike units; the speed is what they share, and each bar says its own figure.

use rsb_model::Run;

use super::axis::{Axis, Frame, draw_x};
use super::canvas::{
    AXIS, Anchor, Canvas, FADED, GRID, HEAD, INK, MARGIN, Text, WHITE, color, sheet, shorten, width_of,
};
use super::{Chart, Place, slug};
use crate::backends::{Entry, Hardware, Row, Standing, compared, times};
use crate::number::{format_count, format_quantity};

/// More workloads than this are not drawn; the table holds every one.
const MOST: usize = 24;
const BAR: f64 = 16.0;
const GAP: f64 = 14.0;
const WIDTH: f64 = 900.0;
/// Bars beyond this many times the reference are cut, so that the others stay readable.
const LONGEST: f64 = 4.0;

/// A chart for each piece of hardware whose backends are compared.
pub fn backends(run: &Run) -> Vec<Chart> {
    compared(run).iter().filter_map(chart).collect()
}

/// A row with the bars that it has: position of the column, speed, figure.
type Bars = Vec<(usize, f64, String)>;

fn bars(row: &Row<'_>) -> Bars {
    let bar = |(column, cell): (usize, &Entry<'_>)| match cell {
        Entry::Figure { field, value, speed: Some(speed), .. } => {
            Some((column, *speed, format_quantity(*value, field.unit.symbol())))
        }
        _ => None,
    };
    row.cells.iter().enumerate().filter_map(bar).collect()
}

fn chart(hardware: &Hardware<'_>) -> Option<Chart> {
    let all: Vec<(&Row<'_>, Bars)> =
        hardware.rows.iter().map(|row| (row, bars(row))).filter(|(_, bars)| bars.len() > 1).collect();
    let shown: Vec<&(&Row<'_>, Bars)> = all.iter().take(MOST).collect();
    let fastest = shown.iter().flat_map(|(_, bars)| bars).map(|(_, speed, _)| *speed).fold(1.0, f64::max);
    if shown.is_empty() {
        return None;
    }
    let height = |bars: &Bars| BAR * bars.len() as f64 + GAP;
    let bottom = HEAD + 26.0 + shown.iter().map(|(_, bars)| height(bars)).sum::<f64>();
    let label = Text::label(Anchor::End);
    let name = |row: &Row<'_>| format!("{} {}", row.benchmark, row.case);
    let widest = shown.iter().map(|(row, _)| width_of(&name(row), label.size)).fold(80.0, f64::max).min(330.0);
    let frame = Frame { left: MARGIN + widest + 10.0, top: HEAD + 26.0, right: WIDTH - 150.0, bottom };
    let x = Axis::linear(0.0, fastest.min(LONGEST), 6).over(frame.left, frame.right);
    let title = format!("Backends on {}", hardware.title);
    let subtitle = subtitle(hardware, all.len() - shown.len());
    let svg = sheet((WIDTH, bottom + 56.0), &title, &subtitle, |canvas| {
        key(canvas, hardware);
        draw_x(canvas, frame, &x, "speed against the reference (1 is as fast)", |tick| x.plain_label(tick));
        // First, so that what the bars say stands on it.
        let one = x.at(1.0);
        canvas.dashed((one, frame.top - 4.0), (one, frame.bottom), FADED);
        let mut y = frame.top + GAP / 2.0;
        for (row, bars) in &shown {
            let middle = y + BAR * bars.len() as f64 / 2.0;
            canvas.text(&shorten(&name(row), widest, label.size), (frame.left - 10.0, middle), label);
            for bar in bars {
                draw(canvas, bar, (y, &x));
                y += BAR;
            }
            y += GAP;
            canvas.line((MARGIN, y - GAP / 2.0), (frame.right, y - GAP / 2.0), (GRID, 1));
        }
        canvas.line((frame.left, frame.top), (frame.left, frame.bottom), (AXIS, 1));
    })?;
    Some(Chart { name: slug(&format!("backends-{}", hardware.title)), title, place: Place::Backends, svg })
}

fn subtitle(hardware: &Hardware<'_>, more: usize) -> String {
    let kind = format!("device: {}", hardware.device_type);
    let reference = format!("reference: {}", hardware.reference());
    let rest = (more > 0).then(|| format!("{} in the table only", format_count(more, "row is", "rows are")));
    [Some(kind), Some(reference), Some("longer is faster".to_owned()), rest]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

/// What a colour stands for, in the order of the bars.
fn key(canvas: &mut Canvas<'_>, hardware: &Hardware<'_>) {
    let mut x = MARGIN;
    let ranked = hardware.columns.iter().enumerate().filter(|(_, column)| column.standing != Standing::Aside);
    for (index, column) in ranked {
        canvas.rectangle((x, HEAD), (x + 12.0, HEAD + 12.0), color(index));
        canvas.text(&column.heading, (x + 18.0, HEAD + 6.0), Text::label(Anchor::Start));
        x += 36.0 + width_of(&column.heading, 12.0);
    }
    canvas.dashed((x, HEAD + 6.0), (x + 14.0, HEAD + 6.0), FADED);
    canvas.text("as fast as the reference", (x + 20.0, HEAD + 6.0), Text::label(Anchor::Start));
}

fn draw(canvas: &mut Canvas<'_>, (column, speed, figure): &(usize, f64, String), (y, x): (f64, &Axis)) {
    let (start, end) = (x.at(0.0), x.at(*speed));
    let (top, bottom) = (y + 2.0, y + BAR - 2.0);
    canvas.rectangle((start, top), (end.max(start + 1.0), bottom), color(*column));
    let mut text = end + 6.0;
    if *speed > x.range().1 {
        // An arrow head: the bar goes on.
        canvas.polygon(&[(end + 9.0, y + BAR / 2.0), (end, top - 2.0), (end, bottom + 2.0)], color(*column));
        text += 8.0;
    }
    let said = format!("{figure}, {}", times(*speed));
    let label = Text { color: INK, size: 11.0, ..Text::label(Anchor::Start) };
    // The dashed line of the reference must not run through the words.
    canvas.rectangle((text - 2.0, top), (text + width_of(&said, label.size) + 2.0, bottom), WHITE);
    canvas.text(&said, (text, y + BAR / 2.0), label);
}
