//! Nodes as listed by the scheduler, grouped into hardware classes. Missing GPUs and differing
//! software are found before anything is measured.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Format of `sinfo -N -h -o FORMAT` that [`parse_sinfo`] reads: node, state, features, gres, CPUs.
/// A custom text format is stable across versions of Slurm; its JSON output is not.
pub const SINFO_FORMAT: &str = "%N|%T|%f|%G|%c";

/// Format of `sinfo -h -o FORMAT` that [`parse_partitions`] reads: name with `*` if it is the
/// default, number of nodes, time limit.
pub const PARTITION_FORMAT: &str = "%P|%D|%l";

/// Error for output of a scheduler that does not have the requested format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of `{command}` is not `{expected}`: `{text}`; is another program of this \
         name first in PATH?"
)]
pub struct SchedulerOutputError {
    /// The command that printed it.
    pub command: &'static str,
    /// Number of the line, from 1.
    pub line: usize,
    /// Expected form.
    pub expected: &'static str,
    /// The line.
    pub text: String,
}

/// Whether a node can take a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// Now.
    Idle,
    /// Not yet: it is running other jobs.
    Busy,
    /// Not until a person fixes it.
    Unavailable,
}

/// A node of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetNode {
    /// Name that the scheduler uses.
    pub name: String,
    /// Whether it can take a job.
    pub availability: Availability,
    /// State as printed by the scheduler.
    pub state: String,
    /// Features, labels or tags.
    pub features: BTreeSet<String>,
    /// GPU model of the gres.
    pub gpu_model: Option<String>,
    /// Number of GPUs according to the scheduler.
    pub gpus: u32,
    /// Number of CPUs according to the scheduler.
    pub cpus: u32,
    /// Versions of the software: driver, firmware, kernel.
    pub attributes: BTreeMap<String, String>,
    /// Hardware fingerprint (`Fingerprint::slug`), after a probe.
    pub fingerprint: Option<String>,
    /// GPUs found by a probe.
    pub probed_gpus: Option<u32>,
}

impl FleetNode {
    /// Returns an idle node of which only the name is known.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            availability: Availability::Idle,
            state: "idle".to_owned(),
            features: BTreeSet::new(),
            gpu_model: None,
            gpus: 0,
            cpus: 0,
            attributes: BTreeMap::new(),
            fingerprint: None,
            probed_gpus: None,
        }
    }

    /// Returns the software versions, and the first feature that matches each of `patterns`, under
    /// the name of the pattern, such as `rack`.
    pub fn all_attributes(&self, patterns: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = self.attributes.clone();
        for (name, pattern) in patterns {
            let mut features = self.features.iter();
            if let Some(feature) = features.find(|one| rsb_stats::glob::matches(pattern, one)) {
                all.insert(name.clone(), feature.clone());
            }
        }
        all
    }
}

/// Nodes that may be compared with each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HardwareClass {
    /// Features, GPU model and usual number of GPUs, such as `gfx942,mi300x:8gpu`.
    pub name: String,
    /// Usual number of GPUs.
    pub gpus: u32,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Nodes with fewer GPUs than usual.
    pub short: Vec<GpuShortage>,
    /// Software that differs within the class.
    pub drift: Vec<StackDrift>,
}

/// A node with fewer GPUs than usual in its class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GpuShortage {
    /// Name of the node.
    pub node: String,
    /// GPUs that it has.
    pub gpus: u32,
    /// GPUs that nodes of its class have.
    pub expected: u32,
}

/// Software that most nodes of a class have, and the nodes that have another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StackDrift {
    /// Name, such as `driver`.
    pub key: String,
    /// Most frequent version.
    pub majority: String,
    /// Other versions by node.
    pub outliers: BTreeMap<String, String>,
}

/// Parses the output of `sinfo -N -h -o` with [`SINFO_FORMAT`]. A node that is listed once per
/// partition is returned once.
///
/// # Errors
/// If a line has another format.
pub fn parse_sinfo(text: &str) -> Result<Vec<FleetNode>, SchedulerOutputError> {
    let mut nodes = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let node = sinfo_node(line.trim()).ok_or_else(|| SchedulerOutputError {
            command: "sinfo",
            line: at + 1,
            expected: SINFO_FORMAT,
            text: line.to_owned(),
        })?;
        nodes.entry(node.name.clone()).or_insert(node);
    }
    Ok(nodes.into_values().collect())
}

/// A partition of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// Whether jobs that name no partition use it.
    pub is_default: bool,
    /// Number of nodes.
    pub nodes: usize,
    /// Longest allowed time of a job; `None` if unlimited.
    pub limit_minutes: Option<u64>,
}

