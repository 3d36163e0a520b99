//! Campaigns over the nodes of a fleet: the nodes that are not ok first, then progress, classes and
//! the other nodes.

use std::sync::Arc;

use rsb_model::record::{
    CampaignClass, CampaignDocument, CampaignNode, CampaignNodeDocument, CaseDeviation,
    NodeProgress, NodeState, PairProgress,
};
use rsb_report::Tone;
use rsb_report::campaign::{
    ProgressText, deviation_text, headline, job_counts, spread_text, state_word,
};
use rsb_report::html::element::{class, escape, list, prose};
use rsb_report::number::{format_count, format_interval, format_percent};
use rsb_report::trend::short;

use super::listing::filter;
use crate::address::{FleetView, PageView};
use crate::cards::{CardColumn, CardTable, number, text};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{CampaignData, SourceError, SourceResult};

/// Maximum number of rows in a list of nodes; the others are found by name.
const ROWS: usize = 200;
/// Number of the newest campaigns whose state the list of campaigns shows.
const SUMMARIZED: usize = 4;
/// Refresh interval of an active campaign in seconds.
const REFRESH_SECONDS: u32 = 5;

pub(super) fn page<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &FleetView,
) -> SourceResult<Sheet<'v>> {
    if query.campaign.is_empty() {
        return Ok(campaigns(site, view));
    }
    let title = format!("Campaign {}", query.campaign);
    match site.source().campaign(&query.campaign) {
        Ok(state) if query.node.is_empty() => Ok(campaign(site, view, query, state.document())),
        Ok(state) => Ok(node(site, view, &node_of(&*state, &query.node)?)),
        // Not an error: an export must not contain failing pages.
        Err(SourceError::Unreadable(why)) => {
            let mut sheet = Sheet::new(&title, None);
            sheet.say(Tone::Bad, &format!("This campaign cannot be shown: {why}"));
            Ok(sheet)
        }
        Err(SourceError::NotReady(why)) => {
            let mut sheet = Sheet::new(&title, None);
            sheet.push(&open_live(site, true));
            sheet.say(Tone::Strong, &format!("{why}. Reload the page in a moment."));
            sheet.push("</div>\n");
            Ok(sheet)
        }
        Err(error) => Err(error),
    }
}

/// Returns a node with its cases.
pub(crate) fn node_of(state: &dyn CampaignData, name: &str) -> SourceResult<CampaignNodeDocument> {
    state.node(name).ok_or_else(|| {
        let campaign = &state.document().campaign;
        SourceError::NotThere(format!("the campaign `{campaign}` has no node `{name}`"))
    })
}

const CAMPAIGNS: &[CardColumn] = &[text("campaign"), text("planned"), text("state")];

fn campaigns<'v>(site: &Site<'_>, view: &'v PageView) -> Sheet<'v> {
    let all = match site.campaigns() {
        Ok(all) => Arc::clone(all),
        Err(error) => {
            let mut sheet = Sheet::new("Fleet", None);
            sheet.say(Tone::Bad, &format!("The campaigns cannot be listed: {error}"));
            return sheet;
        }
    };
    let mut sheet = Sheet::new("Fleet", Some(view));
    if all.is_empty() {
        sheet.say(
            Tone::Caution,
            "There is no campaign. Start this program in the directory of `fleet.toml`; \
             `rusty-stack-bench fleet submit` starts a campaign.",
        );
        return sheet;
    }
    let mut table = CardTable::new("Campaigns, the newest first", CAMPAIGNS);
    let mut is_live = false;
    for (at, one) in all.iter().enumerate().take(ROWS) {
        let state = if at < SUMMARIZED {
            match site.source().campaign(&one.campaign) {
                Ok(state) => {
                    is_live |= state.document().is_active;
                    let (tone, words) = headline(state.document());
                    toned(tone, &words)
                }
                Err(SourceError::NotReady(why)) => {
                    is_live = true;
                    escape(&why)
                }
                Err(error) => toned(Tone::Bad, "cannot be shown") + &escape(&format!(": {error}")),
            }
        } else {
            String::new()
        };
        let link = site.page_link(PageView::Fleet(FleetView::of(&one.campaign)), &one.campaign);
        let planned = one.planned.map_or_else(String::new, |time| site.moment(time));
        table.push(&[link, escape(&planned), state]);
    }
    sheet.push(&open_live(site, is_live));
    sheet.push(&table.html());
    let left = all.len().saturating_sub(ROWS);
    if left > 0 {
        sheet.push(&format!("<p>{left} older campaigns are not listed.</p>\n"));
    }
    sheet.push("</div>\n");
    sheet
}

