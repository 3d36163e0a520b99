//! Engines that start the jobs of a campaign, through their commands as child processes.

mod kubernetes;
pub(super) mod slurm;
mod ssh;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use anyhow::anyhow;
use rsb_fleet::{FleetConfig, FleetEngine, FleetJob, FleetNode, QueueAnswer, QueueLine};
use timed_child::ChildBounds;

use super::campaign::{CampaignDir, JobRecord};
use crate::AppError;

/// Time limit of a command.
const LIMIT: Duration = Duration::from_mins(1);
/// Memory of a command; `kubectl` keeps an answer several times.
const MEMORY_BYTES: u64 = 4 << 30;
/// Maximum size of an answer, for the nodes of a large cluster.
const ANSWER_BYTES: u64 = 512 << 20;

/// An engine that starts the jobs of a campaign.
pub(super) trait Scheduler {
    /// Returns the nodes that fit the configuration.
    fn inventory(&self) -> Result<Vec<FleetNode>, AppError>;

    /// Checks that the engine would accept the jobs, without submitting them.
    fn check(&self, jobs: &[FleetJob<'_>]) -> Result<(), AppError>;

    /// Returns whether the engine takes all jobs of a campaign at once, starts them in the order of
    /// their lanes, and gives them ids.
    fn has_lanes(&self) -> bool;

    /// Submits the job with the script in `script_path`. Returns the id that the engine gives it,
    /// or else its number.
    fn submit(&self, job: &FleetJob<'_>, script_path: &str) -> Result<u64, AppError>;

    /// Returns the state of the jobs.
    fn queue(&self, dir: &CampaignDir, jobs: &[&JobRecord]) -> QueueSnapshot;

    /// Ends the jobs. Jobs that have ended are skipped.
    fn cancel(&self, dir: &CampaignDir, jobs: &[&JobRecord]) -> Result<(), AppError>;
}

/// Returns the engine that the configuration names.
///
/// # Errors
/// If its sockets cannot be created.
pub(super) fn scheduler(config: &FleetConfig) -> Result<Box<dyn Scheduler + '_>, AppError> {
    Ok(match config.engine() {
        FleetEngine::Slurm(section) => Box::new(slurm::Slurm { section }),
        FleetEngine::Kubernetes(section) => Box::new(kubernetes::Kubernetes { section }),
        FleetEngine::Ssh(section) => Box::new(ssh::Ssh::new(config, section)?),
    })
}

/// State of jobs according to the engine.
#[derive(Debug, Default)]
pub(super) struct QueueSnapshot {
    /// Listed jobs by id.
    pub(super) lines: BTreeMap<String, QueueLine>,
    /// Why the engine does not answer.
    pub(super) silence: Option<String>,
    /// Why single nodes do not answer.
    pub(super) silent_nodes: BTreeMap<String, String>,
    /// Whether the engine was not queried.
    is_unknown: bool,
}

impl QueueSnapshot {
    /// Creates the state of an engine that is not queried.
    pub(super) fn not_queried() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    fn of(lines: Vec<QueueLine>) -> Self {
        let lines = lines.into_iter().map(|line| (line.job.clone(), line)).collect();
        Self { lines, ..Self::default() }
    }

    /// Returns the state of a job.
    pub(super) fn answer(&self, record: &JobRecord) -> QueueAnswer<'_> {
        if self.is_unknown {
            return QueueAnswer::Unknown;
        }
        if let Some(why) = self.silence.as_ref().or_else(|| self.silent_nodes.get(&record.node)) {
            return QueueAnswer::Unreachable(why);
        }
        self.lines.get(&record.job.to_string()).map_or(QueueAnswer::Absent, QueueAnswer::Listed)
    }
}

/// Output of a command that was run.
struct CommandAnswer {
    stdout: String,
    /// Standard error in one line.
    stderr: String,
    /// Exit code; `None` if a signal ended it.
    code: Option<i32>,
}

/// Runs a command with `input`. `cure` is what to do if there is no such program.
fn run(words: &[String], input: &str, cure: &str) -> Result<CommandAnswer, AppError> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(anyhow!("no command").into());
    };
    let mut command = Command::new(name);
    command.args(arguments);
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(rsb_fleet::is_caller_variable) {
            command.env_remove(variable);
        }
    }
    let bounds =
        ChildBounds { time: LIMIT, memory_bytes: MEMORY_BYTES, answer_bytes: ANSWER_BYTES };
    let input = input.as_bytes().to_vec();
    let answer = timed_child::run_with_input(&mut command, input, bounds);
    let answer = answer.map_err(|error| {
        AppError::usage(match error.kind() {
            ErrorKind::NotFound => anyhow!("no `{name}` in PATH; {cure}"),
            _ => anyhow!("cannot start `{name}`: {error}; {cure}"),
        })
    })?;
    let Some(status) = answer.status else {
        let seconds = LIMIT.as_secs();
        return Err(anyhow!("`{name}` did not answer within {seconds} s; try again").into());
    };
    Ok(CommandAnswer {
        stdout: String::from_utf8_lossy(&answer.stdout).into_owned(),
        stderr: answer.stderr.trim().replace('\n', "; "),
        code: status.code(),
    })
}

/// Part of an error message, with a fix.
type Cure = (&'static str, &'static str);

/// Returns the error for a command that failed with `message`: of the usage if `cures` has its fix.
fn refusal(name: &str, message: &str, cures: &[Cure]) -> AppError {
    match cures.iter().find(|(part, _)| message.contains(part)) {
        Some((_, cure)) => AppError::usage(anyhow!("`{name}` refused: {message}; {cure}")),
        None => anyhow!("`{name}` failed: {message}").into(),
    }
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}
