//! The pages: each asks the source, and says what it got.

mod case;
mod compare;
mod listing;
mod live;
mod machines;
mod origin;
mod overview;
mod run;
mod state;

pub(crate) use case::history;
pub use live::EVENTS as LIVE_EVENTS;
use rsb_report::Chart;
use rsb_report::html::site::CaseLinks;

use crate::address::{Address, CaseView, View};
use crate::router::Site;
use crate::sheet::Sheet;
use crate::source::Answer;

/// The page of `view`.
pub(crate) fn page<'v>(site: &Site<'_>, view: &'v View) -> Answer<Sheet<'v>> {
    match view {
        View::Overview => overview::page(site, view),
        View::Runs(list) => listing::runs(site, view, list),
        View::Cases(list) => listing::cases(site, view, list),
        View::Search { find } => listing::search(site, view, find),
        View::Run { id } => run::page(site, view, id),
        View::Charts { id } => run::every_chart(site, view, id),
        View::Compare(asked) => compare::page(site, view, asked),
        View::Case(asked) => case::page(site, view, asked),
        View::Machines => machines::page(site, view),
        View::Baselines => state::baselines(site, view),
        View::Doctor => state::doctor(site, view),
        View::Live => live::page(site, view),
    }
}

/// The charts of the page of `view`, each of them with at most `points` points where it is a long line.
pub(crate) fn charts(site: &Site<'_>, view: &View, points: usize) -> Answer<Vec<Chart>> {
    match view {
        View::Run { id } => Ok(rsb_report::charts::all(&site.source().run(id)?.report())),
        View::Charts { id } => Ok(run::of_every_kind(&site.source().run(id)?.run)),
        View::Compare(asked) => compare::charts(site, asked),
        View::Case(asked) => case::charts(site, asked, points),
        View::Machines => machines::charts(site),
        _ => Ok(Vec::new()),
    }
}

/// Where cases lead: to their history.
fn case_links<'l>(site: &'l Site<'_>) -> Box<CaseLinks<'l>> {
    Box::new(|id, metric| {
        let metric = metric.unwrap_or_default().to_owned();
        // In files there is one page for each case.
        let metric = if site.answers() { metric } else { String::new() };
        Some(site.link(Address::page(View::Case(CaseView { metric, ..CaseView::of(id.as_str()) }))))
    })
}
