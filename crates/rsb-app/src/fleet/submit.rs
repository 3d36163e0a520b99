//! Submission of jobs: of a new campaign, of its missing measurements, and of the paired
//! measurements of suspects.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use rsb_fleet::{
    FleetConfig, FleetJob, JobStep, NodeProgress, NodeTask, PairSide, Suspect, job_script,
    pair_order, sbatch_command,
};
use rsb_model::CaseId;

use super::campaign::{CampaignDir, JobRecord, PairTurn, file_names};
use super::measured::{StepRun, StepRuns, step_runs};
use super::progress::{Observer, is_active, latest_pairs};
use super::{plan_for, report, scheduler};
use crate::AppError;

/// Numbers of submitted jobs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SubmitCounts {
    /// Jobs that measure a node.
    pub nodes: usize,
    /// Jobs of paired measurements.
    pub pairs: usize,
}

/// Submits a new campaign: one job per node. `version` is what `--version` of the program prints.
/// Nothing is submitted if Slurm would refuse the job of any hardware class.
///
/// # Errors
/// If no node can be measured, the name is taken, the directory cannot be written, or Slurm
/// refuses a job.
pub fn submit(
    config: &FleetConfig,
    name: Option<&str>,
    version: &str,
) -> Result<(CampaignDir, SubmitCounts), AppError> {
    let nodes = scheduler::inventory(config)?;
    let plan = plan_for(config, &nodes);
    if plan.tasks.is_empty() {
        let reasons: BTreeSet<String> =
            plan.skipped.iter().map(|node| node.reason.to_string()).collect();
        let reasons: Vec<String> = reasons.into_iter().collect();
        return Err(AppError::usage(anyhow!("nothing to submit: {}", reasons.join("; "))));
    }
    check(config, &plan.tasks)?;
    let dir = CampaignDir::create(config, name, version, &nodes, plan)?;
    let mut counts = SubmitCounts::default();
    for (at, task) in dir.campaign.tasks.iter().enumerate() {
        let steps = steps_of(task, &StepRuns::new());
        let job = NewJob {
            record: JobRecord { job: 0, node: task.node.clone(), pair: None },
            steps,
            lane: at % config.max_parallel,
            wait_seconds: stagger(config, at),
            expected_seconds: task.starts_after_seconds,
        };
        job.submit(&dir, config).map_err(|error| partly(error, &dir, counts.nodes))?;
        counts.nodes += 1;
    }
    Ok((dir, counts))
}

/// Returns the error of a submission that ended after `submitted` nodes.
fn partly(error: AppError, dir: &CampaignDir, submitted: usize) -> AppError {
    let nodes = dir.campaign.tasks.len();
    let name = &dir.campaign.name;
    let done = format!(
        "{submitted} of {nodes} nodes of campaign {name} submitted; `fleet resume` submits the rest"
    );
    AppError { error: error.error.context(done), ..error }
}

