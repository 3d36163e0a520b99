//! Submission of jobs: of a new campaign, of its missing measurements, and of the paired
//! measurements of suspects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use rsb_fleet::kubernetes::kubernetes_manifest;
use rsb_fleet::{
    CampaignPlan, FleetConfig, FleetEngine, FleetJob, FleetNode, JobStep, NodeProgress, NodeTask,
    PairSide, Suspect, job_script, not_started_marker, pair_order,
};
use rsb_model::CaseId;
use rsb_report::number::format_count;
use serde_json::{Value, json};

use super::burn_in::Segments;
use super::campaign::{CampaignDir, JobRecord, PairTurn, file_names};
use super::measured::{StepRun, StepRuns, step_runs};
use super::progress::{Observer, latest_of_nodes, latest_pairs};
use super::scheduler::{Scheduler, scheduler};
use super::{plan_for, report};
use crate::AppError;

/// Interval at which the completion markers of running jobs are read.
const MARKER_INTERVAL: Duration = Duration::from_secs(1);

/// Numbers of submitted jobs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SubmitCounts {
    /// Jobs that measure a node.
    pub nodes: usize,
    /// Jobs of paired measurements.
    pub pairs: usize,
    /// Jobs that could not be started.
    pub failed: usize,
}

/// Submits a new campaign: one job per node. `version` is what `--version` of the program prints.
/// Nothing is submitted if the scheduler would refuse the job of any hardware class. Without a
/// scheduler that takes all jobs at once, returns when the last job has started; reports problems
/// of single nodes to `say`.
///
/// # Errors
/// If no node can be measured, the name is taken, the directory cannot be written, or the scheduler
/// refuses a job.
pub fn submit(
    config: &FleetConfig,
    name: Option<&str>,
    version: &str,
    say: &mut dyn FnMut(&str),
) -> Result<(CampaignDir, SubmitCounts), AppError> {
    let scheduler = scheduler(config)?;
    let nodes = scheduler.inventory()?;
    let plan = plan_of_nodes(config, &nodes)?;
    check(config, &*scheduler, &plan.tasks)?;
    let dir = CampaignDir::create(config, name, version, &nodes, plan)?;
    let _lock = dir.lock()?;
    let jobs = first_jobs(&dir, config);
    let counts = Submission { dir: &dir, config, scheduler: &*scheduler, number: 0 }
        .submit_all(jobs, say)?;
    Ok((dir, counts))
}

/// Returns the plan for `nodes`.
fn plan_of_nodes(config: &FleetConfig, nodes: &[FleetNode]) -> Result<CampaignPlan, AppError> {
    let plan = plan_for(config, nodes);
    if plan.tasks.is_empty() {
        let reasons: BTreeSet<String> =
            plan.skipped.iter().map(|node| node.reason.to_string()).collect();
        let reasons: Vec<String> = reasons.into_iter().collect();
        return Err(AppError::usage(anyhow!("nothing to submit: {}", reasons.join("; "))));
    }
    Ok(plan)
}

/// Returns the jobs of a new campaign.
fn first_jobs(dir: &CampaignDir, config: &FleetConfig) -> Vec<NewJob> {
    let mut jobs = Vec::new();
    for (at, task) in dir.campaign.tasks.iter().enumerate() {
        jobs.push(NewJob {
            record: JobRecord { job: 0, node: task.node.clone(), pair: None },
            steps: steps_of(dir, task, &StepRuns::new()),
            lane: at % config.max_parallel,
            wait_seconds: stagger(config, at),
            expected_seconds: task.starts_after_seconds,
        });
    }
    jobs
}

