//! The sections of a report in reading order: verdict, changes, charts, results, method, and folded
//! details: the machine, cases that were not measured, recommendations.
//!
//! A note replaces content that is left out to limit the size. Cases that Regressed, failed or have
//! no verdict are never left out.

use rsb_model::record::Comparison;
use rsb_model::{CaseId, Outcome, Reason, ReasonCode, Verdict};

use super::blocks::{Block, BlockSection, DrawnChart, ListItem, Prose, SectionLink, Tile};
use super::{Report, ReportPart, content};
use crate::chart::Chart;
use crate::charts::ChartSelection;
use crate::comparison::{self, Detail, Listing};
use crate::label::Shortener;
use crate::number::format_count;
use crate::style::{Tone, clean};
use crate::unmeasured::{self, OUTCOMES};
use crate::{backends, environment, targets};

/// Maximum total size of the SVG charts of a report, in bytes.
const CHART_BYTES: usize = 270_000;
/// Maximum number of results in a report; the file of the run contains all of them.
const RESULTS: usize = 2_000;
/// Maximum number of Unchanged cases with a row.
const UNCHANGED: usize = 500;
/// Maximum number of items of a tile, if a later section lists all of them.
const TOLD: usize = 12;

const CHANGES: SectionLink = SectionLink { id: "changes", title: "Changes" };
pub(crate) const CHARTS: SectionLink = SectionLink { id: "charts", title: "Charts" };
/// Section with the results, which nearly every report has.
pub(crate) const ALL_RESULTS: SectionLink = SectionLink { id: "results", title: "Results" };

/// Returns the link target for a case, or for one metric of it, if there is one.
pub type CaseLinks<'l> = dyn Fn(&CaseId, Option<&str>) -> Option<String> + 'l;

