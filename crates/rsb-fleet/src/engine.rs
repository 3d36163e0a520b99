//! What starts the jobs of a campaign: Slurm, ssh or Kubernetes, each with its section of
//! `fleet.toml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::inventory::is_node_name;

/// What starts the jobs, with its section of the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FleetEngine<'a> {
    /// Slurm.
    Slurm(&'a SlurmSection),
    /// OpenSSH, for nodes without a scheduler.
    Ssh(&'a SshSection),
    /// Kubernetes.
    Kubernetes(&'a KubernetesSection),
}

/// `[slurm]`: options of `sbatch`, and of `sinfo` if it has the same options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlurmSection {
    /// `--partition`.
    pub partition: Option<String>,
    /// `--account`.
    pub account: Option<String>,
    /// `--qos`.
    pub qos: Option<String>,
    /// `--constraint`.
    pub constraint: Option<String>,
    /// `--gres`; without it, all GPUs of the node by `--exclusive`.
    pub gres: Option<String>,
    /// `--nice`: how much lower than usual the priority of the jobs is.
    pub nice: Option<u32>,
}

impl SlurmSection {
    /// A section without any key.
    pub const DEFAULT: &Self = &Self {
        partition: None,
        account: None,
        qos: None,
        constraint: None,
        gres: None,
        nice: None,
    };
}

/// `[ssh]`: the nodes, and how to reach them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SshSection {
    /// Names of the nodes, as in `ssh NAME`.
    pub hosts: Vec<String>,
    /// Options of `ssh -o`, such as `Port=2222`.
    pub options: Vec<String>,
    /// Features of nodes, such as their hardware or rack, each with patterns of host names.
    pub labels: BTreeMap<String, Vec<String>>,
}

impl SshSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.hosts.is_empty() {
            return Err("`ssh.hosts` must name the nodes".to_owned());
        }
        let mut seen = BTreeSet::new();
        for (at, host) in self.hosts.iter().enumerate() {
            if !is_node_name(host) {
                return Err(format!(
                    "`ssh.hosts[{at}]` must be a host name; set the user with `ssh.options`, \
                     `User=NAME`"
                ));
            }
            if !seen.insert(host) {
                return Err(format!("`ssh.hosts` names {host} twice"));
            }
        }
        let is_option = |option: &String| {
            let key = option.split_once('=').map_or("", |(key, _)| key);
            !key.is_empty()
                && key.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && !option.chars().any(char::is_control)
        };
        if let Some(at) = self.options.iter().position(|option| !is_option(option)) {
            return Err(format!("`ssh.options[{at}]` must be `KEY=VALUE`, as for `ssh -o`"));
        }
        for (label, patterns) in &self.labels {
            let is_of = |host: &String| matches_any(patterns, host);
            if label.is_empty() || !self.hosts.iter().any(is_of) {
                return Err(format!("`ssh.labels.{label}` must match one of `ssh.hosts`"));
            }
        }
        Ok(())
    }

    /// Returns the labels of a host.
    pub fn features(&self, host: &str) -> BTreeSet<String> {
        let labels = self.labels.iter().filter(|(_, patterns)| matches_any(patterns, host));
        labels.map(|(label, _)| label.clone()).collect()
    }
}

fn matches_any(patterns: &[String], host: &str) -> bool {
    patterns.iter().any(|pattern| rsb_stats::glob::matches(pattern, host))
}

/// `[kubernetes]`: the pods of the jobs, and the nodes that they run on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KubernetesSection {
    /// Image that contains the program and the libraries of its backends.
    pub image: String,
    /// Namespace of the jobs; that of the context if absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Context of the configuration of `kubectl`; the current one if absent.
    #[serde(default)]
    pub context: Option<String>,
    /// Nodes to measure: a label selector, as for `kubectl get nodes --selector`.
    #[serde(default)]
    pub selector: Option<String>,
    /// Nodes to measure, for accounts that may not list nodes.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Labels whose values are features of a node, such as its instance type or rack.
    #[serde(default = "default_labels")]
    pub labels: Vec<String>,
    /// Limits of the container, such as `"amd.com/gpu" = "8"`.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
    /// Keys of taints that the jobs tolerate.
    #[serde(default)]
    pub tolerations: Vec<String>,
    /// Queue of Kueue.
    #[serde(default)]
    pub queue: Option<String>,
    /// Persistent volume claim that is mounted as `results_dir`.
    #[serde(default)]
    pub claim: Option<String>,
    /// Directory of the nodes that is mounted as `results_dir`.
    #[serde(default)]
    pub host_path: Option<String>,
}

fn default_labels() -> Vec<String> {
    vec!["node.kubernetes.io/instance-type".to_owned()]
}

impl KubernetesSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.image.trim().is_empty() {
            return Err("`kubernetes.image` must name an image that contains the program".into());
        }
        if let Some(at) = self.nodes.iter().position(|name| !is_node_name(name)) {
            return Err(format!("`kubernetes.nodes[{at}]` must be the name of a node"));
        }
        if !self.nodes.is_empty() && self.selector.is_some() {
            return Err("`kubernetes` must have either `nodes` or `selector`".to_owned());
        }
        match (&self.claim, &self.host_path) {
            (Some(_), None) => Ok(()),
            (None, Some(path)) if path.starts_with('/') => Ok(()),
            (None, Some(_)) => Err("`kubernetes.host_path` must be an absolute path".to_owned()),
            _ => Err("`kubernetes` must have either `claim` or `host_path`, the volume of \
                      `results_dir`"
                .to_owned()),
        }
    }
}
