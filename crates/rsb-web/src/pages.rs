//! The pages: each queries the source and renders the answer.

mod case;
mod cases;
mod compare;
mod decision;
mod fleet;
mod listing;
mod live;
mod machines;
mod models;
mod origin;
mod overview;
mod run;
mod state;

pub(crate) use case::history;
pub use decision::{DECISION, DecisionFields, RefusedDecision, decision_link, decision_page};
pub(crate) use fleet::node_of as fleet_node;
pub use live::EVENTS as LIVE_EVENTS;
pub(crate) use origin::headline as change_headline;
pub(crate) use overview::moved_cases;
use rsb_model::ComparisonResult;
use rsb_report::html::site::CaseLinks;
use rsb_report::{Chart, Tone, comparison};

use crate::address::{Address, CaseView, PageView};
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::SourceResult;

pub(crate) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    match view {
        PageView::Overview { branch } => overview::page(site, view, branch),
        PageView::Runs(list) => listing::runs(site, view, list),
        PageView::Cases(list) => cases::page(site, view, list),
        PageView::Search { find } => listing::search(site, view, find),
        PageView::Run { id } => run::page(site, view, id),
        PageView::Charts { id } => run::every_chart(site, view, id),
        PageView::Compare(query) => compare::page(site, view, query),
        PageView::Case(query) => case::page(site, view, query),
        PageView::Machines => machines::page(site, view),
        PageView::Models => models::page(site, view),
        PageView::Baselines => state::baselines(site, view),
        PageView::Doctor => state::doctor(site, view),
        PageView::Live => live::page(site, view),
        PageView::Fleet(query) => fleet::page(site, view, query),
    }
}

/// Returns the charts of the page of `view`; a chart that is a long line has at most `points`
/// points.
pub(crate) fn charts(site: &Site<'_>, view: &PageView, points: usize) -> SourceResult<Vec<Chart>> {
    match view {
        PageView::Run { id } => Ok(rsb_report::charts::all(&site.source().run(id)?.report())),
        PageView::Charts { id } => {
            let material = site.source().run(id)?;
            Ok(run::of_every_kind(&material))
        }
        PageView::Compare(query) => compare::charts(site, query),
        PageView::Case(query) => case::charts(site, query, points),
        PageView::Machines => machines::charts(site),
        _ => Ok(Vec::new()),
    }
}

/// Returns the color of a verdict. A pass is good news even if nothing improved, but never while a
/// case is undecided or missing.
fn verdict_tone(result: &ComparisonResult) -> Tone {
    let (tone, _) = comparison::verdict_sentence(result);
    let is_pass = matches!(tone, Tone::Plain | Tone::Good);
    let is_decided = result.comparisons.iter().all(|row| row.verdict.is_decided())
        && result.missing.is_empty()
        && !result.comparisons.is_empty();
    match (is_pass, is_decided) {
        (true, true) => Tone::Good,
        (true, false) => Tone::Caution,
        (false, _) => tone,
    }
}

/// Returns the link target of cases: their history.
fn case_links<'l>(site: &'l Site<'_>) -> Box<CaseLinks<'l>> {
    Box::new(|id, metric| {
        let metric = metric.unwrap_or_default().to_owned();
        // An export has one page for each case.
        let metric = if site.answers() { metric } else { String::new() };
        Some(
            site.link(Address::page(PageView::Case(CaseView {
                metric,
                ..CaseView::of(id.as_str())
            }))),
        )
    })
}
