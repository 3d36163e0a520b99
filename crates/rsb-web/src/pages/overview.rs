//! The overview: how many cases moved, are noisy or not measured, each change once with what to do
//! about it, and the last runs.

use std::collections::{BTreeSet, HashMap};

use rsb_model::CaseId;
use rsb_model::record::{AlertState, HealthItem, SeriesMove, TrackedAlert};
use rsb_report::html::element::{anchor, class, escape, list, prose};
use rsb_report::label::Shortener;
use rsb_report::number::{format_count, format_threshold};
use rsb_report::{Tone, comparison, format_percent, health, tracked};

use super::{listing, origin, verdict_tone};
use crate::address::{Address, CaseView, CompareView, ListFilter, PageView};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{CaseLine, LatestVerdict, OverviewData, SourceResult};
use crate::spark::spark;

const RUNS: usize = 8;
const NAMED: usize = 10;
/// Maximum number of cases of one change that have a row each; the others are counted.
const MOVED: usize = 12;

pub(super) fn page<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    branch: &str,
) -> SourceResult<Sheet<'v>> {
    let material = site.source().overview(branch)?;
    let mut sheet = Sheet::new("Overview", Some(view)).under(&subtitle(site, &material));
    sheet.push(&listing::branches(site, branch, |branch| PageView::Overview { branch }));
    let living = site.source().live()?.len();
    if living > 0 && site.answers() {
        let link = site.page_link(PageView::Live, "watch it");
        let count = format_count(living, "run is", "runs are");
        sheet.push(&format!(
            "<p class=\"note\">{count} being measured here: {link}. A page that is \
                             made meanwhile takes time from it.</p>\n"
        ));
    }
    let Some(latest) = &material.latest else {
        let imported = site.source().runs()?.len();
        let sentence = if imported == 0 {
            "Nothing is stored yet: `rusty-stack-bench run` makes the first run.".to_owned()
        } else {
            let count = format_count(imported, "run", "runs");
            format!("{count} of other tools: see Runs and Cases. Nothing was measured here yet.")
        };
        sheet.say(Tone::Caution, &sentence);
        sheet.section("notices", "Problems of the store", notices(&material.notices));
        return Ok(sheet);
    };
    let lines = site.source().lines(branch)?;
    let changes = Changes::of(&material);
    sheet.push(&tiles(&material, &changes));
    verdict(site, &mut sheet, latest);
    let known = Known::of(&lines);
    sheet.section("moved", "What moved", moved(site, &material, &changes, &known));
    sheet.section("noisy", "Noisy", items(site, &material.health.noisy));
    let unmeasured: Vec<HealthItem> =
        material.health.missing.iter().chain(&material.health.unmeasured).cloned().collect();
    sheet.section("unmeasured", "Not measured", items(site, &unmeasured));
    sheet.section("notices", "Problems of the store", notices(&material.notices));
    sheet.section("advice", "What to do", advice(&material));
    sheet.section("runs", "Last runs", last_runs(site, branch));
    Ok(sheet)
}

/// Returns when and where was measured last: `145 runs of amd-epyc-2c, the last on 29 Nov 08:00`.
fn subtitle(site: &Site<'_>, material: &OverviewData) -> String {
    let health = &material.health;
    let (Some(latest), Some(machine)) = (&health.latest, &health.machine) else {
        return health::sentence(health);
    };
    let runs = format_count(health.runs, "run", "runs");
    format!("{runs} of {}, the last on {}", site.machine(machine), site.moment(latest.timestamp))
}

/// A change of the overview, without its row.
enum Change<'m> {
    /// A series of a change of level.
    Level { alert: &'m TrackedAlert, one: &'m SeriesMove },
    /// A slow drift, which has no run where it began.
    Drift(&'m HealthItem),
}

/// Changes that are open, and those that a user has reviewed.
struct Changes<'m> {
    slower: Vec<Change<'m>>,
    faster: Vec<Change<'m>>,
    reviewed: Vec<Change<'m>>,
    /// Number of further cases, which changed with those that have a row.
    more: usize,
}

