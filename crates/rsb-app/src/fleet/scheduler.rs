//! Slurm's commands as child processes with a time limit.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use anyhow::anyhow;
use rsb_fleet::{
    FleetConfig, FleetNode, QueueLine, SINFO_FORMAT, SQUEUE_FORMAT, is_caller_variable,
    parse_job_id, parse_node_details, parse_sinfo, parse_squeue,
};
use timed_child::Stderr;

use crate::AppError;

const LIMIT: Duration = Duration::from_mins(1);

/// Parts of Slurm's error messages, each with a fix.
const CURES: &[(&str, &str)] = &[
    ("Invalid partition", "set `slurm.partition` to one that `sinfo -s` lists"),
    ("Invalid feature", "set `slurm.constraint` to features that `sinfo -o %f` lists"),
    ("node configuration", "set `slurm.gres` and `slurm.constraint` to values that the nodes have"),
    ("Invalid generic resource", "set `slurm.gres` to what `sinfo -o %G` lists"),
    ("Invalid account", "set `slurm.account` to one that `sacctmgr show associations` lists"),
    ("Invalid qos", "set `slurm.qos` to one that `sacctmgr show associations` lists"),
    ("ermission denied", "ask the administrator of the cluster for access"),
    ("not permitted", "ask the administrator of the cluster for access"),
    ("time limit", "lower `time_limit_minutes` to the limit of the partition"),
];

/// Runs a command of Slurm and returns its standard output.
fn run(words: &[String]) -> Result<String, AppError> {
    let Some((name, arguments)) = words.split_first() else { return Ok(String::new()) };
    let mut command = Command::new(name);
    command.args(arguments);
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(is_caller_variable) {
            command.env_remove(variable);
        }
    }
    let output = timed_child::run(&mut command, Stderr::Keep, LIMIT).map_err(|error| {
        let cure = "run this on a login node of a Slurm cluster, or load its module";
        match error.kind() {
            ErrorKind::NotFound => AppError::usage(anyhow!("no `{name}` in PATH; {cure}")),
            _ => AppError::usage(anyhow!("cannot start `{name}`: {error}; {cure}")),
        }
    })?;
    match output.status {
        Some(status) if status.success() => Ok(output.stdout),
        Some(_) => Err(refusal(name, &output.stderr)),
        None => {
            let seconds = LIMIT.as_secs();
            Err(anyhow!("`{name}` did not answer within {seconds} s; try again").into())
        }
    }
}

/// Returns the error for a command that failed with `stderr`.
fn refusal(name: &str, stderr: &str) -> AppError {
    let message = stderr.trim().replace('\n', "; ");
    match CURES.iter().find(|(part, _)| message.contains(part)) {
        Some((_, cure)) => AppError::usage(anyhow!("`{name}` refused: {message}; {cure}")),
        None => anyhow!("`{name}` failed: {message}").into(),
    }
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the nodes of the configured partition that fit the constraint.
pub(super) fn inventory(config: &FleetConfig) -> Result<Vec<FleetNode>, AppError> {
    let mut command = words(&["sinfo", "-N", "-h", "-o", SINFO_FORMAT]);
    if let Some(partition) = &config.slurm.partition {
        command.push(format!("--partition={partition}"));
    }
    let mut nodes = parse_sinfo(&run(&command)?)?;
    if nodes.is_empty() {
        let partition = config.slurm.partition.as_deref().unwrap_or("(default)");
        return Err(AppError::usage(anyhow!(
            "partition `{partition}` has no node; set `slurm.partition` to one that `sinfo -s` \
             lists"
        )));
    }
    let known: BTreeSet<String> = nodes.iter().flat_map(|node| node.features.clone()).collect();
    let required = required_features(config.slurm.constraint.as_deref());
    nodes.retain(|node| required.iter().all(|feature| node.features.contains(feature)));
    if nodes.is_empty() {
        let known: Vec<String> = known.into_iter().collect();
        return Err(AppError::usage(anyhow!(
            "no node has `slurm.constraint` `{}`; the features are: {}",
            required.join("&"),
            known.join(", ")
        )));
    }
    let mut details = parse_node_details(&run(&words(&["scontrol", "show", "node", "-o"]))?);
    for node in &mut nodes {
        node.attributes = details.remove(&node.name).unwrap_or_default();
    }
    Ok(nodes)
}

/// Returns the features of a constraint that is a plain list. Returns none for a constraint with
/// other operators, because `sbatch` checks those.
fn required_features(constraint: Option<&str>) -> Vec<String> {
    let constraint = constraint.unwrap_or_default();
    if constraint.contains(['|', '(', '[', '*', '!']) {
        return Vec::new();
    }
    let features = constraint.split(['&', ',']).filter(|feature| !feature.is_empty());
    features.map(str::to_owned).collect()
}

/// Returns the user's jobs that Slurm still lists.
pub(super) fn queue() -> Result<Vec<QueueLine>, AppError> {
    let command = words(&["squeue", "-h", "--me", "--states=all", "-o", SQUEUE_FORMAT]);
    Ok(parse_squeue(&run(&command)?)?)
}

/// Submits a job and returns its id.
pub(super) fn submit(command: &[String]) -> Result<u64, AppError> {
    let output = run(command)?;
    parse_job_id(&output)
        .ok_or_else(|| anyhow!("`sbatch` printed `{}` instead of a job id", output.trim()).into())
}

/// Checks that Slurm would accept a job, without submitting it.
pub(super) fn check(command: &[String]) -> Result<(), AppError> {
    let mut command = command.to_vec();
    command.insert(1, "--test-only".to_owned());
    run(&command).map_err(|error| AppError::usage(error.error)).map(drop)
}

/// Removes jobs from the queue. Jobs that have ended are skipped.
pub(super) fn cancel(jobs: &[u64]) -> Result<(), AppError> {
    let mut command = words(&["scancel", "--quiet"]);
    command.extend(jobs.iter().map(u64::to_string));
    run(&command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_cure() {
        for (message, cure, kind) in [
            (
                "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job \
                 submission failed: Invalid partition name specified",
                "slurm.partition",
                rsb_engine::ErrorKind::Usage,
            ),
            ("Access/permission denied", "administrator", rsb_engine::ErrorKind::Usage),
            (
                "Unable to contact slurm controller",
                "Unable to contact",
                rsb_engine::ErrorKind::Failure,
            ),
        ] {
            let error = refusal("sbatch", message);
            assert_eq!(error.kind, kind, "{message}");
            assert!(error.error.to_string().contains(cure), "{}", error.error);
        }
    }

    #[test]
    fn only_plain_constraints_are_read() {
        assert_eq!(required_features(Some("gfx942&mi300x")), ["gfx942", "mi300x"]);
        assert!(required_features(Some("a|b")).is_empty() && required_features(None).is_empty());
    }
}
