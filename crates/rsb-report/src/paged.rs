//! The report as a document for a typesetter: the same blocks as the HTML page, as JSON for the
//! worker that converts it to PDF. All texts are plain values, without markup.
//!
//! Typesetting takes time and memory per row, so the number of rows is limited. A note replaces the
//! rows that are left out.

use rsb_model::Run;
use serde::Serialize;

use crate::document::ReportError;
use crate::number::format_count;
use crate::report::blocks::{Block, BlockSection, ListItem, Prose, Tile};
use crate::report::sections::{charts, sections};
use crate::report::{Report, content};
use crate::style::clean;

/// Version of this document; the worker accepts no other.
const FORMAT_VERSION: u32 = 1;
/// Maximum number of rows of one table, and of items of one list.
const ROWS: usize = 2_000;
/// Maximum number of rows and items of a document.
const ALL_ROWS: usize = 6_000;

#[derive(Debug, Serialize)]
struct PagedReport {
    format_version: u32,
    /// Identifier that all documents of one run share.
    id: String,
    language: &'static str,
    title: String,
    subtitle: String,
    /// Start time of the run in UTC: `2026-11-23 06:30:00`.
    moment: String,
    sections: Vec<BlockSection>,
    footer: Prose,
}

/// Returns the document of `report` as JSON on one line.
///
/// # Errors
/// If the data cannot be represented in JSON.
pub fn json(report: &Report<'_>) -> Result<String, ReportError> {
    let run = report.run();
    let mut room = RowBudget { left: ALL_ROWS, run };
    let mut sections = sections(report, charts(report, false), &|_, _| None);
    for section in &mut sections {
        section.blocks = room.fit(std::mem::take(&mut section.blocks));
    }
    let footer = format!(
        "Written by rusty-stack-bench from the run {}. This file does not contain the run; the \
         page of `rusty-stack-bench report --format html` does.",
        run.run_id
    );
    Ok(serde_json::to_string(&PagedReport {
        format_version: FORMAT_VERSION,
        id: clean(&run.run_id.0),
        language: "en",
        title: clean(&content::title(report)),
        subtitle: clean(&content::subtitle(run)),
        moment: run.started.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        sections,
        footer: Prose::of(&footer),
    })?)
}

/// Number of rows that may still be shown.
struct RowBudget<'a> {
    left: usize,
    run: &'a Run,
}

impl RowBudget<'_> {
    /// Returns `blocks`, truncated to the remaining number of rows and items.
    fn fit(&mut self, blocks: Vec<Block>) -> Vec<Block> {
        blocks.into_iter().flat_map(|block| self.fit_block(block)).collect()
    }

    fn fit_block(&mut self, block: Block) -> Vec<Block> {
        match block {
            Block::Table(mut table) => {
                let note = self
                    .take(&mut table.rows, "row is", "rows are")
                    .map(|note| Block::paragraph(&note));
                let table = Some(table).filter(|table| !table.rows.is_empty()).map(Block::Table);
                table.into_iter().chain(note).collect()
            }
            Block::List { items } => vec![Block::List { items: self.fit_items(items) }],
            Block::Tiles { tiles } => {
                let mut fitting = Vec::new();
                for tile in tiles {
                    fitting.push(Tile { items: self.fit_items(tile.items), ..tile });
                }
                vec![Block::Tiles { tiles: fitting }]
            }
            Block::Folded { summary, blocks } => {
                vec![Block::Folded { summary, blocks: self.fit(blocks) }]
            }
            other => vec![other],
        }
    }

    fn fit_items(&mut self, mut items: Vec<ListItem>) -> Vec<ListItem> {
        let note = self.take(&mut items, "more is", "more are");
        items.extend(note.map(|note| ListItem::of(&note)));
        items
    }

    /// Truncates `rows` to the remaining number, and returns a note on the rows left out.
    fn take<T>(&mut self, rows: &mut Vec<T>, one: &str, many: &str) -> Option<String> {
        let kept = rows.len().min(ROWS).min(self.left);
        self.left -= kept;
        let gone = rows.len() - kept;
        rows.truncate(kept);
        (gone > 0).then(|| {
            let count = format_count(gone, one, many);
            let run = &self.run.run_id;
            format!(
                "{count} left out to keep this file short; the page of `rusty-stack-bench \
                     report {run} --format html` has them."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::hostile::hostile;
    use crate::sample;
    use crate::style::is_disguise;

    fn document(report: &Report<'_>) -> Value {
        serde_json::from_str(&json(report).unwrap()).unwrap()
    }

    /// Collects all human-readable texts of `value`.
    fn texts<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => all.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            Value::Object(entries) => {
                entries
                    .iter()
                    .filter(|(name, _)| *name != "svg")
                    .for_each(|(_, entry)| texts(entry, all));
            }
            _ => {}
        }
    }

    #[test]
    fn a_document_says_what_the_page_says() {
        let (run, comparison) = (sample::run(), sample::comparison());
        let report = Report::new(&run).with_comparison(&comparison);
        let document = document(&report);
        let ids: Vec<&str> = document["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| section["id"].as_str().unwrap())
            .collect();
        let page = crate::html::page(&report, &crate::PageLook::default());
        for id in &ids {
            assert!(page.contains(&format!("<section id=\"{id}\"")), "{id}");
        }
        assert_eq!((ids[0], page.matches("<section").count()), ("verdict", ids.len()));
        assert_eq!(document["moment"], run.started.strftime("%Y-%m-%d %H:%M:%S").to_string());
        let kinds = ["say", "tiles", "table", "list", "heading", "paragraph", "chart"];
        let text = document.to_string();
        for kind in kinds {
            assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind}");
        }
    }

    #[test]
    fn no_text_of_a_document_steers_what_it_is_shown_by() {
        for run in hostile(&sample::run(), "x\u{1b}]0;t\u{7}\u{202e}\u{2066}\r\nFORGED\u{2028}") {
            let document = document(&Report::new(&run));
            let mut all = Vec::new();
            texts(&document, &mut all);
            let steering: Vec<&&str> =
                all.iter().filter(|text| text.contains(is_disguise)).collect();
            assert!(all.len() > 100 && steering.is_empty(), "{steering:?}");
        }
    }

    fn list(count: usize) -> Block {
        Block::List { items: vec![ListItem::of("one"); count] }
    }

    #[test]
    fn rows_beyond_the_limits_are_counted_and_found_elsewhere() {
        let run = sample::run();
        let mut room = RowBudget { left: 2_500, run: &run };
        let folded = Block::Folded { summary: "rest".to_owned(), blocks: vec![list(3_000)] };
        let said = serde_json::to_string(&room.fit(vec![list(ROWS + 1), folded, list(1)])).unwrap();
        assert_eq!((said.matches("\"one\"").count(), room.left), (2_500, 0));
        for told in
            ["1 more is left out", "2500 more are left out", run.run_id.0.as_str(), "--format html"]
        {
            assert!(said.contains(told), "{told}: {}", &said[said.len() - 400..]);
        }
    }
}