/// Parses the output of `sinfo -h -o` with [`PARTITION_FORMAT`].
///
/// # Errors
/// If a line has another format.
pub fn parse_partitions(text: &str) -> Result<Vec<Partition>, SchedulerOutputError> {
    let mut partitions = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        partitions.push(partition(line.trim()).ok_or_else(|| SchedulerOutputError {
            command: "sinfo",
            line: at + 1,
            expected: PARTITION_FORMAT,
            text: line.to_owned(),
        })?);
    }
    Ok(partitions)
}

fn partition(line: &str) -> Option<Partition> {
    let parts: Vec<&str> = line.split('|').collect();
    let [name, nodes, limit] = parts.as_slice() else { return None };
    Some(Partition {
        name: name.trim_end_matches('*').to_owned(),
        is_default: name.ends_with('*'),
        nodes: nodes.parse().ok()?,
        limit_minutes: limit_minutes(limit),
    })
}

/// Returns the whole minutes of a time such as `1-12:00:00`, `12:00:00` or `30:00`. `None` for
/// `infinite` and other words.
fn limit_minutes(text: &str) -> Option<u64> {
    let (days, time) = match text.split_once('-') {
        Some((days, time)) => (days.parse::<u64>().ok()?, time),
        None => (0, text),
    };
    let parts: Option<Vec<u64>> = time.split(':').map(|part| part.parse().ok()).collect();
    let (hours, minutes) = match parts?.as_slice() {
        [hours, minutes, _] => (*hours, *minutes),
        [minutes, _] => (0, *minutes),
        _ => return None,
    };
    Some((days * 24 + hours) * 60 + minutes)
}

fn sinfo_node(line: &str) -> Option<FleetNode> {
    let parts: Vec<&str> = line.split('|').collect();
    let [name, state, features, gres, cpus] = parts.as_slice() else { return None };
    if !is_node_name(name) {
        return None;
    }
    let gpus = gpus_of(gres);
    let features = features.split(',').filter(|feature| !matches!(*feature, "" | "(null)"));
    Some(FleetNode {
        availability: availability(state),
        state: (*state).to_owned(),
        features: features.map(str::to_owned).collect(),
        gpu_model: gpus.model,
        gpus: gpus.count,
        cpus: cpus.parse().ok()?,
        ..FleetNode::new(*name)
    })
}

/// Returns whether `text` is safe as a node name, which is used as a file name and an argument.
pub(crate) fn is_node_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty()
        && text.len() <= 253
        && text.bytes().all(is_plain)
        && !text.starts_with(['-', '.'])
}

/// Maps a state of `sinfo`, whose last character may be a flag: `*` not responding, `$` and `@`
/// maintenance and reboot, `~` powered down until needed.
fn availability(state: &str) -> Availability {
    if state.ends_with(['*', '$', '@', '^']) {
        return Availability::Unavailable;
    }
    match state.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_lowercase().as_str() {
        "idle" => Availability::Idle,
        "allocated" | "mixed" | "completing" | "planned" => Availability::Busy,
        _ => Availability::Unavailable,
    }
}

struct ClaimedGpus {
    model: Option<String>,
    count: u32,
}

/// Reads the GPUs of a gres such as `gpu:mi300x:8(S:0,1),nic:2`.
fn gpus_of(gres: &str) -> ClaimedGpus {
    let mut depth = 0_u32;
    let mut plain = String::new();
    for character in gres.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    let mut models = Vec::new();
    let mut count = 0;
    for item in plain.split(',') {
        match item.split(':').collect::<Vec<_>>().as_slice() {
            ["gpu", number] => count += number.parse::<u32>().unwrap_or(0),
            ["gpu", model, number] => {
                models.push((*model).to_owned());
                count += number.parse::<u32>().unwrap_or(0);
            }
            _ => {}
        }
    }
    let model = if models.is_empty() { None } else { Some(models.join("+")) };
    ClaimedGpus { model, count }
}

/// Returns the attributes `kernel` and `slurm` by node, from the output of `scontrol show node`,
/// with or without `--oneliner`.
pub fn parse_node_details(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut nodes: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut node = String::new();
    let mut is_os = false;
    for word in text.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            // `OS=Linux 6.1.0-13-amd64 #1 SMP …`: the word after the name is the version.
            if is_os {
                nodes.entry(node.clone()).or_default().insert("kernel".into(), word.into());
                is_os = false;
            }
            continue;
        };
        is_os = key == "OS";
        match key {
            "NodeName" => value.clone_into(&mut node),
            "Version" => {
                nodes.entry(node.clone()).or_default().insert("slurm".into(), value.into());
            }
            _ => {}
        }
    }
    nodes
}