/// Returns all sections that are not empty. `charts` are those of [`charts`]; `links` returns the
/// link targets of cases.
pub(crate) fn sections(
    report: &Report<'_>,
    charts: Vec<Block>,
    links: &CaseLinks<'_>,
) -> Vec<BlockSection> {
    let method = Block::list(content::method(report.run()).iter().map(|line| ListItem::of(line)));
    let mut sections = vec![
        section("verdict", "Verdict", verdict(report)),
        section(CHANGES.id, CHANGES.title, changes(report, links)),
        section(CHARTS.id, CHARTS.title, charts),
        section(ALL_RESULTS.id, ALL_RESULTS.title, results(report, links)),
        section("method", "Method", method.into_iter().collect()),
        section("details", "Details", details(report)),
    ];
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

fn section(id: &'static str, title: &'static str, blocks: Vec<Block>) -> BlockSection {
    BlockSection { id, title, blocks }
}

/// Returns what few readers need, each part folded.
fn details(report: &Report<'_>) -> Vec<Block> {
    let parts = [
        ("Environment", machine(report)),
        ("Not measured", unmeasured_blocks(report)),
        ("Recommendations", recommendations(report)),
    ];
    let parts = parts.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    parts.map(|(title, blocks)| Block::Folded { summary: title.to_owned(), blocks }).collect()
}

fn verdict(report: &Report<'_>) -> Vec<Block> {
    let (tone, sentence) = content::verdict(report);
    // A pass is good news, even if nothing improved.
    let tone = if tone == Tone::Plain { Tone::Good } else { tone };
    let mut out = vec![
        Block::Say { tone, text: Prose::of(&sentence) },
        Block::paragraph(&content::counts(report)),
    ];
    if report.comparison.is_none() && report.not_compared.is_none() {
        out.push(Block::paragraph(
            "`rusty-stack-bench baseline save` saves a run as the baseline of later ones.",
        ));
    }
    out.extend(
        report
            .run()
            .notes
            .iter()
            .map(|note| Block::Note { text: Prose::of(&format!("Note: {note}")) }),
    );
    let tiles = [
        regressed_tile(report),
        undecided_tile(report),
        failed_tile(report),
        missed_targets_tile(report),
    ];
    let tiles: Vec<Tile> = tiles.into_iter().flatten().collect();
    out.extend((!tiles.is_empty()).then_some(Block::Tiles { tiles }));
    out
}

/// An important item, and the number of cases that it covers.
type Item = (usize, ListItem);

/// Returns a tile with the number of cases in its title. If the section `further` lists all cases,
/// the tile shows only the first items.
fn tile(title: &str, tone: Tone, items: Vec<Item>, further: Option<SectionLink>) -> Option<Tile> {
    if items.is_empty() {
        return None;
    }
    let shown = if further.is_some() { items.len().min(TOLD) } else { items.len() };
    let all = total_cases(&items);
    let rest = total_cases(items.get(shown..).unwrap_or_default());
    let rest = further.filter(|_| rest > 0).map(|section| ListItem {
        said: Prose::plain(&format!("and {rest} more, each of them under ")),
        see: Some(section),
        ..ListItem::default()
    });
    let items = items.into_iter().take(shown).map(|(_, item)| item).chain(rest).collect();
    Some(Tile { title: format!("{title}: {all}"), tone, items })
}

fn total_cases(items: &[Item]) -> usize {
    items.iter().map(|(cases, _)| cases).sum()
}

/// Returns the section with a row for each compared case, if the report has it.
fn rows_of_cases(report: &Report<'_>) -> Option<SectionLink> {
    report.has(ReportPart::Comparison).then_some(CHANGES)
}

fn regressed_tile(report: &Report<'_>) -> Option<Tile> {
    let rows = comparison::regressions(report.comparison?);
    let names = Shortener::of(rows.iter().map(|row| &row.id));
    let items =
        rows.iter().map(|row| (1, case_item(&names, row, &comparison::change_note(row)))).collect();
    tile("Regressed", Tone::Bad, items, rows_of_cases(report))
}

fn case_item(names: &Shortener, row: &Comparison, text: &str) -> ListItem {
    ListItem::about(&format!("{} {}", names.full(&row.id), row.metric), Prose::of(text))
}

/// Returns the cases without a verdict. Cases with a common reason share an item if the report has
/// a row for each of them later.
fn undecided_tile(report: &Report<'_>) -> Option<Tile> {
    let result = report.comparison?;
    let further = rows_of_cases(report);
    let listing =
        comparison::listing(result, if further.is_some() { Detail::Brief } else { Detail::Full });
    let rows: Vec<&Comparison> =
        listing.shown.into_iter().filter(|row| !row.verdict.is_decided()).collect();
    let names = Shortener::of(rows.iter().map(|row| &row.id));
    let together = listing.folded.iter().map(|(_, reason, count)| {
        let lead = format_count(*count, "comparison", "comparisons");
        (*count, ListItem::about(&lead, Prose::of(&format!(": {reason}"))))
    });
    let each = rows.iter().map(|row| (1, case_item(&names, row, &format!(": {}", row.reason))));
    let missing = result.missing.iter();
    let missing = missing.map(|id| {
        (1, ListItem::about(id.as_str(), Prose::plain(": missing from the current run")))
    });
    tile("No verdict", Tone::Caution, together.chain(each).chain(missing).collect(), further)
}

fn failed_tile(report: &Report<'_>) -> Option<Tile> {
    let names = Shortener::of_run(report.run());
    let broken = report.run().benchmarks.iter().filter(|result| result.outcome == Outcome::Failed);
    let mut items = Vec::new();
    for result in broken {
        let why = match &result.reason {
            Some(Reason { what, why, .. }) => format!(": {what}: {why}"),
            None => String::new(),
        };
        items.push((1, ListItem::about(&names.full(&result.benchmark_id), Prose::of(&why))));
    }
    tile("Failed", Tone::Bad, items, Some(ALL_RESULTS))
}

fn missed_targets_tile(report: &Report<'_>) -> Option<Tile> {
    let mut items = Vec::new();
    for check in report.threshold_checks.iter().filter(|check| check.passed == Some(false)) {
        let text = format!(": {}, expected {}", check.actual_text(), check.expected_text());
        items.push((1, ListItem::about(&targets::short(&check.name), Prose::plain(&text))));
    }
    tile("Targets missed", Tone::Bad, items, Some(ALL_RESULTS))
}

fn changes(report: &Report<'_>, links: &CaseLinks<'_>) -> Vec<Block> {
    if !report.has(ReportPart::Comparison) {
        return Vec::new();
    }
    let Some(result) = report.comparison else { return Vec::new() };
    let (shown, hidden): (Vec<&Comparison>, Vec<&Comparison>) =
        comparison::by_importance(result).into_iter().partition(|row| {
            row.verdict != Verdict::Unchanged || row.reason_code == ReasonCode::BelowThreshold
        });
    let (changed, undecided): (Vec<&Comparison>, Vec<&Comparison>) =
        shown.into_iter().partition(|row| row.verdict.is_decided());
    let mut out = vec![Block::paragraph(&format!("{}.", comparison::head(result)))];
    out.extend(comparison_block(&changed, "Cases that changed", links));
    let unchanged = Listing { hidden, ..Listing::default() };
    let lines = comparison::folded_lines(&unchanged).into_iter();
    let lines = lines.filter(|(tone, _)| *tone == Tone::Caution).map(|(_, line)| line);
    let one_sided = comparison::one_sided(result)
        .into_iter()
        .map(|(title, _, ids)| format!("{title}: {}", ids.join(", ")));
    let notes = result.notes.iter().map(|note| format!("Note: {}", note.text));
    let sentences = comparison::overall_line(result, Detail::Full)
        .into_iter()
        .chain(lines)
        .chain(one_sided)
        .chain(notes);
    out.extend(Block::list(sentences.map(|line| ListItem::of(&line))));
    if let Some(rows) = comparison_block(&undecided, "Cases without a verdict", links) {
        let count = format_count(undecided.len(), "comparison", "comparisons");
        out.push(Block::Folded { summary: format!("No verdict: {count}"), blocks: vec![rows] });
    }
    out.extend(unchanged_block(&unchanged.hidden, links));
    out.extend(machine_differences(report));
    out
}

fn machine_differences(report: &Report<'_>) -> Vec<Block> {
    const TITLE: &str = "Differences of the machine";
    match content::differences(report) {
        Some(differences) => with_heading(TITLE, Block::table(&differences, TITLE)),
        None if report.baseline.is_some() => {
            vec![Block::paragraph("No recorded property of the machine differs.")]
        }
        None => Vec::new(),
    }
}

fn comparison_block(shown: &[&Comparison], caption: &str, links: &CaseLinks<'_>) -> Option<Block> {
    Block::linked_table(&comparison::table(shown), caption, &compared_links(shown, links))
}

/// Returns the link targets of the cells in a table with one row for each of `shown`.
pub(crate) fn compared_links<'l>(
    shown: &'l [&Comparison],
    links: &'l CaseLinks<'l>,
) -> impl Fn(usize, usize) -> Option<String> + 'l {
    move |row, column| {
        let one = shown.get(row).filter(|_| column == comparison::CASE_COLUMN)?;
        links(&one.id, Some(&one.metric))
    }
}

