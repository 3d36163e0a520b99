//! Which nodes are slow, within their hardware class, with a known rate of false calls.
//!
//! 1. The level of a metric on a node is the median over its processes, as a logarithm of time.
//! 2. Common causes (rack, switch, driver, image) are found and subtracted first.
//! 3. A node is compared with the other nodes of its class by Student's t on their trimmed mean and
//!    winsorized spread. Each end is trimmed by as many nodes as may be slow before the breaker
//!    opens. A deviation below the minimum effect, or not clear of measurement noise, has
//!    probability 1.
//! 4. The metrics of a node are combined (Simes), and the nodes corrected by Benjamini and Hochberg
//!    over the campaign. What remains is suspect, and slow once pairs with a node that passed
//!    confirm it.

mod cause;
mod class;
mod pairs;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rsb_model::Better;
use rsb_model::record::NodeState;
use rsb_stats::multiple_testing::benjamini_hochberg;
use serde::{Deserialize, Serialize};

pub use cause::CommonCause;
pub use pairs::{Confirmation, JobPair, PairSide, confirm, pair_order};

use class::{ClassMembers, KNOWN_SPREAD_FROM};

/// `[verdict]`: rules by which a node is called slow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerdictRule {
    /// Smaller slowdowns, in percent of the time, never count.
    pub minimum_effect_percent: f64,
    /// Expected share of false positives among all nodes that are called slow.
    pub false_discovery_rate: f64,
    /// Probability that a healthy node becomes a suspect.
    pub chance_per_node: f64,
    /// Minimum number of measured nodes in a class for it to be judged without other references.
    pub min_nodes: usize,
    /// If more than this share of a class looks slow, the class is reported instead of its nodes.
    pub breaker_percent: f64,
    /// Whether a suspect must be confirmed by pairs with a passing node before it is called slow.
    pub confirm: bool,
    /// Time to wait before the pairs: transient slowness lasts 10 to 24 minutes.
    pub confirm_after_minutes: u64,
    /// Rounds of pairs, A B B A: four jobs each.
    pub confirm_rounds: usize,
    /// Nodes that are known to be good, as a reference for classes that are too small.
    pub reference_nodes: Vec<String>,
}

impl Default for VerdictRule {
    fn default() -> Self {
        Self {
            minimum_effect_percent: 2.0,
            false_discovery_rate: 0.05,
            // Bounds the share of healthy nodes that are called below 0.1 %, with a margin.
            chance_per_node: 0.0006,
            min_nodes: 5,
            breaker_percent: 20.0,
            confirm: true,
            confirm_after_minutes: 30,
            confirm_rounds: 2,
            reference_nodes: Vec::new(),
        }
    }
}

impl VerdictRule {
    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, value, most) in [
            ("minimum_effect_percent", self.minimum_effect_percent, 100.0),
            ("false_discovery_rate", self.false_discovery_rate, 0.5),
            ("chance_per_node", self.chance_per_node, 0.5),
            ("breaker_percent", self.breaker_percent, 50.0),
        ] {
            if !(value > 0.0 && value <= most) {
                return Err(format!("`verdict.{key}` must be above 0 and at most {most}"));
            }
        }
        if self.confirm_rounds == 0 {
            return Err("`verdict.confirm_rounds` must be at least 1".to_owned());
        }
        if self.min_nodes < 3 {
            return Err("`verdict.min_nodes` must be at least 3".to_owned());
        }
        Ok(())
    }

    /// Returns the minimum effect as a logarithm of time.
    fn effect(&self) -> f64 {
        (self.minimum_effect_percent / 100.0).ln_1p()
    }
}

/// Values of one metric on one node.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricValues {
    /// Direction.
    pub better: Better,
    /// One value per process.
    pub processes: Vec<f64>,
}

/// Why the speed of a node is not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeTrouble {
    /// `NotMeasured`, `Failed` or `Error`.
    pub state: NodeState,
    /// Cause.
    pub why: String,
}

/// A node and its measured values.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredNode {
    /// Name.
    pub name: String,
    /// Hardware class.
    pub class: String,
    /// Rack, switch, driver, image: possible common causes.
    pub attributes: BTreeMap<String, String>,
    /// Values by metric: case id and name.
    pub values: BTreeMap<String, MetricValues>,
    /// Why the node is not judged.
    pub trouble: Option<NodeTrouble>,
}

