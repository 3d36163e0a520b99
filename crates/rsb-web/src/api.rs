//! JSON documents for programs: stored data as it is stored, and lists in the `--json` format of
//! the subcommands.

use rsb_report::{ReportError, document as list, json};
use serde_json::{Value, json as value};

use crate::address::PageView;
use crate::pages::{fleet_node as node, history};
use crate::site::Site;
use crate::source::{LiveRun, PageSource, SourceError, SourceResult};

pub(crate) fn document(site: &Site<'_>, view: &PageView) -> SourceResult<String> {
    let source = site.source();
    let written = match view {
        PageView::Overview { branch } => json(&source.overview(branch)?.health),
        PageView::Runs(_) => list("runs", &*source.runs()?),
        PageView::Cases(_) => list("cases", &*source.cases()?),
        // Runs are most of an export, and line breaks would double their size.
        PageView::Run { id } if !site.answers() => {
            serde_json::to_string(&source.run(id)?.run).map_err(ReportError::from)
        }
        PageView::Run { id } | PageView::Charts { id } => json(&source.run(id)?.run),
        PageView::Compare(query) if query.from.is_empty() || query.to.is_empty() => {
            return Err(SourceError::Senseless("name both sides: `from` and `to`".to_owned()));
        }
        PageView::Compare(query) => json(&source.compare(&query.from, &query.to)?.result),
        PageView::Case(query) => {
            let history = history(source, query)?;
            list("series", &history.iter().map(|history| &history.trend).collect::<Vec<_>>())
        }
        PageView::Machines => list("machines", &machines(source)?),
        PageView::Models => json(&*source.advice()?),
        PageView::Baselines => list("baselines", &*source.baselines()?),
        PageView::Doctor => rsb_report::doctor::json(&source.doctor()?, &[]),
        PageView::Live => list("live", &source.live()?.iter().map(live).collect::<Vec<_>>()),
        PageView::Fleet(query) if query.campaign.is_empty() => {
            list("campaigns", &*source.campaigns()?)
        }
        PageView::Fleet(query) if query.node.is_empty() => {
            json(source.campaign(&query.campaign)?.document())
        }
        PageView::Fleet(query) => json(&node(&*source.campaign(&query.campaign)?, &query.node)?),
        PageView::Search { .. } => {
            return Err(SourceError::NotThere("use `api/cases` and `api/runs`".to_owned()));
        }
    };
    written.map_err(|error: ReportError| SourceError::Unreadable(error.to_string()))
}

fn machines(source: &dyn PageSource) -> SourceResult<Vec<Value>> {
    let machines = source.machines()?;
    let each = machines.iter().map(|machine| {
        value!({
            "machine": machine.slug,
            "runs": machine.runs,
            "newest_run": machine.latest.run_id,
            "environment": machine.latest.environment,
        })
    });
    Ok(each.collect())
}

fn live(live: &LiveRun) -> Value {
    value!({ "run": live.run, "planned": live.planned, "progress": live.progress })
}
