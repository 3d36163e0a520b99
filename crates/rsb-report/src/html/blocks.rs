//! The blocks of a report as HTML.

use super::element::{class, escape, list, shown_table, spans};
use super::inline_svg;
use crate::report::blocks::{Block, BlockSection, DrawnChart, ListItem, Tile};

/// A section of a page.
pub struct PageSection {
    /// Id that links refer to.
    pub id: &'static str,
    /// Human-readable heading.
    pub title: &'static str,
    body: String,
}

impl PageSection {
    /// Returns a section with `body` as its HTML content.
    pub const fn new(id: &'static str, title: &'static str, body: String) -> Self {
        Self { id, title, body }
    }

    pub(super) fn of(section: &BlockSection) -> Self {
        Self::new(section.id, section.title, section.blocks.iter().map(block).collect())
    }

    /// Formats the section as HTML.
    pub fn html(&self) -> String {
        let Self { id, title, body } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 \
             id=\"{id}-title\">{title}</h2>\n{body}</section>\n"
        )
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Say { tone, text } => {
            format!("<p class=\"say {}\">{}</p>\n", class(*tone).unwrap_or_default(), spans(text))
        }
        Block::Paragraph { text } => format!("<p>{}</p>\n", spans(text)),
        Block::Note { text } => format!("<p class=\"note\">{}</p>\n", spans(text)),
        Block::Heading { text } => format!("<h3>{}</h3>\n", escape(text)),
        Block::Tiles { tiles } => {
            format!("<div class=\"tiles\">\n{}</div>\n", tiles.iter().map(tile).collect::<String>())
        }
        Block::List { items } => list(items.iter().map(item)),
        Block::Table(rows) => shown_table(rows),
        Block::Folded { summary, blocks } => {
            let inside: String = blocks.iter().map(self::block).collect();
            format!("<details><summary>{}</summary>\n{inside}</details>\n", escape(summary))
        }
        Block::Chart(drawn) => chart(drawn).unwrap_or_default(),
    }
}

fn chart(chart: &DrawnChart) -> Option<String> {
    let drawn = inline_svg::inline(&chart.svg, &chart.title, &chart.description, chart.number)?;
    let name = escape(&chart.title);
    Some(format!(
        "<figure><div class=\"wide\" role=\"group\" aria-label=\"{name}\" \
         tabindex=\"0\">{drawn}</div></figure>\n"
    ))
}

fn tile(tile: &Tile) -> String {
    let class = class(tile.tone).unwrap_or_default();
    let (title, items) = (escape(&tile.title), list(tile.items.iter().map(item)));
    format!("<div class=\"tile {class}\">\n<h3 class=\"{class}\">{title}</h3>\n{items}</div>\n")
}

fn item(item: &ListItem) -> String {
    let lead = spans(&item.lead);
    let lead = if lead.is_empty() { lead } else { format!("<strong>{lead}</strong>") };
    let see = item
        .see
        .map(|section| format!("<a href=\"#{}\">{}</a>", section.id, escape(section.title)));
    let lines: String = item.lines.iter().map(|line| format!("<br>{}", spans(line))).collect();
    format!("{lead}{}{}{lines}", spans(&item.said), see.unwrap_or_default())
}
