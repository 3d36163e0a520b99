//! Status of each framework component: the results of its last run, and the missing requirements if
//! it cannot run.

use rsb_catalog::frameworks::{self, Component};
use rsb_catalog::suites;
use rsb_engine::{Listener, python_worker};
use rsb_gate::gate;
use rsb_insight::component_status;
use rsb_model::record::{ComponentResults, ComponentStatus, ThresholdCheck};
use rsb_model::{ComparisonResult, ComponentBenchmarkResult, Run, Timestamp};
use rsb_report::Style;
use rsb_report::number::format_moment;
use rsb_stats::policy::TargetEffect;
use rsb_stats::{Policy, threshold_checks};
use serde_json::{Value, json};

use crate::config::{ComponentMetric, Config};
use crate::{AppError, ProjectContext};

/// Maximum number of runs read, newest first.
const MOST_RUNS: usize = 50;

/// Results of the last run of a component.
struct LastComponentRun {
    started: Timestamp,
    record: ComponentBenchmarkResult,
    against: Option<Value>,
}

/// Returns the status of each component, in the format of the JSON document.
///
/// # Errors
/// If the results or the policy cannot be read.
pub fn rows(project: &ProjectContext, listener: &mut Listener<'_>) -> Result<Vec<Value>, AppError> {
    let store = project.store(listener)?;
    let policy = project.policy(None, listener)?;
    let mut last: Vec<Option<LastComponentRun>> = frameworks::all().iter().map(|_| None).collect();
    for summary in store.runs().map_err(AppError::usage)?.into_iter().take(MOST_RUNS) {
        if last.iter().all(Option::is_some) {
            break;
        }
        // A run whose file is gone is skipped.
        let Ok(run) = store.run(&summary.run_id.0) else { continue };
        let compared =
            gate::against_saved(&store, &project.directories, &run, &policy).ok().flatten();
        let compared = compared.map(|saved| saved.result);
        for (component, known) in frameworks::all().iter().zip(&mut last) {
            if known.is_none() {
                *known = of_run(component, &run, &policy, &project.config, compared.as_ref());
            }
        }
    }
    let living = store.being_measured();
    let rows = frameworks::all().iter().zip(&last).map(|(component, last)| {
        row(component, last.as_ref(), living.iter().any(|run| measures(run, component)))
    });
    Ok(rows.collect())
}

fn of_run(
    component: &Component,
    run: &Run,
    policy: &Policy,
    config: &Config,
    compared: Option<&ComparisonResult>,
) -> Option<LastComponentRun> {
    let checks = threshold_checks(std::slice::from_ref(run), policy);
    let mut record = component_status::record(component, &run.benchmarks, &checks)?;
    if record
        .threshold_checks
        .iter()
        .any(|check| check.passed == Some(false) && must_be_met(check, policy))
    {
        record.status = ComponentStatus::Failed;
    }
    if let Some(section) = config.components.get(component.name) {
        show_only(&mut record.results, &section.metrics);
    }
    let against =
        compared.and_then(|compared| component_status::against_baseline(component, compared));
    if let (Some(throughput), Some(compared)) = (&mut record.results.throughput, compared) {
        throughput.comparison_to_baseline =
            component_status::rate_change(component, &run.benchmarks, compared);
    }
    Some(LastComponentRun {
        started: run.started,
        record,
        against: against.map(|against| json!(against)),
    })
}

/// Returns whether missing the target that `check` belongs to is a failure.
fn must_be_met(check: &ThresholdCheck, policy: &Policy) -> bool {
    policy
        .targets()
        .iter()
        .any(|target| target.effect == TargetEffect::Fail && target.is_checked_by(check))
}

/// Removes metrics from `results` that the configuration does not name.
fn show_only(results: &mut ComponentResults, metrics: &[ComponentMetric]) {
    if !metrics.contains(&ComponentMetric::Throughput) {
        results.throughput = None;
    }
    if !metrics.contains(&ComponentMetric::Latency) {
        results.latency = None;
    }
    if !metrics.contains(&ComponentMetric::Memory) {
        results.memory = None;
    }
}

/// Returns whether a run in progress measures `component`: its suite contains it, or is named after
/// it.
fn measures(run: &Run, component: &Component) -> bool {
    match run.suite.parse() {
        Ok(suite) => suites::components(suite).contains(&component.name),
        Err(_) => run.suite.split('_').any(|name| name == component.name),
    }
}

fn row(component: &Component, last: Option<&LastComponentRun>, is_running: bool) -> Value {
    let missing = python_worker::readiness(component.name).err();
    let record = last.map(|last| &last.record);
    let status = match record {
        _ if is_running => "running",
        Some(record) => record.status.as_str(),
        None => "not_run",
    };
    json!({
        "component_id": component.name,
        "status": status,
        "last_run": last.map(|last| last.started.to_string()),
        "version": record.and_then(|record| record.version.as_deref()),
        "metrics": record.map(|record| &record.results),
        "threshold_checks": record.map(|record| record.threshold_checks.as_slice()).unwrap_or_default(),
        "comparison_to_baseline": last.and_then(|last| last.against.as_ref()),
        "record": record,
        "missing": missing.as_ref().map(|reason| format!("{}: {}", reason.what, reason.why)),
        "cure": missing.as_ref().map(|reason| &reason.cure),
    })
}