/// Returns the start of the part of a page that the script renews while `is_live`.
fn open_live(site: &Site<'_>, is_live: bool) -> String {
    if !is_live || !site.answers() {
        return "<div id=\"campaign\">\n".to_owned();
    }
    format!("<div id=\"campaign\" data-refresh=\"{REFRESH_SECONDS}\">\n")
}

fn toned(tone: Tone, text: &str) -> String {
    format!("<span class=\"{}\">{}</span>", class(tone).unwrap_or_default(), escape(text))
}

/// Returns the word for a state, which is not wrapped.
fn state_cell(tone: Tone, word: &str) -> String {
    format!("<span class=\"whole\">{}</span>", toned(tone, word))
}

/// Returns a sentence about the rows that a list of `count` leaves out. An export has no filter.
fn more(site: &Site<'_>, count: usize, what: &str) -> String {
    let left = count.saturating_sub(ROWS);
    if left == 0 {
        return String::new();
    }
    let how = if site.answers() { "; filter by node name below" } else { " are not listed" };
    format!("<p>{left} more {what}{how}.</p>\n")
}

fn campaign<'v>(
    site: &Site<'_>,
    view: &'v PageView,
    query: &FleetView,
    document: &CampaignDocument,
) -> Sheet<'v> {
    let mut sheet = Sheet::new(&format!("Campaign {}", document.campaign), Some(view))
        .under_html(subtitle(site, document));
    sheet.push(&open_live(site, document.is_active));
    let (tone, words) = headline(document);
    sheet.say(tone, &words);
    let wanted = query.find.to_lowercase();
    let found = |node: &&CampaignNode| node.name.to_lowercase().contains(&wanted);
    let is_bad = |node: &&CampaignNode| {
        node.state != NodeState::Ok && !(node.state == NodeState::NotMeasured && node.is_underway())
    };
    let nodes = || document.nodes.iter().filter(found);
    let bad: Vec<&CampaignNode> = nodes().filter(is_bad).collect();
    sheet.section("not-ok", "Nodes that are not ok", not_ok(site, &document.campaign, &bad));
    let underway: Vec<&CampaignNode> = nodes().filter(|node| node.is_underway()).collect();
    let progress = progress(site, document, &underway);
    sheet.section("progress", "Progress", progress);
    let lines = |lines: &[String]| match lines {
        [] => String::new(),
        lines => list(lines.iter().map(|line| prose(line))),
    };
    sheet.section("notes", "Notes", lines(&document.notes));
    sheet.section("problems", "Files that cannot be read", lines(&document.problems));
    sheet.section("classes", "Hardware classes", classes(&document.classes));
    let ok: Vec<&CampaignNode> = nodes().filter(|node| node.state == NodeState::Ok).collect();
    sheet.push(&ok_nodes(site, &document.campaign, &ok));
    sheet.push("</div>\n");
    if document.nodes.len() > ROWS || !query.find.is_empty() {
        sheet.push(&filter(site, view, "part of a node's name"));
    }
    sheet
}

/// Returns when the campaign was planned and read, with a link to the others.
fn subtitle(site: &Site<'_>, document: &CampaignDocument) -> String {
    let mut parts = Vec::new();
    if let Some(planned) = document.planned {
        parts.push(format!("planned {}", escape(&site.moment(planned))));
    }
    parts.push(format!("read {}", document.read.strftime("%-d %b %H:%M:%S UTC")));
    if site.campaigns().as_ref().is_ok_and(|all| all.len() > 1) {
        parts.push(site.page_link(PageView::Fleet(FleetView::default()), "all campaigns"));
    }
    parts.join(" · ")
}

const NOT_OK: &[CardColumn] =
    &[text("node"), text("state"), text("time against its class"), text("evidence and advice")];