/// Returns the manifests of a new campaign's jobs for Kubernetes, or of the missing jobs if there is
/// a campaign called `name`, as one list. They are recorded as submitted, but nothing is created.
/// Pairs are left out, because their order is not part of a manifest.
///
/// # Errors
/// As for [`submit`], or if the engine is not Kubernetes.
pub fn manifests(
    config: &FleetConfig,
    name: Option<&str>,
    version: &str,
    say: &mut dyn FnMut(&str),
) -> Result<(CampaignDir, Value), AppError> {
    let FleetEngine::Kubernetes(section) = config.engine() else {
        return Err(AppError::usage(anyhow!(
            "`fleet manifests` needs the engine `[kubernetes]`; use `fleet submit`"
        )));
    };
    let scheduler = scheduler(config)?;
    let known = name.and_then(|name| CampaignDir::open(config, Some(name)).ok());
    let (dir, _lock, jobs) = if let Some(dir) = known {
        let lock = dir.lock()?;
        let jobs = missing_jobs(&dir, config, &*scheduler, say)?;
        (dir, lock, jobs)
    } else {
        let nodes = scheduler.inventory()?;
        let plan = plan_of_nodes(config, &nodes)?;
        let dir = CampaignDir::create(config, name, version, &nodes, plan)?;
        let lock = dir.lock()?;
        let jobs = first_jobs(&dir, config);
        (dir, lock, jobs)
    };
    let number = highest_number(&dir.jobs()?);
    let mut submission = Submission { dir: &dir, config, scheduler: &*scheduler, number };
    let mut items = Vec::new();
    for job in jobs.into_iter().filter(|job| job.record.pair.is_none()) {
        let written = submission.write_script(job)?;
        items.push(kubernetes_manifest(&submission.fleet_job(&written), section, &written.script));
        dir.record(&written.job.record)?;
    }
    Ok((dir, json!({ "apiVersion": "v1", "kind": "List", "items": items })))
}

/// Returns the highest number of a job.
fn highest_number(jobs: &[JobRecord]) -> u64 {
    jobs.iter().map(|record| record.job).max().unwrap_or(0)
}

/// Checks that the scheduler would accept the job of one node of each class.
fn check(
    config: &FleetConfig,
    scheduler: &dyn Scheduler,
    tasks: &[NodeTask],
) -> Result<(), AppError> {
    let mut classes = BTreeSet::new();
    let firsts = tasks.iter().filter(|task| classes.insert(&task.class));
    let jobs = firsts.map(|task| FleetJob {
        config,
        campaign: "check",
        node: &task.node,
        number: 0,
        dir: "/tmp",
        steps: &[],
        lane: 0,
        wait_seconds: 0,
        expected_seconds: task.starts_after_seconds,
        version: "",
    });
    scheduler.check(&jobs.collect::<Vec<_>>())
}

/// Returns the start delay in seconds of job number `at`. The first jobs of the lanes start one
/// after the other.
fn stagger(config: &FleetConfig, at: usize) -> u64 {
    if at < config.max_parallel { at as u64 * config.stagger_seconds } else { 0 }
}

/// A job that is about to be submitted.
struct NewJob {
    record: JobRecord,
    steps: Vec<JobStep>,
    lane: usize,
    wait_seconds: u64,
    expected_seconds: u64,
}

/// Submission of jobs of a campaign.
struct Submission<'a> {
    dir: &'a CampaignDir,
    config: &'a FleetConfig,
    scheduler: &'a dyn Scheduler,
    /// Highest number of a submitted job.
    number: u64,
}

