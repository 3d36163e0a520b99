//! Format-independent content of a report: sections of sentences, lists, tables and charts. The
//! HTML page and the PDF show the same blocks.

use serde::Serialize;

use crate::chart::Chart;
use crate::style::{Tone, clean};
use crate::table::{Align, Cell, Column, Fit, Table};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BlockSection {
    /// Id that links refer to.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Blocks from top to bottom; empty if the section has no content.
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Block {
    /// The most important sentence of the report.
    Say { tone: Tone, text: Prose },
    /// A short paragraph.
    Paragraph { text: Prose },
    /// A note on how the results were measured or what was left out.
    Note { text: Prose },
    /// Heading of the blocks that follow.
    Heading { text: String },
    /// Prominent lists.
    Tiles { tiles: Vec<Tile> },
    /// A list of sentences.
    List { items: Vec<ListItem> },
    /// A table.
    Table(ShownTable),
    /// Details, initially collapsed.
    Folded { summary: String, blocks: Vec<Block> },
    /// A chart.
    Chart(DrawnChart),
}

impl Block {
    /// Returns a paragraph of `text`, with text between backticks as code.
    pub(crate) fn paragraph(text: &str) -> Self {
        Self::Paragraph { text: Prose::of(text) }
    }

    /// Returns a list; `None` if it is empty.
    pub(crate) fn list(items: impl IntoIterator<Item = ListItem>) -> Option<Self> {
        let items: Vec<ListItem> = items.into_iter().collect();
        (!items.is_empty()).then_some(Self::List { items })
    }

    /// Returns `table` with a `caption` for screen readers.
    pub(crate) fn table(table: &Table, caption: &str) -> Option<Self> {
        ShownTable::of(table, caption, &|_, _| None).map(Self::Table)
    }

    /// Returns a table as [`Block::table`] does, with links for formats that support them.
    pub(crate) fn linked_table(table: &Table, caption: &str, link: &CellLinks<'_>) -> Option<Self> {
        ShownTable::of(table, caption, link).map(Self::Table)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tile {
    pub(crate) title: String,
    pub(crate) tone: Tone,
    pub(crate) items: Vec<ListItem>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Prose {
    pub(crate) spans: Vec<ProseSpan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProseSpan {
    pub(crate) text: String,
    pub(crate) code: bool,
}

impl Prose {
    pub(crate) fn plain(text: &str) -> Self {
        let mut prose = Self::default();
        prose.push(text, false);
        prose
    }

    /// Parses `text`, with text between backticks as code.
    pub(crate) fn of(text: &str) -> Self {
        let parts: Vec<&str> = text.split('`').collect();
        // If the number of backticks is odd, the last one is literal.
        let pairs = (parts.len() - 1) / 2;
        let mut prose = Self::default();
        for (at, part) in parts.iter().enumerate() {
            match at {
                at if at > 2 * pairs => prose.push(&format!("`{part}"), false),
                at => prose.push(part, at % 2 == 1),
            }
        }
        prose
    }

    fn push(&mut self, text: &str, code: bool) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.code == code => last.text.push_str(&clean(text)),
            _ => self.spans.push(ProseSpan { text: clean(text), code }),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ListItem {
    /// Subject of the item; empty if the text makes it clear.
    pub(crate) lead: Prose,
    /// Text on the same line.
    pub(crate) said: Prose,
    /// Section with more details, linked at the end of that line.
    pub(crate) see: Option<SectionLink>,
    /// Further lines.
    pub(crate) lines: Vec<Prose>,
}

impl ListItem {
    pub(crate) fn of(text: &str) -> Self {
        Self { said: Prose::of(text), ..Self::default() }
    }

    /// Returns an item with the literal text `name` as its subject, followed by `text`.
    pub(crate) fn about(name: &str, text: Prose) -> Self {
        Self { lead: Prose::plain(name), said: text, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct SectionLink {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
}

/// A table without its empty columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShownTable {
    /// Caption for screen readers.
    pub(crate) caption: String,
    pub(crate) columns: Vec<ShownColumn>,
    pub(crate) rows: Vec<ShownRow>,
}

/// A column that is not empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShownColumn {
    pub(crate) title: String,
    pub(crate) align: Align,
    /// Whether its cells name the rows.
    pub(crate) names_row: bool,
}

/// One cell and link per column, and a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShownRow {
    pub(crate) cells: Vec<Cell>,
    #[serde(skip)]
    pub(crate) links: Vec<Option<String>>,
    pub(crate) note: Option<Prose>,
}

/// Returns the link target of the cell at (row, column), if it has one.
pub type CellLinks<'l> = dyn Fn(usize, usize) -> Option<String> + 'l;

impl ShownTable {
    /// Returns `table` without its empty columns, with the links that `link` returns.
    pub(crate) fn of(table: &Table, caption: &str, link: &CellLinks<'_>) -> Option<Self> {
        let used = table.used_columns();
        let columns: Vec<(usize, &Column)> =
            used.iter().filter_map(|&at| Some((at, table.columns().get(at)?))).collect();
        let names =
            columns.iter().find(|(_, column)| column.fit == Fit::Elide).or(columns.first())?.0;
        let shown = columns.iter().map(|(at, column)| ShownColumn {
            title: if column.title.is_empty() { "status".to_owned() } else { clean(&column.title) },
            align: column.align,
            names_row: *at == names,
        });
        let rows = table.rows().iter().enumerate().map(|(number, row)| ShownRow {
            cells: used.iter().map(|&at| row.cells.get(at).cloned().unwrap_or_default()).collect(),
            links: used.iter().map(|&at| link(number, at)).collect(),
            note: row.note.as_deref().map(Prose::of),
        });
        Some(Self { caption: clean(caption), rows: rows.collect(), columns: shown.collect() })
    }

    /// Returns whether any row has a note.
    pub(crate) fn has_notes(&self) -> bool {
        self.rows.iter().any(|row| row.note.is_some())
    }
}

/// A drawn chart, with a description for screen readers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DrawnChart {
    pub(crate) number: usize,
    pub(crate) title: String,
    pub(crate) description: String,
    /// Standalone SVG document, in light colors.
    pub(crate) svg: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl DrawnChart {
    /// Draws `chart`; `None` if it cannot be drawn.
    pub(crate) fn of(chart: &Chart, number: usize) -> Option<Self> {
        let svg = crate::svg(chart)?;
        let (width, height) = crate::svg::size(chart);
        Some(Self {
            number,
            title: clean(&chart.title),
            description: clean(&description(chart)),
            svg,
            width,
            height,
        })
    }
}

/// Describes a chart for screen readers.
pub(crate) fn description(chart: &Chart) -> String {
    let names: Vec<&str> = chart.legend_datasets().map(|dataset| dataset.name.as_str()).collect();
    let axes = [&chart.x_axis.title, &chart.y_axis.title].map(String::as_str);
    let axes: Vec<&str> = axes.into_iter().filter(|title| !title.is_empty()).collect();
    let parts = [
        Some(chart.subtitle.clone()),
        Some(format!("Axes: {}", axes.join(", "))).filter(|_| !axes.is_empty()),
        Some(format!("Shown: {}", names.join(", "))).filter(|_| !names.is_empty()),
        Some("The tables of this report have the values".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(". ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_what_stands_between_two_backticks() {
        for (text, expected) in [
            ("", &[][..]),
            ("run `a < b` & go", &[("run ", false), ("a < b", true), (" & go", false)]),
            ("`a` `b`", &[("a", true), (" ", false), ("b", true)]),
            ("a ` b", &[("a ` b", false)]),
            ("`a` ` b", &[("a", true), (" ` b", false)]),
            ("a\u{1b}b", &[("a b", false)]),
        ] {
            let spans = Prose::of(text).spans;
            let spans: Vec<(&str, bool)> =
                spans.iter().map(|span| (span.text.as_str(), span.code)).collect();
            assert_eq!(spans, expected, "{text}");
        }
        assert_eq!(Prose::plain("a `b`").spans.len(), 1);
    }

    #[test]
    fn a_table_is_shown_without_its_empty_columns_and_one_column_names_the_rows() {
        let columns = [
            Column::left(""),
            Column::elided("case"),
            Column::right("change"),
            Column::left("elsewhere"),
        ];
        let mut table = Table::new(columns);
        assert_eq!(Block::table(&table, "none"), None);
        table.push([Cell::with_tone("Regressed", Tone::Bad), "a<b".into(), "+3 %".into()]);
        table.note("look at `x`");
        let Some(Block::Table(shown)) = Block::table(&table, "one") else {
            panic!("a table with a row must be shown")
        };
        let columns: Vec<(&str, bool)> =
            shown.columns.iter().map(|column| (column.title.as_str(), column.names_row)).collect();
        assert_eq!(columns, [("status", false), ("case", true), ("change", false)]);
        assert_eq!((shown.rows[0].cells.len(), shown.has_notes()), (3, true));
    }
}
