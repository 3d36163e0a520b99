//! The parts of a page, in the order in which a reader needs them: the verdict, what changed and why, the charts, the results, the
//! machine, what was not measured, what to do, how it was measured.
//!
//! What is left out for size is said where it would stand. Nothing that Regressed, Failed or has no verdict is left out.

use rsb_model::record::{Comparison, Recommendation, ThresholdCheck};
use rsb_model::{BenchmarkResult, CaseId, Outcome, Reason, ReasonCode, Verdict};

use super::element::{class, escape, linked_table, list, prose, table};
use super::inline_svg::{self, Colors};
use crate::chart::{Chart, ChartPlace};
use crate::comparison::{self, Detail, Listing};
use crate::label::Shortener;
use crate::number::format_count;
use crate::report::{Report, ReportPart, content};
use crate::style::Tone;
use crate::unmeasured::{self, OUTCOMES};
use crate::{backends, environment, targets};

/// Bytes that all charts of a page may take together.
const CHART_BYTES: usize = 220_000;
/// Results that a page shows; the file of the run holds every one.
const RESULTS: usize = 2_000;
/// What is Unchanged and shown row by row.
const UNCHANGED: usize = 500;
/// Items of a tile that are told one by one where each of them follows further down.
const TOLD: usize = 12;

/// A part of a page.
pub struct PageSection {
    /// What links lead to.
    pub id: &'static str,
    /// What stands over it, for people.
    pub title: &'static str,
    /// Its inside, as HTML; empty where there is nothing to say.
    body: String,
}

/// Where a figure of a case leads, if anywhere: asked with the case, and the metric where it is about one.
pub type CaseLinks<'l> = dyn Fn(&CaseId, Option<&str>) -> Option<String> + 'l;

impl PageSection {
    /// A part with this inside.
    pub const fn new(id: &'static str, title: &'static str, body: String) -> Self {
        Self { id, title, body }
    }

    /// As HTML.
    pub fn html(&self) -> String {
        let Self { id, title, body } = self;
        format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{body}</section>\n"
        )
    }
}

/// Every part that has something to say; `charts` are those of [`charts`], and cases lead where `links` says.
pub(super) fn all(report: &Report<'_>, charts: String, links: &CaseLinks<'_>) -> Vec<PageSection> {
    let only = |part: ReportPart, body: &dyn Fn(&Report<'_>) -> String| {
        if report.has(part) { body(report) } else { String::new() }
    };
    let mut sections = vec![
        PageSection::new("verdict", "Verdict", verdict(report)),
        PageSection::new("changes", "What changed", only(ReportPart::Comparison, &|report| changes(report, links))),
        PageSection::new("charts", "Charts", charts),
        PageSection::new("results", "Results", results(report, links)),
        PageSection::new("environment", "Environment", only(ReportPart::Environment, &machine)),
        PageSection::new("unmeasured", "Not measured", unmeasured(report)),
        PageSection::new("recommendations", "Recommendations", only(ReportPart::Recommendations, &recommendations)),
        PageSection::new(
            "method",
            "How it was measured",
            list(content::method(report.run()).iter().map(|line| prose(line))),
        ),
    ];
    sections.retain(|section| !section.body.is_empty());
    sections
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", prose(text))
}

fn verdict(report: &Report<'_>) -> String {
    let (tone, sentence) = content::verdict(report);
    // A pass is good news, also where nothing improved.
    let tone = if tone == Tone::Plain { Tone::Good } else { tone };
    let mut out = format!("<p class=\"say {}\">{}</p>\n", class(tone).unwrap_or_default(), prose(&sentence));
    out.push_str(&paragraph(&content::counts(report)));
    if report.comparison().is_none() && report.not_compared().is_none() {
        out.push_str(&paragraph("`rusty-stack-bench baseline save` keeps a run for later ones to be judged against."));
    }
    out.extend(
        report.run().notes.iter().map(|note| format!("<p class=\"note\">Note: {}</p>\n", prose(&note.to_string()))),
    );
    let tiles: String = [regressed(report), undecided(report), failed(report), missed(report)].concat();
    if tiles.is_empty() { out } else { out + &format!("<div class=\"tiles\">\n{tiles}</div>\n") }
}

