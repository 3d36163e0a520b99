//! What a site of several pages takes from a report: its parts with links, charts that stand in a page, one style for all.

use super::inline_svg::{self, Colors};
use super::{PageLook, sections, stylesheet};
use crate::chart::Chart;
use crate::report::{Report, content};
use crate::svg_in;
use crate::theme::Theme;

pub use super::sections::{CaseLinks, PageSection, compared_table, titled};

/// The title of a report, and what stands under it.
pub fn head(report: &Report<'_>) -> (String, String) {
    (content::title(report), content::subtitle(report.run()))
}

/// The parts of a report in the order in which a reader needs them. `charts` is what stands among them as HTML.
pub fn parts(report: &Report<'_>, charts: String, links: &CaseLinks<'_>) -> Vec<PageSection> {
    sections::all(report, charts, links)
}

/// `chart` as SVG in a page, named and described for who does not see it; `number` is its own in the page. `None` where a
/// coordinate is not finite.
pub fn drawing(chart: &Chart, theme: &Theme, number: usize) -> Option<String> {
    inline_svg::inline(&svg_in(chart, theme)?, (&chart.title, &sections::description(chart)), number)
}

/// The style of every page whose charts are drawn in `theme`, which is for a light ground, and of what `more` adds.
pub fn style(theme: &Theme, more: &str) -> String {
    let color = |[red, green, blue]: [u8; 3]| format!("#{red:02X}{green:02X}{blue:02X}");
    let colors: Colors = theme.colors().into_iter().map(|(_, rgb)| color(rgb)).collect();
    stylesheet::stylesheet(&PageLook::default(), &colors) + more
}