/// Everything that a report depends on.
#[derive(Debug, Clone, Copy)]
pub struct FleetInput<'a> {
    /// The nodes of the campaign.
    pub nodes: &'a [MeasuredNode],
    /// Earlier levels, one per node, by class and metric, for classes that are too small.
    pub history: &'a BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    /// Results of [`confirm`] by node.
    pub confirmations: &'a BTreeMap<String, Confirmation>,
}

/// One metric of a node against its class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricDeviation {
    /// Case id and name of the metric.
    pub metric: String,
    /// Additional time in percent: +25 if a rate is a fifth lower.
    pub slower_percent: f64,
    /// 95 % interval of it, from the noise between processes.
    pub interval_percent: [f64; 2],
    /// Standard deviation of the other nodes in percent; 0 against a reference node.
    pub spread_percent: f64,
    /// Number of nodes that it was compared with.
    pub peers: usize,
    /// Probability that a healthy node deviates at least as much.
    pub chance: f64,
    /// `Slow` if it is part of the evidence, `Ok`, or `Undecided`.
    pub state: NodeState,
    /// Probability used in the test; 1 if the effect is not clear.
    #[serde(skip)]
    tested: f64,
}

/// Conclusion for a node, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// Name.
    pub name: String,
    /// Hardware class.
    pub class: String,
    /// Conclusion.
    pub state: NodeState,
    /// Reason in one sentence.
    pub reason: String,
    /// Metrics against the class, most deviating first.
    pub deviations: Vec<MetricDeviation>,
}

/// Summary of a hardware class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassReport {
    /// Name.
    pub name: String,
    /// Number of nodes, measured or not.
    pub nodes: usize,
    /// Number of judged nodes, the base of `breaker_percent`.
    pub judged: usize,
    /// Number of nodes that look slow.
    pub suspects: usize,
    /// Whether too many nodes look slow for any to be called slow.
    pub is_breaker_open: bool,
}

/// Conclusions of a campaign.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetReport {
    /// Nodes in the order of the input.
    pub nodes: Vec<NodeReport>,
    /// Classes by name.
    pub classes: Vec<ClassReport>,
    /// Common causes of slowness.
    pub causes: Vec<CommonCause>,
    /// Nodes to measure again in pairs.
    pub suspects: Vec<Suspect>,
}

/// A node to measure again in pairs with a reference node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    /// Name.
    pub node: String,
    /// The metric with the clearest deviation.
    pub metric: String,
    /// Its additional time in percent.
    pub slower_percent: f64,
    /// Node of the same class that passed; `None` if none did.
    pub reference: Option<String>,
}

impl FleetReport {
    /// Returns the exit code of the report: 3 if a node or a whole group is slow; else 4 if there
    /// is no node, or one that should have been judged was not; else 1 if one failed; else 0.
    pub fn exit_code(&self) -> u8 {
        let has = |state: NodeState| self.nodes.iter().any(|node| node.state == state);
        if has(NodeState::Slow) || !self.causes.is_empty() {
            return 3;
        }
        let unjudged = [NodeState::NotMeasured, NodeState::Undecided, NodeState::Error];
        if self.nodes.is_empty() || unjudged.into_iter().any(has) {
            return 4;
        }
        u8::from(has(NodeState::Failed))
    }
}

/// Intermediate results for a node while it is judged.
#[derive(Default)]
struct Draft {
    deviations: Vec<MetricDeviation>,
    missing: Vec<String>,
    cause: Option<String>,
    unjudged: Option<String>,
    is_reference: bool,
    is_suspect: bool,
}

impl Draft {
    /// Returns whether the node counts toward `breaker_percent`, even if it is no suspect: a group
    /// of slow nodes widens the spread with which each is compared, and could hide all of them.
    fn looks_slow(&self) -> bool {
        let is_beyond = |one: &MetricDeviation| {
            one.tested < 1.0 && one.state != NodeState::Ok && one.peers >= KNOWN_SPREAD_FROM
        };
        self.is_suspect || self.deviations.iter().any(is_beyond)
    }
}

