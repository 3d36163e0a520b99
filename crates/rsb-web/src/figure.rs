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

/// Interaction that a chart offers.
pub(crate) enum Zoom {
    /// None, except that each value can be read.
    Fixed,
    /// Values that are runs.
    Runs(RunPoints),
}

/// The points of a chart over the runs, for the script.
pub(crate) struct RunPoints {
    /// Link for a range along x that the user selects, to which the script appends
    /// `&runs=FIRST-LAST`; empty for none.
    pub(crate) window: String,
    /// Link to a run, to which the script appends its encoded id; empty for none.
    pub(crate) run: String,
    /// Points, in ascending order.
    pub(crate) points: Vec<RunTip>,
}

/// A point of a chart over the runs.
pub(crate) struct RunTip {
    /// Number of the run, from 1.
    pub(crate) number: usize,
    /// What is shown of the run.
    pub(crate) text: String,
    /// Id of the run; empty if it has no page.
    pub(crate) id: String,
}

/// Returns the charts of `view` as HTML.
pub(crate) fn figures(site: &Site<'_>, view: &PageView, charts: &[Chart], zoom: &Zoom) -> String {
    (1..).zip(charts).map(|(number, chart)| figure(site, view, number, chart, zoom)).collect()
}

/// Returns a chart of `view` as HTML; `number` is unique in the page.
pub(crate) fn figure(
    site: &Site<'_>,
    view: &PageView,
    number: usize,
    chart: &Chart,
    zoom: &Zoom,
) -> String {
    let Some(drawn) = drawing(chart, site.theme(), number) else {
        let title = escape(&chart.title);
        return format!("<p>{title}: not drawn, a value in it is not finite</p>\n");
    };
    let (title, name) = (escape(&chart.title), escape(&chart.name));
    let values = match zoom {
        // The page has a table of the runs.
        Zoom::Runs(_) => String::new(),
        Zoom::Fixed => values(chart),
    };
    format!(
        "<figure class=\"chart\" id=\"{name}\"{}><div class=\"wide\" role=\"group\" \
         aria-label=\"{title}\" tabindex=\"0\">\
         {drawn}</div>\n<figcaption>{values}{}</figcaption></figure>\n",
        geometry(chart, zoom),
        files(site, view, chart),
    )
}

fn values(chart: &Chart) -> String {
    let (figures, more) = chart_table(chart, POINTS);
    let more = if more > 0 {
        let count = format_count(more, "more value is", "more values are");
        format!("<p>{count} only in the file.</p>\n")
    } else {
        String::new()
    };
    format!(
        "<details><summary>Values of this chart</summary>\n{}{more}</details>\n",
        table(&figures, &chart.title)
    )
}

/// Returns the position of the data in the drawing, and its range, for the script. Charts with rows
/// show their values next to the rows.
fn geometry(chart: &Chart, zoom: &Zoom) -> String {
    if chart.y_axis.scale == AxisScale::Rows || chart.x_axis.scale == AxisScale::Rows {
        return String::new();
    }
    let data = match zoom {
        Zoom::Runs(runs) => run_data(runs),
        Zoom::Fixed => format!(" data-at=\"{}\"", join_numbers(&chart_places(chart, POINTS))),
    };
    let scale = if chart.x_axis.scale == AxisScale::Log { " data-scale=\"log\"" } else { "" };
    format!(
        " data-frame=\"{}\" data-x=\"{}\"{scale}{data}",
        join_numbers(&frame(chart).edges),
        join_numbers(&chart.x_axis.bounds),
    )
}

/// Returns one line for each point: number, text and id of the run, separated by tabs.
fn run_data(runs: &RunPoints) -> String {
    let mut lines = String::new();
    for RunTip { number, text, id } in &runs.points {
        lines.push_str(&format!("{number}\t{}\t{}\n", one_line(text), one_line(id)));
    }
    let mut data = format!(" data-points=\"{}\"", lines.trim_end());
    for (name, link) in [("zoom", &runs.window), ("run", &runs.run)] {
        if !link.is_empty() {
            data.push_str(&format!(" data-{name}=\"{}\"", escape(link)));
        }
    }
    data
}

/// Escapes `text`, which becomes a field of a line.
fn one_line(text: &str) -> String {
    escape(text).replace(['\t', '\n'], " ")
}

fn join_numbers(values: &[f64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn files(site: &Site<'_>, view: &PageView, chart: &Chart) -> String {
    // In an export, the page itself contains the drawing and its values.
    if !site.answers() {
        return String::new();
    }
    let formats = [
        (ChartFileFormat::Csv, "CSV"),
        (ChartFileFormat::Svg, "SVG"),
        (ChartFileFormat::Png, "PNG"),
    ];
    let mut links = Vec::new();
    for (format, name) in formats {
        if format != ChartFileFormat::Png || site.draw().is_some() {
            let form = Form::Chart { name: chart.name.clone(), format };
            links.push(anchor(&site.link(Address { view: view.clone(), form }), name));
        }
    }
    format!("<p class=\"files\">{}: {}</p>\n", escape(&chart.title), links.join(" "))
}