impl<'m> Changes<'m> {
    fn of(material: &'m OverviewData) -> Self {
        let mut changes =
            Self { slower: Vec::new(), faster: Vec::new(), reviewed: Vec::new(), more: 0 };
        let mut known = BTreeSet::new();
        // A dismissed change stays listed, so that a mistake can be corrected.
        let shown = |alert: &&TrackedAlert| !alert.state.is_closed() || alert.decision().is_some();
        for alert in material.alerts.iter().filter(shown) {
            let list = match (alert.state, alert.direction.as_str()) {
                (AlertState::New, "better") => &mut changes.faster,
                (AlertState::New, _) => &mut changes.slower,
                _ => &mut changes.reviewed,
            };
            for (at, one) in alert.moves.iter().enumerate() {
                known.insert(one.id.as_str());
                if at < MOVED {
                    list.push(Change::Level { alert, one });
                } else {
                    changes.more += 1;
                }
            }
        }
        let health = &material.health;
        for (items, list) in
            [(&health.degraded, &mut changes.slower), (&health.improving, &mut changes.faster)]
        {
            let drifts = items.iter().filter(|item| item.alert.is_none());
            list.extend(drifts.filter(|item| !known.contains(item.id.as_str())).map(Change::Drift));
        }
        changes
    }
}

/// Returns the number of cases that are slower and of those that are faster, by open changes.
pub(crate) fn moved_cases(material: &OverviewData) -> [usize; 2] {
    let changes = Changes::of(material);
    [changes.slower.len(), changes.faster.len()]
}

/// Returns the four counts, each with a link to its section.
fn tiles(material: &OverviewData, changes: &Changes<'_>) -> String {
    let health = &material.health;
    let counts = [
        (changes.slower.len(), "slower", "moved", Tone::Bad),
        (changes.faster.len(), "faster", "moved", Tone::Good),
        (health.noisy.len(), "noisy", "noisy", Tone::Caution),
        (
            health.missing.len() + health.unmeasured.len(),
            "not measured",
            "unmeasured",
            Tone::Caution,
        ),
    ];
    let mut out = String::new();
    for (count, word, section, tone) in counts {
        let body = format!("<strong>{count}</strong> {word}");
        if count == 0 {
            out.push_str(&format!("<li class=\"count dim\">{body}\n"));
        } else {
            let class = class(tone).unwrap_or_default();
            out.push_str(&format!(
                "<li class=\"count {class}\"><a href=\"#{section}\">{body}</a>\n"
            ));
        }
    }
    format!("<ul class=\"counts\">\n{out}</ul>\n")
}

/// Adds the verdict on the last run, if it was compared.
fn verdict(site: &Site<'_>, sheet: &mut Sheet<'_>, latest: &LatestVerdict) {
    let link = site.run_link(&latest.run_id, &site.name_of_run(&latest.run_id));
    if let Some(result) = &latest.comparison {
        sheet.say(verdict_tone(result), &comparison::verdict_sentence(result).1);
        sheet.push(&format!("<p>This is the verdict on the last run, {link}.</p>\n"));
    } else {
        let why = latest.not_compared.as_deref();
        let why = why.unwrap_or("no baseline is saved for its machine and suite");
        sheet.push(&format!("<p>The last run, {link}, was not compared: {}.</p>\n", prose(why)));
    }
}

/// What the rows of changes show in addition to the changes.
struct Known<'l> {
    lines: HashMap<(&'l str, &'l str), &'l CaseLine>,
    names: Shortener,
}

impl<'l> Known<'l> {
    fn of(lines: &'l [CaseLine]) -> Self {
        let ids: Vec<CaseId> = lines.iter().filter_map(|line| line.id.parse().ok()).collect();
        let key = |line: &'l CaseLine| ((line.id.as_str(), line.metric.as_str()), line);
        Self { lines: lines.iter().map(key).collect(), names: Shortener::of(&ids) }
    }

