//! Building blocks of pages. All text from a run is escaped with [`escape()`].

use crate::markdown::escape_xml;
pub use crate::report::blocks::CellLinks;
use crate::report::blocks::{Prose, ShownColumn, ShownTable};
use crate::style::Tone;
use crate::table::{Align, Cell, Table};

/// Escapes `text` for use between tags or in a double-quoted attribute.
pub fn escape(text: &str) -> String {
    escape_xml(text)
}

/// Escapes `text`, formatting text between backticks as code.
pub fn prose(text: &str) -> String {
    spans(&Prose::of(text))
}

pub(super) fn spans(text: &Prose) -> String {
    let mut out = String::new();
    for span in &text.spans {
        let text = escape(&span.text);
        if span.code {
            out.push_str(&format!("<code>{text}</code>"));
        } else {
            out.push_str(&text);
        }
    }
    out
}

/// Returns a list of items, which are HTML; empty if there are none.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: String = items.into_iter().map(|item| format!("<li>{item}\n")).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

/// Returns the CSS class of `tone`.
pub const fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Caution => Some("caution"),
        Tone::Dim => Some("dim"),
        Tone::Strong => Some("strong"),
    }
}

/// Formats `table` with a caption for screen readers. A table that is too wide scrolls within
/// itself. Empty if there are no rows.
pub fn table(table: &Table, caption: &str) -> String {
    linked_table(table, caption, &|_, _| None)
}

/// Formats as [`table()`], with links around the cells for which `link` returns a target.
pub fn linked_table(table: &Table, caption: &str, link: &CellLinks<'_>) -> String {
    ShownTable::of(table, caption, link).as_ref().map_or_else(String::new, shown_table)
}

pub(super) fn shown_table(table: &ShownTable) -> String {
    let caption = escape(&table.caption);
    let mut heads = String::new();
    for column in &table.columns {
        let alignment = attribute(&[align(column)]);
        heads.push_str(&format!("<th scope=\"col\"{alignment}>{}", escape(&column.title)));
    }
    let noted = table.has_notes();
    let mut out = format!(
        "<div class=\"wide\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\"><table>\
         <caption class=\"unseen\">{caption}</caption>\n<thead><tr>{heads}{}</thead>\n<tbody>\n",
        if noted { "<th scope=\"col\">why" } else { "" }
    );
    for row in &table.rows {
        out.push_str("<tr>");
        for ((cell, link), column) in row.cells.iter().zip(&row.links).zip(&table.columns) {
            out.push_str(&data_cell(cell, link.as_deref(), column));
        }
        if noted {
            let note = row.note.as_ref().map_or_else(String::new, spans);
            out.push_str(&format!("<td class=\"why\">{note}"));
        }
        out.push('\n');
    }
    out + "</tbody></table></div>\n"
}

/// Returns a link to `target`, which is escaped, around `html`, which is not.
pub fn anchor(target: &str, html: &str) -> String {
    format!("<a href=\"{}\">{html}</a>", escape(target))
}

fn data_cell(cell: &Cell, link: Option<&str>, column: &ShownColumn) -> String {
    let tone = class(cell.tone).filter(|_| !cell.text.is_empty());
    let classes = attribute(&[align(column), tone]);
    let text = escape(&cell.text);
    let text = link
        .filter(|_| !text.is_empty())
        .map_or_else(|| text.clone(), |target| anchor(target, &text));
    if column.names_row {
        format!("<th scope=\"row\"{classes}>{text}")
    } else {
        format!("<td{classes}>{text}")
    }
}

fn align(column: &ShownColumn) -> Option<&'static str> {
    (column.align == Align::Right).then_some("r")
}

fn attribute(classes: &[Option<&str>]) -> String {
    let classes: Vec<&str> = classes.iter().flatten().copied().collect();
    match classes.as_slice() {
        [] => String::new(),
        all => format!(" class=\"{}\"", all.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn code_is_what_stands_between_two_backticks() {
        for (text, html) in [
            ("", ""),
            ("run `a < b` & go", "run <code>a &lt; b</code> &amp; go"),
            ("`a` `b`", "<code>a</code> <code>b</code>"),
            ("a ` b", "a ` b"),
            ("`a` ` b", "<code>a</code> ` b"),
            ("`<img src=x>`", "<code>&lt;img src=x&gt;</code>"),
        ] {
            assert_eq!(prose(text), html, "{text}");
        }
    }

    #[test]
    fn a_table_names_its_rows_and_columns() {
        let mut rows =
            Table::new([Column::left("verdict"), Column::elided("case"), Column::right("change")]);
        rows.push([
            Cell::with_tone("Regressed", Tone::Bad),
            "a<b".into(),
            Cell::with_tone("+3 %", Tone::Bad),
        ]);
        rows.note("look at `x`");
        let html = table(&rows, "one \"two\"");
        for part in [
            "aria-label=\"one &quot;two&quot;\"",
            "<caption class=\"unseen\">one &quot;two&quot;</caption>",
            "<th scope=\"col\">verdict<th scope=\"col\">case<th scope=\"col\" \
             class=\"r\">change<th scope=\"col\">why",
            "<td class=\"bad\">Regressed<th scope=\"row\">a&lt;b<td class=\"r bad\">+3 %<td \
             class=\"why\">look at <code>x</code>",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert_eq!(table(&Table::new([Column::left("a")]), "none"), "");
    }
}