fn not_ok(site: &Site<'_>, campaign: &str, nodes: &[&CampaignNode]) -> String {
    let mut table = CardTable::new("Nodes that are not ok", NOT_OK);
    for node in nodes.iter().take(ROWS) {
        let (word, tone) = state_word(node.state);
        let deviation = node.evidence.as_ref().map_or_else(String::new, deviation_cell);
        table.push(&[
            node_link(site, campaign, &node.name, true),
            state_cell(tone, word),
            deviation,
            evidence(node),
        ]);
    }
    table.html() + &more(site, nodes.len(), "nodes")
}

fn deviation_cell(one: &CaseDeviation) -> String {
    format!(
        "<strong>{}</strong> <span class=\"dim whole\">{}</span>",
        escape(&format_percent(one.slower_percent)),
        escape(&format_interval(one.interval_percent))
    )
}

/// Returns the reason for the state of a node, the command that drains it, and what to do next.
fn evidence(node: &CampaignNode) -> String {
    let mut html = escape(&node.reason);
    if let Some(progress) = node.progress.as_ref().filter(|_| node.state == NodeState::NotMeasured)
    {
        html.push_str(&format!(" ({})", ProgressText::of(Some(progress)).word));
    }
    if let Some(command) = &node.advice {
        html.push_str(&format!(
            "<div class=\"command\">Command to drain this node (not run): <code>{}</code></div>",
            escape(command)
        ));
    }
    if let Some(next) = &node.next {
        html.push_str(&format!("<div>{}</div>", prose(next)));
    }
    html
}

/// Returns the name of a node as a link to its page. An export has no pages of nodes that are ok.
fn node_link(site: &Site<'_>, campaign: &str, name: &str, is_exported: bool) -> String {
    if !site.answers() && !is_exported {
        return escape(name);
    }
    let view = FleetView { node: name.to_owned(), ..FleetView::of(campaign) };
    site.page_link(PageView::Fleet(view), name)
}

const PROGRESS: &[CardColumn] = &[text("node"), text("job"), text("results"), text("details")];

/// Returns the jobs that have not ended, the running ones first.
fn progress(site: &Site<'_>, document: &CampaignDocument, nodes: &[&CampaignNode]) -> String {
    if nodes.is_empty() && document.pairs.is_empty() {
        return String::new();
    }
    let mut table = CardTable::new("Jobs that have not ended", PROGRESS);
    let name = |node: &str| node_link(site, &document.campaign, node, false);
    let (running, queued): (Vec<&CampaignNode>, Vec<&CampaignNode>) =
        nodes.iter().partition(|node| matches!(node.progress, Some(NodeProgress::Running { .. })));
    for node in running.iter().chain(&queued).take(ROWS) {
        table.push(&progress_cells(name(&node.name), node.progress.as_ref(), String::new()));
    }
    for PairProgress { suspect, node, turn, progress } in document.pairs.iter().take(ROWS) {
        let what = format!("turn {turn} of the pairs of {suspect}. ");
        table.push(&progress_cells(name(node), Some(progress), what));
    }
    let counts = job_counts(document.nodes.iter().map(|node| node.progress.as_ref()));
    let renewed = if document.is_active && site.answers() {
        format!(" Read again every {REFRESH_SECONDS} seconds; without scripts, reload the page.")
    } else {
        String::new()
    };
    let more = more(site, nodes.len(), "jobs");
    format!("<p>Jobs: {counts}.{renewed}</p>\n") + &table.html() + &more
}

