//! The nodes of one hardware class, metric by metric.

use std::collections::{BTreeMap, BTreeSet};

use rsb_model::Better;
use rsb_stats::distribution::{normal_exceeded_with, t_above, t_exceeded_with};
use rsb_stats::estimate::{mean, median, median_absolute_deviation, variance};

use super::cause::{self, AttributeGroup, CauseLimits, CommonCause};
use super::{Draft, MeasuredNode, MetricDeviation, MetricValues, NodeState, VerdictRule};

/// In classes of at least this many nodes, a node is compared with all of them, including itself:
/// its weight is negligible, and it may be trimmed.
const LEAVE_ONE_OUT_BELOW: usize = 50;
/// Minimum number of other nodes for the spread of a class to be known well enough to explain a
/// deviation.
pub(super) const KNOWN_SPREAD_FROM: usize = 9;
/// A healthy node deviates at most by this many standard deviations of its class.
const HEALTHY_REACH: f64 = 4.0;
/// Degrees of freedom that the noise common to all nodes adds to those of a node's own noise.
const COMMON_NOISE_DF: f64 = 4.0;
/// Ratio of the standard error of a median to that of a mean, for normal values: √(π/2).
pub(super) const MEDIAN_ERROR: f64 = 1.2533;

/// Level of one metric on one node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeLevel {
    /// Position of the node.
    pub(super) node: usize,
    /// Median over the processes of the logarithm of the time, or of the inverse of a rate.
    pub(super) value: f64,
    variance: Option<f64>,
    processes: usize,
}

impl NodeLevel {
    /// Returns the level of `values`; `None` without a valid value.
    pub(super) fn of(node: usize, values: &MetricValues) -> Option<Self> {
        let logs = logarithms(&values.processes, values.better);
        let value = median(&logs)?;
        Some(Self { node, value, variance: variance(&logs), processes: logs.len() })
    }

    /// Returns the squared error of a median over this node's processes, relative to the variance
    /// of one process.
    fn share(&self) -> f64 {
        let count = self.processes as f64;
        if self.processes < 3 { 1.0 / count } else { MEDIAN_ERROR.powi(2) / count }
    }
}

/// Returns the logarithms of the valid `values`, larger for slower ones.
fn logarithms(values: &[f64], better: Better) -> Vec<f64> {
    let sign = if better == Better::Lower { 1.0 } else { -1.0 };
    let valid = values.iter().filter(|value| value.is_finite() && **value > 0.0);
    valid.map(|value| sign * value.ln()).collect()
}

/// Noise between the processes of a node.
struct ProcessNoise {
    pooled: f64,
    typical_squared_error: f64,
}

impl ProcessNoise {
    /// Returns the noise common to all nodes; `None` if no node has two processes.
    fn of(levels: &[NodeLevel]) -> Option<Self> {
        let variances: Vec<f64> = levels.iter().filter_map(|level| level.variance).collect();
        let counts: Vec<f64> = levels
            .iter()
            .filter(|level| level.variance.is_some())
            .map(|level| level.processes as f64)
            .collect();
        let degrees = median(&counts)? - 1.0;
        // Divide by the median of χ² relative to its degrees of freedom (Wilson and Hilferty,
        // 1931).
        let pooled = median(&variances)? / (1.0 - 2.0 / (9.0 * degrees)).powi(3);
        let mut noise = Self { pooled, typical_squared_error: 0.0 };
        let errors: Vec<f64> = levels.iter().map(|level| noise.squared_error(level)).collect();
        noise.typical_squared_error = median(&errors)?;
        Some(noise)
    }

    /// Returns the squared error of a level: the node's own noise, shrunk toward the common one.
    fn squared_error(&self, level: &NodeLevel) -> f64 {
        let own = (level.processes - 1) as f64;
        let total = COMMON_NOISE_DF * self.pooled + own * level.variance.unwrap_or(0.0);
        total / (COMMON_NOISE_DF + own) * level.share()
    }

    fn degrees_of_freedom(level: &NodeLevel) -> f64 {
        COMMON_NOISE_DF + level.processes as f64 - 1.0
    }
}

/// Location and spread of other nodes, with both ends trimmed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Peers {
    pub(super) center: f64,
    /// Standard deviation of one node.
    pub(super) spread: f64,
    pub(super) center_error: f64,
    pub(super) degrees_of_freedom: f64,
    pub(super) count: usize,
}

impl Peers {
    /// Returns the statistics of `sorted` values without the `trimmed` lowest and highest (Tukey's
    /// trimmed t, 1963). Without trimming, the resulting probability is exact for normal values.
    pub(super) fn of(sorted: &[f64], trimmed: usize) -> Option<Self> {
        let count = sorted.len();
        let kept = sorted.get(trimmed..count.checked_sub(trimmed)?)?;
        let (low, high) = (*kept.first()?, *kept.last()?);
        let (size, ends) = (kept.len() as f64, trimmed as f64);
        if kept.len() < 2 {
            return None;
        }
        let winsorized = (kept.iter().sum::<f64>() + ends * (low + high)) / count as f64;
        let squares = kept.iter().map(|value| (value - winsorized).powi(2)).sum::<f64>()
            + ends * ((low - winsorized).powi(2) + (high - winsorized).powi(2));
        let center_variance = squares / (size * (size - 1.0));
        let variance = center_variance * count as f64 / trimming_cost(ends / count as f64);
        Some(Self {
            center: mean(kept)?,
            spread: variance.sqrt(),
            center_error: center_variance.sqrt(),
            degrees_of_freedom: size - 1.0,
            count,
        })
    }
}

