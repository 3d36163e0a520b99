//! One run: its report, with links from each case to its history, and from each chart to its
//! values.

use rsb_report::charts::{CHART_KINDS, ChartSelection, ChartSource, ChartSubject};
use rsb_report::html::element::{anchor, escape, linked_table, list};
use rsb_report::html::site::parts;
use rsb_report::label::{Shortener, headline_text, time_text};
use rsb_report::run::outcome_cell;
use rsb_report::{Chart, Column, Report, Table, comparison};

use super::{case_links, verdict_tone};
use crate::address::{Address, CompareView, PageView};
use crate::figure::{Zoom, figures};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{RunReportData, SourceResult};

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView, id: &str) -> SourceResult<Sheet<'v>> {
    let material = site.source().run(id)?;
    let report = material.report();
    if !site.answers() {
        return brief(site, view, &material);
    }
    let drawn = charts(site, view, &report);
    let sections = parts(&report, drawn, &*case_links(site));
    let mut sheet = Sheet::new(&site.name_of_run(&material.run.run_id.0), Some(view))
        .under_html(facts(site, &material));
    sheet.push(&ways(site, &material)?);
    let contents =
        sections.iter().map(|section| anchor(&format!("#{}", section.id), &escape(section.title)));
    sheet.push(&format!("<nav aria-label=\"Contents\">{}</nav>\n", list(contents)));
    for section in &sections {
        sheet.push(&section.html());
    }
    Ok(sheet)
}

/// Returns the machine, the profile, the commit and the duration of a run as HTML.
fn facts(site: &Site<'_>, material: &RunReportData) -> String {
    let run = &material.run;
    let known = site.runs().iter().find(|row| row.run_id == run.run_id.0);
    let machine = known.map(|row| site.machine_html(&row.machine));
    let profile = format!("profile {}", escape(&run.profile));
    let commit = run.environment.git.as_ref().map(|git| {
        let dirty = if git.dirty { " with changes" } else { "" };
        format!("commit {}{dirty}", site.commit(&git.commit))
    });
    let id = format!("<span title=\"{0}\">id <code>{0}</code></span>", escape(&run.run_id.0));
    [machine, Some(profile), commit, Some(id)].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Draws the selected charts, with a link to the others, which take long to draw.
fn charts(site: &Site<'_>, view: &PageView, report: &Report<'_>) -> String {
    let shown = ChartSelection::of(report).shown;
    let drawn = figures(site, view, &shown, &Zoom::Fixed);
    let id = report.run().run_id.0.clone();
    let link = site.link(Address::page(PageView::Charts { id }));
    let all = anchor(&link, "every kind of chart that this run has values for");
    format!("{drawn}<p>More: {all}.</p>\n")
}

/// Returns the page of an export, which has one for each run: the verdict and the results. The
/// document has the rest.
fn brief<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    material: &RunReportData,
) -> SourceResult<Sheet<'v>> {
    let run = &material.run;
    let mut sheet =
        Sheet::new(&site.name_of_run(&run.run_id.0), Some(view)).under_html(facts(site, material));
    match &material.input.comparison {
        Some(result) => {
            sheet.say(verdict_tone(result), &comparison::verdict_sentence(result).1);
        }
        None => sheet.paragraph("Not compared with a baseline."),
    }
    sheet.push(&ways(site, material)?);
    let names = Shortener::of(run.benchmarks.iter().map(|result| &result.benchmark_id));
    let table = Table::of(
        &run.benchmarks,
        &[
            (Column::elided("case"), &|result| names.full(&result.benchmark_id).into()),
            (Column::right("time"), &|result| time_text(result).into()),
            (Column::right("value"), &|result| headline_text(result).into()),
            (Column::left("outcome"), &|result| outcome_cell(result.outcome)),
        ],
    );
    let links = case_links(site);
    let results = linked_table(&table, "Results", &|row, column| {
        let result = run.benchmarks.get(row).filter(|_| column == 0)?;
        links(&result.benchmark_id, None)
    });
    sheet.section("results", "Results", results);
    Ok(sheet)
}

/// Returns the links to the usual comparisons of a run.
fn ways(site: &Site<'_>, material: &RunReportData) -> SourceResult<String> {
    let (id, suite) = (&material.run.run_id.0, &material.run.suite);
    let mut ways = Vec::new();
    // In an export, these would be two large pages for each run.
    if !site.answers() && site.runs().first().is_none_or(|newest| newest.run_id != *id) {
        return Ok(String::new());
    }
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
    let mut sheet = Sheet::new("Charts of a run", Some(view));
    let id = &material.run.run_id.0;
    let back = site.run_link(id, &site.name_of_run(id));
    sheet.push(&format!("<p>The run: {back}.</p>\n"));
    let charts = of_every_kind(&material);
    if charts.is_empty() {
        sheet.paragraph(
            "This run has no values for any kind of chart; `rusty-stack-bench chart` lists what \
             each kind needs.",
        );
    }
    sheet.push(&figures(site, view, &charts, &Zoom::Fixed));
    Ok(sheet)
}

pub(super) fn of_every_kind(material: &RunReportData) -> Vec<Chart> {
    let mut subject = ChartSubject { run: Some(&material.run), ..ChartSubject::default() };
    subject.options.simulated = material.input.draws_simulated;
    let mut charts = Vec::new();
    for kind in CHART_KINDS.iter().filter(|kind| kind.source == ChartSource::Run) {
        for mut chart in kind.draw(&subject) {
            chart.name = format!("{}-{}", kind.name, chart.name);
            charts.push(chart);
        }
    }
    charts
}
