//! Documents for programs: what is stored as it is stored, and lists as the verbs write them with `--json`.

use rsb_report::{ReportError, document as list, json};
use serde_json::{Value, json as value};

use crate::address::View;
use crate::pages::history;
use crate::source::{Answer, LiveRun, Source, SourceError};

/// The document of `view`.
pub(crate) fn document(source: &dyn Source, view: &View) -> Answer<String> {
    let written = match view {
        View::Overview => json(&source.overview()?.health),
        View::Runs(_) => list("runs", &*source.runs()?),
        View::Cases(_) => list("cases", &*source.cases()?),
        View::Run { id } | View::Charts { id } => json(&source.run(id)?.run),
        View::Compare(asked) if asked.from.is_empty() || asked.to.is_empty() => {
            return Err(SourceError::Senseless("name both sides: `from` and `to`".to_owned()));
        }
        View::Compare(asked) => json(&source.compare(&asked.from, &asked.to)?.result),
        View::Case(asked) => {
            let history = history(source, asked)?;
            list("series", &history.iter().map(|history| &history.trend).collect::<Vec<_>>())
        }
        View::Machines => list("machines", &machines(source)?),
        View::Baselines => list("baselines", &*source.baselines()?),
        View::Doctor => rsb_report::doctor::json(&source.doctor()?),
        View::Live => list("live", &source.live()?.iter().map(live).collect::<Vec<_>>()),
        View::Search { .. } => return Err(SourceError::NotThere("ask for `api/cases` and `api/runs`".to_owned())),
    };
    written.map_err(|error: ReportError| SourceError::Unreadable(error.to_string()))
}

fn machines(source: &dyn Source) -> Answer<Vec<Value>> {
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
    value!({ "run": live.run, "planned": live.planned })
}