/// Returns the status of a row of [`rows`] for people: `missing` if the component cannot run now,
/// whatever the status of its last run.
pub fn shown_status(row: &Value) -> &str {
    let status = row["status"].as_str().unwrap_or_default();
    if status != "running" && row["missing"].is_string() { "missing" } else { status }
}

/// Formats a row of [`rows`] for people, including missing requirements.
pub fn lines(row: &Value, style: Style) -> String {
    let missing = row["missing"].as_str().zip(row["cure"].as_str());
    let missing = missing
        .map(|(why, cure)| style.wrap(why, INDENT) + &style.wrap(&format!("cure: {cure}"), INDENT));
    status_lines(row, style) + &missing.unwrap_or_default()
}

/// Formats all of [`rows`] for people.
pub fn text(rows: &[Value], style: Style) -> String {
    let lines: String = rows.iter().map(|row| status_lines(row, style)).collect();
    lines + &missing_lines(rows, style)
}

/// Lists each missing requirement once for all components that lack it.
fn missing_lines(rows: &[Value], style: Style) -> String {
    let mut groups: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some((why, cure)) = row["missing"].as_str().zip(row["cure"].as_str()) else { continue };
        let name = row["component_id"].as_str().unwrap_or_default();
        match groups.iter_mut().find(|(known, of_known, _)| (*known, *of_known) == (why, cure)) {
            Some((.., names)) => names.push(name),
            None => groups.push((why, cure, vec![name])),
        }
    }
    let mut lines = Vec::new();
    for (why, cure, names) in groups {
        lines.push("\n".to_owned());
        lines.push(style.wrap(&format!("missing for {}:", names.join(", ")), 0));
        lines.push(style.wrap(why, 2));
        lines.push(style.wrap(&format!("cure: {cure}"), 2));
    }
    lines.concat()
}

/// Columns before the details of a component.
const INDENT: usize = 17;

/// Formats the status of a component, its last run and its missed targets.
fn status_lines(row: &Value, style: Style) -> String {
    let status = shown_status(row);
    let last_run = text_of(row, "last_run");
    let moment = last_run.parse().map_or_else(|_| last_run.to_owned(), format_moment);
    let mut last_run = vec![text_of(row, "version").to_owned(), moment];
    last_run.retain(|part| !part.is_empty());
    let last_run = last_run.join(", ");
    let id = text_of(row, "component_id");
    let mut head = format!("{id:<16} {:<8} ", status.replace('_', " "));
    let mut details = Vec::new();
    if status != "missing" {
        head.push_str(&last_run);
    } else if !last_run.is_empty() {
        details.push(format!("last run: {}, {last_run}", text_of(row, "status")));
    }
    let against = &row["comparison_to_baseline"];
    if let Some(verdict) = against["verdict"].as_str() {
        let case = against["slowest_case"].as_str().zip(against["time_change_percent"].as_f64());
        let change = case
            .map(|(case, change)| format!(", time of {case} {change:+.1} %"))
            .unwrap_or_default();
        details.push(format!("against its baseline: {verdict}{change}"));
    }
    let checks: Vec<ThresholdCheck> =
        serde::Deserialize::deserialize(&row["threshold_checks"]).unwrap_or_default();
    for check in checks.iter().filter(|check| check.passed != Some(true)) {
        let (expected, actual) = (check.expected_text(), check.actual_text());
        details.push(format!("target missed: {}, {expected}, measured {actual}", check.name));
    }
    let details: String = details.iter().map(|detail| style.wrap(detail, INDENT)).collect();
    format!("{}\n{details}", head.trim_end())
}

/// Returns the text of a field, empty if there is none.
fn text_of<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::record::Latency;

    fn component(missing: Option<&str>, last_run: Option<&str>) -> Value {
        json!({
            "component_id": "pytorch",
            "status": if last_run.is_some() { "passed" } else { "not_run" },
            "last_run": last_run,
            "version": last_run.map(|_| "2.5.1"),
            "missing": missing,
            "cure": missing.map(|_| "pip install torch"),
        })
    }

    #[test]
    fn a_component_that_is_missing_now_is_not_shown_as_passed() {
        let (missing, moment) =
            (Some("PyTorch: there is no package torch"), Some("2026-11-25T13:14:15.123456789Z"));
        assert_eq!(
            shown_lines(missing, moment),
            "pytorch          missing
                 last run: passed, 2.5.1, 2026-11-25 13:14 UTC
                 PyTorch: there is no package torch
                 cure: pip install torch\n"
        );
        assert_eq!(
            shown_lines(missing, None),
            "pytorch          missing\n                 PyTorch: there is no package \
             torch\n                 cure: pip install torch\n"
        );
        assert_eq!(
            shown_lines(None, moment),
            "pytorch          passed   2.5.1, 2026-11-25 13:14 UTC\n"
        );
        assert_eq!(shown_lines(None, None), "pytorch          not run\n");
    }

    fn shown_lines(missing: Option<&str>, last_run: Option<&str>) -> String {
        lines(&component(missing, last_run), Style::PLAIN)
    }

    #[test]
    fn only_what_the_configuration_names_is_shown() {
        let all =
            ComponentResults { latency: Some(Latency::default()), ..ComponentResults::default() };
        let mut shown = all.clone();
        show_only(&mut shown, &ComponentMetric::ALL);
        assert_eq!(shown, all);
        show_only(&mut shown, &[ComponentMetric::Memory]);
        assert_eq!(shown, ComponentResults::default());
    }
}
