//! The overview: the verdict on the last run, recent changes, the health of each component, the
//! last runs.

use std::collections::BTreeMap;

use rsb_model::CaseId;
use rsb_model::record::{AlertState, HealthDocument};
use rsb_report::health::HealthSection;
use rsb_report::html::element::{anchor, class, escape, linked_table, list, prose};
use rsb_report::label::{Shortener, split_id};
use rsb_report::number::format_count;
use rsb_report::{Cell, Column, Table, Tone, comparison, health, trend::short};

use super::{listing, origin};
use crate::address::{Address, CaseView, ListFilter, PageView};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{LatestVerdict, OverviewData, SourceResult};

const RUNS: usize = 8;
const NAMED: usize = 10;

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let material = site.source().overview()?;
    let mut sheet = Sheet::new("Overview", Some(view)).under(&health::sentence(&material.health));
    let living = site.source().live()?.len();
    if living > 0 && site.answers() {
        let link = anchor(&site.link(Address::page(PageView::Live)), "watch it");
        let count = format_count(living, "run is", "runs are");
        sheet.push(&format!(
            "<p class=\"note\">{count} being measured here: {link}. A page that is \
                             made meanwhile takes time from it.</p>\n"
        ));
    }
    let nothing = "Nothing is stored yet: `rusty-stack-bench run` makes the first run.";
    match &material.latest {
        Some(latest) => verdict(site, &mut sheet, latest),
        None => sheet.say(Tone::Caution, nothing),
    }
    sheet.section("notices", "Problems of the store", notices(&material.notices));
    sheet.section("moved", "Recent changes", recent_changes(site, &material));
    sheet.section("components", "Health by component", components(&material.health));
    sheet.section("attention", "Needs attention", attention(site, &material.health));
    sheet.section("advice", "Recommendations", advice(&material.health));
    sheet.section("runs", "Last runs", last_runs(site)?);
    Ok(sheet)
}

/// Returns the notices on the store, such as data that all pages leave out. If there are many, it
/// returns the first ones and the number of the others.
fn notices(notices: &[String]) -> String {
    let more = notices.len().saturating_sub(NAMED);
    let more =
        (more > 0).then(|| format!("and {more} more: `rusty-stack-bench store check` lists all"));
    list(notices.iter().take(NAMED).cloned().chain(more).map(|text| prose(&text)))
}

fn verdict(site: &Site<'_>, sheet: &mut Sheet<'_>, latest: &LatestVerdict) {
    let (tone, sentence) = match (&latest.comparison, &latest.not_compared) {
        (Some(result), _) => comparison::verdict_sentence(result),
        (None, Some(why)) => (Tone::Caution, format!("No verdict: {why}.")),
        (None, None) => (
            Tone::Caution,
            "No verdict: no baseline is saved for its machine and suite.".to_owned(),
        ),
    };
    // A pass is good news, even if nothing improved.
    let tone = if tone == Tone::Plain { Tone::Good } else { tone };
    sheet.say(tone, &sentence);
    let link = site.link(Address::page(PageView::Run { id: latest.run_id.clone() }));
    let run = anchor(&link, &escape(&latest.run_id));
    sheet.push(&format!("<p>This is the verdict on the last run, {run}.</p>\n"));
}

fn recent_changes(site: &Site<'_>, material: &OverviewData) -> String {
    let open: Vec<_> = material.alerts.iter().filter(|alert| !alert.state.is_closed()).collect();
    let (new, known): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|alert| alert.state == AlertState::New);
    let mut out = String::new();
    if let Some(runs) = material.only_newest {
        out.push_str(&format!(
            "<p>From the newest {runs} runs; the page of a case analyzes all of its runs.</p>\n"
        ));
    }
    if new.is_empty() {
        out.push_str("<p>No new change points.</p>\n");
    } else {
        let tiles: String = new.iter().map(|alert| origin::change(site, alert, None)).collect();
        out.push_str(&format!("<div class=\"tiles\">\n{tiles}</div>\n"));
    }
    if !known.is_empty() {
        let tiles: String = known.iter().map(|alert| origin::change(site, alert, None)).collect();
        let count = format_count(known.len(), "reviewed change", "reviewed changes");
        out.push_str(&format!(
            "<details><summary>{count}</summary>\n<div class=\"tiles\">\n{tiles}</div></details>\n"
        ));
    }
    out
}

