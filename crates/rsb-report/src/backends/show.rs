//! The comparison of backends as a table, for a terminal and in Markdown.

use rsb_model::{DeviceType, Outcome, Reason, Run};

use super::{ColumnRole, Entry, Hardware, Row, group_by_hardware};
use crate::markdown::escape;
use crate::number::format_quantity;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Value and relative speed.
    Full,
    /// Layout for narrow terminals: the value of the reference, and only the relative speed of the
    /// other backends.
    Short,
}

/// Reasons, in the order of their note numbers in the table.
type Notes<'a> = Vec<(Outcome, Option<&'a Reason>)>;

/// Formats the comparison for a terminal. Empty if the run has nothing to compare.
pub fn text(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for hardware in group_by_hardware(run) {
        out.push_str(&style.paint(Tone::Strong, style.wrap(&heading(&hardware), 0).trim_end()));
        out.push('\n');
        let (full, notes) = table(&hardware, Form::Full);
        let shown = if full.fits(style.width) { full } else { table(&hardware, Form::Short).0 };
        out.push_str(&shown.text(style));
        for line in legend(&hardware).iter().chain(&note_lines(&notes)) {
            out.extend(style.wrap(line, 2).lines().map(|line| style.paint(Tone::Dim, line) + "\n"));
        }
        out.push('\n');
    }
    out
}

/// The backends of one hardware device for a document: heading, table and legend.
pub(crate) struct BackendBlock {
    pub(crate) heading: String,
    pub(crate) table: Table,
    pub(crate) lines: Vec<String>,
}

pub(crate) fn blocks(run: &Run) -> Vec<BackendBlock> {
    let mut blocks = Vec::new();
    for hardware in &group_by_hardware(run) {
        let (table, notes) = table(hardware, Form::Full);
        let lines = legend(hardware).into_iter().chain(note_lines(&notes)).collect();
        blocks.push(BackendBlock { heading: heading(hardware), table, lines });
    }
    blocks
}

/// Formats the comparison as a section of a Markdown document, with `pictures` after the tables.
/// Empty if the run has nothing to compare.
pub fn markdown(run: &Run, pictures: &str) -> String {
    let all = blocks(run);
    if all.is_empty() {
        return String::new();
    }
    let mut out = "## Backends compared\n\n".to_owned();
    for BackendBlock { heading, table, lines } in &all {
        out.push_str(&format!("**{}**\n\n{}\n", escape(heading), table.markdown()));
        out.extend(lines.iter().map(|line| format!("- {}\n", escape(line))));
        out.push('\n');
    }
    out + pictures
}

fn heading(hardware: &Hardware<'_>) -> String {
    let simulated =
        if hardware.device_type == DeviceType::Simulated { " (simulated: not ranked)" } else { "" };
    format!("Backends on {}{simulated}", hardware.title)
}

fn table<'a>(hardware: &Hardware<'a>, form: Form) -> (Table, Notes<'a>) {
    let columns = hardware.columns.iter().map(|column| match column.standing {
        ColumnRole::Aside => Column::right(&format!("{} *", column.heading)),
        _ => Column::right(&column.heading),
    });
    let mut table =
        Table::new([Column::left("workload"), Column::elided("case")].into_iter().chain(columns));
    let mut notes = Notes::new();
    let mut last = "";
    for row in &hardware.rows {
        let named = if row.benchmark == last { "" } else { row.benchmark };
        last = row.benchmark;
        let mut cells = vec![Cell::from(named), Cell::from(&row.case)];
        cells.extend(row_cells(row, form, &mut notes));
        table.push(cells);
    }
    (table, notes)
}

fn row_cells<'a>(row: &Row<'a>, form: Form, notes: &mut Notes<'a>) -> Vec<Cell> {
    row.cells.iter().map(|entry| entry_cell(entry, form, notes)).collect()
}

fn entry_cell<'a>(entry: &Entry<'a>, form: Form, notes: &mut Notes<'a>) -> Cell {
    match entry {
        Entry::Nothing => Cell::default(),
        Entry::Figure { field, value, speed, outcome } => {
            let figure = format_quantity(*value, field.unit.symbol());
            let simulated = *outcome == Outcome::Simulated;
            match speed {
                _ if simulated => Cell::with_tone(format!("{figure} sim."), Tone::Caution),
                None => Cell::with_tone(figure, Tone::Dim),
                Some(speed) if form == Form::Full => {
                    Cell::with_tone(format!("{figure} {}", times(*speed)), tone(*speed))
                }
                Some(speed) if is_reference(*speed) => Cell::from(figure),
                Some(speed) => Cell::with_tone(times(*speed), tone(*speed)),
            }
        }
        Entry::Absent { outcome, reason } => {
            let note = (*outcome, *reason);
            let number = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
                notes.push(note);
                notes.len() - 1
            });
            let tone = if *outcome == Outcome::Failed { Tone::Bad } else { Tone::Caution };
            Cell::with_tone(format!("{outcome} [{}]", number + 1), tone)
        }
    }
}

/// Returns whether `speed` is that of the reference, exactly 1.
fn is_reference(speed: f64) -> bool {
    (speed - 1.0).abs() < f64::EPSILON
}

/// Returns the color for `speed`: no color within about 10 % of the reference.
fn tone(speed: f64) -> Tone {
    match speed {
        _ if speed >= 1.1 => Tone::Good,
        _ if speed < 0.9 => Tone::Caution,
        _ => Tone::Plain,
    }
}

/// Formats a relative speed: `0.93×`, `12×`.
pub(crate) fn times(speed: f64) -> String {
    match speed {
        _ if speed >= 9.95 => format!("{speed:.0}×"),
        _ if speed >= 0.095 => format!("{speed:.2}×"),
        _ => format!("{speed:.3}×"),
    }
}

fn legend(hardware: &Hardware<'_>) -> Vec<String> {
    let is_ranked = hardware
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .any(|cell| matches!(cell, Entry::Figure { speed: Some(_), .. }));
    let native = hardware.columns.iter().find(|column| column.standing == ColumnRole::Native);
    let against = native.map_or_else(
        || "the best of the row".to_owned(),
        |column| format!("{0}, or the best of the row if {0} has no value", column.heading),
    );
    let named = hardware
        .columns
        .iter()
        .filter(|column| column.standing != ColumnRole::Native)
        .map(|column| format!("{} is {}", column.heading, column.name));
    let mut lines = vec![named.collect::<Vec<_>>().join("; ")];
    if is_ranked {
        lines.push(format!("×: speed relative to {against}; above 1 is faster"));
    }
    if hardware.device_type == DeviceType::Cpu {
        lines.push("every device here is the CPU; none of the values is from a GPU".to_owned());
    }
    if hardware.columns.iter().any(|column| column.standing == ColumnRole::Aside) {
        lines.push("*: the CPU, for reference; it is not ranked with the GPU".to_owned());
    }
    lines
}

fn note_lines(notes: &Notes<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (outcome, reason)) in (1_usize..).zip(notes) {
        lines.push(match reason {
            Some(reason) => format!("[{number}] {outcome}: {}: {}", reason.what, reason.why),
            None => format!("[{number}] {outcome}: no reason was recorded"),
        });
    }
    lines
}
