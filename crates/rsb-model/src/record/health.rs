//! One page: how the benchmarks of a machine stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OverallStatus;
use super::tracked::RunPoint;

/// How the benchmarks of a machine stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Critical where a change for the worse is that nobody knows of, from twice the threshold on
    /// and within the lookback; warning where anything else asks for attention, and where nothing
    /// is stored.
    pub status: OverallStatus,
    /// The machine, by the directory name of its hardware; null where nothing was stored.
    pub machine: Option<String>,
    /// The last run.
    pub latest: Option<RunPoint>,
    /// How many runs are stored of this machine.
    pub runs: usize,
    /// What became worse and still is.
    pub degraded: Vec<HealthItem>,
    /// What became better.
    pub improving: Vec<HealthItem>,
    /// What varies from run to run by more than anybody can judge.
    pub noisy: Vec<HealthItem>,
    /// What earlier runs of the suite measured and the last one did not.
    pub missing: Vec<HealthItem>,
    /// What was not measured for long.
    pub unmeasured: Vec<HealthItem>,
    /// What to do, each with the figures it rests on.
    pub recommendations: Vec<Recommendation>,
}

/// A case that asks for attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthItem {
    /// The case.
    pub id: String,
    /// The metric; null where the whole case is meant.
    pub metric: Option<String>,
    /// How much, in percent: a change, or the noise from run to run.
    pub percent: Option<f64>,
    /// The alert that tells more: `trend ack` takes its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// What was seen.
    pub evidence: String,
}

/// What to do, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// What to do.
    pub action: String,
    /// The figures it rests on.
    pub evidence: String,
}
