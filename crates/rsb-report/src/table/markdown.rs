//! Tables in Markdown.

use super::{Align, Cell, Column, Table};
use crate::markdown::escape;
use crate::style::Tone;

impl Table {
    /// Formats the table as Markdown, with all text escaped. Empty if there are no rows.
    pub fn markdown(&self) -> String {
        let used = self.used_columns();
        if used.is_empty() {
            return String::new();
        }
        let noted = self.rows.iter().any(|row| row.note.is_some());
        let columns: Vec<&Column> =
            used.iter().filter_map(|&index| self.columns.get(index)).collect();
        let mut out = columns
            .iter()
            .map(|column| format!("| {} ", escape(&column.title)))
            .collect::<String>();
        out.push_str(if noted { "| why |\n" } else { "|\n" });
        out.extend(columns.iter().map(|column| match column.align {
            Align::Left => "| :-- ",
            Align::Right => "| --: ",
        }));
        out.push_str(if noted { "| :-- |\n" } else { "|\n" });
        for row in &self.rows {
            out.extend(used.iter().filter_map(|&index| row.cells.get(index)).map(markdown_cell));
            if noted {
                out.push_str(&format!("| {} ", escape(row.note.as_deref().unwrap_or_default())));
            }
            out.push_str("|\n");
        }
        out
    }
}

fn markdown_cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    match cell.tone {
        Tone::Bad | Tone::Strong if !text.is_empty() => format!("| **{text}** "),
        _ => format!("| {text} "),
    }
}