/// Returns the table of items of each kind, by component.
fn components(page: &HealthDocument) -> String {
    let mut counts: BTreeMap<String, [usize; 5]> = BTreeMap::new();
    for (kind, section) in health::sections(page).into_iter().enumerate() {
        for item in section.items {
            let id = item.id.parse::<CaseId>();
            let name = id.as_ref().map_or("", |id| split_id(id).0);
            let name = if name.is_empty() { "other projects" } else { name }.to_owned();
            if let Some(count) = counts.entry(name).or_default().get_mut(kind) {
                *count += 1;
            }
        }
    }
    let titles = health::sections(page).map(|section| section.title);
    let names = [Column::left("component"), Column::left("state")].into_iter();
    let mut table = Table::new(names.chain(titles.map(Column::right)));
    for (name, counts) in counts {
        let [degraded, improving, others @ ..] = counts;
        let is_unclear = others.iter().any(|count| *count > 0);
        let (word, tone) = match (degraded, is_unclear, improving) {
            (1.., ..) => ("degraded", Tone::Bad),
            (0, true, _) => ("needs attention", Tone::Caution),
            (0, false, _) => ("improving", Tone::Good),
        };
        let mut cells = vec![Cell::from(name), Cell::with_tone(word, tone)];
        for count in &counts {
            cells.push(Cell::from(if *count > 0 { count.to_string() } else { String::new() }));
        }
        table.push(cells);
    }
    if table.is_empty() {
        return "<p>No component needs attention.</p>\n".to_owned();
    }
    rsb_report::html::element::table(&table, "Cases that need attention by component")
        + "<p>Components that are not listed need no attention.</p>\n"
}

fn attention(site: &Site<'_>, page: &HealthDocument) -> String {
    let tones = [Tone::Bad, Tone::Good, Tone::Caution, Tone::Caution, Tone::Caution];
    let tiles = health::sections(page)
        .into_iter()
        .zip(tones)
        .filter(|(section, _)| !section.items.is_empty());
    let tiles: String = tiles.map(|(section, tone)| tile(site, section, tone)).collect();
    if tiles.is_empty() { tiles } else { format!("<div class=\"tiles\">\n{tiles}</div>\n") }
}

fn tile(site: &Site<'_>, section: HealthSection<'_>, tone: Tone) -> String {
    let HealthSection { title, items, .. } = section;
    let class = class(tone).unwrap_or_default();
    let more = items.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| {
        let all = anchor(&site.link(Address::json(PageView::Overview)), "the document lists all");
        format!("and {more} more; {all}")
    });
    let mut lines = Vec::new();
    for item in items.iter().take(NAMED) {
        let link = site.link(Address::page(PageView::Case(CaseView::of(&item.id))));
        let line = section.line(item, &Shortener::default());
        let rest = line.strip_prefix(&short(&item.id)).unwrap_or(&line);
        lines.push(format!("{}{}", anchor(&link, &escape(&short(&item.id))), prose(rest)));
    }
    lines.extend(more);
    let items_html = list(lines);
    format!(
        "<div class=\"tile {class}\">\n<h3 class=\"{class}\">{title}: \
         {}</h3>\n{items_html}</div>\n",
        items.len()
    )
}

fn advice(page: &HealthDocument) -> String {
    list(page.recommendations.iter().map(|advice| {
        format!("<strong>{}</strong><br>{}", prose(&advice.action), prose(&advice.evidence))
    }))
}

fn last_runs(site: &Site<'_>) -> SourceResult<String> {
    let runs = site.source().runs()?;
    let shown = runs.get(..runs.len().min(RUNS)).unwrap_or_default();
    let runs_table = rsb_report::list::runs_table(shown);
    let table = linked_table(&runs_table, "The last runs", &|row, column| {
        shown.get(row).filter(|_| column == 0).map(|run| listing::run_link(site, run))
    });
    let all = anchor(&site.link(Address::page(PageView::Runs(ListFilter::default()))), "all runs");
    if table.is_empty() {
        return Ok(table);
    }
    let count = format_count(runs.len(), "run", "runs");
    Ok(format!("{table}<p>{count} are stored: {all}.</p>\n"))
}
