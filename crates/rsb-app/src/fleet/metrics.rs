//! States of the newest campaign as metrics.

use std::collections::BTreeMap;
use std::path::Path;

use rsb_fleet::FLEET_FILE_NAME;
use rsb_report::metrics::CampaignMetrics;
use serde::Serialize;
use serde_json::Value;

use super::campaign::CampaignDir;
use super::progress::status;
use super::read_config;
use super::report::report_with;
use crate::AppError;

/// State of a node without a job.
const NOT_SUBMITTED: &str = "not_submitted";

const JOB_STATES: [&str; 7] =
    [NOT_SUBMITTED, "queued", "running", "done", "failed", "not_reachable", "stale"];

const NODE_STATES: [&str; 6] = ["ok", "slow", "undecided", "not_measured", "failed", "error"];

/// Returns the states of the newest campaign; `None` if the current directory has no `fleet.toml`,
/// or no campaign was submitted. Queries the scheduler once.
///
/// # Errors
/// If the configuration is invalid, or the campaign cannot be read.
pub fn metrics() -> Result<Option<CampaignMetrics>, AppError> {
    if !Path::new(FLEET_FILE_NAME).exists() {
        return Ok(None);
    }
    let config = read_config(None)?;
    let Some(dir) = CampaignDir::latest(&config)? else { return Ok(None) };
    let status = status(&dir, &config)?;
    let mut metrics = CampaignMetrics {
        campaign: dir.campaign.name.clone(),
        jobs: zeros(&JOB_STATES),
        nodes: zeros(&NODE_STATES),
        ..CampaignMetrics::default()
    };
    for job in &status.nodes {
        *metrics.jobs.entry(state_name(job)).or_default() += 1;
    }
    let document = report_with(&dir, &config, status, &mut |_| {})?;
    for node in document.report.nodes {
        let state = state_name(&node);
        *metrics.nodes.entry(state.clone()).or_default() += 1;
        metrics.node_states.insert(node.name, state);
    }
    Ok(Some(metrics))
}

fn zeros(states: &[&str]) -> BTreeMap<String, usize> {
    states.iter().map(|state| ((*state).to_owned(), 0)).collect()
}

/// Returns the state of a node or job as in its JSON document.
pub(super) fn state_name(of: &impl Serialize) -> String {
    let document = serde_json::to_value(of).unwrap_or_default();
    let state = document.get("state").and_then(Value::as_str);
    state.unwrap_or(NOT_SUBMITTED).to_owned()
}