/// Judges the nodes of a campaign.
pub fn judge_fleet(input: &FleetInput<'_>, rule: &VerdictRule) -> FleetReport {
    let mut drafts: Vec<Draft> = input.nodes.iter().map(|_| Draft::default()).collect();
    let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, node) in input.nodes.iter().enumerate() {
        let members = classes.entry(&node.class).or_default();
        if node.trouble.is_none() && !node.values.is_empty() {
            members.push(at);
        }
    }
    let mut causes = Vec::new();
    for (name, members) in &classes {
        let history = input.history.get(*name);
        let class = ClassMembers { name, members, nodes: input.nodes, history, rule };
        causes.extend(class.judge(&mut drafts));
    }
    mark_suspects(&mut drafts, rule);
    let classes = summarize(input.nodes, &drafts, rule);
    let open: BTreeSet<&str> = classes
        .iter()
        .filter(|class| class.is_breaker_open)
        .map(|class| class.name.as_str())
        .collect();
    let mut nodes = Vec::new();
    let mut to_confirm = Vec::new();
    for (node, draft) in input.nodes.iter().zip(drafts) {
        let is_open = open.contains(node.class.as_str());
        let confirmation = input.confirmations.get(&node.name);
        if draft.is_suspect && !is_open && confirmation.is_none() && rule.confirm {
            to_confirm.push(nodes.len());
        }
        nodes.push(conclude(node, draft, is_open, confirmation, rule));
    }
    let suspects = to_confirm.into_iter().filter_map(|at| suspect(&nodes, at, rule)).collect();
    FleetReport { nodes, classes, causes, suspects }
}

/// Marks the nodes whose deviations are significant over the campaign.
fn mark_suspects(drafts: &mut [Draft], rule: &VerdictRule) {
    let mut judged: Vec<&mut Draft> =
        drafts.iter_mut().filter(|draft| !draft.deviations.is_empty()).collect();
    let mut within = Vec::new();
    for draft in &judged {
        let tested: Vec<f64> = draft.deviations.iter().map(|one| one.tested).collect();
        within.push(benjamini_hochberg(&tested));
    }
    // The smallest adjusted value is Simes' combination.
    let combined: Vec<f64> =
        within.iter().map(|adjusted| adjusted.iter().copied().fold(1.0, f64::min)).collect();
    let over_nodes = benjamini_hochberg(&combined);
    for (at, draft) in judged.iter_mut().enumerate() {
        draft.is_suspect =
            combined[at] <= rule.chance_per_node && over_nodes[at] <= rule.false_discovery_rate;
        if !draft.is_suspect {
            continue;
        }
        for (deviation, adjusted) in draft.deviations.iter_mut().zip(&within[at]) {
            if *adjusted <= rule.chance_per_node {
                deviation.state = NodeState::Slow;
            }
        }
    }
}

fn summarize(nodes: &[MeasuredNode], drafts: &[Draft], rule: &VerdictRule) -> Vec<ClassReport> {
    let mut classes: BTreeMap<&str, ClassReport> = BTreeMap::new();
    for (node, draft) in nodes.iter().zip(drafts) {
        let class = classes.entry(&node.class).or_insert_with(|| ClassReport {
            name: node.class.clone(),
            nodes: 0,
            judged: 0,
            suspects: 0,
            is_breaker_open: false,
        });
        class.nodes += 1;
        class.judged += usize::from(!draft.deviations.is_empty());
        class.suspects += usize::from(draft.looks_slow());
    }
    let mut classes: Vec<ClassReport> = classes.into_values().collect();
    for class in &mut classes {
        let limit = rule.breaker_percent / 100.0 * class.judged as f64;
        // In a class of one to four nodes, a single node is always more than a fifth, so require at
        // least two.
        class.is_breaker_open = class.suspects > 1 && class.suspects as f64 > limit;
    }
    classes
}

