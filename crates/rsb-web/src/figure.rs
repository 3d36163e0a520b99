//! Charts in a page: the drawing, its values as a table, and the data that the script needs to
//! zoom.

use rsb_report::chart::AxisScale;
use rsb_report::html::element::{anchor, escape, table};
use rsb_report::html::site::drawing;
use rsb_report::number::format_count;
use rsb_report::{Chart, chart_places, chart_table, frame};

use crate::address::{Address, ChartFileFormat, Form, PageView};
use crate::site::Site;

/// Maximum number of points of a long line in a page, and of rows of values under a chart; the CSV
/// file has all of them.
pub(crate) const POINTS: usize = 600;

/// Link that a chart offers for a selected range.
pub(crate) enum Zoom {
    /// No link.
    Fixed,
    /// Link for a range along x that the user selects, to which the script appends
    /// `&runs=FIRST-LAST`.
    Runs(String),
}

/// Returns the charts of `view` as HTML.
pub(crate) fn figures(site: &Site<'_>, view: &PageView, charts: &[Chart], zoom: &Zoom) -> String {
    figures_from(site, view, 1, charts, zoom)
}

/// Returns the charts of `view` as HTML, numbered from `first`. Numbers are unique in a page.
pub(crate) fn figures_from(
    site: &Site<'_>,
    view: &PageView,
    first: usize,
    charts: &[Chart],
    zoom: &Zoom,
) -> String {
    (first..).zip(charts).map(|(number, chart)| figure(site, view, number, chart, zoom)).collect()
}

fn figure(site: &Site<'_>, view: &PageView, number: usize, chart: &Chart, zoom: &Zoom) -> String {
    let Some(drawn) = drawing(chart, site.theme(), number) else {
        let title = escape(&chart.title);
        return format!("<p>{title}: not drawn, a value in it is not finite</p>\n");
    };
    let (title, name) = (escape(&chart.title), escape(&chart.name));
    let (figures, more) = chart_table(chart, POINTS);
    let more = if more > 0 {
        let count = format_count(more, "more value is", "more values are");
        format!("<p>{count} only in the file.</p>\n")
    } else {
        String::new()
    };
    format!(
        "<figure class=\"chart\" id=\"{name}\"{}><div class=\"wide\" role=\"group\" \
         aria-label=\"{title}\" tabindex=\"0\">\
         {drawn}</div>\n<figcaption><details><summary>Values of this \
         chart</summary>\n{}{more}</details>\n{}</figcaption>\
         </figure>\n",
        geometry(chart, zoom),
        table(&figures, &chart.title),
        files(site, view, chart),
    )
}

/// Returns the position of the data in the drawing, and its range, for the script. Charts with rows
/// show their values next to the rows.
fn geometry(chart: &Chart, zoom: &Zoom) -> String {
    if chart.y_axis.scale == AxisScale::Rows || chart.x_axis.scale == AxisScale::Rows {
        return String::new();
    }
    let zoom = match zoom {
        Zoom::Runs(link) => format!(" data-zoom=\"{}\"", escape(link)),
        Zoom::Fixed => String::new(),
    };
    let scale = if chart.x_axis.scale == AxisScale::Log { " data-scale=\"log\"" } else { "" };
    format!(
        " data-frame=\"{}\" data-x=\"{}\" data-at=\"{}\"{scale}{zoom}",
        join_numbers(&frame(chart).edges),
        join_numbers(&chart.x_axis.bounds),
        join_numbers(&chart_places(chart, POINTS)),
    )
}

fn join_numbers(values: &[f64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn files(site: &Site<'_>, view: &PageView, chart: &Chart) -> String {
    let formats = [
        (ChartFileFormat::Csv, "CSV"),
        (ChartFileFormat::Svg, "SVG"),
        (ChartFileFormat::Png, "PNG"),
    ];
    let mut links = Vec::new();
    for (format, name) in formats {
        // In an export the page itself contains the drawing.
        let is_offered = match format {
            ChartFileFormat::Csv => true,
            ChartFileFormat::Svg => site.answers(),
            ChartFileFormat::Png => site.draw().is_some(),
        };
        if is_offered {
            let form = Form::Chart { name: chart.name.clone(), format };
            links.push(anchor(&site.link(Address { view: view.clone(), form }), name));
        }
    }
    format!("<p class=\"files\">{}: {}</p>\n", escape(&chart.title), links.join(" "))
}