impl Submission<'_> {
    /// Submits `jobs` and returns their numbers.
    fn submit_all(
        mut self,
        jobs: Vec<NewJob>,
        say: &mut dyn FnMut(&str),
    ) -> Result<SubmitCounts, AppError> {
        if !self.scheduler.has_lanes() {
            return self.start_in_turn(jobs, say);
        }
        let mut counts = SubmitCounts::default();
        let began = Instant::now();
        let pause = Duration::from_secs(1) / self.config.submissions_per_second;
        for (at, job) in (0..).zip(jobs) {
            std::thread::sleep((pause * at).saturating_sub(began.elapsed()));
            let is_pair = job.record.pair.is_some();
            self.submit(job).map_err(|error| self.partly(error, counts.nodes))?;
            counts.add(is_pair);
        }
        Ok(counts)
    }

    /// Returns the error of a submission that ended after `submitted` nodes.
    fn partly(&self, error: AppError, submitted: usize) -> AppError {
        let name = &self.dir.campaign.name;
        let done = format!(
            "{submitted} nodes of campaign {name} submitted; `fleet resume` submits the rest"
        );
        AppError { error: error.error.context(done), ..error }
    }

    /// Starts at most `max_parallel` jobs, and each further one when another has ended. Returns when
    /// the last one has started.
    fn start_in_turn(
        &mut self,
        mut waiting: Vec<NewJob>,
        say: &mut dyn FnMut(&str),
    ) -> Result<SubmitCounts, AppError> {
        let began = Instant::now();
        let mut counts = SubmitCounts::default();
        let mut active = self.still_active(self.dir.jobs()?);
        let mut asked = Instant::now();
        let mut is_told = false;
        while !waiting.is_empty() {
            let next = waiting.iter().position(|job| job.can_start(&active, began, &waiting));
            if let Some(next) = next.filter(|_| active.len() < self.config.max_parallel) {
                let job = waiting.remove(next);
                let (is_pair, node) = (job.record.pair.is_some(), job.record.node.clone());
                match self.submit(job) {
                    Ok(record) => {
                        counts.add(is_pair);
                        active.push(record);
                    }
                    Err(error) => {
                        counts.failed += 1;
                        say(&format!("warning: {node} was not started: {:#}", error.error));
                    }
                }
                continue;
            }
            if !is_told {
                let left = format_count(waiting.len(), "job waits", "jobs wait");
                say(&format!("{left} for others to end; Ctrl-C leaves started jobs alone"));
                is_told = true;
            }
            std::thread::sleep(MARKER_INTERVAL);
            active.retain(|record| self.dir.attempt(record).end.is_none());
            if asked.elapsed() >= Duration::from_secs(self.config.poll_seconds) {
                active = self.still_active(active);
                asked = Instant::now();
            }
        }
        Ok(counts)
    }

    /// Returns those jobs that may still measure. A node that does not answer does not delay the
    /// others.
    fn still_active(&self, mut jobs: Vec<JobRecord>) -> Vec<JobRecord> {
        let observer = Observer::new(self.dir, self.config, self.scheduler, &jobs);
        jobs.retain(|record| {
            let progress = observer.progress(self.dir, record);
            progress.is_active() && !matches!(progress, NodeProgress::NotReachable { .. })
        });
        jobs
    }

    /// Gives a job the next number, and writes its script.
    fn write_script(&mut self, mut job: NewJob) -> Result<WrittenJob, AppError> {
        self.number += 1;
        job.record.job = self.number;
        let path = self.dir.of_job(&job.record);
        let scripts = file_names(Path::new(&path)).into_iter().filter(|name| is_script(name));
        let script = format!("{path}/job-{:03}.sh", scripts.count() + 1);
        let written = WrittenJob { job, path, script };
        fs::create_dir_all(&written.path)
            .and_then(|()| fs::write(&written.script, job_script(&self.fleet_job(&written))))
            .with_context(|| format!("cannot write `{}`", written.script))?;
        Ok(written)
    }

    fn fleet_job<'b>(&'b self, written: &'b WrittenJob) -> FleetJob<'b> {
        let WrittenJob { job, path, .. } = written;
        FleetJob {
            config: self.config,
            campaign: &self.dir.campaign.name,
            node: &job.record.node,
            number: job.record.job,
            dir: path,
            steps: &job.steps,
            lane: job.lane,
            wait_seconds: job.wait_seconds,
            expected_seconds: job.expected_seconds,
            version: &self.dir.campaign.version,
        }
    }

    /// Writes the script of a job, submits it, and records the job.
    fn submit(&mut self, job: NewJob) -> Result<JobRecord, AppError> {
        let mut written = self.write_script(job)?;
        if self.scheduler.has_lanes() {
            let id = self.scheduler.submit(&self.fleet_job(&written), &written.script)?;
            written.job.record.job = id;
            self.dir.record(&written.job.record)?;
            return Ok(written.job.record);
        }
        // The number is recorded first: a job may run although the answer to its start is lost. A
        // job that finds the marker ends at once.
        self.dir.record(&written.job.record)?;
        let job = self.fleet_job(&written);
        self.scheduler.submit(&job, &written.script).inspect_err(|_| {
            let text = not_started_marker(job.campaign, job.node, job.number);
            drop(fs::write(format!("{}/end.{}.0", job.dir, job.number), text));
        })?;
        Ok(written.job.record)
    }
}

