//! Progress of the jobs of a campaign.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use rsb_fleet::{FleetConfig, JobObservation, NodeProgress, node_progress};
use rsb_model::format::FORMAT_VERSION;
use serde::Serialize;

use super::campaign::{CampaignDir, JobRecord, PairTurn, age, file_names};
use super::scheduler::{QueueSnapshot, Scheduler, scheduler};
use crate::AppError;

/// Progress of a job.
#[derive(Debug, Clone, Serialize)]
pub struct NodeStatus {
    /// Name of the node.
    pub node: String,
    /// Hardware class; empty for a job of a pair.
    pub class: String,
    /// Latest job; `None` if it was not submitted.
    pub job: Option<u64>,
    /// Turn in the paired measurements of a suspect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairTurn>,
    /// Progress of the job; `None` if it was not submitted.
    #[serde(flatten)]
    pub progress: Option<NodeProgress>,
}

/// Progress of a campaign.
#[derive(Debug, Serialize)]
pub struct StatusDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// Name of the campaign.
    pub campaign: String,
    /// The planned nodes, then the jobs of paired measurements.
    pub nodes: Vec<NodeStatus>,
}

impl StatusDocument {
    /// Returns whether any job may still write results.
    pub fn is_active(&self) -> bool {
        self.nodes.iter().any(|node| node.progress.as_ref().is_some_and(NodeProgress::is_active))
    }
}

/// State of the queue, current time and time limit, from which the progress of jobs is determined.
pub(super) struct Observer {
    queue: QueueSnapshot,
    now: SystemTime,
    silent_seconds: u64,
}

impl Observer {
    /// Queries the scheduler once for those `jobs` without a completion marker. If it does not
    /// answer, progress is derived from markers and results only.
    pub(super) fn new(
        dir: &CampaignDir,
        config: &FleetConfig,
        scheduler: &dyn Scheduler,
        jobs: &[JobRecord],
    ) -> Self {
        let open: Vec<&JobRecord> =
            jobs.iter().filter(|record| dir.attempt(record).end.is_none()).collect();
        Self {
            queue: scheduler.queue(dir, &open),
            now: dir.now(),
            silent_seconds: config.silent_minutes * 60,
        }
    }

    /// Derives progress from markers and results only. Queries no scheduler and writes nothing.
    pub(super) fn without_queue(config: &FleetConfig) -> Self {
        Self {
            queue: QueueSnapshot::not_queried(),
            now: SystemTime::now(),
            silent_seconds: config.silent_minutes * 60,
        }
    }

    /// Returns the progress of a job.
    pub(super) fn progress(&self, dir: &CampaignDir, record: &JobRecord) -> NodeProgress {
        let attempt = dir.attempt(record);
        let written = Written::of(&attempt.results);
        let script = Path::new(&dir.of_job(record)).join(script_name(dir, record));
        let submitted = std::fs::metadata(script).and_then(|file| file.modified()).ok();
        let seconds = |time: SystemTime| age(self.now, time).as_secs();
        node_progress(&JobObservation {
            campaign: &dir.campaign.name,
            node: &record.node,
            queue: self.queue.answer(record),
            start: attempt.start.as_deref(),
            end: attempt.end.as_deref(),
            last_case: written.last_case.as_deref(),
            done: written.done,
            total: written.total,
            seconds_since_submit: submitted.map_or(u64::MAX, seconds),
            seconds_since_start: attempt.started.map_or(0, seconds),
            seconds_since_result: written.latest.map(seconds),
            silent_seconds: self.silent_seconds,
        })
    }
}

/// Returns the name of the script of the latest job in the directory of `record`.
fn script_name(dir: &CampaignDir, record: &JobRecord) -> String {
    let names = file_names(Path::new(&dir.of_job(record)));
    names.into_iter().rfind(|name| name.starts_with("job-")).unwrap_or_default()
}

