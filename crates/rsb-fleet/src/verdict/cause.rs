//! Common causes: a rack, switch, driver version or image whose nodes are all slow is reported
//! once, and its nodes are then compared without that shift.

use std::collections::{BTreeMap, BTreeSet};

use rsb_stats::distribution::t_above;
use rsb_stats::estimate::{median, median_absolute_deviation, quantile};
use serde::Serialize;

use super::MeasuredNode;
use super::class::{MEDIAN_ERROR, NodeLevel};

/// Minimum number of nodes in a group, and of nodes outside it.
const MIN_GROUP: usize = 3;
/// Maximum number of common causes per metric.
const MAX_CAUSES: usize = 5;
/// Efficiency of the median absolute deviation, by which the degrees of freedom are reduced.
const MAD_EFFICIENCY: f64 = 0.37;

/// A group of nodes that is slow as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommonCause {
    /// Hardware class.
    pub class: String,
    /// Attribute, such as `rack`.
    pub attribute: String,
    /// Its value in the group.
    pub value: String,
    /// Other attributes that exactly the same nodes share, as `key=value`: any may be the cause.
    pub also: Vec<String>,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Additional time by metric, in percent.
    pub slower_percent: BTreeMap<String, f64>,
}

/// Nodes of one class with one value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttributeGroup {
    pub(super) attribute: String,
    pub(super) value: String,
    pub(super) also: Vec<String>,
    pub(super) members: BTreeSet<usize>,
}

impl AttributeGroup {
    pub(super) fn cause(&self, class: &str, nodes: &[MeasuredNode]) -> CommonCause {
        CommonCause {
            class: class.to_owned(),
            attribute: self.attribute.clone(),
            value: self.value.clone(),
            also: self.also.clone(),
            nodes: self.members.iter().map(|&at| nodes[at].name.clone()).collect(),
            slower_percent: BTreeMap::new(),
        }
    }
}

/// Limits from which the shift of a group counts as a cause.
pub(super) struct CauseLimits {
    /// Smallest shift, as a logarithm of time.
    pub(super) effect: f64,
    /// Largest probability, corrected for the number of groups and metrics.
    pub(super) chance: f64,
}

/// A group that explains slowness.
pub(super) struct FoundCause {
    pub(super) group: usize,
    pub(super) shift: f64,
}

/// Returns the groups of the class that are neither too small nor the whole class.
pub(super) fn attribute_groups(nodes: &[MeasuredNode], members: &[usize]) -> Vec<AttributeGroup> {
    let mut by_value: BTreeMap<(&String, &String), BTreeSet<usize>> = BTreeMap::new();
    for &at in members {
        for pair in &nodes[at].attributes {
            by_value.entry(pair).or_default().insert(at);
        }
    }
    let mut groups: Vec<AttributeGroup> = Vec::new();
    for ((attribute, value), inside) in by_value {
        if inside.len() < MIN_GROUP || inside.len() + MIN_GROUP > members.len() {
            continue;
        }
        match groups.iter_mut().find(|group| group.members == inside) {
            Some(same) => same.also.push(format!("{attribute}={value}")),
            None => groups.push(AttributeGroup {
                attribute: attribute.clone(),
                value: value.clone(),
                also: Vec::new(),
                members: inside,
            }),
        }
    }
    groups
}

/// Finds the causes, clearest first, and subtracts the shift of each from its nodes.
pub(super) fn explain(
    levels: &mut [NodeLevel],
    groups: &[AttributeGroup],
    limits: &CauseLimits,
) -> Vec<FoundCause> {
    let mut found = Vec::new();
    while found.len() < MAX_CAUSES {
        let all: Vec<f64> = levels.iter().map(|level| level.value).collect();
        let (Some(center), Some(fast_end)) = (median(&all), quantile(&all, 0.1)) else { break };
        let overall = Overall { center, fast_end };
        let mut clearest: Option<(usize, Shift)> = None;
        for (at, group) in groups.iter().enumerate() {
            let Some(shift) = shift_of(levels, group, &overall, limits) else { continue };
            if clearest.as_ref().is_none_or(|(_, other)| shift.statistic > other.statistic) {
                clearest = Some((at, shift));
            }
        }
        let Some((group, shift)) = clearest else { break };
        let members = &groups[group].members;
        for level in levels.iter_mut().filter(|level| members.contains(&level.node)) {
            level.value -= shift.size;
        }
        found.push(FoundCause { group, shift: shift.size });
    }
    found
}

struct Shift {
    size: f64,
    statistic: f64,
}

/// Levels of the whole class.
struct Overall {
    center: f64,
    /// Level that only the fastest tenth of the nodes reaches.
    fast_end: f64,
}

/// Returns the shift of `group` against the other nodes, if it is a cause.
fn shift_of(
    levels: &[NodeLevel],
    group: &AttributeGroup,
    overall: &Overall,
    limits: &CauseLimits,
) -> Option<Shift> {
    let is_inside = |level: &&NodeLevel| group.members.contains(&level.node);
    let inside: Vec<f64> = levels.iter().filter(is_inside).map(|level| level.value).collect();
    let others = levels.len() - inside.len();
    // If nearly all nodes are slow, the group is not the exception: the fast nodes are.
    if inside.len() < MIN_GROUP || others < MIN_GROUP || 5 * others < levels.len() {
        return None;
    }
    let center = median(&inside)?;
    // A cheap test that rules out most groups of a large fleet. A small group hardly moves the
    // center of the class; with a large group, at least the fast end consists of other nodes.
    let is_small = 10 * inside.len() < levels.len();
    let start = if is_small { overall.center } else { overall.fast_end };
    if center - start < limits.effect {
        return None;
    }
    let outside: Vec<f64> =
        levels.iter().filter(|level| !is_inside(level)).map(|level| level.value).collect();
    let other_center = median(&outside)?;
    let size = center - other_center;
    let followers = inside.iter().filter(|value| **value - other_center >= size / 2.0).count();
    if size < limits.effect || 4 * followers < 3 * inside.len() {
        return None;
    }
    let residuals: Vec<f64> = inside
        .iter()
        .map(|value| value - center)
        .chain(outside.iter().map(|value| value - other_center))
        .collect();
    let shares = 1.0 / inside.len() as f64 + 1.0 / outside.len() as f64;
    let error = MEDIAN_ERROR * median_absolute_deviation(&residuals)? * shares.sqrt();
    let statistic = size / error;
    let chance = t_above(statistic, MAD_EFFICIENCY * levels.len() as f64);
    if chance > limits.chance {
        return None;
    }
    Some(Shift { size, statistic })
}
