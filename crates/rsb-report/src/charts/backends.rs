//! The backends of one hardware device: for each workload, one bar per backend with its speed
//! relative to the native runtime. Workloads have different units, so bars show the relative speed,
//! and each is labeled with its own value.

use itertools::Itertools as _;
use rsb_model::Run;

use super::{axis, left_out, slug};
use crate::backends::{ColumnRole, Entry, Hardware, Row, group_by_hardware, times};
use crate::chart::{Chart, ChartPlace, Dataset, DatasetKind, Legend, Paint, Point};
use crate::number::format_quantity;

const MAX_WORKLOADS: usize = 24;
/// Share of a row that its bars fill together.
const FILLED: f64 = 0.8;
/// Bars longer than this multiple of the reference are cut, so that shorter bars stay readable.
const LONGEST: f64 = 4.0;

/// Returns a chart for each hardware device whose backends are compared.
pub fn backends(run: &Run) -> Vec<Chart> {
    group_by_hardware(run).iter().filter_map(chart).collect()
}

/// The bars of a row: column index, speed, formatted value.
type Bars = Vec<(usize, f64, String)>;

fn bars(row: &Row<'_>) -> Bars {
    let mut bars = Vec::new();
    for (column, cell) in row.cells.iter().enumerate() {
        if let Entry::Figure { field, value, speed: Some(speed), .. } = cell {
            bars.push((column, *speed, format_quantity(*value, field.unit.symbol())));
        }
    }
    bars
}

fn chart(hardware: &Hardware<'_>) -> Option<Chart> {
    let all: Vec<(&Row<'_>, Bars)> = hardware
        .rows
        .iter()
        .map(|row| (row, bars(row)))
        .filter(|(_, bars)| bars.len() > 1)
        .collect();
    let shown: Vec<&(&Row<'_>, Bars)> = all.iter().take(MAX_WORKLOADS).collect();
    let most = shown.iter().map(|(_, bars)| bars.len()).max()?;
    let speeds = shown.iter().flat_map(|(_, bars)| bars).map(|(_, speed, _)| speed.min(LONGEST));
    let x_axis =
        axis::from_zero("speed relative to the reference (1 is equal)", speeds.chain([1.0]), 6);
    let (winner, wins) = fastest(&shown)?;
    let winner = &hardware.columns.get(winner)?.heading;
    let thickness = FILLED / most as f64;
    let reference = Dataset::new(DatasetKind::Rules, Paint::Faded, vec![Point::at(1.0, 0.0)]);
    let mut datasets = vec![reference.with_name("as fast as the reference")];
    let ranked = hardware
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.standing != ColumnRole::Aside);
    for (index, column) in ranked {
        let points = shown
            .iter()
            .enumerate()
            .filter_map(|(row, (_, bars))| of_column(index, row, bars, thickness));
        let kind = DatasetKind::Bars { thickness };
        datasets.push(
            Dataset::new(kind, Paint::Series(index), points.collect()).with_name(&column.heading),
        );
    }
    Some(Chart {
        name: slug(&format!("backends-{}", hardware.title)),
        title: format!(
            "{winner} is the fastest backend of {} in {wins} of {} rows",
            hardware.title,
            shown.len()
        ),
        subtitle: subtitle(hardware, all.len() - shown.len()) + axis::scale_words(&x_axis),
        place: ChartPlace::Backends,
        x_axis,
        y_axis: axis::rows(shown.iter().map(|(row, _)| format!("{} {}", row.benchmark, row.case))),
        datasets,
        legend_position: Legend::Below,
    })
}

/// Returns the column that is fastest in most rows, and the number of these rows.
fn fastest(rows: &[&(&Row<'_>, Bars)]) -> Option<(usize, usize)> {
    let winners = rows.iter().filter_map(|(_, bars)| {
        bars.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(column, ..)| *column)
    });
    winners.counts().into_iter().max_by_key(|(column, wins)| (*wins, usize::MAX - column))
}

/// Returns the bar of one column in a row. The bars of a row are stacked around its center.
fn of_column(column: usize, row: usize, bars: &Bars, thickness: f64) -> Option<Point> {
    let position = bars.iter().position(|(own, ..)| *own == column)?;
    let (_, speed, figure) = bars.get(position)?;
    let y = row as f64 + (position as f64 - (bars.len() as f64 - 1.0) / 2.0) * thickness;
    Some(Point::at(*speed, y).saying(format!("{figure}, {}", times(*speed))))
}

fn subtitle(hardware: &Hardware<'_>, more: usize) -> String {
    format!(
        "device: {}; reference: {}; longer is faster{}",
        hardware.device_type,
        hardware.reference(),
        left_out(more, "row is", "rows are", "in the table only")
    )
}