/// Something that a reader must not miss, as HTML, and how many cases it is about.
type Item = (usize, String);

/// As many as there are, each of them here or at `further`.
fn tile(title: &str, tone: Tone, items: &[Item], further: Option<(&str, &str)>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let class = class(tone).unwrap_or_default();
    let told = if further.is_some() { items.len().min(TOLD) } else { items.len() };
    let cases = |items: &[Item]| items.iter().map(|(cases, _)| cases).sum::<usize>();
    let (all, rest) = (cases(items), cases(items.get(told..).unwrap_or_default()));
    let rest = further.filter(|_| rest > 0);
    let rest = rest.map(|(id, part)| {
        format!("and {} more, each of them under <a href=\"#{id}\">{part}</a>", all - cases(&items[..told]))
    });
    let told = list(items.iter().take(told).map(|(_, html)| html.clone()).chain(rest));
    format!("<div class=\"tile {class}\">\n<h3 class=\"{class}\">{title}: {all}</h3>\n{told}</div>\n")
}

/// Where each case that is compared has its row.
fn rows_of_cases(report: &Report<'_>) -> Option<(&'static str, &'static str)> {
    report.has(ReportPart::Comparison).then_some(("changes", "What changed"))
}

fn regressed(report: &Report<'_>) -> String {
    let Some(result) = report.comparison() else { return String::new() };
    let is_worse = |row: &&Comparison| row.verdict == Verdict::Regressed && row.reason_code != ReasonCode::TargetMissed;
    let rows: Vec<&Comparison> = comparison::by_importance(result).into_iter().filter(is_worse).collect();
    let names = Shortener::of(rows.iter().map(|row| &row.id));
    let item = |row: &&Comparison| (1, named(&names, row, &comparison::change_told(row)));
    let items: Vec<Item> = rows.iter().map(item).collect();
    tile("Regressed", Tone::Bad, &items, rows_of_cases(report))
}

fn named(names: &Shortener, row: &Comparison, said: &str) -> String {
    format!("<strong>{} {}</strong>{}", escape(&names.full(&row.id)), escape(&row.metric), prose(said))
}

/// Cases without a verdict for one common reason are told together where each of them has its row further down.
fn undecided(report: &Report<'_>) -> String {
    let Some(result) = report.comparison() else { return String::new() };
    let further = rows_of_cases(report);
    let listing = comparison::listing(result, if further.is_some() { Detail::Brief } else { Detail::Full });
    let rows: Vec<&Comparison> = listing.shown.into_iter().filter(|row| !row.verdict.is_decided()).collect();
    let names = Shortener::of(rows.iter().map(|row| &row.id));
    let together = listing.folded.iter().map(|(_, reason, count)| {
        (*count, format!("<strong>{}</strong>: {}", format_count(*count, "comparison", "comparisons"), prose(reason)))
    });
    let each = rows.iter().map(|row| (1, named(&names, row, &format!(": {}", row.reason))));
    let missing = result.missing.iter();
    let missing =
        missing.map(|id| (1, format!("<strong>{}</strong>: missing from the current run", escape(id.as_str()))));
    let items: Vec<Item> = together.chain(each).chain(missing).collect();
    tile("No verdict", Tone::Caution, &items, further)
}

fn failed(report: &Report<'_>) -> String {
    let names = Shortener::of_run(report.run());
    let broken = report.run().benchmarks.iter().filter(|result| result.outcome == Outcome::Failed);
    let item = |result: &BenchmarkResult| {
        let why =
            result.reason.as_ref().map_or_else(String::new, |Reason { what, why, .. }| format!(": {what}: {why}"));
        (1, format!("<strong>{}</strong>{}", escape(&names.full(&result.benchmark_id)), prose(&why)))
    };
    tile("Failed", Tone::Bad, &broken.map(item).collect::<Vec<_>>(), Some(("results", "Results")))
}

fn missed(report: &Report<'_>) -> String {
    let checks = report.checks().iter().filter(|check| check.passed == Some(false));
    let item = |check: &ThresholdCheck| {
        let (wanted, got) = (check.expected_text(), check.actual_text());
        (
            1,
            format!(
                "<strong>{}</strong>: {}, expected {}",
                escape(&targets::short(&check.name)),
                escape(&got),
                escape(&wanted)
            ),
        )
    };
    tile("Targets missed", Tone::Bad, &checks.map(item).collect::<Vec<_>>(), Some(("results", "Results")))
}