/// Groups `nodes` by features, GPU model and, once it is known, fingerprint. Features that match
/// one of the `attributes` patterns (rack, switch) do not distinguish classes.
pub fn hardware_classes(
    nodes: &[FleetNode],
    attributes: &BTreeMap<String, String>,
) -> Vec<HardwareClass> {
    let mut alike: BTreeMap<String, Vec<&FleetNode>> = BTreeMap::new();
    for node in nodes {
        alike.entry(claimed_hardware(node, attributes)).or_default().push(node);
    }
    alike.iter().flat_map(|(hardware, nodes)| split_by_fingerprint(hardware, nodes)).collect()
}

/// Returns the features and the GPU model of a node: `gfx942,mi300x`.
fn claimed_hardware(node: &FleetNode, attributes: &BTreeMap<String, String>) -> String {
    let is_attribute = |feature: &str| {
        attributes.values().any(|pattern| rsb_stats::glob::matches(pattern, feature))
    };
    let mut parts: Vec<&str> = node.features.iter().map(String::as_str).collect();
    parts.retain(|feature| !is_attribute(feature));
    if let Some(model) = node.gpu_model.as_deref().filter(|model| !parts.contains(model)) {
        parts.push(model);
    }
    if parts.is_empty() { "node".to_owned() } else { parts.join(",") }
}

fn split_by_fingerprint(hardware: &str, nodes: &[&FleetNode]) -> Vec<HardwareClass> {
    let expected = most_common(nodes.iter().map(|node| node.gpus)).unwrap_or(0);
    let name =
        if expected == 0 { hardware.to_owned() } else { format!("{hardware}:{expected}gpu") };
    let known: BTreeSet<&String> =
        nodes.iter().filter_map(|node| node.fingerprint.as_ref()).collect();
    if known.len() < 2 {
        return vec![class_of(name, expected, nodes)];
    }
    // Nodes with different hardware are never pooled, and a node that was not probed may have
    // different hardware.
    let mut split: BTreeMap<Option<&String>, Vec<&FleetNode>> = BTreeMap::new();
    for node in nodes {
        split.entry(node.fingerprint.as_ref()).or_default().push(node);
    }
    let mut classes = Vec::new();
    for (fingerprint, nodes) in split {
        let print = fingerprint.map_or("not-probed", String::as_str);
        classes.push(class_of(format!("{name}/{print}"), expected, &nodes));
    }
    classes
}

fn class_of(name: String, expected: u32, nodes: &[&FleetNode]) -> HardwareClass {
    let mut short = Vec::new();
    for node in nodes {
        let gpus = node.probed_gpus.map_or(node.gpus, |probed| probed.min(node.gpus));
        if gpus < expected {
            short.push(GpuShortage { node: node.name.clone(), gpus, expected });
        }
    }
    let keys: BTreeSet<&String> = nodes.iter().flat_map(|node| node.attributes.keys()).collect();
    HardwareClass {
        name,
        gpus: expected,
        nodes: nodes.iter().map(|node| node.name.clone()).collect(),
        short,
        drift: keys.into_iter().filter_map(|key| drift_of(key, nodes)).collect(),
    }
}

/// Returns the drift of `key`; `None` if all nodes that report it agree.
fn drift_of(key: &str, nodes: &[&FleetNode]) -> Option<StackDrift> {
    let majority = most_common(nodes.iter().filter_map(|node| node.attributes.get(key)))?;
    let mut outliers = BTreeMap::new();
    for node in nodes {
        if let Some(other) = node.attributes.get(key).filter(|value| *value != majority) {
            outliers.insert(node.name.clone(), other.clone());
        }
    }
    if outliers.is_empty() {
        return None;
    }
    Some(StackDrift { key: key.to_owned(), majority: majority.clone(), outliers })
}