/// Results that an attempt has written.
#[derive(Default)]
struct Written {
    done: usize,
    total: usize,
    last_case: Option<String>,
    latest: Option<SystemTime>,
}

impl Written {
    fn of(results: &Path) -> Self {
        let mut written = Self::default();
        for number in file_names(results) {
            let runs = results.join(number).join("runs");
            for name in file_names(&runs) {
                let path = runs.join(&name);
                let changed = std::fs::metadata(&path).and_then(|file| file.modified()).ok();
                written.latest = written.latest.max(changed);
                if name.ends_with(rsb_store::JOURNAL_SUFFIX) {
                    written.add_journal(&path);
                }
            }
        }
        written
    }

    fn add_journal(&mut self, path: &Path) {
        let Some(journal) = rsb_store::read_journal(path) else { return };
        self.last_case =
            journal.run.benchmarks.last().map(|result| result.benchmark_id.to_string());
        match journal.progress {
            Some(progress) => (self.done, self.total) = (progress.done, progress.total),
            None => self.total = journal.planned.unwrap_or(0),
        }
    }
}

/// Returns the progress of the nodes and paired measurements of a campaign.
///
/// # Errors
/// If the jobs of the campaign cannot be read.
pub fn status(dir: &CampaignDir, config: &FleetConfig) -> Result<StatusDocument, AppError> {
    let jobs = dir.jobs()?;
    let observer = Observer::new(dir, config, &*scheduler(config)?, &jobs);
    Ok(status_with(dir, &observer, &jobs))
}

/// As [`status`], with the progress that `observer` reports.
pub(super) fn status_with(
    dir: &CampaignDir,
    observer: &Observer,
    jobs: &[JobRecord],
) -> StatusDocument {
    let latest = latest_of_nodes(jobs);
    let mut nodes = Vec::new();
    for task in &dir.campaign.tasks {
        let record = latest.get(task.node.as_str()).copied();
        nodes.push(NodeStatus {
            node: task.node.clone(),
            class: task.class.clone(),
            job: record.map(|record| record.job),
            pair: None,
            progress: record.map(|record| observer.progress(dir, record)),
        });
    }
    for record in latest_pairs(jobs) {
        nodes.push(NodeStatus {
            node: record.node.clone(),
            class: String::new(),
            job: Some(record.job),
            pair: record.pair.clone(),
            progress: Some(observer.progress(dir, record)),
        });
    }
    let campaign = dir.campaign.name.clone();
    StatusDocument { format_version: FORMAT_VERSION, campaign, nodes }
}

/// Returns the latest job of each node itself.
pub(super) fn latest_of_nodes(jobs: &[JobRecord]) -> BTreeMap<&str, &JobRecord> {
    let own = jobs.iter().filter(|record| record.pair.is_none());
    own.map(|record| (record.node.as_str(), record)).collect()
}

/// Returns the latest job for each turn of each suspect.
pub(super) fn latest_pairs(jobs: &[JobRecord]) -> Vec<&JobRecord> {
    let mut latest: BTreeMap<(&str, usize), &JobRecord> = BTreeMap::new();
    for record in jobs {
        if let Some(pair) = &record.pair {
            latest.insert((&pair.suspect, pair.turn), record);
        }
    }
    latest.into_values().collect()
}

/// Ends the queued and running jobs of a campaign, and returns their number.
///
/// # Errors
/// If jobs are being submitted, the jobs of the campaign cannot be read, or the scheduler does not
/// answer.
pub fn cancel(dir: &CampaignDir, config: &FleetConfig) -> Result<usize, AppError> {
    let _lock = dir.lock()?;
    let jobs = dir.jobs()?;
    let scheduler = scheduler(config)?;
    let observer = Observer::new(dir, config, &*scheduler, &jobs);
    let active: Vec<&JobRecord> =
        jobs.iter().filter(|record| observer.progress(dir, record).is_active()).collect();
    if !active.is_empty() {
        scheduler.cancel(dir, &active)?;
    }
    Ok(active.len())
}