    /// Returns the name of a case without the device, if all cases have the same one.
    fn name(&self, id: &str) -> String {
        id.parse().map_or_else(|_| id.to_owned(), |id| self.names.full(&id))
    }
}

const COLUMNS: &[CardColumn] = &[
    text("case"),
    text("over the runs"),
    number("change"),
    text("since"),
    text("machine"),
    text("what next"),
];

fn moved(
    site: &Site<'_>,
    material: &OverviewData,
    changes: &Changes<'_>,
    known: &Known<'_>,
) -> String {
    let mut out = String::new();
    let mut open = CardTable::new("What moved", COLUMNS);
    for change in changes.slower.iter().chain(&changes.faster) {
        open.push(&row(site, material, change, known));
    }
    let rows = open.html();
    if rows.is_empty() {
        out.push_str(&nothing_moved(material, known));
    }
    out.push_str(&rows);
    if changes.more > 0 {
        out.push_str(&format!(
            "<p>And {} more changed with them; the pages of the runs show all.</p>\n",
            format_count(changes.more, "case", "cases")
        ));
    }
    if let Some(runs) = material.only_newest {
        out.push_str(&format!(
            "<p>From the newest {runs} runs; the page of a case analyzes all of its runs.</p>\n"
        ));
    }
    let mut reviewed = CardTable::new("Reviewed changes", COLUMNS);
    for change in &changes.reviewed {
        reviewed.push(&row(site, material, change, known));
    }
    if !changes.reviewed.is_empty() {
        let count = format_count(changes.reviewed.len(), "reviewed change", "reviewed changes");
        out.push_str(&format!(
            "<details><summary>{count}</summary>\n{}</details>\n",
            reviewed.html()
        ));
    }
    out
}

/// Returns what a store without changes could have shown.
fn nothing_moved(material: &OverviewData, known: &Known<'_>) -> String {
    let cases = format_count(known.lines.len(), "case", "cases");
    let alert = format_threshold(material.alert_percent);
    let noise = material.noise_percent.map_or_else(String::new, |noise| {
        format!(
            " From run to run, the median case varies by {noise:.1} %, so that a lasting change of \
             {:.1} % is visible in its chart.",
            3.0 * noise
        )
    });
    format!(
        "<p>Nothing moved: no new change in {cases}.{noise} A lasting change of {alert} or more \
         would be listed here.</p>\n"
    )
}

fn row(
    site: &Site<'_>,
    material: &OverviewData,
    change: &Change<'_>,
    known: &Known<'_>,
) -> [String; 6] {
    let (id, metric) = match change {
        Change::Level { one, .. } => (one.id.as_str(), one.metric.as_str()),
        Change::Drift(item) => (item.id.as_str(), item.metric.as_deref().unwrap_or_default()),
    };
    let line = known.lines.get(&(id, metric));
    let values: Vec<f64> =
        line.map_or_else(Vec::new, |line| line.points.iter().map(|(_, value)| *value).collect());
    let drawn = spark(&values, "values over the runs, oldest first");
    let case = site.case_link(CaseView::of(id), &known.name(id));
    match change {
        Change::Level { alert, one } => {
            let range = alert.range_of(one);
            let after = &range.first_after;
            let tone = if alert.direction == "better" { Tone::Good } else { Tone::Bad };
            let suspected = if one.confirmed { "" } else { " (suspected)" };
            let percent = format!("{}{suspected}", format_percent(one.change_percent));
            let commit = after.commit.as_deref().map(|commit| site.commit(commit));
            let since = [Some(escape(&site.moment(after.timestamp))), commit];
            let since: Vec<String> = since.into_iter().flatten().collect();
            [
                case,
                drawn,
                toned(tone, &percent),
                since.join(" · "),
                site.machine_html(&alert.machine),
                next_steps(site, alert, one),
            ]
        }
        Change::Drift(item) => {
            let is_better = material.health.improving.iter().any(|other| other.id == item.id);
            let tone = if is_better { Tone::Good } else { Tone::Bad };
            let percent = item.percent.map_or_else(String::new, format_percent);
            let machine = material.health.machine.as_deref().unwrap_or_default();
            [
                case,
                drawn,
                toned(tone, &percent),
                escape(&item.evidence),
                site.machine_html(machine),
                String::new(),
            ]
        }
    }
}

