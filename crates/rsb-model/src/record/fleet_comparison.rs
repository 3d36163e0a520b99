//! Comparison of two campaigns of a fleet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Comparison;
use crate::verdict::Verdict;

/// Comparison of the same nodes between two campaigns, such as before and after an upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetComparison {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Campaign that is the baseline.
    pub baseline: String,
    /// Campaign that is judged.
    pub current: String,
    /// Overall verdict: the worst of all comparisons. A node that could not be compared has no
    /// verdict.
    pub verdict: Verdict,
    /// Default threshold in percent, for metrics without a threshold of their own.
    pub threshold_percent: f64,
    /// Number of nodes that were compared.
    pub nodes: usize,
    /// Comparisons with another verdict than `Unchanged`: of classes first, then of nodes.
    pub rows: Vec<FleetComparisonRow>,
    /// Number of comparisons by verdict.
    pub totals: FleetTotals,
    /// Software that changed between the campaigns.
    pub software: Vec<SoftwareChange>,
    /// Nodes of the baseline that could not be compared.
    pub not_compared: Vec<UncomparedNode>,
    /// Nodes that only the judged campaign measured.
    pub new: Vec<String>,
    /// Notes on the policy and the evidence.
    pub notes: Vec<String>,
}

/// Comparison of one case on a node, or over the nodes of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetComparisonRow {
    /// Hardware class.
    pub class: String,
    /// Name of the node. Null for the whole class, of which each node is a pair: before and after.
    pub node: Option<String>,
    /// Comparison of the case.
    pub comparison: Comparison,
}

/// Number of comparisons by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetTotals {
    /// Better by at least the threshold.
    pub improved: usize,
    /// Worse by at least the threshold.
    pub regressed: usize,
    /// No change for the worse that reaches the threshold.
    pub unchanged: usize,
    /// Without a verdict.
    pub no_verdict: usize,
}

/// Version of a software component that changed between two campaigns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoftwareChange {
    /// Component, such as `driver`, `firmware` or `kernel`.
    pub name: String,
    /// Version in the baseline. Null if it was absent or unknown.
    pub before: Option<String>,
    /// Version in the judged campaign. Null if it was absent or unknown.
    pub after: Option<String>,
    /// Nodes with this change.
    pub nodes: Vec<String>,
}

/// Node that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncomparedNode {
    /// Name of the node.
    pub node: String,
    /// Reason, with the campaign that lacks its results.
    pub why: String,
}
