//! The runs that the nodes of a campaign wrote.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rsb_fleet::{FleetConfig, MetricValues, NodeState, NodeTask, NodeTrouble, StoreSection};
use rsb_model::{Better, Note, Outcome, Run, RunId};
use rsb_store::Store;

use super::burn_in::Segments;
use super::campaign::{CampaignDir, age, file_names};
use super::stored::StoreSink;
use crate::AppError;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// The run of one suite of a job.
#[derive(Debug)]
pub(super) struct StepRun {
    pub(super) run: Run,
    /// Results directory that contains the run.
    pub(super) results: PathBuf,
}

impl StepRun {
    /// Returns whether every case of the suite was reached.
    pub(super) fn is_complete(&self) -> bool {
        !self.run.is_interrupted()
    }
}

/// Runs by the number of their suite.
pub(super) type StepRuns = BTreeMap<usize, StepRun>;

/// Returns the runs of the job in `job_dir`: for each suite the first complete run, or else the
/// latest. Reports files that cannot be read to `say`.
///
/// # Errors
/// If the campaign is in a store that does not answer.
pub(super) fn step_runs(
    dir: &CampaignDir,
    job_dir: &str,
    say: &mut dyn FnMut(&str),
) -> Result<StepRuns, AppError> {
    if let Some(stored) = dir.stored() {
        return stored.step_runs(dir.place(job_dir));
    }
    let mut runs = StepRuns::new();
    for attempt in attempts(Path::new(job_dir)) {
        for number in file_names(&attempt) {
            let Ok(step) = number.parse::<usize>() else { continue };
            if runs.get(&step).is_some_and(StepRun::is_complete) {
                continue;
            }
            let results = attempt.join(&number);
            // The directory may contain a journal, too; opening it as a store would end the run of
            // a writer on another node.
            let files = file_names(&results.join("runs")).into_iter().map(PathBuf::from);
            for name in files.filter(|name| name.extension().is_some_and(|end| end == "json")) {
                match rsb_store::read_run(&results.join("runs").join(name)) {
                    Ok(run) => drop(runs.insert(step, StepRun { run, results: results.clone() })),
                    Err(error) => say(&format!("left out: {error}")),
                }
            }
        }
    }
    Ok(runs)
}

/// Returns the runs by which a node is judged: those of its suites; in a burn-in, those of the last
/// complete segment. `None` until all are complete and the time of the burn-in has passed.
pub(super) fn judged_runs(dir: &CampaignDir, task: &NodeTask, runs: StepRuns) -> Option<StepRuns> {
    if dir.campaign.duration_seconds.is_none() {
        let is_whole = runs.len() == task.suites.len() && runs.values().all(StepRun::is_complete);
        return is_whole.then_some(runs);
    }
    let last = Segments::of(task, &runs).last_numbers(task)?;
    let is_over = dir.has_succeeded(&task.node);
    is_over.then(|| runs.into_iter().filter(|(number, _)| last.contains(number)).collect())
}

/// Returns the numbers of the suites that have results in the directory of a job.
fn step_numbers(job_dir: &str) -> BTreeSet<usize> {
    let names = attempts(Path::new(job_dir)).into_iter().flat_map(|attempt| file_names(&attempt));
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Returns the results directories of a job's attempts, oldest first.
fn attempts(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u64, u64, String)> = Vec::new();
    for name in file_names(dir) {
        let Some((job, restart)) = name.strip_prefix("results.").and_then(|id| id.split_once('.'))
        else {
            continue;
        };
        if let (Ok(job), Ok(restart)) = (job.parse(), restart.parse()) {
            found.push((job, restart, name));
        }
    }
    found.sort();
    found.into_iter().map(|(_, _, name)| dir.join(name)).collect()
}

/// Returns the times of the measured cases, one per process, by case. Also returns the reason why
/// the node is not judged, if a case failed.
pub(super) fn values_of(runs: &StepRuns) -> (BTreeMap<String, MetricValues>, Option<NodeTrouble>) {
    let mut values = BTreeMap::new();
    let mut trouble = None;
    for result in runs.values().flat_map(|step| &step.run.benchmarks) {
        let id = result.benchmark_id.as_str();
        match result.outcome {
            Outcome::Measured => {
                let times = result.samples.iter().filter_map(|samples| samples.location().ok());
                let processes: Vec<f64> = times.collect();
                if !processes.is_empty() {
                    values.insert(id.to_owned(), MetricValues { better: Better::Lower, processes });
                }
            }
            Outcome::Failed => {
                let why = result.reason.as_ref().map_or("failed", |reason| reason.why.as_str());
                trouble.get_or_insert_with(|| NodeTrouble {
                    state: NodeState::Failed,
                    why: format!("{id}: {why}"),
                });
            }
            Outcome::Skipped | Outcome::Simulated => {}
        }
    }
    (values, trouble)
}

