//! Simulated campaigns: nodes with a persistent level, processes with noise, and a drift that all
//! nodes share. Counts the nodes that each rule calls slow.

use std::collections::BTreeMap;

use rsb_fleet::{
    FleetInput, FleetReport, JobPair, MeasuredNode, MetricValues, NodeState, PairSide, VerdictRule,
    confirm, judge_fleet, pair_order,
};
use rsb_model::Better;
use rsb_stats::median;
use rsb_stats::rng::Rng;

const METRICS: [&str; 4] = ["copy", "gemm", "launch", "reduce"];
const PROCESSES: usize = 5;
/// Standard deviation between processes, in percent.
const PROCESS_SD: f64 = 0.3;
/// Standard deviation of the drift, in percent, and its correlation from node to node.
const DRIFT_SD: f64 = 0.2;
const DRIFT_CORRELATION: f64 = 0.9;
/// Number of nodes per rack.
const RACK: usize = 10;
/// Share of nodes that are temporarily slow.
const TRANSIENT_SHARE: f64 = 0.03;
/// Number of rounds in which a suspect and a reference node are compared.
const ROUNDS: usize = 2;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub(super) nodes: usize,
    /// Standard deviation between nodes, in percent.
    pub(super) node_sd: f64,
    pub(super) slow_nodes: usize,
    pub(super) slow_percent: f64,
    /// Slowdown in percent of some nodes, which ends before the pairs are measured.
    pub(super) transient_percent: f64,
    /// Slowdown in percent of all nodes of the first rack.
    pub(super) rack_percent: f64,
}

impl Scenario {
    pub(super) const HEALTHY: Self = Self {
        nodes: 0,
        node_sd: 0.0,
        slow_nodes: 0,
        slow_percent: 0.0,
        transient_percent: 0.0,
        rack_percent: 0.0,
    };
}

/// Counts of nodes called slow by a fixed limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FixedCalls {
    pub(super) found: usize,
    pub(super) false_calls: usize,
}

/// Counts summed over all campaigns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Calls {
    pub(super) campaigns: usize,
    pub(super) healthy: usize,
    pub(super) planted: usize,
    pub(super) found: usize,
    pub(super) planted_undecided: usize,
    pub(super) false_nodes: usize,
    pub(super) false_campaigns: usize,
    /// Number of healthy nodes without a decision.
    pub(super) undecided: usize,
    /// Number of campaigns whose report names a common cause.
    pub(super) causes: usize,
    /// Nodes more than 5 % slower than the mean of the fleet, as in `SuperBench`.
    pub(super) by_mean: FixedCalls,
    /// Nodes more than 10 % below the value of one node, as with references in `ReFrame`.
    pub(super) by_reference: FixedCalls,
}

impl Calls {
    pub(super) fn add(&mut self, campaign: &SimulatedCampaign) {
        self.campaigns += 1;
        self.causes += usize::from(!campaign.report.causes.is_empty());
        let by_mean = beyond(&campaign.nodes, 1.05, |levels| {
            levels.iter().sum::<f64>() / levels.len() as f64
        });
        let by_reference = beyond(&campaign.nodes, 1.0 / 0.9, |levels| levels[0]);
        let false_before = self.false_nodes;
        for (at, node) in campaign.report.nodes.iter().enumerate() {
            let is_called = node.state == NodeState::Slow;
            let is_undecided = node.state == NodeState::Undecided;
            let is_planted = campaign.planted[at];
            if is_planted {
                self.planted += 1;
                self.found += usize::from(is_called);
                self.planted_undecided += usize::from(is_undecided);
            } else {
                self.healthy += 1;
                self.false_nodes += usize::from(is_called);
                self.undecided += usize::from(is_undecided);
            }
            self.by_mean.count(by_mean[at], is_planted);
            self.by_reference.count(by_reference[at], is_planted);
        }
        self.false_campaigns += usize::from(self.false_nodes > false_before);
    }
}

impl FixedCalls {
    pub(super) fn count(&mut self, is_called: bool, is_planted: bool) {
        self.found += usize::from(is_called && is_planted);
        self.false_calls += usize::from(is_called && !is_planted);
    }
}

/// Returns for each node whether a metric is slower than `factor` times `baseline` of the levels of
/// all nodes.
pub(super) fn beyond(
    nodes: &[MeasuredNode],
    factor: f64,
    baseline: impl Fn(&[f64]) -> f64,
) -> Vec<bool> {
    let mut called = vec![false; nodes.len()];
    let metrics: Vec<&String> = nodes.iter().take(1).flat_map(|node| node.values.keys()).collect();
    for metric in metrics {
        let levels: Vec<f64> = nodes
            .iter()
            .map(|node| median(&node.values[metric].processes).unwrap_or(f64::NAN))
            .collect();
        let limit = factor * baseline(&levels);
        for (called, level) in called.iter_mut().zip(&levels) {
            *called |= *level > limit;
        }
    }
    called
}

