//! The report as a self-contained HTML page: no network, no script, no other file. It is readable
//! in light and dark, on paper, on a phone and with a screen reader: every verdict has a word and a
//! shape in addition to its color.
//!
//! Every text is escaped on output ([`element`]), no text becomes a link or an id, and the page
//! forbids the browser to load anything (`Content-Security-Policy`).

mod blocks;
pub mod element;
mod inline_svg;
pub mod site;
mod stylesheet;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::report::blocks::{Block, BlockSection};
use crate::report::sections::{charts, sections};
use crate::report::{Report, content};
use blocks::PageSection;
use element::{escape, prose};
use inline_svg::Colors;

/// Color scheme of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageTheme {
    /// Follows the reader's system.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark; dark on light in print.
    Dark,
}

/// Appearance of a page, and the embedded run.
#[derive(Debug, Clone, Copy)]
pub struct PageLook<'a> {
    /// Color scheme.
    pub theme: PageTheme,
    /// Maximum width of a chart in pixels.
    pub chart_width: u32,
    /// HTML element that contains the run, if it is embedded.
    pub data: Option<&'a str>,
}

impl PageLook<'_> {
    /// Default maximum width of a chart in pixels.
    pub const CHART_WIDTH: u32 = 720;
}

impl Default for PageLook<'_> {
    fn default() -> Self {
        Self { theme: PageTheme::Auto, chart_width: Self::CHART_WIDTH, data: None }
    }
}

/// Policy that forbids loading and executing anything, even if a text injects markup.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri \
                      'none'; form-action 'none'";

/// Returns the page, with its charts.
pub fn page(report: &Report<'_>, look: &PageLook<'_>) -> String {
    let parts = sections(report, charts(report, true), &|_, _| None);
    let sections: Vec<PageSection> = parts.iter().map(PageSection::of).collect();
    let title = escape(&content::title(report));
    let contents: String = sections
        .iter()
        .map(|section| format!("<li><a href=\"#{}\">{}</a>", section.id, escape(section.title)))
        .collect();
    let body: String = sections.iter().map(PageSection::html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n\
         <header>\n<h1>{title}</h1>\n<p>{}</p>\n</header>\n\
         <nav aria-label=\"Contents\"><ul>{contents}</ul></nav>\n\
         <main>\n{body}</main>\n<footer>\n<p>{}</p>\n</footer>\n{}</body>\n</html>\n",
        stylesheet::stylesheet(look, &colors(&parts)),
        escape(&content::subtitle(report.run())),
        prose(&footer(report, look)),
        look.data.unwrap_or_default(),
    )
}

fn colors(sections: &[BlockSection]) -> Colors {
    let mut colors = Colors::new();
    for section in sections {
        collect_colors(&section.blocks, &mut colors);
    }
    colors
}

fn collect_colors(blocks: &[Block], colors: &mut Colors) {
    for block in blocks {
        match block {
            Block::Chart(chart) => inline_svg::collect(colors, &chart.svg),
            Block::Folded { blocks, .. } => collect_colors(blocks, colors),
            _ => {}
        }
    }
}

fn footer(report: &Report<'_>, look: &PageLook<'_>) -> String {
    let run = &report.run().run_id;
    let inside = "The run itself is in this page, with its checksum: `rusty-stack-bench gate \
                  --current PAGE` judges it again, and \
                  `compare` and `report` read it, too.";
    let outside = "The run itself is not in this page.";
    let more = if look.data.is_some() { inside } else { outside };
    format!("Written by rusty-stack-bench from the run {run}. {more}")
}
