//! A table as data: columns, rows of cells, a note under a row. It is built by pure functions and
//! knows nothing of widths or escapes; [`Table::text`] lays it out for a terminal,
//! [`Table::markdown`] writes it as Markdown, and a terminal interface or a page can draw the same
//! columns and rows.

mod markdown;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;

use crate::style::{Tone, clean};

/// Where text stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What a column does when the table is wider than its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// It stays whole.
    Keep,
    /// Its text may lose parts, as [`crate::names::shorten_names`] leaves them out.
    Elide,
    /// Its text goes on below, broken at spaces.
    Wrap,
    /// It may be left out.
    Drop,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What stands over it.
    pub title: String,
    /// Where its text stands.
    pub align: Align,
    /// What it does when room is short.
    pub fit: Fit,
}

impl Column {
    /// Words, kept whole.
    pub fn left(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Keep }
    }

    /// Numbers.
    pub fn right(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Right, fit: Fit::Keep }
    }

    /// Names that may lose parts when room is short, such as ids.
    pub fn elided(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Elide }
    }

    /// Sentences that continue on the next line when room is short.
    pub fn wrapped(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Wrap }
    }

    /// The same, but left out of a terminal that has no room for it; the last such column goes
    /// first.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.fit = Fit::Drop;
        self
    }
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// What it says, units included, free of control characters.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
}

impl Cell {
    /// `text` in the color of `tone`.
    pub fn with_tone(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::with_tone(text, Tone::Plain)
    }
}

/// A row: as many cells as the table has columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// One for each column, empty where there is nothing to say.
    pub cells: Vec<Cell>,
    /// A sentence about the row.
    pub note: Option<String>,
}

/// A table. A column without a single value is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<TableRow>,
}

/// Makes the cell of a column from a row.
pub type CellOf<'a, T> = &'a dyn Fn(&T) -> Cell;

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// A table with a row for each of `rows`: columns, each with its cell in a row.
    pub fn of<T>(rows: impl IntoIterator<Item = T>, columns: &[(Column, CellOf<'_, T>)]) -> Self {
        let mut table = Self::new(columns.iter().map(|(column, _)| column.clone()));
        for row in rows {
            table.push(columns.iter().map(|(_, cell)| cell(&row)));
        }
        table
    }

    /// Adds a row, cut or filled up to the number of columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::default());
        self.rows.push(TableRow { cells, note: None });
    }

    /// Puts a sentence under the last row (in Markdown: into a last column).
    pub fn note(&mut self, note: impl AsRef<str>) {
        if let Some(row) = self.rows.last_mut() {
            row.note = Some(clean(note.as_ref())).filter(|note| !note.is_empty());
        }
    }

    /// Empties the column at `index`, which then is not shown.
    pub(crate) fn clear(&mut self, index: usize) {
        for cell in self.rows.iter_mut().filter_map(|row| row.cells.get_mut(index)) {
            *cell = Cell::default();
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows from top to bottom.
    pub fn rows(&self) -> &[TableRow] {
        &self.rows
    }

    /// Columns that hold something, by position.
    pub fn used_columns(&self) -> Vec<usize> {
        (0..self.columns.len())
            .filter(|&index| {
                self.rows
                    .iter()
                    .any(|row| row.cells.get(index).is_some_and(|cell| !cell.text.is_empty()))
            })
            .collect()
    }
}
