//! Input for `kubectl`: the manifests of jobs; and its output: nodes, jobs and pods as JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::KubernetesSection;
use crate::inventory::{Availability, FleetNode, SchedulerOutputError, is_node_name};
use crate::progress::QueueLine;
use crate::submission::{FleetJob, limited_command};

/// Label with the name of the campaign.
pub const CAMPAIGN_LABEL: &str = "rusty-stack-bench/campaign";
/// Label with the number of the job.
const JOB_LABEL: &str = "rusty-stack-bench/job";
/// Label with the name of a node, to which jobs are bound.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// Labels with the GPU model, of the labelers of AMD, NVIDIA and Intel.
const MODEL_LABELS: &[&str] =
    &["amd.com/gpu.product-name", "nvidia.com/gpu.product", "gpu.intel.com/product"];
/// Time for a job to write its last results after SIGTERM.
const GRACE_SECONDS: u32 = 120;
/// Time after which a job that has ended is deleted; its results stay.
const KEEP_SECONDS: u32 = 7 * 86_400;

#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

/// A node, a job or a pod.
#[derive(Deserialize)]
struct Item {
    kind: Option<String>,
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    unschedulable: bool,
    taints: Vec<Taint>,
    suspend: bool,
    node_name: String,
}

#[derive(Deserialize)]
struct Taint {
    key: String,
    effect: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    conditions: Vec<Condition>,
    allocatable: BTreeMap<String, String>,
    node_info: NodeInfo,
    phase: String,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeInfo {
    kernel_version: String,
    kubelet_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    state: ContainerState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: String,
}

impl Item {
    fn condition(&self, name: &str, status: &str) -> Option<&Condition> {
        let mut conditions = self.status.conditions.iter();
        conditions.find(|one| one.r#type == name && one.status == status)
    }
}

fn items(text: &str, expected: &'static str) -> Result<Vec<Item>, SchedulerOutputError> {
    let list: List = serde_json::from_str(text).map_err(|error| SchedulerOutputError {
        command: "kubectl",
        line: error.line(),
        expected,
        text: error.to_string(),
    })?;
    Ok(list.items)
}

/// Parses the output of `kubectl get nodes -o json`.
///
/// # Errors
/// If it is not a list of nodes.
pub fn parse_kubernetes_nodes(
    section: &KubernetesSection,
    text: &str,
) -> Result<Vec<FleetNode>, SchedulerOutputError> {
    let items = items(text, "a list of nodes")?;
    Ok(items.iter().filter_map(|item| node_of(section, item)).collect())
}

/// Returns the node of an item; `None` if its name cannot be the name of a file.
fn node_of(section: &KubernetesSection, item: &Item) -> Option<FleetNode> {
    let name = &item.metadata.name;
    if !is_node_name(name) {
        return None;
    }
    let labels = &item.metadata.labels;
    let mut node = FleetNode::new(name);
    node.features = section.labels.iter().filter_map(|key| labels.get(key).cloned()).collect();
    node.gpu_model = MODEL_LABELS.iter().find_map(|key| labels.get(*key).cloned());
    node.gpus = gpus_in(&item.status.allocatable);
    let cpus = item.status.allocatable.get("cpu");
    node.cpus = cpus.and_then(|count| count.parse().ok()).unwrap_or(0);
    let info = &item.status.node_info;
    for (key, value) in [("kernel", &info.kernel_version), ("kubelet", &info.kubelet_version)] {
        if !value.is_empty() {
            node.attributes.insert(key.to_owned(), value.clone());
        }
    }
    let blocking = |taint: &&Taint| {
        taint.effect != "PreferNoSchedule" && !section.tolerations.contains(&taint.key)
    };
    let trouble = if item.condition("Ready", "True").is_none() {
        Some("not ready".to_owned())
    } else if item.spec.unschedulable {
        Some("cordoned".to_owned())
    } else if labels.get(HOSTNAME_LABEL) != Some(name) {
        Some(format!("its label {HOSTNAME_LABEL} is not its name"))
    } else {
        let taint = item.spec.taints.iter().find(blocking);
        taint.map(|taint| format!("tainted: {}; add it to `kubernetes.tolerations`", taint.key))
    };
    if let Some(trouble) = trouble {
        node.availability = Availability::Unavailable;
        node.state = trouble;
    }
    Some(node)
}

/// Returns the number of GPUs among resources such as `amd.com/gpu`.
fn gpus_in(resources: &BTreeMap<String, String>) -> u32 {
    let gpus = resources.iter().filter(|(key, _)| key.ends_with("/gpu"));
    gpus.filter_map(|(_, count)| count.parse::<u32>().ok()).sum()
}

/// Returns the nodes that the section names, for accounts that may not list nodes.
pub fn named_nodes(section: &KubernetesSection) -> Vec<FleetNode> {
    let nodes = section.nodes.iter().map(|name| {
        let mut node = FleetNode::new(name);
        node.gpus = gpus_in(&section.limits);
        node
    });
    nodes.collect()
}

/// Parses the output of `kubectl get jobs,pods -o json` for the jobs of a campaign.
///
/// # Errors
/// If it is not a list of jobs and pods.
pub fn parse_kubernetes_jobs(text: &str) -> Result<Vec<QueueLine>, SchedulerOutputError> {
    let items = items(text, "a list of jobs and pods")?;
    let kind = |item: &&Item, name: &str| item.kind.as_deref() == Some(name);
    let mut lines = Vec::new();
    for item in items.iter().filter(|item| kind(item, "Job")) {
        let Some(job) = item.metadata.labels.get(JOB_LABEL) else { continue };
        let mut pods = items.iter().filter(|item| kind(item, "Pod"));
        let pod = pods.rfind(|pod| pod.metadata.labels.get(JOB_LABEL) == Some(job));
        let JobState { state, reason } = job_state(item, pod);
        lines.push(QueueLine {
            job: job.clone(),
            state,
            node: pod.map_or_else(String::new, |pod| pod.spec.node_name.clone()),
            reason,
        });
    }
    Ok(lines)
}

/// State of a job in the words of Slurm, and why.
struct JobState {
    state: String,
    reason: String,
}

fn job_state(job: &Item, pod: Option<&Item>) -> JobState {
    let state =
        |state: &str, reason: &str| JobState { state: state.to_owned(), reason: reason.to_owned() };
    if let Some(failed) = job.condition("Failed", "True") {
        return state(&failed.reason, &failed.message);
    }
    if job.condition("Complete", "True").is_some() {
        return state("Complete", "");
    }
    if job.spec.suspend {
        return state("PENDING", "suspended; its queue has not admitted it");
    }
    let Some(pod) = pod else { return state("PENDING", "no pod yet") };
    if pod.status.phase != "Pending" {
        // A pod that has ended is still active until the job reports it.
        return state("RUNNING", "");
    }
    let waiting = pod.status.container_statuses.iter().find_map(|one| one.state.waiting.as_ref());
    match (pod.condition("PodScheduled", "False"), waiting) {
        (Some(condition), _) => state("PENDING", &condition.message),
        (None, Some(waiting)) => state("PENDING", &waiting.reason),
        (None, None) => state("PENDING", "its pod starts"),
    }
}

/// Returns the name of a job.
pub fn kubernetes_job_name(campaign: &str, number: u64) -> String {
    format!("rsb-{campaign}-{number}")
}

/// Returns the manifest of a job on one node, which runs the script in `script_path`.
pub fn kubernetes_manifest(
    job: &FleetJob<'_>,
    section: &KubernetesSection,
    script_path: &str,
) -> Value {
    let config = job.config;
    let mut labels = json!({
        "app.kubernetes.io/name": "rusty-stack-bench",
        CAMPAIGN_LABEL: job.campaign,
        JOB_LABEL: job.number.to_string(),
    });
    let pod_labels = labels.clone();
    if let Some(queue) = &section.queue {
        labels["kueue.x-k8s.io/queue-name"] = json!(queue);
    }
    let mut metadata = json!({
        "name": kubernetes_job_name(job.campaign, job.number),
        "labels": labels,
    });
    if let Some(namespace) = &section.namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": 0,
            // Includes the time in which its pod is pending.
            "activeDeadlineSeconds": (config.deadline_minutes + config.time_limit_minutes) * 60,
            "ttlSecondsAfterFinished": KEEP_SECONDS,
            "template": {
                "metadata": { "labels": pod_labels },
                "spec": pod_spec(job, section, script_path),
            },
        },
    })
}

