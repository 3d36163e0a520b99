//! Stored runs: reading, listing, exporting, reporting, trends, and pruning.

use std::path::Path;

use rsb_model::{Run, Timestamp};
use rsb_report::{ItemWriter, PageLook, Report, Style};
use rsb_stats::SeriesInput;
use rsb_store::{Baselines, PruneRule, SeriesFilter, Store, export};
use serde_json::json;

use crate::keep::{GateRequest, KeepError, judge_files, text};

/// Opens the store of an existing directory; a misspelled one must not look empty.
fn open(results_dir: &str) -> Result<Store, KeepError> {
    let path = Path::new(results_dir);
    if !path.exists() {
        return Err(KeepError::Unknown(format!(
            "results directory {results_dir} does not exist; name the directory with the stored \
             runs, or measure with `rusty-stack-bench run --results-dir {results_dir}`"
        )));
    }
    Store::open_existing(path).map_err(KeepError::Store)
}

fn unwritten(error: impl std::fmt::Display) -> KeepError {
    KeepError::Unknown(error.to_string())
}

/// Returns the stored run `id` as JSON.
pub(crate) fn run(results_dir: &str, id: &str) -> Result<String, KeepError> {
    text(&open(results_dir)?.run(id).map_err(KeepError::Store)?)
}

/// Returns the stored runs as JSON, newest first.
pub(crate) fn runs(results_dir: &str) -> Result<String, KeepError> {
    let runs = open(results_dir)?.runs().map_err(KeepError::Store)?;
    let rows = runs.iter().map(|run| {
        json!({
            "run_id": run.run_id,
            "path": run.path,
            "started": run.started.to_string(),
            "suite": run.suite,
            "profile": run.profile,
            "commit": run.commit,
            "measured": run.counts.measured,
            "skipped": run.counts.skipped,
            "failed": run.counts.failed,
        })
    });
    text(&rows.collect::<Vec<_>>())
}

/// Exports every stored result as `csv` or `json`, in the format of the subcommand `export`.
pub(crate) fn export_results(results_dir: &str, format: &str) -> Result<String, KeepError> {
    let store = open(results_dir)?;
    let runs = store.runs().map_err(KeepError::Store)?;
    match format {
        "csv" => {
            let mut out = export::csv_header().map_err(unwritten)?;
            for run in &runs {
                let rows = store.history_of(&run.run_id).map_err(KeepError::Store)?;
                out.push_str(&export::csv_lines(&rows).map_err(unwritten)?);
            }
            Ok(out)
        }
        "json" => {
            let (mut writer, mut out) = ItemWriter::begin("runs");
            for run in &runs {
                let run = store.run(&run.run_id.0).map_err(KeepError::Store)?;
                out.push_str(&writer.item(&run).map_err(unwritten)?);
            }
            out.push_str(writer.end());
            Ok(out)
        }
        other => {
            Err(KeepError::Unknown(format!("`{other}` is not an export format; use csv or json")))
        }
    }
}

/// Deletes the runs older than `days`, except the newest `keep` of each machine and suite and those
/// that a baseline was made from. Returns their IDs.
pub(crate) fn prune(
    results_dir: &str,
    baselines_dir: &str,
    days: u32,
    keep: usize,
) -> Result<Vec<String>, KeepError> {
    let store = open(results_dir)?;
    let of_baselines = Baselines::new(Path::new(baselines_dir)).run_ids().map_err(unwritten)?;
    let seconds = Timestamp::now().as_second() - 86_400 * i64::from(days);
    let before = Timestamp::from_second(seconds).map_err(unwritten)?;
    let plan =
        store.plan_prune(PruneRule { before, keep }, &of_baselines).map_err(KeepError::Store)?;
    let mut deleted = Vec::new();
    store
        .delete(&plan.deleted, |run| deleted.push(run.run_id.0.clone()))
        .map_err(KeepError::Store)?;
    Ok(deleted)
}

/// Returns a report on the run in the file `current`, compared with that in `baseline`, if any.
pub(crate) fn report(
    current: &str,
    baseline: Option<&str>,
    format: &str,
) -> Result<String, KeepError> {
    let run: Run = rsb_store::read_run(Path::new(current)).map_err(unwritten)?;
    let compared = match baseline {
        None => None,
        Some(baseline) => Some(judge_files(GateRequest {
            baseline: vec![baseline.to_owned()],
            current: vec![current.to_owned()],
            threshold_percent: None,
            policy: None,
        })?),
    };
    let mut report = Report::new(&run);
    if let Some(compared) = &compared {
        report = report.with_comparison(&compared.result);
    }
    match format {
        "markdown" => Ok(rsb_report::report::markdown(&report, &[])),
        "html" => Ok(rsb_report::html::page(&report, &PageLook::default())),
        "text" => Ok(rsb_report::report::text(&report, Style::PLAIN)),
        "csv" => rsb_report::report::csv(&report).map_err(unwritten),
        "json" => rsb_report::report::json(&report).map_err(unwritten),
        other => Err(KeepError::Unknown(format!(
            "`{other}` is not a report format; use markdown, html, text, csv or json"
        ))),
    }
}

/// Returns the trends of `metric` as JSON, for stored cases whose ID contains `case`.
pub(crate) fn trends(
    results_dir: &str,
    metric: &str,
    case: Option<&str>,
) -> Result<String, KeepError> {
    let filter = SeriesFilter {
        cases: case.map(|case| format!("*{case}*")),
        metric: Some(metric.to_owned()),
        ..SeriesFilter::default()
    };
    let series = open(results_dir)?.series(&filter).map_err(KeepError::Store)?;
    let input = series.into_iter().map(|series| SeriesInput {
        points: series.points.iter().map(|point| (point.timestamp, point.value)).collect(),
        id: series.id,
        metric: series.metric,
        unit: series.unit,
        better: series.better,
    });
    text(&rsb_stats::trend(&input.collect::<Vec<_>>()))
}
