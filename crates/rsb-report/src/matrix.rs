//! What can run where: a row for each benchmark, a column for each backend, and why what cannot run cannot.

use rsb_model::Reason;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};

/// A family of cases on one backend: a benchmark, and whether it can run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseRow {
    /// The benchmark.
    pub benchmark: String,
    /// What it measures, in a line.
    pub about: String,
    /// The backend.
    pub backend: String,
    /// Its devices here, by their names.
    pub devices: Vec<String>,
    /// Cases at the breadth asked for.
    pub cases: usize,
    /// Why it cannot run here; none when it can.
    pub missing: Option<Reason>,
}

impl Serialize for CaseRow {
    /// Writes `runnable`, and `what`, `why`, `cure` beside it when it cannot run.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("CaseRow", 9)?;
        row.serialize_field("benchmark", &self.benchmark)?;
        row.serialize_field("about", &self.about)?;
        row.serialize_field("backend", &self.backend)?;
        row.serialize_field("devices", &self.devices)?;
        row.serialize_field("cases", &self.cases)?;
        row.serialize_field("runnable", &self.missing.is_none())?;
        if let Some(Reason { what, why, cure, .. }) = &self.missing {
            row.serialize_field("what", what)?;
            row.serialize_field("why", why)?;
            row.serialize_field("cure", cure)?;
        }
        row.end()
    }
}

/// The backend of what needs none of its own, such as a framework: it has no column.
const ANY: &str = "any";

/// The benchmark of a backend as a whole, which no version has yet: it has no row.
const ALL: &str = "all";

/// Why a mark is no plain yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note<'a> {
    /// Why, and the cure. What is missing differs from benchmark to benchmark, and is said by its place.
    Missing(&'a str, &'a str),
    /// There is a device, and no case suits it.
    NoCase,
}

/// The matrix, the components beneath it, the reasons, and the backends of models alone, for a terminal.
pub fn text(rows: &[CaseRow], style: Style) -> String {
    if rows.is_empty() {
        return "No benchmark matches.\n".to_owned();
    }
    let mut notes: Vec<Note<'_>> = Vec::new();
    let native: Vec<&CaseRow> = rows.iter().filter(|row| row.backend != ANY && row.benchmark != ALL).collect();
    let components: Vec<&CaseRow> = rows.iter().filter(|row| row.backend == ANY).collect();
    let of_models: Vec<&CaseRow> = rows.iter().filter(|row| row.benchmark == ALL).collect();
    let parts = [matrix(&native, &mut notes).text(style), frameworks(&components, &mut notes).text(style)];
    let mut parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.extend(Some(reasons(&notes, &native, style)).filter(|part| !part.is_empty()));
    parts.extend(Some(models_alone(&of_models, style)).filter(|part| !part.is_empty()));
    parts.join("\n")
}

/// The values of `of`, each once, in the order in which they come.
fn distinct<'a>(rows: &[&'a CaseRow], of: fn(&'a CaseRow) -> &'a str) -> Vec<&'a str> {
    let mut values = Vec::new();
    for value in rows.iter().map(|row| of(row)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn matrix<'a>(rows: &[&'a CaseRow], notes: &mut Vec<Note<'a>>) -> Table {
    let backends = distinct(rows, |row| &row.backend);
    let columns = backends.iter().map(|backend| Column::left(backend));
    let mut table = Table::new(
        std::iter::once(Column::left("benchmark")).chain(columns).chain(std::iter::once(Column::elided("measures"))),
    );
    for benchmark in distinct(rows, |row| &row.benchmark) {
        let of_benchmark = || rows.iter().copied().filter(|row| row.benchmark == benchmark);
        let mut cells = vec![Cell::from(benchmark)];
        for backend in &backends {
            let row = of_benchmark().find(|row| row.backend == *backend);
            cells.push(row.map_or_else(Cell::default, |row| mark(row, notes)));
        }
        cells.extend(of_benchmark().next().map(|row| Cell::from(gist(&row.about))));
        table.push(cells);
    }
    table
}

/// The first clause of what a benchmark measures: the rest does not fit beside six backends.
fn gist(about: &str) -> &str {
    about.split([':', ';', ',']).next().unwrap_or(about)
}

fn frameworks<'a>(rows: &[&'a CaseRow], notes: &mut Vec<Note<'a>>) -> Table {
    let mut table = Table::new([Column::left("component"), Column::left("here"), Column::elided("measures")]);
    for row in rows {
        table.push([Cell::from(&row.benchmark), mark(row, notes), Cell::from(gist(&row.about))]);
    }
    table
}

fn note_of(row: &CaseRow) -> Option<Note<'_>> {
    match &row.missing {
        None if row.cases > 0 => None,
        None => Some(Note::NoCase),
        Some(reason) => Some(Note::Missing(&reason.why, &reason.cure)),
    }
}

/// `yes`, or `no` or `none` with the number of the reason.
fn mark<'a>(row: &'a CaseRow, notes: &mut Vec<Note<'a>>) -> Cell {
    let Some(note) = note_of(row) else { return Cell::toned("yes", Tone::Good) };
    let word = if note == Note::NoCase { "none" } else { "no" };
    let number = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    Cell::toned(format!("{word} [{}]", number + 1), Tone::Caution)
}

/// Each note with its number and the backends that it is about.
fn reasons(notes: &[Note<'_>], rows: &[&CaseRow], style: Style) -> String {
    let said = |(number, note): (usize, &Note<'_>)| {
        let of_note: Vec<&CaseRow> = rows.iter().copied().filter(|row| note_of(row) == Some(*note)).collect();
        let backends = distinct(&of_note, |row| &row.backend).join(", ");
        let place = if backends.is_empty() { String::new() } else { format!("{backends}: ") };
        match note {
            Note::Missing(why, cure) => {
                style.wrap(&format!("[{number}] {place}{why}"), 0) + &style.wrap(&format!("cure: {cure}"), 4)
            }
            Note::NoCase => style.wrap(&format!("[{number}] {place}there is a device, and no case suits it"), 0),
        }
    };
    (1..).zip(notes).map(said).collect()
}

/// Backends that no version has yet, and what to do until then.
fn models_alone(rows: &[&CaseRow], style: Style) -> String {
    let said = |row: &&CaseRow| {
        let reason = row.missing.as_ref();
        let (why, cure) = reason.map_or(("", ""), |reason| (&reason.why, &reason.cure));
        style.wrap(&format!("{}: {why}", row.backend), 0) + &style.wrap(&format!("cure: {cure}"), 4)
    };
    rows.iter().map(said).collect()
}
