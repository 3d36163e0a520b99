//! Verdicts on the nodes of a campaign.

use std::collections::BTreeMap;

use rsb_fleet::{
    Confirmation, FleetConfig, FleetInput, FleetNode, FleetReport, HardwareClass, MeasuredNode,
    NodeProgress, NodeState, NodeTrouble, SkippedNode, hardware_classes, judge_fleet,
};
use rsb_model::format::FORMAT_VERSION;
use rsb_model::{Environment, Fingerprint};
use rsb_stats::estimate::median;
use serde::Serialize;

use super::burn_in::BurnInReport;
use super::campaign::CampaignDir;
use super::measured::{StepRuns, judged_runs, step_runs, values_of};
use super::pairs;
use super::progress::{StatusDocument, status};
use crate::AppError;

/// Verdicts on the nodes of a campaign, with their evidence.
#[derive(Debug, Serialize)]
pub struct FleetDocument {
    /// Version of the document format.
    pub format_version: u32,
    /// Name of the campaign.
    pub campaign: String,
    /// Verdicts.
    #[serde(flatten)]
    pub report: FleetReport,
    /// Hardware classes after the measurement, with missing GPUs and differing software.
    pub hardware: Vec<HardwareClass>,
    /// Results of the paired measurements, by suspect.
    pub confirmations: BTreeMap<String, Confirmation>,
    /// Nodes that are not part of the plan.
    pub skipped: Vec<SkippedNode>,
    /// Change over the hours of a burn-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burn_in: Option<BurnInReport>,
}

impl FleetDocument {
    /// Returns the exit code: 3 if a node drifted, otherwise that of the report.
    pub fn exit_code(&self) -> u8 {
        match &self.burn_in {
            Some(burn_in) if burn_in.has_drift() => 3,
            _ => self.report.exit_code(),
        }
    }
}

/// Earlier levels by class and metric.
type History = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// Judges the nodes of a campaign. Reports files that cannot be read to `say`.
///
/// # Errors
/// If the jobs of the campaign cannot be read.
pub fn report(
    dir: &CampaignDir,
    config: &FleetConfig,
    say: &mut dyn FnMut(&str),
) -> Result<FleetDocument, AppError> {
    report_with(dir, config, status(dir, config)?, say)
}

/// As [`report`], with the progress in `status`.
pub(super) fn report_with(
    dir: &CampaignDir,
    config: &FleetConfig,
    status: StatusDocument,
    say: &mut dyn FnMut(&str),
) -> Result<FleetDocument, AppError> {
    let fleet = MeasuredFleet::of(dir, config, Some(progress_of(status)), say)?;
    let mut history = History::new();
    let is_small = |class: &HardwareClass| class.nodes.len() < config.verdict.min_nodes;
    if fleet.hardware.iter().any(is_small) {
        for earlier in CampaignDir::others(config, Some(&dir.campaign.name)) {
            add_levels(&mut history, &MeasuredFleet::of(&earlier, config, None, say)?);
        }
    }
    let confirmations = pairs::confirmations(dir, &dir.jobs()?, config)?;
    let input =
        FleetInput { nodes: &fleet.nodes, history: &history, confirmations: &confirmations };
    Ok(FleetDocument {
        format_version: FORMAT_VERSION,
        campaign: dir.campaign.name.clone(),
        report: judge_fleet(&input, &config.verdict),
        hardware: fleet.hardware,
        confirmations,
        skipped: dir.campaign.skipped.clone(),
        burn_in: fleet.burn_in,
    })
}

/// Progress of the planned nodes by name; `None` if a node was not submitted.
type ProgressByNode = BTreeMap<String, Option<NodeProgress>>;

fn progress_of(status: StatusDocument) -> ProgressByNode {
    let nodes = status.nodes.into_iter().filter(|node| node.pair.is_none());
    nodes.map(|node| (node.node, node.progress)).collect()
}

fn add_levels(history: &mut History, fleet: &MeasuredFleet) {
    for node in fleet.nodes.iter().filter(|node| node.trouble.is_none()) {
        let class = history.entry(node.class.clone()).or_default();
        for (metric, values) in &node.values {
            class.entry(metric.clone()).or_default().extend(median(&values.processes));
        }
    }
}

/// Planned nodes of a campaign with their measured values, and their hardware classes.
struct MeasuredFleet {
    hardware: Vec<HardwareClass>,
    nodes: Vec<MeasuredNode>,
    burn_in: Option<BurnInReport>,
}

