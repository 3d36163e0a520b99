//! Charts as files: the values as CSV, the drawing as SVG or PNG.

use rsb_report::{Chart, chart_csv, svg_in};

use crate::address::{ChartFileFormat, PageView};
use crate::figure::POINTS;
use crate::pages;
use crate::response::{CSV, PNG, PageResponse, SVG};
use crate::site::Site;
use crate::source::{SourceError, SourceResult};

pub(crate) fn file(
    site: &Site<'_>,
    view: &PageView,
    name: &str,
    format: ChartFileFormat,
) -> SourceResult<PageResponse> {
    // The CSV file has every value; a drawing of millions of points shows no more than one of
    // hundreds.
    let points = if format == ChartFileFormat::Csv { usize::MAX } else { POINTS };
    let charts = pages::charts(site, view, points)?;
    let chart = charts.into_iter().find(|chart| chart.name == name);
    let chart =
        chart.ok_or_else(|| SourceError::NotThere(format!("that page has no chart `{name}`")))?;
    Ok(match format {
        ChartFileFormat::Csv => {
            let text =
                chart_csv(&chart).map_err(|error| SourceError::Unreadable(error.to_string()))?;
            PageResponse::ok(CSV, text)
        }
        ChartFileFormat::Svg => PageResponse::ok(SVG, draw_svg(site, &chart)?),
        ChartFileFormat::Png => {
            let picture = site.draw().and_then(|draw| draw(&draw_svg(site, &chart).ok()?));
            let lacks = "this build cannot draw PNG files; use the SVG";
            PageResponse::ok(PNG, picture.ok_or_else(|| SourceError::NotThere(lacks.to_owned()))?)
        }
    })
}

fn draw_svg(site: &Site<'_>, chart: &Chart) -> SourceResult<String> {
    svg_in(chart, site.theme())
        .ok_or_else(|| SourceError::Unreadable("a value in the chart is not finite".to_owned()))
}
