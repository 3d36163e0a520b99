//! Aligned tables for a terminal. Widths are in columns of the terminal.

use std::collections::HashMap;

use super::{Align, Cell, Fit, Table};
use crate::names::shorten_names;
use crate::style::{Style, Tone, columns, wrap_words};

/// Columns that are shown side by side. A table that is too wide is split into several bands.
#[derive(Debug, Default)]
struct Band {
    used: Vec<usize>,
    widths: Vec<usize>,
    indent: usize,
    /// For each column, the short forms of the cells that exceed its width.
    cuts: Vec<HashMap<String, String>>,
}

impl Band {
    /// Returns the width available to its columns.
    fn room(&self, limit: usize) -> usize {
        limit.saturating_sub(self.indent).max(1)
    }
}

/// Indentation of the second and later bands of a row.
const INDENT: usize = 2;
const GAP: usize = 2;
/// Optional columns are dropped before any column is shortened below this width.
const COMFORTABLE: usize = 32;
/// Minimum width of a shortened column.
const NARROWEST: usize = 16;

impl Table {
    /// Formats the table for a terminal: heading, rule, rows, one per line. Empty if there are no
    /// rows.
    pub fn text(&self, style: Style) -> String {
        let (used, widths) = self.layout(style.width);
        if used.is_empty() {
            return String::new();
        }
        let mut bands = self.bands(&used, &widths, style.width);
        for band in &mut bands {
            band.cuts = band
                .used
                .iter()
                .zip(&band.widths)
                .map(|(&index, &width)| self.cuts(index, width))
                .collect();
        }
        let heading: Vec<Cell> = self
            .columns
            .iter()
            .map(|column| Cell::with_tone(&column.title, Tone::Strong))
            .collect();
        let mut out = self.lines(&heading, &bands, style);
        let width = bands.iter().map(|band| band.indent + total(&band.widths)).max().unwrap_or(0);
        out.push_str(&style.paint(Tone::Dim, &"─".repeat(width)));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.lines(&row.cells, &bands, style));
            if let Some(note) = &row.note {
                out.extend(
                    style.wrap(note, 4).lines().map(|line| style.paint(Tone::Dim, line) + "\n"),
                );
            }
        }
        out
    }

    /// Returns whether all columns fit side by side in `limit`.
    pub fn fits(&self, limit: usize) -> bool {
        total(&self.layout(limit).1) <= limit
    }

    /// Returns whether the column at `index` is shown within `limit`.
    pub(crate) fn shows(&self, index: usize, limit: usize) -> bool {
        self.layout(limit).0.contains(&index)
    }

    /// Returns the columns to show within `limit`, and their widths.
    fn layout(&self, limit: usize) -> (Vec<usize>, Vec<usize>) {
        let mut used = self.used_columns();
        loop {
            let widths = self.widths(&used, limit, COMFORTABLE);
            let spare = used.iter().rposition(|&index| self.fit(index) == Some(Fit::Drop));
            match spare {
                Some(position) if total(&widths) > limit => drop(used.remove(position)),
                _ if total(&widths) > limit => {
                    break (used.clone(), self.widths(&used, limit, NARROWEST));
                }
                _ => break (used, widths),
            }
        }
    }

    fn fit(&self, index: usize) -> Option<Fit> {
        self.columns.get(index).map(|column| column.fit)
    }

    /// Returns widths that stay within `limit` if shortening columns to `least` makes that
    /// possible.
    fn widths(&self, used: &[usize], limit: usize, least: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = used.iter().map(|&index| self.natural_width(index)).collect();
        let mut excess = total(&widths).saturating_sub(limit);
        for fit in [Fit::Wrap, Fit::Elide] {
            for (width, &index) in widths.iter_mut().zip(used) {
                if self.fit(index) == Some(fit) {
                    let least = if fit == Fit::Wrap { self.longest_word(index) } else { least };
                    let narrow = width.saturating_sub(excess).max(least).min(*width);
                    excess -= *width - narrow;
                    *width = narrow;
                }
            }
        }
        widths
    }

    fn natural_width(&self, index: usize) -> usize {
        let cells =
            self.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| columns(&cell.text));
        let title = self.columns.get(index).map_or(0, |column| columns(&column.title));
        cells.max().unwrap_or(0).max(title)
    }

    /// Returns the width of the longest word in the column `index`, including its title.
    fn longest_word(&self, index: usize) -> usize {
        let cells =
            self.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| cell.text.as_str());
        let title = self.columns.get(index).map(|column| column.title.as_str());
        cells.chain(title).flat_map(str::split_whitespace).map(columns).max().unwrap_or(0)
    }

    /// Distributes the columns to as many bands as `limit` requires; one if they fit side by side.
    fn bands(&self, used: &[usize], widths: &[usize], limit: usize) -> Vec<Band> {
        let mut bands = vec![Band::default()];
        for (&index, &width) in used.iter().zip(widths) {
            let is_full = bands.last().is_some_and(|band| {
                !band.used.is_empty() && total(&band.widths) + GAP + width > band.room(limit)
            });
            if is_full {
                bands.push(Band { indent: INDENT, ..Band::default() });
            }
            if let Some(band) = bands.last_mut() {
                band.used.push(index);
                band.widths.push(width.min(band.room(limit)));
            }
        }
        if bands.len() > 1 {
            // Columns in a band have fewer neighbors, so shortened ones may get their space back.
            for band in &mut bands {
                band.widths = self.widths(&band.used, band.room(limit), NARROWEST);
                let room = band.room(limit);
                band.widths.iter_mut().for_each(|width| *width = room.min(*width));
            }
        }
        bands
    }

    /// Formats a row: the lines of each band. Omits bands without text, except the first.
    fn lines(&self, cells: &[Cell], bands: &[Band], style: Style) -> String {
        let mut out = String::new();
        for band in bands {
            let texts = self.cell_lines(cells, band);
            let height =
                texts.iter().map(Vec::len).max().unwrap_or(0).max(usize::from(band.indent == 0));
            for number in 0..height {
                out.push_str(&" ".repeat(band.indent));
                out.push_str(&self.line(cells, band, &texts, number, style));
            }
        }
        out
    }

    /// Returns the short forms of the title and cells of the column `index` that are longer than
    /// `width`.
    fn cuts(&self, index: usize, width: usize) -> HashMap<String, String> {
        let cells =
            self.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| cell.text.as_str());
        let title = self.columns.get(index).map(|column| column.title.as_str());
        if self.fit(index) == Some(Fit::Wrap) {
            return HashMap::new();
        }
        let mut cuts = shorten_names(title, width);
        cuts.extend(shorten_names(cells, width));
        cuts
    }

    /// Returns the lines of each cell of `band`; none for an empty cell.
    fn cell_lines(&self, cells: &[Cell], band: &Band) -> Vec<Vec<String>> {
        let mut lines = Vec::new();
        for ((&index, &width), cuts) in band.used.iter().zip(&band.widths).zip(&band.cuts) {
            let text = cells.get(index).map(|cell| cell.text.as_str()).unwrap_or_default();
            lines.push(match self.fit(index) {
                Some(Fit::Wrap) => wrap_words(text, width),
                _ if text.is_empty() => Vec::new(),
                _ => vec![cuts.get(text).map_or(text, String::as_str).to_owned()],
            });
        }
        lines
    }

    fn line(
        &self,
        cells: &[Cell],
        band: &Band,
        texts: &[Vec<String>],
        number: usize,
        style: Style,
    ) -> String {
        let mut out = String::new();
        let mut owed = 0; // Padding is written only when text follows, so that no line ends in spaces.
        for ((&index, &width), lines) in band.used.iter().zip(&band.widths).zip(texts) {
            let (Some(cell), Some(column)) = (cells.get(index), self.columns.get(index)) else {
                continue;
            };
            let text = lines.get(number).map(String::as_str).unwrap_or_default();
            let room = width.saturating_sub(columns(text));
            let (before, after) = match column.align {
                Align::Left => (0, room),
                Align::Right => (room, 0),
            };
            if text.is_empty() {
                owed += width + GAP;
                continue;
            }
            out.push_str(&" ".repeat(owed + before));
            out.push_str(&style.paint(cell.tone, text));
            owed = after + GAP;
        }
        out.push('\n');
        out
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}