impl MeasuredFleet {
    /// Reads the results of a campaign. Nodes that are not complete have no values; `progress`
    /// explains why.
    fn of(
        dir: &CampaignDir,
        config: &FleetConfig,
        progress: Option<ProgressByNode>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, AppError> {
        let mut progress = progress.unwrap_or_default();
        let mut listed: Vec<FleetNode> = Vec::new();
        let mut nodes = Vec::new();
        let duration_seconds = dir.campaign.duration_seconds;
        let mut burn_in = duration_seconds
            .map(|duration_seconds| BurnInReport { duration_seconds, ..BurnInReport::default() });
        let mut ends = Vec::new();
        let known: BTreeMap<&str, &FleetNode> =
            dir.campaign.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        for task in &dir.campaign.tasks {
            let runs = step_runs(dir, &dir.of_node(&task.node), say)?;
            let scheduler = known.get(task.node.as_str()).copied();
            let mut node = scheduler.cloned().unwrap_or_else(|| FleetNode::new(&task.node));
            if let Some(step) = runs.values().next() {
                add_probe(&mut node, &step.run.environment);
            }
            if let Some(burn_in) = &mut burn_in {
                ends.extend(burn_in.add(task, &runs));
            }
            let runs = judged_runs(dir, task, runs);
            let progress = progress.remove(&task.node).flatten();
            nodes.push(measured_node(&node, config, runs.as_ref(), progress));
            listed.push(node);
        }
        let hardware = hardware_classes(&listed, &config.attributes);
        let mut classes: BTreeMap<&str, &str> = BTreeMap::new();
        for class in &hardware {
            classes.extend(class.nodes.iter().map(|node| (node.as_str(), class.name.as_str())));
        }
        for node in &mut nodes {
            let class = classes.get(node.name.as_str()).copied().unwrap_or_default();
            class.clone_into(&mut node.class);
        }
        if let Some(burn_in) = &mut burn_in {
            let rule = &config.verdict;
            burn_in.compare(&ends, rule.min_nodes, rule.minimum_effect_percent);
        }
        Ok(Self { hardware, nodes, burn_in })
    }
}

/// Returns the measured node; its class is set later. `runs` is `None` if the node is not complete.
fn measured_node(
    node: &FleetNode,
    config: &FleetConfig,
    runs: Option<&StepRuns>,
    progress: Option<NodeProgress>,
) -> MeasuredNode {
    let (values, trouble) = match runs {
        Some(runs) => values_of(runs),
        None => (BTreeMap::new(), Some(unmeasured(progress))),
    };
    MeasuredNode {
        name: node.name.clone(),
        class: String::new(),
        attributes: node.all_attributes(&config.attributes),
        values,
        trouble,
    }
}

/// Returns the reason why an incomplete node is not judged.
fn unmeasured(progress: Option<NodeProgress>) -> NodeTrouble {
    let (state, why) = match progress {
        None => (NodeState::NotMeasured, "was not submitted".to_owned()),
        Some(NodeProgress::Queued { why }) => {
            (NodeState::NotMeasured, format!("waits in the queue: {why}"))
        }
        Some(NodeProgress::Running { .. }) => {
            (NodeState::NotMeasured, "is being measured".to_owned())
        }
        Some(NodeProgress::Done) => (NodeState::Error, "its results are missing".to_owned()),
        Some(
            NodeProgress::Failed { why }
            | NodeProgress::NotReachable { why }
            | NodeProgress::Stale { why },
        ) => (NodeState::Error, why),
    };
    NodeTrouble { state, why }
}

/// Adds the GPUs and software versions that a run found on the node.
pub(super) fn add_probe(node: &mut FleetNode, environment: &Environment) {
    node.fingerprint = Some(Fingerprint::of(environment).slug());
    node.probed_gpus = u32::try_from(environment.gpus.len()).ok();
    let driver = environment.gpus.iter().find_map(|gpu| gpu.driver.clone());
    let firmware = environment.gpus.iter().find_map(|gpu| gpu.vbios.clone());
    for (key, value) in [
        ("driver", driver),
        ("firmware", firmware),
        ("rocm", environment.rocm.clone()),
        ("cuda", environment.cuda.clone()),
        ("kernel", environment.kernel.clone()),
    ] {
        if let Some(value) = value {
            node.attributes.insert(key.to_owned(), value);
        }
    }
}