/// A campaign and its report.
pub(super) struct SimulatedCampaign {
    nodes: Vec<MeasuredNode>,
    planted: Vec<bool>,
    report: FleetReport,
}

/// Simulates a campaign: measures all nodes, judges them, compares each suspect with a reference
/// node, and judges again.
pub(super) fn campaign(scenario: &Scenario, rng: &mut Rng) -> SimulatedCampaign {
    let mut order: Vec<usize> = (0..scenario.nodes).collect();
    rng.shuffle(&mut order);
    let mut planted = vec![false; scenario.nodes];
    for &at in order.iter().take(scenario.slow_nodes) {
        planted[at] = true;
    }
    let mut levels: Vec<[f64; METRICS.len()]> = Vec::new();
    for (at, is_planted) in planted.iter().enumerate() {
        let mut own = METRICS.map(|_| 1.0 + scenario.node_sd / 100.0 * rng.normal());
        if *is_planted {
            own[0] *= 1.0 + scenario.slow_percent / 100.0;
        }
        if at < RACK {
            own = own.map(|level| level * (1.0 + scenario.rack_percent / 100.0));
        }
        levels.push(own);
    }
    let nodes = measure(scenario, &levels, rng);
    let rule = VerdictRule::default();
    let (history, mut confirmations) = (BTreeMap::new(), BTreeMap::new());
    let input = FleetInput { nodes: &nodes, history: &history, confirmations: &BTreeMap::new() };
    for suspect in judge_fleet(&input, &rule).suspects {
        let position = |name: &str| nodes.iter().position(|node| node.name == name);
        let metric = METRICS.iter().position(|name| *name == suspect.metric);
        if let (Some(metric), Some(slow), Some(good)) =
            (metric, position(&suspect.node), suspect.reference.as_deref().and_then(position))
        {
            let differences = pairs(levels[good][metric], levels[slow][metric], rng);
            let result = confirm(&differences, suspect.slower_percent, &rule);
            confirmations.insert(suspect.node, result);
        }
    }
    let input = FleetInput { nodes: &nodes, history: &history, confirmations: &confirmations };
    let report = judge_fleet(&input, &rule);
    SimulatedCampaign { nodes, planted, report }
}

fn measure(
    scenario: &Scenario,
    levels: &[[f64; METRICS.len()]],
    rng: &mut Rng,
) -> Vec<MeasuredNode> {
    let fresh = (1.0 - DRIFT_CORRELATION * DRIFT_CORRELATION).sqrt();
    let mut drift = rng.normal();
    let mut nodes = Vec::new();
    for (at, own) in levels.iter().enumerate() {
        drift = DRIFT_CORRELATION * drift + fresh * rng.normal();
        let mut factor = 1.0 + DRIFT_SD / 100.0 * drift;
        if scenario.transient_percent > 0.0 && rng.uniform() < TRANSIENT_SHARE {
            factor *= 1.0 + scenario.transient_percent / 100.0;
        }
        let mut values = BTreeMap::new();
        for (metric, level) in METRICS.iter().zip(own) {
            values.insert((*metric).to_owned(), processes(level * factor, rng));
        }
        nodes.push(MeasuredNode {
            name: format!("n{at}"),
            class: "class".to_owned(),
            attributes: BTreeMap::from([("rack".to_owned(), format!("r{}", at / RACK))]),
            values,
            trouble: None,
        });
    }
    nodes
}

/// Returns simulated times of processes around `level`.
fn processes(level: f64, rng: &mut Rng) -> MetricValues {
    let times = (0..PROCESSES).map(|_| 100.0 * level * (1.0 + PROCESS_SD / 100.0 * rng.normal()));
    MetricValues { better: Better::Lower, processes: times.collect() }
}

/// Simulates measuring a suspect alternately with a reference node that passed.
fn pairs(good: f64, slow: f64, rng: &mut Rng) -> Vec<JobPair> {
    let mut pairs = Vec::new();
    for turn in pair_order(ROUNDS).chunks(2) {
        // A drift affects both jobs of a pair.
        let factor = 1.0 + DRIFT_SD / 100.0 * rng.normal();
        let mut of = |side: PairSide| {
            let level = if side == PairSide::Reference { good } else { slow };
            processes(level * factor, rng)
        };
        let (first, second) = (of(turn[0]), of(turn[1]));
        pairs.push(if turn[0] == PairSide::Reference {
            JobPair { reference: first, suspect: second }
        } else {
            JobPair { reference: second, suspect: first }
        });
    }
    pairs
}
