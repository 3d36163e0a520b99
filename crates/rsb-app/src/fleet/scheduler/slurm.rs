//! Slurm's commands.

use std::collections::BTreeSet;

use anyhow::anyhow;
use rsb_fleet::{
    FleetJob, FleetNode, PARTITION_FORMAT, Partition, SINFO_FORMAT, SQUEUE_FORMAT, SlurmSection,
    parse_job_id, parse_node_details, parse_partitions, parse_sinfo, parse_squeue, sbatch_command,
};

use super::super::campaign::{CampaignDir, JobRecord};
use super::{Cure, QueueSnapshot, Scheduler, refusal, words};
use crate::AppError;

/// Parts of Slurm's error messages, each with a fix.
const CURES: &[Cure] = &[
    ("Invalid partition", "set `slurm.partition` to one that `sinfo -s` lists"),
    ("Invalid feature", "set `slurm.constraint` to features that `sinfo -o %f` lists"),
    ("node configuration", "set `slurm.gres` and `slurm.constraint` to values that the nodes have"),
    ("Invalid generic resource", "set `slurm.gres` to what `sinfo -o %G` lists"),
    ("Invalid account", "set `slurm.account` to one that `sacctmgr show associations` lists"),
    ("Invalid qos", "set `slurm.qos` to one that `sacctmgr show associations` lists"),
    ("ermission denied", "ask the administrator of the cluster for access"),
    ("not permitted", "ask the administrator of the cluster for access"),
    (
        "configuration source",
        "Slurm is installed, but not configured: run this on a login node, or set SLURM_CONF",
    ),
    ("time limit", "lower `time_limit_minutes` or `duration` to the limit of the partition"),
];

/// Slurm with its section of the configuration.
pub(in crate::fleet) struct Slurm<'a> {
    pub(in crate::fleet) section: &'a SlurmSection,
}

/// Returns the partitions of the cluster.
pub(in crate::fleet) fn partitions() -> Result<Vec<Partition>, AppError> {
    Ok(parse_partitions(&run(&words(&["sinfo", "-h", "-o", PARTITION_FORMAT]))?)?)
}

/// Runs a command of Slurm and returns its standard output.
fn run(words: &[String]) -> Result<String, AppError> {
    let cure = "run this on a login node of a Slurm cluster, or load its module";
    let answer = super::run(words, "", cure)?;
    match answer.code {
        Some(0) => Ok(answer.stdout),
        _ => Err(refusal(words.first().map_or("", String::as_str), &answer.stderr, CURES)),
    }
}

impl Scheduler for Slurm<'_> {
    /// Returns the nodes of the configured partition that fit the constraint.
    fn inventory(&self) -> Result<Vec<FleetNode>, AppError> {
        let mut command = words(&["sinfo", "-N", "-h", "-o", SINFO_FORMAT]);
        if let Some(partition) = &self.section.partition {
            command.push(format!("--partition={partition}"));
        }
        let mut nodes = parse_sinfo(&run(&command)?)?;
        if nodes.is_empty() {
            let partition = self.section.partition.as_deref().unwrap_or("(default)");
            return Err(AppError::usage(anyhow!(
                "partition `{partition}` has no node; set `slurm.partition` to one that `sinfo \
                 -s` lists"
            )));
        }
        let known: BTreeSet<String> = nodes.iter().flat_map(|node| node.features.clone()).collect();
        let required = required_features(self.section.constraint.as_deref());
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

    fn check(&self, jobs: &[FleetJob<'_>]) -> Result<(), AppError> {
        let script = tempfile::NamedTempFile::new()?;
        std::fs::write(script.path(), "#!/bin/sh\n")?;
        let path = script.path().display().to_string();
        for job in jobs {
            let mut command = sbatch_command(job, self.section, &path);
            command.insert(1, "--test-only".to_owned());
            run(&command).map_err(|error| AppError::usage(error.error))?;
        }
        Ok(())
    }

    fn has_lanes(&self) -> bool {
        true
    }

    fn submit(&self, job: &FleetJob<'_>, script_path: &str) -> Result<u64, AppError> {
        let output = run(&sbatch_command(job, self.section, script_path))?;
        parse_job_id(&output).ok_or_else(|| {
            anyhow!("`sbatch` printed `{}` instead of a job id", output.trim()).into()
        })
    }

    /// Returns the user's jobs that Slurm still lists.
    fn queue(&self, _: &CampaignDir, _: &[&JobRecord]) -> QueueSnapshot {
        let command = words(&["squeue", "-h", "--me", "--states=all", "-o", SQUEUE_FORMAT]);
        let lines = run(&command).and_then(|output| Ok(parse_squeue(&output)?));
        match lines {
            Ok(lines) => QueueSnapshot::of(lines),
            Err(_) => QueueSnapshot {
                silence: Some("the scheduler does not answer".to_owned()),
                ..QueueSnapshot::default()
            },
        }
    }

    fn cancel(&self, _: &CampaignDir, jobs: &[&JobRecord]) -> Result<(), AppError> {
        let mut command = words(&["scancel", "--quiet"]);
        command.extend(jobs.iter().map(|record| record.job.to_string()));
        run(&command).map(drop)
    }
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
                "sinfo: fatal: Could not establish a configuration source",
                "SLURM_CONF",
                rsb_engine::ErrorKind::Usage,
            ),
            (
                "Unable to contact slurm controller",
                "Unable to contact",
                rsb_engine::ErrorKind::Failure,
            ),
        ] {
            let error = refusal("sbatch", message, CURES);
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