/// A job whose script is written.
struct WrittenJob {
    job: NewJob,
    /// Directory of its markers and results.
    path: String,
    script: String,
}

impl NewJob {
    /// Returns whether the job need not wait: for its time, for another job of its node, or for an
    /// earlier turn of its pairs.
    fn can_start(&self, active: &[JobRecord], began: Instant, waiting: &[Self]) -> bool {
        let is_before = |other: &JobRecord| match (&self.record.pair, &other.pair) {
            (Some(own), Some(pair)) => pair.suspect == own.suspect && pair.turn < own.turn,
            _ => false,
        };
        began.elapsed() >= Duration::from_secs(self.wait_seconds)
            && !active.iter().any(|other| other.node == self.record.node || is_before(other))
            && !waiting.iter().any(|other| is_before(&other.record))
    }
}

impl SubmitCounts {
    const fn add(&mut self, is_pair: bool) {
        if is_pair {
            self.pairs += 1;
        } else {
            self.nodes += 1;
        }
    }
}

fn is_script(name: &str) -> bool {
    name.starts_with("job-")
}

/// Returns the suites of a node that are not complete. An interrupted suite is continued. In a
/// burn-in, returns those of the next segment, to be repeated for the remaining time.
fn steps_of(dir: &CampaignDir, task: &NodeTask, runs: &StepRuns) -> Vec<JobStep> {
    let mut steps = Vec::new();
    if let Some(duration) = dir.campaign.duration_seconds {
        if dir.has_succeeded(&task.node) {
            return steps;
        }
        let segments = Segments::of(task, runs);
        let left = duration.saturating_sub(segments.seconds()).max(1);
        let repeat_for = Some(Duration::from_secs(left));
        let first = segments.next_number(task);
        for (at, suite) in task.suites.iter().enumerate() {
            let suite = suite.clone();
            steps.push(JobStep { number: first + at, suite, continues: None, repeat_for });
        }
        return steps;
    }
    for (at, suite) in task.suites.iter().enumerate() {
        let number = at + 1;
        let earlier = runs.get(&number);
        if earlier.is_some_and(StepRun::is_complete) {
            continue;
        }
        let continues = earlier.map(|step| step.results.display().to_string());
        steps.push(JobStep { number, suite: suite.clone(), continues, repeat_for: None });
    }
    steps
}

/// Submits the missing jobs of a campaign: those of nodes whose job ended without all results, and
/// the paired measurements of suspects. Queued and running jobs are not changed. Returns as
/// [`submit`] does.
///
/// # Errors
/// If the campaign cannot be read, or the scheduler refuses a job.
pub fn resume(
    dir: &CampaignDir,
    config: &FleetConfig,
    say: &mut dyn FnMut(&str),
) -> Result<SubmitCounts, AppError> {
    let _lock = dir.lock()?;
    let scheduler = scheduler(config)?;
    let new = missing_jobs(dir, config, &*scheduler, say)?;
    let number = highest_number(&dir.jobs()?);
    Submission { dir, config, scheduler: &*scheduler, number }.submit_all(new, say)
}