fn unchanged_block(unchanged: &[&Comparison], links: &CaseLinks<'_>) -> Option<Block> {
    if unchanged.is_empty() {
        return None;
    }
    let count = format_count(unchanged.len(), "comparison", "comparisons");
    let shown = unchanged.get(..unchanged.len().min(UNCHANGED)).unwrap_or_default();
    let mut blocks: Vec<Block> =
        comparison_block(shown, "Unchanged cases", links).into_iter().collect();
    if unchanged.len() > shown.len() {
        let rest = unchanged.len() - shown.len();
        blocks.push(Block::paragraph(&format!(
            "{rest} more that changed less are left out here; `rusty-stack-bench compare \
             --verbose` shows all of them."
        )));
    }
    Some(Block::Folded { summary: format!("Unchanged: {count}"), blocks })
}

/// Returns the selected charts within the size limit. If `has_more`, adds the remaining charts,
/// collapsed.
pub(crate) fn charts(report: &Report<'_>, has_more: bool) -> Vec<Block> {
    if !report.has(ReportPart::Charts) {
        return Vec::new();
    }
    let ChartSelection { shown, more } = ChartSelection::of(report);
    let mut budget = ChartBudget::default();
    let mut out = budget.draw(&shown);
    if has_more {
        let blocks = budget.draw(&more);
        if !blocks.is_empty() {
            let summary = format!("More charts: {}", blocks.len());
            out.push(Block::Folded { summary, blocks });
        }
    }
    if budget.left_out > 0 {
        let count = format_count(budget.left_out, "chart is", "charts are");
        out.push(Block::paragraph(&format!(
            "{count} left out to keep this report small; `rusty-stack-bench report {} --format \
             svg` draws all of them.",
            report.run().run_id
        )));
    }
    out
}

/// Size of the drawn charts, and the number of those left out.
#[derive(Default)]
struct ChartBudget {
    drawn: usize,
    bytes: usize,
    left_out: usize,
}