fn toned(tone: Tone, text: &str) -> String {
    format!("<span class=\"{}\">{}</span>", class(tone).unwrap_or_default(), escape(text))
}

/// Returns the link to the comparison around the change, the command that finds its commit, the one
/// that acknowledges it, and facts that explain it.
fn next_steps(site: &Site<'_>, alert: &TrackedAlert, one: &SeriesMove) -> String {
    let range = alert.range_of(one);
    let (before, after) = (&range.last_before, &range.first_after);
    let mut steps = Vec::new();
    if let (Some(before), Some(after), true) = (&before.run_id, &after.run_id, site.answers()) {
        let view = PageView::Compare(CompareView::of(&before.0, &after.0));
        steps.push(site.page_link(view, "compare"));
    }
    let commits = [&before.commit, &after.commit].map(Option::as_deref);
    if let Some(command) = origin::bisect(commits[0], commits[1], &one.id) {
        steps.push(origin::command(site, command, "bisect"));
    }
    if alert.state != AlertState::New {
        steps.push(escape(tracked::standing(alert).trim_start_matches(", ")));
    } else if !site.records_decisions() {
        steps.push(origin::command(site, origin::acknowledge(&alert.id), "acknowledge"));
    }
    steps.extend(origin::decide(site, alert));
    let changed = alert.environment_changes.iter().filter(|_| *range == alert.range);
    for one in changed {
        let [field, before, after] =
            [&one.field, &one.baseline, &one.current].map(|text| escape(text));
        steps.push(format!("the machine changed first: {field} {before} → {after}"));
    }
    steps.iter().map(|step| format!("<div>{step}</div>")).collect()
}

/// Returns the first items, and the others folded.
fn items(site: &Site<'_>, items: &[HealthItem]) -> String {
    let line = |item: &HealthItem| {
        let percent = item.percent.map_or_else(String::new, |percent| format!(" {percent:.0} %"));
        let case = site.whole_case_link(&item.id);
        format!("{case}{percent}: {}", prose(&item.evidence))
    };
    let (shown, more) = items.split_at(items.len().min(NAMED));
    let shown = list(shown.iter().map(line));
    if more.is_empty() {
        return shown;
    }
    let count = more.len();
    let named = list(more.iter().take(500).map(line));
    format!("{shown}<details><summary>{count} more</summary>\n{named}</details>\n")
}

/// Returns the notices on the store, such as data that all pages leave out. If there are many, it
/// returns the first ones and the number of the others.
fn notices(notices: &[String]) -> String {
    let more = notices.len().saturating_sub(NAMED);
    let more =
        (more > 0).then(|| format!("and {more} more: `rusty-stack-bench store check` lists all"));
    list(notices.iter().take(NAMED).cloned().chain(more).map(|text| prose(&text)))
}

fn advice(material: &OverviewData) -> String {
    list(material.health.recommendations.iter().map(|advice| {
        format!("<strong>{}</strong><br>{}", prose(&advice.action), prose(&advice.evidence))
    }))
}

fn last_runs(site: &Site<'_>, branch: &str) -> String {
    let runs: Vec<_> =
        site.runs().iter().filter(|run| listing::is_of_branch(run, branch)).collect();
    let table = listing::run_table(site, runs.iter().copied().take(RUNS), "The last runs");
    let list = ListFilter { branch: branch.to_owned(), ..ListFilter::default() };
    let all = site.link(Address::page(PageView::Runs(list)));
    let count = format_count(runs.len(), "run", "runs");
    format!("{table}<p>{count} are stored: {}.</p>\n", anchor(&all, "all runs"))
}
