//! What a site of several pages takes from a report: its parts with links, charts that stand in a
//! page, one style for all.

use super::element::linked_table;
use super::inline_svg::{self, Colors};
use super::{PageLook, stylesheet};
use rsb_model::record::Comparison;

use crate::chart::Chart;
use crate::comparison;
use crate::report::blocks::description;
use crate::report::sections::{ALL_RESULTS, CHARTS, compared_links, sections};
use crate::report::{Report, content};
use crate::svg_in;
use crate::theme::Theme;

pub use super::blocks::PageSection;
pub use crate::report::sections::CaseLinks;

/// The title of a report, and what stands under it.
pub fn head(report: &Report<'_>) -> (String, String) {
    (content::title(report), content::subtitle(report.run()))
}

/// The parts of a report in the order in which a reader needs them. `charts` is what stands among
/// them as HTML.
pub fn parts(report: &Report<'_>, charts: String, links: &CaseLinks<'_>) -> Vec<PageSection> {
    let mut parts: Vec<PageSection> =
        sections(report, Vec::new(), links).iter().map(PageSection::of).collect();
    if !charts.is_empty() {
        let at = parts.iter().position(|part| part.id == ALL_RESULTS.id).unwrap_or(parts.len());
        parts.insert(at, PageSection::new(CHARTS.id, CHARTS.title, charts));
    }
    parts
}

/// A row for each of `shown`, whose case leads where `links` says.
pub fn compared_table(shown: &[&Comparison], caption: &str, links: &CaseLinks<'_>) -> String {
    linked_table(&comparison::table(shown), caption, &compared_links(shown, links))
}

/// `chart` as SVG in a page, named and described for who does not see it; `number` is its own in
/// the page. `None` where a coordinate is not finite.
pub fn drawing(chart: &Chart, theme: &Theme, number: usize) -> Option<String> {
    inline_svg::inline(&svg_in(chart, theme)?, &chart.title, &description(chart), number)
}

/// The style of every page whose charts are drawn in `theme`, which is for a light ground, and of
/// what `more` adds.
pub fn style(theme: &Theme, more: &str) -> String {
    let colors: Colors = theme
        .colors()
        .into_iter()
        .map(|(_, [red, green, blue])| format!("#{red:02X}{green:02X}{blue:02X}"))
        .collect();
    stylesheet::stylesheet(&PageLook::default(), &colors) + more
}
