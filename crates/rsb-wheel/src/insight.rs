//! Health of the stored runs, and the status of a component.

use std::path::{Path, PathBuf};

use rsb_catalog::frameworks;
use rsb_engine::Event;
use rsb_gate::policy::{self, Thresholds};
use rsb_gate::{Directories, gate};
use rsb_insight::component_status;
use rsb_insight::health::{HealthInput, HealthLimits, health};
use rsb_insight::trends::{TrackRequest, track_read_only};
use rsb_model::{Fingerprint, Timestamp};
use rsb_report::Style;
use rsb_stats::{SeriesInput, TrendSettings, threshold_checks, trend};
use serde_json::{Map, json};

use crate::keep::{KeepError, text};
use crate::stored::{open, unwritten};
use crate::trends;

/// Metrics that are the time of an iteration.
const TIMES: [&str; 3] = ["time_ms", "time_us", "latency_ns"];

/// Number of runs before the last one with whose cases and software the last run is compared.
const EARLIER: usize = 20;

/// Returns the health page of the stored runs as `json`, `text` or `markdown`. Reads the stored
/// alerts of earlier analyses, and writes none.
pub(crate) fn health_page(results_dir: &str, format: &str) -> Result<String, KeepError> {
    let store = open(results_dir)?;
    let mut series = Vec::new();
    for metric in TIMES {
        let filter = trends::filter(Some(metric), None);
        series.extend(store.series(&filter).map_err(KeepError::Store)?);
    }
    let inputs: Vec<SeriesInput> = series.iter().map(trends::input).collect();
    let document = trend(&inputs);
    let (settings, now) = (TrendSettings::DEFAULT, Timestamp::now());
    let request = TrackRequest { series: &series, trends: &document, settings: &settings, now };
    let alerts = track_read_only(&store, &request, Path::new(".")).map_err(unwritten)?;
    let latest = store.latest().map_err(KeepError::Store)?;
    let (mut earlier, mut slugs) = (Vec::new(), Vec::new());
    if let Some(run) = &latest {
        earlier = store.runs_before(run, EARLIER).map_err(KeepError::Store)?;
        slugs = store.slugs_of(&Fingerprint::of(&run.environment)).map_err(KeepError::Store)?;
    }
    let runs = store.runs().map_err(KeepError::Store)?;
    let page = health(&HealthInput {
        latest: latest.as_ref(),
        earlier: &earlier,
        runs: runs.iter().filter(|run| slugs.contains(&run.slug)).count(),
        series: &series,
        trends: &document.series,
        alerts: &alerts,
        limits: HealthLimits::default(),
        now,
    });
    match format {
        "json" => text(&page),
        "text" => Ok(rsb_report::health::text(&page, Style::PLAIN)),
        "markdown" => Ok(rsb_report::health::markdown(&page)),
        other => Err(KeepError::Unknown(format!(
            "`{other}` is not a format of the health page; use json, text or markdown"
        ))),
    }
}

/// Returns the names of all components.
pub(crate) fn components() -> Vec<String> {
    frameworks::all().iter().map(|component| component.name.to_owned()).collect()
}

/// Returns the record of each component in the run file `run`, and its comparison with the saved
/// baseline, as JSON.
pub(crate) fn component_records(
    run: &str,
    results_dir: &str,
    policy: Option<PathBuf>,
) -> Result<String, KeepError> {
    let directories = Directories::new(Some(results_dir.into()), None, policy);
    let mut listener = |_: &Event| {};
    let policy = policy::load(&directories, &Thresholds::new(), None, &mut listener)
        .map_err(KeepError::Engine)?;
    let store = gate::open(&directories, &mut listener).map_err(KeepError::Engine)?;
    let run = rsb_store::read_run(Path::new(run)).map_err(unwritten)?;
    let checks = threshold_checks(std::slice::from_ref(&run), &policy);
    let saved = gate::against_saved(&store, &directories, &run, &policy).ok().flatten();
    let mut found = Map::new();
    for component in frameworks::all() {
        let Some(record) = component_status::record(component, &run.benchmarks, &checks) else {
            continue;
        };
        let against = saved
            .as_ref()
            .and_then(|saved| component_status::against_baseline(component, &saved.result));
        let name = component.name.to_owned();
        found.insert(name, json!({ "record": record, "comparison_to_baseline": against }));
    }
    text(&json!({
        "run_id": run.run_id,
        "started": run.started.to_string(),
        "components": found,
    }))
}

/// Returns every field of a result as JSON: name, unit, direction and meaning.
pub(crate) fn fields() -> Result<String, KeepError> {
    let rows = rsb_model::field::FIELDS.iter().map(|field| {
        json!({
            "name": field.name,
            "unit": field.unit.symbol(),
            "better": field.better(),
            "about": field.about,
        })
    });
    text(&rows.collect::<Vec<_>>())
}
