//! Health page: state of all benchmarks of one machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OverallStatus;
use super::tracked::RunPoint;

/// State of all benchmarks of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Overall status. `critical` if a change for the worse that no user has acknowledged is at
    /// least twice the threshold and within the lookback; `warning` if any other item needs
    /// attention, or if no run is stored.
    pub status: OverallStatus,
    /// Machine, as the directory name of its hardware. Null if no run is stored.
    pub machine: Option<String>,
    /// Latest run.
    pub latest: Option<RunPoint>,
    /// Number of stored runs of this machine.
    pub runs: usize,
    /// Cases that became worse and still are.
    pub degraded: Vec<HealthItem>,
    /// Cases that became better.
    pub improving: Vec<HealthItem>,
    /// Cases with too much noise from run to run for a verdict.
    pub noisy: Vec<HealthItem>,
    /// Cases that earlier runs of the suite measured and the latest run did not.
    pub missing: Vec<HealthItem>,
    /// Cases that were not measured for a long time.
    pub unmeasured: Vec<HealthItem>,
    /// Recommended actions and the values that they are based on.
    pub recommendations: Vec<Recommendation>,
}

/// Case that needs attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthItem {
    /// Id of the case.
    pub id: String,
    /// Metric. Null if the item is about the whole case.
    pub metric: Option<String>,
    /// Change, or noise from run to run, in percent.
    pub percent: Option<f64>,
    /// Id of the alert with the details, which `trend ack` accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// Observation behind the item.
    pub evidence: String,
}

/// Recommended action and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// What to do.
    pub action: String,
    /// Values that the action is based on.
    pub evidence: String,
}