/// Returns the missing jobs of a campaign.
fn missing_jobs(
    dir: &CampaignDir,
    config: &FleetConfig,
    scheduler: &dyn Scheduler,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<NewJob>, AppError> {
    let jobs = dir.jobs()?;
    let observer = Observer::new(dir, config, scheduler, &jobs);
    let latest = latest_of_nodes(&jobs);
    let mut new = Vec::new();
    for (at, task) in dir.campaign.tasks.iter().enumerate() {
        let steps = steps_of(dir, task, &step_runs(dir, &dir.of_node(&task.node), say)?);
        let record = latest.get(task.node.as_str());
        let progress = record.map(|record| observer.progress(dir, record));
        if steps.is_empty() || progress.as_ref().is_some_and(NodeProgress::is_active) {
            if let Some(NodeProgress::Stale { why } | NodeProgress::NotReachable { why }) = progress
            {
                say(&format!("note: {} is not submitted again: {why}", task.node));
            }
            continue;
        }
        new.push(NewJob {
            record: JobRecord { job: 0, node: task.node.clone(), pair: None },
            steps,
            lane: at % config.max_parallel,
            wait_seconds: stagger(config, new.len()),
            expected_seconds: task.starts_after_seconds,
        });
    }
    for record in latest_pairs(&jobs) {
        let is_failed = matches!(observer.progress(dir, record), NodeProgress::Failed { .. });
        if let (true, Some(pair)) = (is_failed, &record.pair) {
            new.push(turn_job(dir, config, pair, &record.node, 0)?);
        }
    }
    let suspects = report::report(dir, config, &mut |_| {})?.report.suspects;
    for (at, suspect) in suspects.iter().enumerate() {
        let is_known =
            |one: &JobRecord| one.pair.as_ref().is_some_and(|pair| pair.suspect == suspect.node);
        if !jobs.iter().any(is_known) {
            new.extend(pair_jobs(dir, config, suspect, at % config.max_parallel)?);
        }
    }
    Ok(new)
}

/// Returns the jobs of the paired measurements of a suspect, in one lane, so that they run in
/// order.
fn pair_jobs(
    dir: &CampaignDir,
    config: &FleetConfig,
    suspect: &Suspect,
    lane: usize,
) -> Result<Vec<NewJob>, AppError> {
    let Some(reference) = &suspect.reference else { return Ok(Vec::new()) };
    let mut jobs = Vec::new();
    for (at, side) in pair_order(config.verdict.confirm_rounds).iter().enumerate() {
        let node = if *side == PairSide::Suspect { &suspect.node } else { reference };
        let pair = PairTurn {
            suspect: suspect.node.clone(),
            metric: suspect.metric.clone(),
            slower_percent: suspect.slower_percent,
            turn: at + 1,
        };
        jobs.push(turn_job(dir, config, &pair, node, lane)?);
    }
    Ok(jobs)
}

fn turn_job(
    dir: &CampaignDir,
    config: &FleetConfig,
    pair: &PairTurn,
    node: &str,
    lane: usize,
) -> Result<NewJob, AppError> {
    let task = dir.campaign.tasks.iter().find(|task| task.node == pair.suspect);
    let task = task.with_context(|| format!("{} has no task in the plan", pair.suspect))?;
    let runs = step_runs(dir, &dir.of_node(&pair.suspect), &mut |_| {})?;
    Ok(NewJob {
        record: JobRecord { job: 0, node: node.to_owned(), pair: Some(pair.clone()) },
        steps: vec![pair_step(task, &runs, &pair.metric)?],
        lane,
        wait_seconds: config.verdict.confirm_after_minutes * 60,
        expected_seconds: (pair.turn - 1) as u64 * task.minutes * 60,
    })
}

/// Returns the step that measures the benchmark of the case `metric` again.
fn pair_step(task: &NodeTask, runs: &StepRuns, metric: &str) -> Result<JobStep, AppError> {
    let has_case = |step: &StepRun| {
        step.run.benchmarks.iter().any(|result| result.benchmark_id.as_str() == metric)
    };
    let number = runs.iter().find(|(_, step)| has_case(step)).map(|(number, _)| *number);
    let suite = number.and_then(|number| task.suites.get(number.checked_sub(1)?));
    let mut suite =
        suite.with_context(|| format!("no suite of {} has {metric}", task.node))?.clone();
    let benchmark = metric.parse::<CaseId>().ok();
    if let Some(name) = benchmark.as_ref().and_then(CaseId::benchmark) {
        suite.benchmarks = vec![name.to_owned()];
    }
    Ok(JobStep { number: 1, suite, continues: None, repeat_for: None })
}