/// Returns the most frequent value; if several are equally frequent, the largest of them.
fn most_common<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINFO: &str = "\
n0|idle|gfx942,mi300x,rack-1|gpu:mi300x:8(S:0,1)|64
n1|allocated|gfx942,mi300x,rack-2|gpu:mi300x:8(S:0,1),nic:2|64
n1|allocated|gfx942,mi300x,rack-2|gpu:mi300x:8(S:0,1),nic:2|64
n2|idle*|gfx942,mi300x,rack-2|gpu:mi300x:7|64
n3|mixed-|(null)|(null)|32
";

    fn racks() -> BTreeMap<String, String> {
        BTreeMap::from([("rack".to_owned(), "rack-*".to_owned())])
    }

    #[test]
    fn limits_of_partitions_are_minutes() {
        for (text, expected) in [
            ("infinite", None),
            ("30:00", Some(30)),
            ("2:00:00", Some(120)),
            ("1-12:00:00", Some(2160)),
            ("n/a", None),
        ] {
            assert_eq!(limit_minutes(text), expected, "{text}");
        }
        let partitions = parse_partitions("main*|12|infinite\n").unwrap();
        assert!(partitions[0].is_default && partitions[0].nodes == 12, "{partitions:?}");
        assert!(parse_partitions("sinfo: error").is_err());
    }

    #[test]
    fn sinfo_is_read_once_per_node() {
        let nodes = parse_sinfo(SINFO).unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["n0", "n1", "n2", "n3"]);
        assert_eq!((nodes[0].gpus, nodes[0].gpu_model.as_deref()), (8, Some("mi300x")));
        assert_eq!((nodes[3].gpus, nodes[3].cpus, nodes[3].features.len()), (0, 32, 0));
        assert_eq!(nodes[0].all_attributes(&racks())["rack"], "rack-1");
    }

    #[test]
    fn states_say_whether_a_job_can_start() {
        for (state, expected) in [
            ("idle", Availability::Idle),
            ("IDLE", Availability::Idle),
            ("idle~", Availability::Idle),
            ("mixed-", Availability::Busy),
            ("planned", Availability::Busy),
            ("idle*", Availability::Unavailable),
            ("drained", Availability::Unavailable),
            ("allocated*", Availability::Unavailable),
            ("maint$", Availability::Unavailable),
            ("no-such-state", Availability::Unavailable),
        ] {
            assert_eq!(availability(state), expected, "{state}");
        }
    }

    #[test]
    fn other_output_names_the_line() {
        for (text, line) in [("n0|idle|a|b|8\nusage: sinfo", 2), ("-x|idle|a|b|8", 1)] {
            let error = parse_sinfo(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
        }
    }

    #[test]
    fn gres_without_a_model_and_of_two_models() {
        for (gres, model, count) in [
            ("(null)", None, 0),
            ("gpu:4", None, 4),
            ("nic:2,gpu:a100:2,gpu:h100:1(S:0-1)", Some("a100+h100"), 3),
        ] {
            let found = gpus_of(gres);
            assert_eq!((found.model.as_deref(), found.count), (model, count), "{gres}");
        }
    }

    #[test]
    fn scontrol_yields_kernel_and_version_in_both_forms() {
        let text = "NodeName=n0 Arch=x86_64 CoresPerSocket=1\n   OS=Linux 6.1.0-13-amd64 #1 SMP\n   \
                    Version=22.05.8\n\nNodeName=n1 OS=Linux 6.1.0-9-amd64 #1 Version=22.05.8\n";
        let details = parse_node_details(text);
        assert_eq!(details["n0"]["kernel"], "6.1.0-13-amd64");
        assert_eq!(details["n1"]["kernel"], "6.1.0-9-amd64");
        assert_eq!(details["n1"]["slurm"], "22.05.8");
    }

    #[test]
    fn classes_ignore_racks_and_list_missing_gpus_and_drift() {
        let mut nodes = parse_sinfo(SINFO).unwrap();
        for (at, driver) in ["6.2", "6.2", "6.1"].into_iter().enumerate() {
            nodes[at].attributes.insert("driver".to_owned(), driver.to_owned());
        }
        nodes[1].probed_gpus = Some(6);
        let classes = hardware_classes(&nodes, &racks());
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(names, ["gfx942,mi300x:8gpu", "node"]);
        let short: Vec<u32> = classes[0].short.iter().map(|short| short.gpus).collect();
        assert_eq!(short, [6, 7], "n1 claims 8 and has 6, n2 claims 7");
        assert_eq!(classes[0].drift[0].majority, "6.2");
        assert_eq!(classes[0].drift[0].outliers["n2"], "6.1");
    }

    #[test]
    fn fingerprints_split_a_class() {
        let mut nodes = parse_sinfo(SINFO).unwrap();
        nodes[0].fingerprint = Some("a".to_owned());
        assert_eq!(
            hardware_classes(&nodes, &racks()).len(),
            2,
            "a single fingerprint must not split the class"
        );
        nodes[1].fingerprint = Some("b".to_owned());
        let classes = hardware_classes(&nodes, &racks());
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        let base = "gfx942,mi300x:8gpu";
        let expected = [format!("{base}/not-probed"), format!("{base}/a"), format!("{base}/b")];
        assert_eq!(names[..3], expected);
    }
}
