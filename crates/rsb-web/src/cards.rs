//! Tables of HTML cells, which fold into cards on a narrow screen.

use rsb_report::html::element::escape;

/// A table under construction.
pub(crate) struct CardTable {
    caption: &'static str,
    columns: &'static [CardColumn],
    rows: String,
}

/// A column of a table.
pub(crate) struct CardColumn {
    /// Title, which cards repeat in each row.
    pub(crate) title: &'static str,
    pub(crate) is_number: bool,
}

/// Returns a column of text.
pub(crate) const fn text(title: &'static str) -> CardColumn {
    CardColumn { title, is_number: false }
}

/// Returns a column of numbers, aligned right.
pub(crate) const fn number(title: &'static str) -> CardColumn {
    CardColumn { title, is_number: true }
}

impl CardTable {
    pub(crate) const fn new(caption: &'static str, columns: &'static [CardColumn]) -> Self {
        Self { caption, columns, rows: String::new() }
    }

    /// Adds a row. `cells` are HTML; the first one names the row.
    pub(crate) fn push(&mut self, cells: &[String]) {
        self.push_as("", cells);
    }

    /// Adds a row with the id `id`, which is escaped.
    pub(crate) fn push_as(&mut self, id: &str, cells: &[String]) {
        self.rows.push_str("<tr");
        if !id.is_empty() {
            self.rows.push_str(&format!(" id=\"{}\"", escape(id)));
        }
        self.rows.push('>');
        for (at, (cell, column)) in cells.iter().zip(self.columns).enumerate() {
            let class = if column.is_number { " class=\"r\"" } else { "" };
            if at == 0 {
                self.rows.push_str(&format!("<th scope=\"row\"{class}>{cell}"));
            } else if cell.is_empty() {
                self.rows.push_str("<td>");
            } else {
                let title = column.title;
                self.rows.push_str(&format!("<td{class} data-label=\"{title}\">{cell}"));
            }
        }
        self.rows.push('\n');
    }

    /// Returns the table; empty without rows.
    pub(crate) fn html(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let caption = escape(self.caption);
        let mut heads = String::new();
        for column in self.columns {
            let class = if column.is_number { " class=\"r\"" } else { "" };
            heads.push_str(&format!("<th scope=\"col\"{class}>{}", column.title));
        }
        format!(
            "<div class=\"wide cards\" role=\"group\" aria-label=\"{caption}\" \
             tabindex=\"0\"><table><caption class=\"unseen\">{caption}</caption>\n\
             <thead><tr>{heads}</thead>\n<tbody>\n{}</tbody></table></div>\n",
            self.rows
        )
    }
}
