//! A table as data: columns, rows of cells, a note under a row. Pure functions build it,
//! independent of widths and escaping. [`Table::text`] lays it out for a terminal,
//! [`Table::markdown`] writes it as Markdown, and a terminal interface or a page can draw the same
//! columns and rows.

mod markdown;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;

use crate::style::{Tone, clean};

/// Alignment of text in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Left, for words.
    Left,
    /// Right, for numbers.
    Right,
}

/// Behavior of a column if the table is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Keeps its text whole.
    Keep,
    /// May omit parts of its text, as [`crate::names::shorten_names`] does.
    Elide,
    /// Wraps its text at spaces.
    Wrap,
    /// May be left out.
    Drop,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Title.
    pub title: String,
    /// Alignment.
    pub align: Align,
    /// Behavior if the table is too wide.
    pub fit: Fit,
}

impl Column {
    /// Returns a left-aligned column for words, kept whole.
    pub fn left(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Keep }
    }

    /// Returns a right-aligned column for numbers, kept whole.
    pub fn right(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Right, fit: Fit::Keep }
    }

    /// Returns a column for names whose parts may be omitted if the table is too wide, such as ids.
    pub fn elided(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Elide }
    }

    /// Returns a column for sentences that wrap if the table is too wide.
    pub fn wrapped(title: &str) -> Self {
        Self { title: title.to_owned(), align: Align::Left, fit: Fit::Wrap }
    }

    /// Allows the column to be left out if a terminal is too narrow. The last such column is
    /// dropped first.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.fit = Fit::Drop;
        self
    }
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Text including units, without control characters.
    pub text: String,
    /// Meaning of the text, which determines its color.
    pub tone: Tone,
}

impl Cell {
    /// Returns a cell with `text` in the color of `tone`.
    pub fn with_tone(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::with_tone(text, Tone::Plain)
    }
}

/// A row with one cell per column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// One cell per column, possibly empty.
    pub cells: Vec<Cell>,
    /// Note on the row.
    pub note: Option<String>,
}

/// A table. Columns whose cells are all empty are not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<TableRow>,
}

/// A function that returns the cell of a column for a row.
pub type CellOf<'a, T> = &'a dyn Fn(&T) -> Cell;

impl Table {
    /// Returns a table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Returns a table with a row for each of `rows`. Each column has a function that returns its
    /// cell.
    pub fn of<T>(rows: impl IntoIterator<Item = T>, columns: &[(Column, CellOf<'_, T>)]) -> Self {
        let mut table = Self::new(columns.iter().map(|(column, _)| column.clone()));
        for row in rows {
            table.push(columns.iter().map(|(_, cell)| cell(&row)));
        }
        table
    }

    /// Adds a row, truncated or padded to the number of columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::default());
        self.rows.push(TableRow { cells, note: None });
    }

    /// Sets the note of the last row, shown below it; in Markdown, in a last column.
    pub fn note(&mut self, note: impl AsRef<str>) {
        if let Some(row) = self.rows.last_mut() {
            row.note = Some(clean(note.as_ref())).filter(|note| !note.is_empty());
        }
    }

    /// Clears the column at `index`, so that it is not shown.
    pub(crate) fn clear(&mut self, index: usize) {
        for cell in self.rows.iter_mut().filter_map(|row| row.cells.get_mut(index)) {
            *cell = Cell::default();
        }
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the columns from left to right.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the rows from top to bottom.
    pub fn rows(&self) -> &[TableRow] {
        &self.rows
    }

    /// Returns the indices of the columns that are not empty.
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