/// Checks that Slurm would accept the job of one node of each class.
fn check(config: &FleetConfig, tasks: &[NodeTask]) -> Result<(), AppError> {
    let script = tempfile::NamedTempFile::new()?;
    fs::write(script.path(), "#!/bin/sh\n")?;
    let mut classes = BTreeSet::new();
    for task in tasks {
        if classes.insert(&task.class) {
            let job = FleetJob {
                config,
                campaign: "check",
                node: &task.node,
                dir: "/tmp",
                steps: &[],
                lane: 0,
                wait_seconds: 0,
                expected_seconds: task.starts_after_seconds,
                version: "",
            };
            let path = script.path().display().to_string();
            scheduler::check(&sbatch_command(&job, &path))?;
        }
    }
    Ok(())
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

impl NewJob {
    /// Writes the script, submits it, and records the job.
    fn submit(mut self, dir: &CampaignDir, config: &FleetConfig) -> Result<(), AppError> {
        let path = dir.of_job(&self.record);
        let scripts = file_names(Path::new(&path)).into_iter().filter(|name| is_script(name));
        let script = format!("{path}/job-{:03}.sh", scripts.count() + 1);
        let job = FleetJob {
            config,
            campaign: &dir.campaign.name,
            node: &self.record.node,
            dir: &path,
            steps: &self.steps,
            lane: self.lane,
            wait_seconds: self.wait_seconds,
            expected_seconds: self.expected_seconds,
            version: &dir.campaign.version,
        };
        fs::create_dir_all(&path)
            .and_then(|()| fs::write(&script, job_script(&job)))
            .with_context(|| format!("cannot write `{script}`"))?;
        self.record.job = scheduler::submit(&sbatch_command(&job, &script))?;
        dir.record(&self.record)
    }
}

fn is_script(name: &str) -> bool {
    name.starts_with("job-")
}

/// Returns the suites of a node that are not complete. An interrupted suite is continued.
fn steps_of(task: &NodeTask, runs: &StepRuns) -> Vec<JobStep> {
    let mut steps = Vec::new();
    for (at, suite) in task.suites.iter().enumerate() {
        let number = at + 1;
        let earlier = runs.get(&number);
        if earlier.is_some_and(StepRun::is_complete) {
            continue;
        }
        let continues = earlier.map(|step| step.results.display().to_string());
        steps.push(JobStep { number, suite: suite.clone(), continues });
    }
    steps
}

/// Submits the missing jobs of a campaign: those of nodes whose job ended without all results, and
/// the paired measurements of suspects. Queued and running jobs are not changed.
///
/// # Errors
/// If the campaign cannot be read, or Slurm refuses a job.
pub fn resume(
    dir: &CampaignDir,
    config: &FleetConfig,
    say: &mut dyn FnMut(&str),
) -> Result<SubmitCounts, AppError> {
    let jobs = dir.jobs()?;
    let observer = Observer::new(dir, config);
    let mut counts = SubmitCounts::default();
    for (at, task) in dir.campaign.tasks.iter().enumerate() {
        let steps = steps_of(task, &step_runs(&dir.of_node(&task.node), say));
        let record = jobs.iter().rfind(|one| one.pair.is_none() && one.node == task.node);
        let progress = record.map(|record| observer.progress(dir, record));
        if steps.is_empty() || progress.as_ref().is_some_and(is_active) {
            if let Some(NodeProgress::Stale { why } | NodeProgress::NotReachable { why }) = progress
            {
                say(&format!("note: {} is not submitted again: {why}", task.node));
            }
            continue;
        }
        let job = NewJob {
            record: JobRecord { job: 0, node: task.node.clone(), pair: None },
            steps,
            lane: at % config.max_parallel,
            wait_seconds: stagger(config, counts.nodes),
            expected_seconds: task.starts_after_seconds,
        };
        job.submit(dir, config)?;
        counts.nodes += 1;
    }
    for record in latest_pairs(&jobs) {
        let is_failed = matches!(observer.progress(dir, record), NodeProgress::Failed { .. });
        if let (true, Some(pair)) = (is_failed, &record.pair) {
            submit_turn(dir, config, pair, &record.node, 0)?;
            counts.pairs += 1;
        }
    }
    let suspects = report::report(dir, config, &mut |_| {})?.report.suspects;
    for (at, suspect) in suspects.iter().enumerate() {
        let is_known =
            |one: &JobRecord| one.pair.as_ref().is_some_and(|pair| pair.suspect == suspect.node);
        if !jobs.iter().any(is_known) {
            counts.pairs += submit_pairs(dir, config, suspect, at % config.max_parallel)?;
        }
    }
    Ok(counts)
}

/// Submits the paired measurements of a suspect in one lane, so that they run in order. Returns the
/// number of jobs.
fn submit_pairs(
    dir: &CampaignDir,
    config: &FleetConfig,
    suspect: &Suspect,
    lane: usize,
) -> Result<usize, AppError> {
    let Some(reference) = &suspect.reference else { return Ok(0) };
    let order = pair_order(config.verdict.confirm_rounds);
    for (at, side) in order.iter().enumerate() {
        let node = if *side == PairSide::Suspect { &suspect.node } else { reference };
        let pair = PairTurn {
            suspect: suspect.node.clone(),
            metric: suspect.metric.clone(),
            slower_percent: suspect.slower_percent,
            turn: at + 1,
        };
        submit_turn(dir, config, &pair, node, lane)?;
    }
    Ok(order.len())
}

fn submit_turn(
    dir: &CampaignDir,
    config: &FleetConfig,
    pair: &PairTurn,
    node: &str,
    lane: usize,
) -> Result<(), AppError> {
    let task = dir.campaign.tasks.iter().find(|task| task.node == pair.suspect);
    let task = task.with_context(|| format!("{} has no task in the plan", pair.suspect))?;
    let runs = step_runs(&dir.of_node(&pair.suspect), &mut |_| {});
    let job = NewJob {
        record: JobRecord { job: 0, node: node.to_owned(), pair: Some(pair.clone()) },
        steps: vec![pair_step(task, &runs, &pair.metric)?],
        lane,
        wait_seconds: config.verdict.confirm_after_minutes * 60,
        expected_seconds: (pair.turn - 1) as u64 * task.minutes * 60,
    };
    job.submit(dir, config)
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
    Ok(JobStep { number: 1, suite, continues: None })
}