fn progress_cells(name: String, progress: Option<&NodeProgress>, what: String) -> [String; 4] {
    let ProgressText { word, tone, details } = ProgressText::of(progress);
    let (bar, details) = match progress {
        Some(NodeProgress::Running { case, done, total, eta_seconds }) => {
            let bar = format!(
                "<progress value=\"{done}\" max=\"{}\">{done}</progress> {done} of {}",
                (*total).max(1),
                if *total == 0 { "?".to_owned() } else { total.to_string() }
            );
            let left = eta_seconds.map(|left| format!("{} min left", left.div_ceil(60)));
            let case = case.as_deref().map(|case| format!("last case {}", short(case)));
            (bar, [left, case].into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        _ => (String::new(), details),
    };
    [name, state_cell(tone, word), bar, escape(&(what + &details))]
}

const CLASSES: &[CardColumn] = &[
    text("class"),
    number("nodes"),
    number("judged"),
    number("look slow"),
    number("spread"),
    text("widest case"),
];

fn classes(classes: &[CampaignClass]) -> String {
    let mut table = CardTable::new("Hardware classes", CLASSES);
    for class in classes.iter().take(ROWS) {
        let widest = class.widest.as_ref().map_or_else(String::new, |one| {
            let (case, spread) = (short(&one.case), spread_text(one.spread_percent));
            format!("<span title=\"{}\">{}</span> {spread}", escape(&one.case), escape(&case))
        });
        let name = if class.name.is_empty() { "no class" } else { &class.name };
        let slow = if class.is_breaker_open {
            let words = format!("{}; too many, so none is called slow", class.suspects);
            toned(Tone::Caution, &words)
        } else {
            class.suspects.to_string()
        };
        table.push(&[
            escape(name),
            class.nodes.to_string(),
            class.judged.to_string(),
            slow,
            class.spread_percent.map_or_else(String::new, spread_text),
            widest,
        ]);
    }
    let about = "<p>Spread: median over cases of the standard deviation between nodes, estimated \
                 robustly.</p>\n";
    about.to_owned() + &table.html()
}

const OK: &[CardColumn] = &[text("node"), text("class"), text("largest deviation")];

fn ok_nodes(site: &Site<'_>, campaign: &str, nodes: &[&CampaignNode]) -> String {
    if nodes.is_empty() {
        return String::new();
    }
    let mut table = CardTable::new("Nodes that are ok", OK);
    for node in nodes.iter().take(ROWS) {
        let deviation = node.evidence.as_ref().map_or_else(String::new, |one| {
            let case = short(&one.case);
            format!("{} <span class=\"dim\">{}</span>", escape(&deviation_text(one)), escape(&case))
        });
        let name = node_link(site, campaign, &node.name, false);
        table.push(&[name, escape(&node.class), deviation]);
    }
    let count = format_count(nodes.len(), "node is ok", "nodes are ok");
    format!(
        "<details id=\"ok\"><summary>{count}</summary>\n{}{}</details>\n",
        table.html(),
        more(site, nodes.len(), "nodes")
    )
}

const CASES: &[CardColumn] = &[
    text("case"),
    number("time"),
    number("interval"),
    number("spread"),
    number("nodes"),
    text("verdict"),
];

fn node<'v>(site: &Site<'_>, view: &'v PageView, document: &CampaignNodeDocument) -> Sheet<'v> {
    let node = &document.node;
    let back = site.page_link(
        PageView::Fleet(FleetView::of(&document.campaign)),
        &format!("campaign {}", document.campaign),
    );
    let mut sheet = Sheet::new(&format!("Node {}", node.name), Some(view))
        .under_html(format!("{back} · {}", escape(&node.class)));
    let (word, tone) = state_word(node.state);
    let ProgressText { word: job, details, .. } = ProgressText::of(node.progress.as_ref());
    let is_live = node.is_underway();
    sheet.push(&open_live(site, is_live));
    let says = match &node.evidence {
        Some(one) if node.state == NodeState::Slow => {
            format!("{word}: {} in {}", deviation_text(one), short(&one.case))
        }
        _ => word.to_owned(),
    };
    sheet.say(tone, &says);
    sheet.push(&format!("<div>{}</div>\n", evidence(node)));
    let details = if details.is_empty() { details } else { format!(": {}", escape(&details)) };
    sheet.push(&format!("<p>Job: {job}{details}.</p>\n"));
    sheet.section("cases", "Cases against the class", cases(&document.cases));
    sheet.push("</div>\n");
    sheet
}

fn cases(cases: &[CaseDeviation]) -> String {
    let mut table = CardTable::new("Cases of the node against its class", CASES);
    for one in cases {
        let (word, tone) = state_word(one.state);
        table.push(&[
            format!("<span title=\"{}\">{}</span>", escape(&one.case), escape(&short(&one.case))),
            escape(&format_percent(one.slower_percent)),
            escape(&format_interval(one.interval_percent)),
            spread_text(one.spread_percent),
            one.peers.to_string(),
            state_cell(tone, word),
        ]);
    }
    table.html()
}
