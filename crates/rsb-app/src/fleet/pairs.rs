//! Paired measurements: a suspect and a node of its class that passed are measured alternately.

use std::collections::BTreeMap;

use rsb_fleet::{Confirmation, FleetConfig, JobPair, MetricValues, confirm};

use super::campaign::{CampaignDir, JobRecord};
use super::measured::{StepRun, step_runs, values_of};
use super::progress::latest_pairs;
use crate::AppError;

/// Returns the result of the paired measurements of each suspect whose jobs are all complete.
///
/// # Errors
/// If the campaign is in a store that does not answer.
pub(super) fn confirmations(
    dir: &CampaignDir,
    jobs: &[JobRecord],
    config: &FleetConfig,
) -> Result<BTreeMap<String, Confirmation>, AppError> {
    let mut turns: BTreeMap<&str, Vec<&JobRecord>> = BTreeMap::new();
    for record in latest_pairs(jobs) {
        if let Some(pair) = &record.pair {
            turns.entry(&pair.suspect).or_default().push(record);
        }
    }
    let mut results = BTreeMap::new();
    for (suspect, records) in turns {
        let slower = records.iter().find_map(|record| Some(record.pair.as_ref()?.slower_percent));
        if let (Some(pairs), Some(slower)) = (job_pairs(dir, &records)?, slower) {
            results.insert(suspect.to_owned(), confirm(&pairs, slower, &config.verdict));
        }
    }
    Ok(results)
}

/// Returns the pairs of one suspect. `records` are its jobs in the order of their turns. `None` if
/// a job is not complete.
fn job_pairs(dir: &CampaignDir, records: &[&JobRecord]) -> Result<Option<Vec<JobPair>>, AppError> {
    let mut pairs = Vec::new();
    for two in records.chunks(2) {
        let (mut reference, mut suspect) = (None, None);
        for record in two {
            let Some(pair) = &record.pair else { return Ok(None) };
            let side = if record.node == pair.suspect { &mut suspect } else { &mut reference };
            *side = turn_values(dir, record, &pair.metric)?;
        }
        let (Some(reference), Some(suspect)) = (reference, suspect) else { return Ok(None) };
        pairs.push(JobPair { reference, suspect });
    }
    Ok(Some(pairs))
}

/// Returns the values of one turn; `None` if its job is not complete.
fn turn_values(
    dir: &CampaignDir,
    record: &JobRecord,
    metric: &str,
) -> Result<Option<MetricValues>, AppError> {
    let runs = step_runs(dir, &dir.of_job(record), &mut |_| {})?;
    if runs.is_empty() || !runs.values().all(StepRun::is_complete) {
        return Ok(None);
    }
    let (mut values, _) = values_of(&runs);
    // If a complete run lacks the case, its pair has no values and cannot be used.
    let missing = MetricValues { better: rsb_model::Better::Lower, processes: Vec::new() };
    Ok(Some(values.remove(metric).unwrap_or(missing)))
}