fn changes(report: &Report<'_>, links: &CaseLinks<'_>) -> String {
    let Some(result) = report.comparison() else { return String::new() };
    let is_told =
        |row: &&Comparison| row.verdict != Verdict::Unchanged || row.reason_code == ReasonCode::BelowThreshold;
    let (shown, hidden): (Vec<&Comparison>, Vec<&Comparison>) =
        comparison::by_importance(result).into_iter().partition(is_told);
    let mut out = paragraph(&format!("{}.", comparison::head(result)));
    out.push_str(&compared_table(&shown, "Cases that changed or have no verdict", links));
    let unchanged = Listing { hidden, ..Listing::default() };
    let lines = comparison::folded_lines(&unchanged).into_iter();
    let lines = lines.filter(|(tone, _)| *tone == Tone::Caution).map(|(_, line)| line);
    let one_sided =
        comparison::one_sided(result).into_iter().map(|(title, _, ids)| format!("{title}: {}", ids.join(", ")));
    let notes = result.notes.iter().map(|note| format!("Note: {}", note.text));
    let said = comparison::overall_line(result).into_iter().chain(lines).chain(one_sided).chain(notes);
    out.push_str(&list(said.map(|line| prose(&line))));
    out.push_str(&folded(&unchanged.hidden, links));
    if let Some(differences) = content::differences(report) {
        out.push_str("<h3>What differs on the machine</h3>\n");
        out.push_str(&table(&differences, "What differs on the machine"));
    } else if report.baseline().is_some() {
        out.push_str(&paragraph("On the machine nothing differs of what was recorded."));
    }
    out
}

/// A row for each of `shown`, whose case leads where `links` says.
pub fn compared_table(shown: &[&Comparison], caption: &str, links: &CaseLinks<'_>) -> String {
    let link = |row: usize, column: usize| {
        let one = shown.get(row).filter(|_| column == comparison::CASE_COLUMN)?;
        links(&one.id, Some(&one.metric))
    };
    linked_table(&comparison::table(shown), caption, &link)
}

/// What is Unchanged, for those who ask.
fn folded(unchanged: &[&Comparison], links: &CaseLinks<'_>) -> String {
    if unchanged.is_empty() {
        return String::new();
    }
    let count = format_count(unchanged.len(), "comparison", "comparisons");
    let shown = unchanged.get(..unchanged.len().min(UNCHANGED)).unwrap_or_default();
    let mut rows = compared_table(shown, "What is Unchanged", links);
    if unchanged.len() > shown.len() {
        let rest = unchanged.len() - shown.len();
        rows.push_str(&paragraph(&format!(
            "{rest} more that changed less are left out here; `rusty-stack-bench compare --verbose` has each of them."
        )));
    }
    format!("<details><summary>Unchanged: {count}</summary>\n{rows}</details>\n")
}

/// The charts, as many as fit, and their colors. That of the comparison comes first.
pub(super) fn charts(report: &Report<'_>) -> (String, Colors) {
    let mut colors = Colors::new();
    if !report.has(ReportPart::Charts) {
        return (String::new(), colors);
    }
    let mut all = crate::charts::all(report);
    all.sort_by_key(|chart| chart.place != ChartPlace::Comparison);
    let (mut out, mut left_out) = (String::new(), Vec::new());
    for (number, chart) in (1..).zip(&all) {
        let svg = crate::svg(chart).unwrap_or_default();
        let Some(drawn) = inline_svg::inline(&svg, (&chart.title, &description(chart)), number) else { continue };
        if out.len() + drawn.len() > CHART_BYTES {
            left_out.push(chart.title.as_str());
            continue;
        }
        inline_svg::collect(&mut colors, &svg);
        let name = escape(&chart.title);
        out.push_str(&format!(
            "<figure><div class=\"wide\" role=\"group\" aria-label=\"{name}\" tabindex=\"0\">{drawn}</div></figure>\n"
        ));
    }
    if !left_out.is_empty() {
        let count = format_count(left_out.len(), "chart is", "charts are");
        out.push_str(&paragraph(&format!(
            "{count} left out to keep the page small ({}); `rusty-stack-bench report {} --format svg` draws all of them.",
            left_out.join(", "),
            report.run().run_id
        )));
    }
    (out, colors)
}