fn pod_spec(job: &FleetJob<'_>, section: &KubernetesSection, script_path: &str) -> Value {
    let results = match (&section.claim, &section.host_path) {
        (Some(claim), _) => {
            json!({ "name": "results", "persistentVolumeClaim": { "claimName": claim } })
        }
        (None, path) => json!({
            "name": "results",
            "hostPath": { "path": path.as_deref().unwrap_or_default(), "type": "Directory" },
        }),
    };
    let tolerations: Vec<Value> =
        section.tolerations.iter().map(|key| json!({ "key": key, "operator": "Exists" })).collect();
    json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "automountServiceAccountToken": false,
        "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchExpressions": [
                { "key": HOSTNAME_LABEL, "operator": "In", "values": [job.node] },
            ] }],
        } } },
        "tolerations": tolerations,
        "containers": [{
            "name": "rusty-stack-bench",
            "image": section.image,
            "command": limited_command(job.config, script_path),
            "env": [{
                "name": "FLEET_NODE",
                "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } },
            }],
            "resources": { "limits": section.limits },
            "volumeMounts": [
                { "name": "results", "mountPath": job.config.results_dir },
                // Collectives of GPUs need more than the default of 64 MB.
                { "name": "shared-memory", "mountPath": "/dev/shm" },
            ],
        }],
        "volumes": [results, { "name": "shared-memory", "emptyDir": { "medium": "Memory" } }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FleetConfig;
    use crate::engine::FleetEngine;

    const CONFIG: &str = "results_dir = \"/shared\"\n[[suite]]\nsuite = \"quick\"\nminutes = \
                          5\n[kubernetes]\nimage = \"example.com/rsb:1\"\nclaim = \
                          \"fleet\"\nnamespace = \"bench\"\nqueue = \"nightly\"\ntolerations = \
                          [\"amd.com/gpu\"]\nlimits = { \"amd.com/gpu\" = \"8\" }\n";

    fn with_section<T>(check: impl Fn(&FleetConfig, &KubernetesSection) -> T) -> T {
        let config = FleetConfig::parse(CONFIG).unwrap();
        let FleetEngine::Kubernetes(section) = config.engine() else { panic!() };
        check(&config, section)
    }

    fn node(name: &str, spec: &str, ready: &str) -> String {
        format!(
            r#"{{"kind":"Node","metadata":{{"name":"{name}","labels":{{
            "kubernetes.io/hostname":"{name}","amd.com/gpu.product-name":"MI300X",
            "node.kubernetes.io/instance-type":"big"}}}},"spec":{spec},"status":{{
            "conditions":[{{"type":"Ready","status":"{ready}"}}],
            "allocatable":{{"amd.com/gpu":"8","cpu":"64"}},
            "nodeInfo":{{"kernelVersion":"6.1","kubeletVersion":"v1.30.1"}}}}}}"#
        )
    }

    #[test]
    fn nodes_that_take_no_job_have_the_reason() {
        let tainted =
            |key: &str| format!(r#"{{"taints":[{{"key":"{key}","effect":"NoSchedule"}}]}}"#);
        let nodes = [
            node("good", &tainted("amd.com/gpu"), "True"),
            node("down", "{}", "Unknown"),
            node("cordoned", r#"{"unschedulable":true}"#, "True"),
            node("tainted", &tainted("control-plane"), "True"),
            node("renamed", "{}", "True").replace("hostname\":\"renamed", "hostname\":\"other"),
            node("-o", "{}", "True"),
        ];
        let text = format!(r#"{{"items":[{}]}}"#, nodes.join(","));
        let found = with_section(|_, section| parse_kubernetes_nodes(section, &text).unwrap());
        let states: Vec<&str> = found.iter().map(|node| node.state.as_str()).collect();
        let expected = [
            "idle",
            "not ready",
            "cordoned",
            "tainted: control-plane; add it to `kubernetes.tolerations`",
            "its label kubernetes.io/hostname is not its name",
        ];
        assert_eq!(states, expected);
        assert_eq!((found[0].gpus, found[0].cpus), (8, 64));
        assert_eq!(found[0].gpu_model.as_deref(), Some("MI300X"));
        assert!(found[0].features.contains("big") && found[0].attributes["kubelet"] == "v1.30.1");
        let error = with_section(|_, section| parse_kubernetes_nodes(section, "{}").unwrap_err());
        assert!(error.to_string().contains("a list of nodes"), "{error}");
    }

    #[test]
    fn a_pending_pod_is_not_running() {
        let job = |number: u32, spec: &str, conditions: &str| {
            format!(
                r#"{{"kind":"Job","metadata":{{"name":"j","labels":{{"{JOB_LABEL}":"{number}"}}}},
                "spec":{spec},"status":{{"conditions":[{conditions}]}}}}"#
            )
        };
        let pod = |number: u32, status: &str| {
            format!(
                r#"{{"kind":"Pod","metadata":{{"name":"p","labels":{{"{JOB_LABEL}":"{number}"}}}},
                "spec":{{"nodeName":"n1"}},"status":{status}}}"#
            )
        };
        let items = [
            job(1, "{}", ""),
            pod(1, r#"{"phase":"Running"}"#),
            job(2, "{}", ""),
            pod(
                2,
                r#"{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
                "message":"Insufficient amd.com/gpu"}]}"#,
            ),
            job(3, r#"{"suspend":true}"#, ""),
            job(4, "{}", r#"{"type":"Failed","status":"True","reason":"DeadlineExceeded"}"#),
            job(5, "{}", r#"{"type":"Complete","status":"True"}"#),
            job(6, "{}", ""),
            pod(
                6,
                r#"{"phase":"Pending","containerStatuses":[{"state":{"waiting":{
                "reason":"ImagePullBackOff"}}}]}"#,
            ),
            job(7, "{}", ""),
        ];
        let text = format!(r#"{{"items":[{}]}}"#, items.join(","));
        let lines = parse_kubernetes_jobs(&text).unwrap();
        let found: Vec<(&str, &str)> =
            lines.iter().map(|line| (line.state.as_str(), line.reason.as_str())).collect();
        let expected = [
            ("RUNNING", ""),
            ("PENDING", "Insufficient amd.com/gpu"),
            ("PENDING", "suspended; its queue has not admitted it"),
            ("DeadlineExceeded", ""),
            ("Complete", ""),
            ("PENDING", "ImagePullBackOff"),
            ("PENDING", "no pod yet"),
        ];
        assert_eq!(found, expected);
        assert_eq!(lines[0].node, "n1");
    }

    #[test]
    fn a_manifest_binds_one_pod_to_one_node() {
        let manifest = with_section(|config, section| {
            let job = FleetJob {
                config,
                campaign: "weekly",
                node: "n1",
                number: 7,
                dir: "/shared/weekly",
                steps: &[],
                lane: 0,
                wait_seconds: 0,
                expected_seconds: 0,
                version: "",
            };
            kubernetes_manifest(&job, section, "/shared/weekly/job-001.sh")
        });
        assert_eq!(manifest["metadata"]["name"], "rsb-weekly-7");
        assert_eq!(manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "nightly");
        assert_eq!(manifest["spec"]["backoffLimit"], 0);
        assert_eq!(manifest["spec"]["activeDeadlineSeconds"], 46_800);
        let pod = &manifest["spec"]["template"]["spec"];
        let affinity = &pod["affinity"]["nodeAffinity"];
        let term = &affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        assert_eq!(term[0]["matchExpressions"][0]["values"], json!(["n1"]));
        let container = &pod["containers"][0];
        assert_eq!(container["command"][7], "/shared/weekly/job-001.sh");
        assert_eq!(container["resources"]["limits"]["amd.com/gpu"], "8");
        assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "fleet");
        assert_eq!(pod["tolerations"][0]["key"], "amd.com/gpu");
    }
}
