//! How each framework component stands: what its last run says, and what is missing where it never ran.

use rsb_model::record::ComponentStatus;
use rsb_model::{ComponentBenchmarkResult, Timestamp};
use rsb_stats::threshold_checks;
use serde_json::{Value, json};

use super::{judge, settings};
use crate::cli::ComponentsArgs;
use crate::exit::{Ended, Exit, Trouble};
use crate::frameworks::{self, Component};
use crate::show;

/// Runs looked at, newest first.
const MOST_RUNS: usize = 50;

/// The verb `components`.
///
/// # Errors
/// When the results or the policy cannot be read.
pub fn run(args: &ComponentsArgs) -> Ended {
    let (config, folders) = settings::load(&args.places)?;
    let store = judge::open(&folders)?;
    let policy = judge::policy(&config, &folders, None)?;
    let mut waiting: Vec<&Component> = frameworks::all().iter().collect();
    let mut found: Vec<(&str, Timestamp, ComponentBenchmarkResult)> = Vec::new();
    for summary in store.runs().map_err(Trouble::usage)?.into_iter().take(MOST_RUNS) {
        if waiting.is_empty() {
            break;
        }
        // A run whose file is gone has nothing to say.
        let Ok(run) = store.run(&summary.run_id.0) else { continue };
        let checks = threshold_checks(std::slice::from_ref(&run), &policy);
        waiting.retain(|component| match frameworks::record(component, &run.benchmarks, &checks) {
            Some(record) => {
                found.push((component.name, summary.started, record));
                false
            }
            None => true,
        });
    }
    let rows: Vec<Value> = frameworks::all()
        .iter()
        .map(|component| row(component, found.iter().find(|(name, ..)| *name == component.name)))
        .collect();
    if args.json {
        show::text(&rsb_report::document("components", &rows)?)?;
    } else {
        show::text(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Pass)
}

fn row(component: &Component, found: Option<&(&str, Timestamp, ComponentBenchmarkResult)>) -> Value {
    let missing = frameworks::readiness(component.name).err();
    let record = found.map(|(_, _, record)| record);
    json!({
        "component_id": component.name,
        "status": record.map_or("not_run", |record| word(record.status)),
        "last_run": found.map(|(_, started, _)| started.to_string()),
        "version": record.and_then(|record| record.version.as_deref()),
        "metrics": record.map(|record| &record.results),
        "threshold_checks": record.map(|record| record.threshold_checks.as_slice()).unwrap_or_default(),
        "comparison_to_baseline": null,
        "record": record,
        "missing": missing.as_ref().map(|reason| format!("{}: {}", reason.what, reason.why)),
        "cure": missing.as_ref().map(|reason| &reason.cure),
    })
}

const fn word(status: ComponentStatus) -> &'static str {
    match status {
        ComponentStatus::Passed => "passed",
        ComponentStatus::Warning => "warning",
        ComponentStatus::Failed => "failed",
    }
}

fn line(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let mut line = format!("{:<16} {:<8}", text("component_id"), text("status").replace('_', " "));
    for part in [text("version"), text("last_run")] {
        if !part.is_empty() {
            line.extend([" ", &part]);
        }
    }
    if !text("missing").is_empty() {
        line.extend(["\n                 missing: ", &text("missing"), "\n                 cure: ", &text("cure")]);
    }
    line
}