/// Returns the variance of a mean with `share` trimmed at each end, relative to that of the
/// untrimmed mean, for normal values.
fn trimming_cost(share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    let z = normal_exceeded_with(share);
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let kept = 1.0 - 2.0 * share;
    (kept - 2.0 * z * density + 2.0 * share * z * z) / (kept * kept)
}

/// Reference values with which the nodes of a class are compared.
struct Standard {
    /// Median, from which deviations are reported.
    center: f64,
    center_error: f64,
    /// Median absolute deviation, which hardly changes even if a third of the nodes is slow.
    spread: f64,
}

impl Standard {
    fn of(values: &[f64]) -> Option<Self> {
        let spread = median_absolute_deviation(values)?;
        let center_error = MEDIAN_ERROR * spread / (values.len() as f64).sqrt();
        Some(Self { center: median(values)?, center_error, spread })
    }
}

/// Measured nodes of one class.
pub(super) struct ClassMembers<'a> {
    pub(super) name: &'a str,
    pub(super) members: &'a [usize],
    pub(super) nodes: &'a [MeasuredNode],
    pub(super) history: Option<&'a BTreeMap<String, Vec<f64>>>,
    pub(super) rule: &'a VerdictRule,
}

impl ClassMembers<'_> {
    /// Judges every metric, and returns the common causes.
    pub(super) fn judge(&self, drafts: &mut [Draft]) -> Vec<CommonCause> {
        let metrics: BTreeSet<&String> =
            self.members.iter().flat_map(|&at| self.nodes[at].values.keys()).collect();
        let groups = cause::attribute_groups(self.nodes, self.members);
        let tests = (groups.len() * metrics.len()).max(1) as f64;
        let limits = CauseLimits { effect: self.rule.effect(), chance: 0.01 / tests };
        let mut causes: BTreeMap<usize, CommonCause> = BTreeMap::new();
        for metric in metrics {
            let mut levels = self.levels(metric);
            self.note_missing(metric, &levels, drafts);
            for found in cause::explain(&mut levels, &groups, &limits) {
                let group = &groups[found.group];
                self.note_cause(group, drafts);
                causes
                    .entry(found.group)
                    .or_insert_with(|| group.cause(self.name, self.nodes))
                    .slower_percent
                    .insert(metric.clone(), percent(found.shift));
            }
            self.compare(metric, &levels, drafts);
        }
        causes.into_values().collect()
    }

    fn levels(&self, metric: &str) -> Vec<NodeLevel> {
        let value = |&at: &usize| NodeLevel::of(at, self.nodes[at].values.get(metric)?);
        self.members.iter().filter_map(value).collect()
    }

    /// Records the nodes that lack a metric which most nodes of their class have.
    fn note_missing(&self, metric: &str, levels: &[NodeLevel], drafts: &mut [Draft]) {
        if 2 * levels.len() <= self.members.len() {
            return;
        }
        let measured: BTreeSet<usize> = levels.iter().map(|level| level.node).collect();
        for &at in self.members.iter().filter(|at| !measured.contains(at)) {
            drafts[at].missing.push(metric.to_owned());
        }
    }

    fn note_cause(&self, group: &AttributeGroup, drafts: &mut [Draft]) {
        for &at in self.members.iter().filter(|at| group.members.contains(at)) {
            drafts[at].cause = Some(format!("{}={}", group.attribute, group.value));
        }
    }

    fn compare(&self, metric: &str, levels: &[NodeLevel], drafts: &mut [Draft]) {
        let Some(noise) = ProcessNoise::of(levels) else {
            return leave_open(levels, drafts, "one process per node; measure at least two");
        };
        if levels.len() >= self.rule.min_nodes {
            let mut values: Vec<f64> = levels.iter().map(|level| level.value).collect();
            values.sort_by(f64::total_cmp);
            return self.compare_with(metric, levels, &values, &noise, true, drafts);
        }
        let history = self.history_of(metric);
        if history.len() + 1 >= self.rule.min_nodes {
            return self.compare_with(metric, levels, &history, &noise, false, drafts);
        }
        let named =
            |level: &&NodeLevel| self.rule.reference_nodes.contains(&self.nodes[level.node].name);
        if let Some(reference) = levels.iter().find(named) {
            return self.compare_with_reference(metric, levels, reference, &noise, drafts);
        }
        let why = format!(
            "{} nodes in its class; {} are needed, or stored history, or `verdict.reference_nodes`",
            levels.len(),
            self.rule.min_nodes
        );
        leave_open(levels, drafts, &why);
    }

    /// Returns the sorted levels of earlier campaigns.
    fn history_of(&self, metric: &str) -> Vec<f64> {
        let earlier = self.history.and_then(|history| history.get(metric));
        let better = self.members.iter().find_map(|&at| self.nodes[at].values.get(metric));
        let (Some(earlier), Some(values)) = (earlier, better) else { return Vec::new() };
        let mut levels = logarithms(earlier, values.better);
        levels.sort_by(f64::total_cmp);
        levels
    }

    /// Compares each level with the sorted `values`, which contain it if `is_own`.
    fn compare_with(
        &self,
        metric: &str,
        levels: &[NodeLevel],
        values: &[f64],
        noise: &ProcessNoise,
        is_own: bool,
        drafts: &mut [Draft],
    ) {
        let Some(standard) = Standard::of(values) else { return };
        // Trim as many nodes as may be slow before the whole class is reported.
        let fifth = |count: usize| (self.rule.breaker_percent / 100.0 * count as f64) as usize;
        let leaves_out = is_own && values.len() < LEAVE_ONE_OUT_BELOW;
        let all = Peers::of(values, fifth(values.len()));
        for level in levels {
            let peers = if leaves_out {
                let mut others = values.to_vec();
                others.remove(others.partition_point(|other| *other < level.value));
                Peers::of(&others, fifth(values.len()).saturating_sub(1))
            } else {
                all
            };
            let Some(peers) = peers else { continue };
            let deviation = self.deviation(metric, level, &standard, &peers, noise);
            drafts[level.node].deviations.push(deviation);
        }
    }

    fn deviation(
        &self,
        metric: &str,
        level: &NodeLevel,
        standard: &Standard,
        peers: &Peers,
        noise: &ProcessNoise,
    ) -> MetricDeviation {
        let own = noise.squared_error(level);
        let size = level.value - standard.center;
        let reach = t_exceeded_with(0.025, ProcessNoise::degrees_of_freedom(level))
            * (own + standard.center_error.powi(2)).sqrt();
        // A node with fewer processes than usual varies more than its peers.
        let excess = (own - noise.typical_squared_error).max(0.0);
        let error = (peers.spread.powi(2) + peers.center_error.powi(2) + excess).sqrt();
        let chance = t_above((level.value - peers.center) / error, peers.degrees_of_freedom);
        let mut healthy = 0.0;
        if peers.count >= KNOWN_SPREAD_FROM {
            let between_nodes = standard.spread.powi(2) - noise.typical_squared_error;
            healthy = HEALTHY_REACH * between_nodes.max(0.0).sqrt();
        }
        Interval { size, reach, healthy }.judge(metric, chance, peers, self.rule)
    }

    fn compare_with_reference(
        &self,
        metric: &str,
        levels: &[NodeLevel],
        reference: &NodeLevel,
        noise: &ProcessNoise,
        drafts: &mut [Draft],
    ) {
        drafts[reference.node].is_reference = true;
        for level in levels.iter().filter(|level| level.node != reference.node) {
            let error = (noise.squared_error(level) + noise.squared_error(reference)).sqrt();
            let degrees_of_freedom = ProcessNoise::degrees_of_freedom(level);
            let size = level.value - reference.value;
            let reach = t_exceeded_with(0.025, degrees_of_freedom) * error;
            let chance = t_above((size - self.rule.effect() / 2.0) / error, degrees_of_freedom);
            let center = reference.value;
            let peers =
                Peers { center, spread: 0.0, center_error: error, degrees_of_freedom, count: 1 };
            let deviation =
                Interval { size, reach, healthy: 0.0 }.judge(metric, chance, &peers, self.rule);
            drafts[level.node].deviations.push(deviation);
        }
    }
}

