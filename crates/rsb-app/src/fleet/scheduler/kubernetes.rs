//! Jobs of a Kubernetes cluster, through `kubectl`, which has the credentials of the site.

use std::collections::BTreeSet;

use anyhow::anyhow;
use rsb_fleet::kubernetes::{
    CAMPAIGN_LABEL, kubernetes_job_name, kubernetes_manifest, named_nodes, parse_kubernetes_jobs,
    parse_kubernetes_nodes,
};
use rsb_fleet::{FleetJob, FleetNode, KubernetesSection};

use super::super::campaign::{CampaignDir, JobRecord};
use super::{Cure, QueueSnapshot, Scheduler, refusal, words};
use crate::AppError;

/// Jobs that one command deletes, which limits the length of its arguments.
const DELETED_AT_ONCE: usize = 500;

/// Parts of error messages, each with a fix.
const CURES: &[Cure] = &[
    (
        "cannot list resource \"nodes\"",
        "name the nodes in `kubernetes.nodes`, or ask the administrator for the permission",
    ),
    ("exceeded quota", "lower `kubernetes.limits`, or ask the administrator for more"),
    ("orbidden", "ask the administrator for a role that may create jobs in this namespace"),
    ("Unauthorized", "log in to the cluster, as for any `kubectl` command"),
    ("must be logged in", "log in to the cluster, as for any `kubectl` command"),
    ("did you specify the right host or port", "set KUBECONFIG or `kubernetes.context`"),
    ("error: context ", "set `kubernetes.context` to one that `kubectl config get-contexts` lists"),
    ("namespaces \"", "set `kubernetes.namespace` to one that `kubectl get namespaces` lists"),
    ("AlreadyExists", "choose another name with --campaign"),
    ("parse requirement", "correct `kubernetes.selector`"),
    ("is invalid", "correct the section `[kubernetes]`"),
];

/// A Kubernetes cluster with its section of the configuration.
pub(super) struct Kubernetes<'a> {
    pub(super) section: &'a KubernetesSection,
}

impl Kubernetes<'_> {
    /// Runs `kubectl` and returns its standard output.
    fn run(&self, arguments: &[&str], input: &str) -> Result<String, AppError> {
        let mut command = words(&["kubectl", "--request-timeout=45s"]);
        for (flag, value) in
            [("context", &self.section.context), ("namespace", &self.section.namespace)]
        {
            if let Some(value) = value {
                command.push(format!("--{flag}={value}"));
            }
        }
        command.extend(words(arguments));
        let cure = "install it, or print the jobs with `fleet manifests`";
        let answer = super::run(&command, input, cure)?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            _ => Err(refusal("kubectl", &answer.stderr, CURES)),
        }
    }
}

impl Scheduler for Kubernetes<'_> {
    fn inventory(&self) -> Result<Vec<FleetNode>, AppError> {
        if !self.section.nodes.is_empty() {
            return Ok(named_nodes(self.section));
        }
        let selector = self.section.selector.as_deref().unwrap_or_default();
        let selector = format!("--selector={selector}");
        let text = self.run(&["get", "nodes", &selector, "-o", "json"], "")?;
        let nodes = parse_kubernetes_nodes(self.section, &text)?;
        if nodes.is_empty() {
            return Err(AppError::usage(anyhow!(
                "no node has the labels of `kubernetes.selector`; `kubectl get nodes \
                 --show-labels` lists them"
            )));
        }
        Ok(nodes)
    }

    fn check(&self, jobs: &[FleetJob<'_>]) -> Result<(), AppError> {
        for job in jobs {
            let manifest = kubernetes_manifest(job, self.section, "/bin/true").to_string();
            let arguments = ["create", "--dry-run=server", "--validate=false", "-f", "-"];
            self.run(&arguments, &manifest).map_err(|error| AppError::usage(error.error))?;
        }
        Ok(())
    }

    fn has_lanes(&self) -> bool {
        false
    }

    fn submit(&self, job: &FleetJob<'_>, script_path: &str) -> Result<u64, AppError> {
        let manifest = kubernetes_manifest(job, self.section, script_path).to_string();
        self.run(&["create", "--validate=false", "-f", "-"], &manifest)?;
        Ok(job.number)
    }

    fn queue(&self, dir: &CampaignDir, _: &[&JobRecord]) -> QueueSnapshot {
        let selector = format!("--selector={CAMPAIGN_LABEL}={}", dir.campaign.name);
        let text = self.run(&["get", "jobs,pods", &selector, "-o", "json"], "");
        match text.and_then(|text| Ok(parse_kubernetes_jobs(&text)?)) {
            Ok(lines) => QueueSnapshot::of(lines),
            Err(error) => {
                QueueSnapshot { silence: Some(error.error.to_string()), ..QueueSnapshot::default() }
            }
        }
    }

    fn cancel(&self, dir: &CampaignDir, jobs: &[&JobRecord]) -> Result<(), AppError> {
        let names: BTreeSet<String> =
            jobs.iter().map(|job| kubernetes_job_name(&dir.campaign.name, job.job)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for some in names.chunks(DELETED_AT_ONCE) {
            let mut arguments = vec!["delete", "jobs", "--ignore-not-found", "--wait=false"];
            arguments.extend(some);
            self.run(&arguments, "")?;
        }
        Ok(())
    }
}