/// Returns the days since each node's last measurement in any campaign.
pub(super) fn days_since(config: &FleetConfig) -> BTreeMap<String, f64> {
    let mut latest: BTreeMap<String, SystemTime> = BTreeMap::new();
    for dir in CampaignDir::others(config, None) {
        for task in &dir.campaign.tasks {
            let path = PathBuf::from(dir.of_node(&task.node));
            let markers = file_names(&path).into_iter().filter(|name| name.starts_with("end."));
            for marker in markers {
                let written = fs::metadata(path.join(marker)).and_then(|file| file.modified());
                let Ok(written) = written else { continue };
                let known = latest.entry(task.node.clone()).or_insert(written);
                *known = written.max(*known);
            }
        }
    }
    let now = SystemTime::now();
    let days = |time| age(now, time).as_secs_f64() / SECONDS_PER_DAY;
    latest.into_iter().map(|(node, time)| (node, days(time))).collect()
}

/// Numbers of collected runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CollectCounts {
    /// Newly stored.
    pub new: usize,
    /// Stored before.
    pub known: usize,
    /// Interrupted; `fleet resume` completes them.
    pub interrupted: usize,
    /// Files that cannot be read.
    pub unreadable: usize,
}

/// A complete run of a job.
#[cfg_attr(not(feature = "postgres"), expect(dead_code))] // Only the database has places.
pub(super) struct CollectedRun {
    /// Directory of the job below that of the campaign.
    pub(super) place: String,
    /// Number of the run within the job.
    pub(super) step: usize,
    /// Directory of the attempt below that of the job.
    pub(super) attempt: String,
    /// The run, with the name of its node in its id and a note.
    pub(super) run: Run,
}

/// Longest part of a node's name in the id of a run.
const MAX_NODE_BYTES: usize = 80;

/// Stores the complete runs of the campaign in `store`, each once, however often and in whatever
/// order this is called.
///
/// # Errors
/// If the campaign has no directory, its jobs cannot be read, or the store cannot be written.
pub fn collect(
    dir: &CampaignDir,
    store: &Store,
    say: &mut dyn FnMut(&str),
) -> Result<CollectCounts, AppError> {
    collect_with(dir, &HashSet::new(), say, &mut |collected, counts, _| {
        if store.take_in(&collected.run)?.is_new {
            counts.new += 1;
        } else {
            counts.known += 1;
        }
        Ok(())
    })
}

/// As [`collect`], into the database of `[store]`, from which the campaign can be opened later.
///
/// # Errors
/// If the campaign has no directory, its jobs cannot be read, or the database does not answer.
pub fn collect_in_store(
    dir: &CampaignDir,
    section: &StoreSection,
    say: &mut dyn FnMut(&str),
) -> Result<CollectCounts, AppError> {
    dir.check_directory()?;
    let mut sink = StoreSink::open(section, dir)?;
    let known = sink.known()?;
    let mut counts = collect_with(dir, &known, say, &mut |collected, counts, say| {
        sink.add(collected, counts, say)
    })?;
    sink.flush(&mut counts, say)?;
    Ok(counts)
}

/// Stores one run, and counts it.
type Sink<'a> = &'a mut dyn FnMut(
    CollectedRun,
    &mut CollectCounts,
    &mut dyn FnMut(&str),
) -> Result<(), AppError>;

/// Passes each complete run to `sink`. A note names the node, because the host name may be
/// different. A job whose runs are all `known`, by place and number, is not read again.
fn collect_with(
    dir: &CampaignDir,
    known: &HashSet<(String, usize)>,
    say: &mut dyn FnMut(&str),
    sink: Sink<'_>,
) -> Result<CollectCounts, AppError> {
    dir.check_directory()?;
    let mut counts = CollectCounts::default();
    let mut places = BTreeMap::new();
    for record in dir.jobs()? {
        places.insert(dir.of_job(&record), record.node);
    }
    for (path, node) in places {
        let steps = step_numbers(&path);
        let is_known = |step: &usize| known.contains(&(dir.place(&path).to_owned(), *step));
        if !known.is_empty() && steps.iter().all(is_known) {
            counts.known += steps.len();
            continue;
        }
        let mut unreadable = 0;
        let runs = step_runs(dir, &path, &mut |message| {
            unreadable += 1;
            say(message);
        })?;
        counts.unreadable += unreadable;
        for (number, step) in runs {
            if !step.is_complete() {
                counts.interrupted += 1;
                continue;
            }
            let attempt = step.results.parent().and_then(Path::file_name).unwrap_or_default();
            let attempt = attempt.to_string_lossy().into_owned();
            let mut run = Run { sequence: None, ..step.run };
            // Nodes that begin in the same second give their runs the same id.
            let name: String = node.chars().take(MAX_NODE_BYTES).collect();
            run.run_id = RunId(format!("{}-{name}", run.run_id));
            let campaign = &dir.campaign.name;
            run.notes.push(Note::Text(format!("node {node} of the campaign {campaign}")));
            let place = dir.place(&path).to_owned();
            sink(CollectedRun { place, step: number, attempt, run }, &mut counts, say)?;
        }
    }
    Ok(counts)
}