fn leave_open(levels: &[NodeLevel], drafts: &mut [Draft], why: &str) {
    for level in levels {
        drafts[level.node].unjudged = Some(why.to_owned());
    }
}

/// A deviation, as a logarithm of time, with its measurement error.
struct Interval {
    size: f64,
    reach: f64,
    /// Largest deviation that the spread of the class explains.
    healthy: f64,
}

impl Interval {
    fn judge(
        &self,
        metric: &str,
        chance: f64,
        peers: &Peers,
        rule: &VerdictRule,
    ) -> MetricDeviation {
        let effect = rule.effect();
        let (low, high) = (self.size - self.reach, self.size + self.reach);
        let is_clear = self.size >= effect && low > effect / 2.0;
        let is_ok = (self.size < effect && high < 1.5 * effect) || high < self.healthy;
        MetricDeviation {
            metric: metric.to_owned(),
            slower_percent: percent(self.size),
            interval_percent: [percent(low), percent(high)],
            spread_percent: 100.0 * peers.spread,
            peers: peers.count,
            chance,
            state: if is_ok { NodeState::Ok } else { NodeState::Undecided },
            tested: if is_clear { chance } else { 1.0 },
        }
    }
}

/// Returns the additional time in percent.
pub(super) fn percent(logarithm: f64) -> f64 {
    100.0 * logarithm.exp_m1()
}