/// Returns the conclusion for `node`.
fn conclude(
    node: &MeasuredNode,
    mut draft: Draft,
    is_open: bool,
    confirmation: Option<&Confirmation>,
    rule: &VerdictRule,
) -> NodeReport {
    draft.deviations.sort_by(|a, b| {
        let key = |one: &MetricDeviation| u8::from(one.state != NodeState::Slow);
        key(a).cmp(&key(b)).then(b.slower_percent.total_cmp(&a.slower_percent))
    });
    let worst = draft.deviations.first().map_or_else(String::new, MetricDeviation::describe);
    let (state, reason) = if let Some(trouble) = &node.trouble {
        (trouble.state, trouble.why.clone())
    } else if node.values.is_empty() {
        (NodeState::NotMeasured, "no result".to_owned())
    } else if is_open && draft.looks_slow() {
        let percent = rule.breaker_percent;
        let reason = format!("more than {percent} % of its class looks slow; {worst}");
        (NodeState::Undecided, reason)
    } else if draft.is_suspect {
        after_pairs(confirmation, &worst, rule)
    } else if let Some(cause) = draft.cause {
        (NodeState::Undecided, format!("slow together with {cause}; see the common causes"))
    } else if let Some(why) = draft.unjudged {
        (NodeState::Undecided, why)
    } else if draft.deviations.is_empty() && !draft.is_reference {
        (NodeState::Undecided, "no usable value to compare".to_owned())
    } else if draft.is_reference {
        (NodeState::Ok, "named as reference".to_owned())
    } else if let Some(open) = draft.deviations.iter().find(|one| one.state == NodeState::Undecided)
    {
        (NodeState::Undecided, format!("not decided: {}", open.describe()))
    } else if let Some(metric) = draft.missing.first() {
        let count = draft.missing.len();
        let reason = format!(
            "{metric} is missing, but most nodes of its class have it ({count} such metrics)"
        );
        (NodeState::Undecided, reason)
    } else {
        (NodeState::Ok, format!("largest deviation: {worst}"))
    };
    let (name, class) = (node.name.clone(), node.class.clone());
    NodeReport { name, class, state, reason, deviations: draft.deviations }
}

/// Returns the state of a suspect.
fn after_pairs(
    confirmation: Option<&Confirmation>,
    worst: &str,
    rule: &VerdictRule,
) -> (NodeState, String) {
    match confirmation {
        Some(Confirmation::Refuted { .. }) => {
            (NodeState::Ok, format!("passed its pairs; before them, {worst}"))
        }
        Some(Confirmation::Open { .. }) => {
            (NodeState::Undecided, format!("its pairs are inconclusive; {worst}"))
        }
        None if rule.confirm => {
            (NodeState::Undecided, format!("suspect, not confirmed by pairs yet; {worst}"))
        }
        Some(Confirmation::Confirmed { slower_percent, .. }) => {
            let in_pairs = rounded(*slower_percent);
            (NodeState::Slow, format!("{worst}; {in_pairs:+.1} % in pairs"))
        }
        None => (NodeState::Slow, worst.to_owned()),
    }
}

/// Returns which metric to measure in pairs, with the passing node nearest to the level of its
/// class.
fn suspect(nodes: &[NodeReport], at: usize, rule: &VerdictRule) -> Option<Suspect> {
    let node = nodes.get(at)?;
    let passed = nodes.iter().filter(|one| one.class == node.class && one.state == NodeState::Ok);
    let distance = |one: &NodeReport| {
        one.deviations.iter().map(|one| one.slower_percent.abs()).fold(0.0, f64::max)
    };
    let reference = passed.min_by(|a, b| {
        let key = |one: &NodeReport| !rule.reference_nodes.contains(&one.name);
        key(a).cmp(&key(b)).then(distance(a).total_cmp(&distance(b)))
    });
    let worst = node.deviations.first()?;
    Some(Suspect {
        node: node.name.clone(),
        metric: worst.metric.clone(),
        slower_percent: worst.slower_percent,
        reference: reference.map(|one| one.name.clone()),
    })
}

impl MetricDeviation {
    /// Describes the deviation: `gemm +9.8 % time [+9.1, +10.5] against 5 nodes of its class (spread
    /// 0.3 %)`.
    fn describe(&self) -> String {
        let [low, high] = self.interval_percent.map(rounded);
        format!(
            "{} {:+.1} % time [{low:+.1}, {high:+.1}] against {} of its class (spread {:.2} %)",
            self.metric,
            rounded(self.slower_percent),
            if self.peers == 1 { "one node".to_owned() } else { format!("{} nodes", self.peers) },
            self.spread_percent
        )
    }
}

/// Rounds to one decimal, without a negative zero.
fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0 + 0.0
}