impl ChartBudget {
    /// Draws the charts of `charts` that fit within the size limit.
    fn draw(&mut self, charts: &[Chart]) -> Vec<Block> {
        let mut out = Vec::new();
        for chart in charts {
            let Some(drawing) = DrawnChart::of(chart, self.drawn + 1) else { continue };
            if self.bytes + drawing.svg.len() > CHART_BYTES {
                self.left_out += 1;
                continue;
            }
            self.bytes += drawing.svg.len();
            self.drawn += 1;
            out.push(Block::Chart(drawing));
        }
        out
    }
}

fn results(report: &Report<'_>, links: &CaseLinks<'_>) -> Vec<Block> {
    let run = report.run();
    let mut out = with_heading(
        "Key results",
        Block::table(&content::key_figures(run), "Best result of each benchmark"),
    );
    out.extend(with_heading("Targets", target_blocks(report)));
    for block in backends::blocks(run) {
        let lines = Block::list(block.lines.iter().map(|line| ListItem::of(line)));
        out.extend(with_heading(
            &block.heading,
            Block::table(&block.table, &block.heading).into_iter().chain(lines),
        ));
    }
    for devices in crate::devices::tables(run) {
        out.extend(with_heading(&devices.title, Block::table(&devices.table, &devices.title)));
    }
    let (families, left_out) = content::families(run, RESULTS);
    out.extend(Shortener::of_run(run).device().map(|device| Block::Paragraph {
        text: Prose::plain(&format!("Every value below is from the device {device}.")),
    }));
    for family in families {
        let name = family.title();
        let caption = format!("Results of {name}");
        let table = Block::linked_table(&family.table, &caption, &|row, column| {
            family.ids.get(row).filter(|_| column == 0).and_then(|id| links(id, None))
        });
        out.extend(with_heading(name, table));
    }
    if left_out > 0 {
        let count = format_count(left_out, "measured case is", "measured cases are");
        out.push(Block::paragraph(&format!(
            "{count} left out to keep this report small; `rusty-stack-bench report {} --format \
             csv` has every value.",
            run.run_id
        )));
    }
    out
}

/// Returns `blocks` with a heading; empty if there are none.
fn with_heading(title: &str, blocks: impl IntoIterator<Item = Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = blocks.into_iter().collect();
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading { text: clean(title) });
    }
    blocks
}

fn target_blocks(report: &Report<'_>) -> Vec<Block> {
    let checks = report.threshold_checks;
    if checks.is_empty() {
        return Vec::new();
    }
    let has_references = checks.iter().any(|check| check.reference.is_some());
    let rows = targets::table(checks, has_references);
    let rows = Block::table(&rows, "Targets and achieved values")
        .filter(|_| targets::is_any_known(checks));
    std::iter::once(Block::paragraph(&targets::sentence(checks))).chain(rows).collect()
}

fn machine(report: &Report<'_>) -> Vec<Block> {
    if !report.has(ReportPart::Environment) {
        return Vec::new();
    }
    let environment = &report.run().environment;
    let parts = environment::tables(environment, report.baseline);
    let mut out: Vec<Block> = parts
        .iter()
        .flat_map(|(title, rows)| with_heading(title, Block::table(rows, title)))
        .collect();
    let warnings = environment::warnings(environment).iter();
    out.extend(
        warnings.map(|warning| Block::Note { text: Prose::of(&format!("Warning: {warning}")) }),
    );
    out
}

fn unmeasured_blocks(report: &Report<'_>) -> Vec<Block> {
    let (run, names) = (report.run(), Shortener::of_run(report.run()));
    let mut out = Vec::new();
    for (outcome, title, _) in OUTCOMES {
        let groups = unmeasured::groups(run, outcome);
        let items = groups.iter().map(|group| {
            let who = unmeasured::describe_cases(group, &names);
            match group.reason {
                None => ListItem::about(&who, Prose::plain(": no reason was recorded")),
                Some(Reason { what, why, cure, .. }) => ListItem {
                    lead: Prose::plain(&who),
                    lines: vec![
                        Prose::of(&format!("{what}: {why}")),
                        Prose::of(&format!("Cure: {cure}")),
                    ],
                    ..ListItem::default()
                },
            }
        });
        out.extend(with_heading(title, Block::list(items)));
    }
    out
}

fn recommendations(report: &Report<'_>) -> Vec<Block> {
    if !report.has(ReportPart::Recommendations) {
        return Vec::new();
    }
    let items = report.recommendations.iter().map(|advice| ListItem {
        lead: Prose::of(&advice.action),
        lines: vec![Prose::of(&advice.evidence)],
        ..ListItem::default()
    });
    Block::list(items).into_iter().collect()
}
