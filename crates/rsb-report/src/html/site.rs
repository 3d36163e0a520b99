//! The parts of a report for a site of several pages: sections with links, charts for embedding,
//! and a common style.

use super::inline_svg::{self, Colors};
use super::{PageLook, stylesheet};
use crate::chart::Chart;
use crate::report::Report;
use crate::report::blocks::description;
use crate::report::sections::{ALL_RESULTS, CHARTS, sections};
use crate::svg_in;
use crate::theme::Theme;

pub use super::blocks::PageSection;
pub use crate::report::sections::CaseLinks;

/// Returns the sections of a report in reading order. `charts` is the HTML of the chart section;
/// empty for none.
pub fn parts(report: &Report<'_>, charts: String, links: &CaseLinks<'_>) -> Vec<PageSection> {
    let mut parts: Vec<PageSection> =
        sections(report, Vec::new(), links).iter().map(PageSection::of).collect();
    if !charts.is_empty() {
        let at = parts.iter().position(|part| part.id == ALL_RESULTS.id).unwrap_or(parts.len());
        parts.insert(at, PageSection::new(CHARTS.id, CHARTS.title, charts));
    }
    parts
}

/// Returns `chart` as SVG for a page, with a title and description for screen readers. `number`
/// must be unique in the page. `None` if a coordinate is not finite.
pub fn drawing(chart: &Chart, theme: &Theme, number: usize) -> Option<String> {
    inline_svg::inline(&svg_in(chart, theme)?, &chart.title, &description(chart), number)
}

/// Returns the style sheet for pages with charts in `theme`, which must be a light theme, followed
/// by `more`.
pub fn style(theme: &Theme, more: &str) -> String {
    let colors: Colors = theme
        .colors()
        .into_iter()
        .map(|(_, [red, green, blue])| format!("#{red:02X}{green:02X}{blue:02X}"))
        .collect();
    stylesheet::stylesheet(&PageLook::default(), &colors) + more
}
