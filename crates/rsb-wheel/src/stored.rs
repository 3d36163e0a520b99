//! Stored runs and comparisons: storing, reading, listing, exporting, and pruning.

use std::path::Path;

use rsb_model::{ComparisonResult, Run, Timestamp};
use rsb_report::ItemWriter;
use rsb_store::{Baselines, PruneRule, Store, export};
use serde_json::json;

use crate::keep::{KeepError, text};

/// Opens the store of an existing directory. Other paths are an error, so that a misspelled one
/// does not look like an empty store.
pub(crate) fn open(results_dir: &str) -> Result<Store, KeepError> {
    let path = Path::new(results_dir);
    if !path.exists() {
        return Err(KeepError::Unknown(format!(
            "results directory {results_dir} does not exist; name the directory with the stored \
             runs, or measure with `rusty-stack-bench run --results-dir {results_dir}`"
        )));
    }
    Store::open_existing(path).map_err(KeepError::Store)
}

/// Converts an error that occurred while writing a document.
pub(crate) fn unwritten(error: impl std::fmt::Display) -> KeepError {
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

/// Stores the run in the JSON text `run`, replacing a stored run with the same ID, and returns the
/// path of its file.
pub(crate) fn save_run(run: &str, results_dir: &str) -> Result<String, KeepError> {
    let mut run: Run = serde_json::from_str(run).map_err(KeepError::Records)?;
    let store = Store::open_for_writing(Path::new(results_dir)).map_err(KeepError::Store)?;
    if store.run(&run.run_id.0).is_err() {
        // The sequence number is only valid in the directory that the run was measured into.
        run.sequence = None;
    }
    let path = store.rewrite(&run).map_err(KeepError::Store)?;
    Ok(path.to_string_lossy().into_owned())
}

/// Stores the comparison in the JSON text `comparison`, and returns the path of its file.
pub(crate) fn save_comparison(comparison: &str, results_dir: &str) -> Result<String, KeepError> {
    let comparison: ComparisonResult =
        serde_json::from_str(comparison).map_err(KeepError::Comparison)?;
    let store = Store::open_for_writing(Path::new(results_dir)).map_err(KeepError::Store)?;
    let path = store.save_comparison(&comparison).map_err(KeepError::Store)?;
    Ok(path.to_string_lossy().into_owned())
}

/// Returns the stored comparisons as JSON, newest first.
pub(crate) fn comparisons(results_dir: &str) -> Result<String, KeepError> {
    let store = open(results_dir)?;
    let mut found = Vec::new();
    for row in store.comparisons().map_err(KeepError::Store)? {
        found.extend(store.comparison(&row.comparison_id).map_err(KeepError::Store)?);
    }
    text(&found)
}

/// Exports the results of the runs `run_ids`, or of all, as `csv` or `json`, in the format of the
/// subcommand `export`.
pub(crate) fn export_results(
    results_dir: &str,
    format: &str,
    run_ids: Option<&[String]>,
) -> Result<String, KeepError> {
    let store = open(results_dir)?;
    let mut runs = store.runs().map_err(KeepError::Store)?;
    if let Some(run_ids) = run_ids {
        let mut chosen = Vec::new();
        for id in run_ids {
            chosen.push(store.run(id).map_err(KeepError::Store)?.run_id);
        }
        runs.retain(|run| chosen.contains(&run.run_id));
    }
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

/// Deletes the runs older than `days`, except the newest `keep` of each machine and suite and the
/// source runs of baselines. Returns their IDs.
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
