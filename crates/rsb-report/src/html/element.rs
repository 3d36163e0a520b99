//! The pieces that pages are made of. Whatever holds text of a run passes through [`escape()`].

use crate::markdown::escape_xml;
use crate::style::Tone;
use crate::table::{Align, Cell, Column, Fit, Table};

/// `text` as it stands, between tags or in an attribute with double quotes.
pub fn escape(text: &str) -> String {
    escape_xml(text)
}

/// `text` in which what stands between backticks is code.
pub fn prose(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escape).collect();
    // Of an odd number of backticks the last one is itself.
    let pairs = (parts.len() - 1) / 2;
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        out.push_str(match at {
            0 => "",
            at if at > 2 * pairs => "`",
            at if at % 2 == 1 => "<code>",
            _ => "</code>",
        });
        out.push_str(part);
    }
    out
}

/// A list of sentences; nothing of none.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: String = items.into_iter().map(|item| format!("<li>{item}\n")).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

/// The class of what looks so.
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

/// `table` under a caption for those who do not see what stands around it. It scrolls within itself where it is too wide.
/// Nothing when there are no rows.
pub fn table(table: &Table, caption: &str) -> String {
    linked_table(table, caption, &|_, _| None)
}

/// Where a cell leads, if anywhere: asked with the positions of its row and its column.
pub type CellLinks<'l> = dyn Fn(usize, usize) -> Option<String> + 'l;

/// As [`table()`], with links around the cells that lead somewhere.
pub fn linked_table(table: &Table, caption: &str, link: &CellLinks<'_>) -> String {
    let used = table.used();
    if used.is_empty() {
        return String::new();
    }
    let caption = escape(caption);
    let columns: Vec<(usize, &Column)> = used.iter().filter_map(|&at| Some((at, table.columns().get(at)?))).collect();
    let named_by = columns.iter().find(|(_, column)| column.fit == Fit::Elide).or(columns.first()).map(|(at, _)| *at);
    let noted = table.rows().iter().any(|row| row.note.is_some());
    let heads = columns.iter().map(|(_, column)| {
        let title = if column.title.is_empty() { "status" } else { &column.title };
        format!("<th scope=\"col\"{}>{}", attribute(&[align(column)]), escape(title))
    });
    let mut out = format!(
        "<div class=\"wide\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\"><table>\
         <caption class=\"unseen\">{caption}</caption>\n<thead><tr>{}{}</thead>\n<tbody>\n",
        heads.collect::<String>(),
        if noted { "<th scope=\"col\">why" } else { "" }
    );
    for (number, row) in table.rows().iter().enumerate() {
        out.push_str("<tr>");
        for (at, column) in &columns {
            let blank = Cell::default();
            let cell = row.cells.get(*at).unwrap_or(&blank);
            let text = escape(&cell.text);
            let target = if text.is_empty() { None } else { link(number, *at) };
            let text = target.map_or_else(|| text.clone(), |target| anchor(&target, &text));
            out.push_str(&data_cell((cell, &text), column, Some(*at) == named_by));
        }
        if noted {
            out.push_str(&format!("<td class=\"why\">{}", prose(row.note.as_deref().unwrap_or_default())));
        }
        out.push('\n');
    }
    out + "</tbody></table></div>\n"
}

/// A link to `target`, which is escaped, around `html`, which is not.
pub fn anchor(target: &str, html: &str) -> String {
    format!("<a href=\"{}\">{html}</a>", escape(target))
}

fn data_cell((cell, text): (&Cell, &str), column: &Column, names_the_row: bool) -> String {
    let tone = class(cell.tone).filter(|_| !cell.text.is_empty());
    let classes = attribute(&[align(column), tone]);
    if names_the_row { format!("<th scope=\"row\"{classes}>{text}") } else { format!("<td{classes}>{text}") }
}

fn align(column: &Column) -> Option<&'static str> {
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
        let mut rows = Table::new([Column::left("verdict"), Column::elided("case"), Column::right("change")]);
        rows.push([Cell::toned("Regressed", Tone::Bad), "a<b".into(), Cell::toned("+3 %", Tone::Bad)]);
        rows.note("look at `x`");
        let html = table(&rows, "one \"two\"");
        for part in [
            "aria-label=\"one &quot;two&quot;\"",
            "<caption class=\"unseen\">one &quot;two&quot;</caption>",
            "<th scope=\"col\">verdict<th scope=\"col\">case<th scope=\"col\" class=\"r\">change<th scope=\"col\">why",
            "<td class=\"bad\">Regressed<th scope=\"row\">a&lt;b<td class=\"r bad\">+3 %<td class=\"why\">look at <code>x</code>",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert_eq!(table(&Table::new([Column::left("a")]), "none"), "");
    }
}
