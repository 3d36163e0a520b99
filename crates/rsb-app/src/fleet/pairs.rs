//! Paired measurements: a suspect and a node of its class that passed are measured alternately.

use std::collections::BTreeMap;

use rsb_fleet::{Confirmation, FleetConfig, JobPair, MetricValues, confirm};

use super::campaign::{CampaignDir, JobRecord};
use super::measured::{StepRun, step_runs, values_of};
use super::progress::latest_pairs;

/// Returns the result of the paired measurements of each suspect whose jobs are all complete.
pub(super) fn confirmations(
    dir: &CampaignDir,
    jobs: &[JobRecord],
    config: &FleetConfig,
) -> BTreeMap<String, Confirmation> {
    let mut turns: BTreeMap<&str, Vec<&JobRecord>> = BTreeMap::new();
    for record in latest_pairs(jobs) {
        if let Some(pair) = &record.pair {
            turns.entry(&pair.suspect).or_default().push(record);
        }
    }
    let mut results = BTreeMap::new();
    for (suspect, records) in turns {
        let slower = records.iter().find_map(|record| Some(record.pair.as_ref()?.slower_percent));
        if let (Some(pairs), Some(slower)) = (job_pairs(dir, &records), slower) {
            results.insert(suspect.to_owned(), confirm(&pairs, slower, &config.verdict));
        }
    }
    results
}

/// Returns the pairs of one suspect. `records` are its jobs in the order of their turns. `None` if
/// a job is not complete.
fn job_pairs(dir: &CampaignDir, records: &[&JobRecord]) -> Option<Vec<JobPair>> {
    let mut pairs = Vec::new();
    for two in records.chunks(2) {
        let (mut reference, mut suspect) = (None, None);
        for record in two {
            let pair = record.pair.as_ref()?;
            let side = if record.node == pair.suspect { &mut suspect } else { &mut reference };
            *side = Some(turn_values(dir, record, &pair.metric)?);
        }
        pairs.push(JobPair { reference: reference?, suspect: suspect? });
    }
    Some(pairs)
}

fn turn_values(dir: &CampaignDir, record: &JobRecord, metric: &str) -> Option<MetricValues> {
    let runs = step_runs(&dir.of_job(record), &mut |_| {});
    if runs.is_empty() || !runs.values().all(StepRun::is_complete) {
        return None;
    }
    let (mut values, _) = values_of(&runs);
    // If a complete run lacks the case, its pair has no values and cannot be used.
    let missing = MetricValues { better: rsb_model::Better::Lower, processes: Vec::new() };
    Some(values.remove(metric).unwrap_or(missing))
}
