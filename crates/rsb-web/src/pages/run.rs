//! One run: its report, with links from each case to its history, and from each chart to its
//! values.

use rsb_model::Run;
use rsb_report::charts::{self, CHART_KINDS, ChartSource, ChartSubject};
use rsb_report::html::element::{anchor, escape, list};
use rsb_report::html::site::{head, parts};
use rsb_report::{Chart, chart::ChartPlace};

use super::case_links;
use crate::address::{Address, CompareView, PageView};
use crate::figure::{Zoom, figures};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{RunReportData, SourceResult};

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView, id: &str) -> SourceResult<Sheet<'v>> {
    let material = site.source().run(id)?;
    let report = material.report();
    let (title, subtitle) = head(&report);
    let mut charts = charts::all(&report);
    charts.sort_by_key(|chart| chart.place != ChartPlace::Comparison);
    let drawn = figures(site, view, &charts, &Zoom::Fixed) + &every_kind(site, &material.run);
    let sections = parts(&report, drawn, &*case_links(site));
    let mut sheet = Sheet::new(&title, Some(view)).under(&subtitle);
    sheet.push(&ways(site, &material)?);
    let contents =
        sections.iter().map(|section| anchor(&format!("#{}", section.id), &escape(section.title)));
    sheet.push(&format!("<nav aria-label=\"Contents\">{}</nav>\n", list(contents)));
    for section in &sections {
        sheet.push(&section.html());
    }
    Ok(sheet)
}

/// Returns the link to all other charts, if a server can draw them.
fn every_kind(site: &Site<'_>, run: &Run) -> String {
    if !site.answers() {
        return String::new();
    }
    let link = site.link(Address::page(PageView::Charts { id: run.run_id.0.clone() }));
    let all = anchor(&link, "every kind of chart that this run has values for");
    format!("<p>More: {all}.</p>\n")
}

/// Returns the links to the usual comparisons of a run.
fn ways(site: &Site<'_>, material: &RunReportData) -> SourceResult<String> {
    let (id, suite) = (&material.run.run_id.0, &material.run.suite);
    let mut ways = Vec::new();
    if let Some(previous) = &material.previous {
        ways.push(compare_link(site, previous, id, "compare with the previous run"));
    }
    let is_saved = site.source().baselines()?.iter().any(|baseline| baseline.name == *suite);
    if is_saved && material.input.comparison.is_some() {
        ways.push(compare_link(site, suite, id, "compare with the saved baseline"));
    }
    if site.answers() {
        ways.push(compare_link(site, "", id, "compare with another"));
    }
    Ok(if ways.is_empty() { String::new() } else { format!("<p>{}</p>\n", ways.join(" · ")) })
}

fn compare_link(site: &Site<'_>, from: &str, to: &str, title: &str) -> String {
    anchor(&site.link(Address::page(PageView::Compare(CompareView::of(from, to)))), title)
}

/// Renders every chart of every kind that the run has values for.
pub(super) fn every_chart<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    id: &str,
) -> SourceResult<Sheet<'v>> {
    let material = site.source().run(id)?;
    let (_, subtitle) = head(&material.report());
    let mut sheet = Sheet::new("Charts of a run", Some(view)).under(&subtitle);
    let back = anchor(
        &site.link(Address::page(PageView::Run { id: material.run.run_id.0.clone() })),
        &escape(&material.run.run_id.0),
    );
    sheet.push(&format!("<p>The run: {back}.</p>\n"));
    let charts = of_every_kind(&material.run);
    if charts.is_empty() {
        sheet.paragraph(
            "This run has no values for any kind of chart; `rusty-stack-bench chart` lists what \
             each kind needs.",
        );
    }
    sheet.push(&figures(site, view, &charts, &Zoom::Fixed));
    Ok(sheet)
}

pub(super) fn of_every_kind(run: &Run) -> Vec<Chart> {
    let subject = ChartSubject { run: Some(run), ..ChartSubject::default() };
    let mut charts = Vec::new();
    for kind in CHART_KINDS.iter().filter(|kind| kind.source == ChartSource::Run) {
        for mut chart in kind.draw(&subject) {
            chart.name = format!("{}-{}", kind.name, chart.name);
            charts.push(chart);
        }
    }
    charts
}