/// What a chart shows, for those who do not see it.
pub(super) fn description(chart: &Chart) -> String {
    let names: Vec<&str> = chart.named().map(|dataset| dataset.name.as_str()).collect();
    let axes = [&chart.x_axis.title, &chart.y_axis.title].map(String::as_str);
    let axes: Vec<&str> = axes.into_iter().filter(|title| !title.is_empty()).collect();
    let parts = [
        Some(chart.subtitle.clone()),
        Some(format!("Axes: {}", axes.join(", "))).filter(|_| !axes.is_empty()),
        Some(format!("Shown: {}", names.join(", "))).filter(|_| !names.is_empty()),
        Some("The tables of this page have the figures".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(". ") + "."
}

fn results(report: &Report<'_>, links: &CaseLinks<'_>) -> String {
    let run = report.run();
    let mut out = titled("Key figures", &table(&content::key_figures(run), "The best of each benchmark"));
    out.push_str(&titled("Targets", &held_to(report)));
    for block in backends::blocks(run) {
        let lines = list(block.lines.iter().map(|line| prose(line)));
        out.push_str(&titled(&block.heading, &(table(&block.table, &block.heading) + &lines)));
    }
    let (families, left_out) = content::families(run, RESULTS);
    out.extend(
        Shortener::of_run(run).device().map(|device| format!("<p>Every figure below is of the device {device}.</p>\n")),
    );
    for family in families {
        let name = family.title();
        let link =
            |row: usize, column: usize| family.ids.get(row).filter(|_| column == 0).and_then(|id| links(id, None));
        out.push_str(&titled(name, &linked_table(&family.table, &format!("Results of {name}"), &link)));
    }
    if left_out > 0 {
        let count = format_count(left_out, "measured case is", "measured cases are");
        out.push_str(&paragraph(&format!(
            "{count} left out to keep the page small; `rusty-stack-bench report {} --format csv` has every figure.",
            run.run_id
        )));
    }
    out
}

/// `body` under a heading of the third level; nothing where it is empty.
pub fn titled(title: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("<h3>{}</h3>\n{body}", escape(title)) }
}

fn held_to(report: &Report<'_>) -> String {
    let checks = report.checks();
    if checks.is_empty() {
        return String::new();
    }
    let has_references = checks.iter().any(|check| check.reference.is_some());
    let rows = targets::table(checks, has_references);
    let rows =
        if targets::is_any_known(checks) { table(&rows, "Targets beside what was achieved") } else { String::new() };
    paragraph(&targets::sentence(checks)) + &rows
}

fn machine(report: &Report<'_>) -> String {
    let environment = &report.run().environment;
    let parts = environment::tables(environment, report.baseline());
    let mut out: String = parts.iter().map(|(title, rows)| titled(title, &table(rows, title))).collect();
    let warnings = environment::warnings(environment).iter();
    out.extend(warnings.map(|warning| format!("<p class=\"note\">Warning: {}</p>\n", prose(warning))));
    out
}

fn unmeasured(report: &Report<'_>) -> String {
    let (run, names) = (report.run(), Shortener::of_run(report.run()));
    let mut out = String::new();
    for (outcome, title, _) in OUTCOMES {
        let groups = unmeasured::groups(run, outcome);
        let items = groups.iter().map(|group| {
            let who = escape(&unmeasured::who(group, &names));
            match group.reason {
                None => format!("<strong>{who}</strong>: no reason was recorded"),
                Some(Reason { what, why, cure }) => {
                    let said = prose(&format!("{what}: {why}"));
                    format!("<strong>{who}</strong><br>{said}<br>Cure: {}", prose(cure))
                }
            }
        });
        out.push_str(&titled(title, &list(items)));
    }
    out
}

fn recommendations(report: &Report<'_>) -> String {
    let item =
        |advice: &Recommendation| format!("<strong>{}</strong><br>{}", prose(&advice.action), prose(&advice.evidence));
    list(report.recommendations().iter().map(item))
}
