//! State of a campaign over the nodes of a fleet, as pages show it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conclusion for a node.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Judged, and as fast as its class.
    Ok,
    /// Judged, and slower than its class.
    Slow,
    /// Measured, but inconclusive.
    Undecided,
    /// Nothing was measured.
    NotMeasured,
    /// A case failed on it.
    Failed,
    /// The job or the scheduler failed, which says nothing about the hardware.
    Error,
}

/// Progress of a node's job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum NodeProgress {
    /// Waits in the queue.
    Queued {
        /// Reason of the scheduler.
        why: String,
    },
    /// Measures.
    Running {
        /// Last case with a result.
        case: Option<String>,
        /// Cases with a result.
        done: usize,
        /// Total number of cases; 0 if unknown.
        total: usize,
        /// Expected time to the end.
        eta_seconds: Option<u64>,
    },
    /// Ended, and wrote its completion marker.
    Done,
    /// Ended without success.
    Failed {
        /// Cause.
        why: String,
    },
    /// The node or the scheduler does not answer.
    NotReachable {
        /// Cause.
        why: String,
    },
    /// No new result for a long time, or results of a job that the queue no longer lists.
    Stale {
        /// Cause.
        why: String,
    },
}

/// Progress of a campaign and verdicts on its nodes, without the cases of each node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Name of the campaign.
    pub campaign: String,
    /// Time of its plan. Null if unknown.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub planned: Option<Timestamp>,
    /// Time at which the markers and results were read.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub read: Timestamp,
    /// Whether any job may still write results.
    pub is_active: bool,
    /// The planned nodes: those that are not ok first, slow ones before the others.
    pub nodes: Vec<CampaignNode>,
    /// Unfinished jobs that measure a suspect and a reference alternately.
    pub pairs: Vec<PairProgress>,
    /// Hardware classes by name.
    pub classes: Vec<CampaignClass>,
    /// Common causes, differences within a class, skipped nodes, and changes during a burn-in.
    pub notes: Vec<String>,
    /// Files that cannot be read.
    pub problems: Vec<String>,
}

/// A node of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignNode {
    /// Name.
    pub name: String,
    /// Hardware class.
    pub class: String,
    /// Conclusion.
    pub state: NodeState,
    /// Reason in one sentence.
    pub reason: String,
    /// Progress of its job according to markers and results. Null if it was not submitted.
    pub progress: Option<NodeProgress>,
    /// Its clearest deviation. Null if it was not judged.
    pub evidence: Option<CaseDeviation>,
    /// Command that takes a slow node out of service, for a person to run. Null for others.
    pub advice: Option<String>,
    /// What to do next. Null if nothing is to be done.
    pub next: Option<String>,
}

/// A case of a node against the other nodes of its class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseDeviation {
    /// Id of the case.
    pub case: String,
    /// Additional time in percent.
    pub slower_percent: f64,
    /// 95 % interval of it.
    pub interval_percent: [f64; 2],
    /// Standard deviation of the other nodes in percent; 0 against a reference node.
    pub spread_percent: f64,
    /// Number of nodes that it was compared with.
    pub peers: usize,
    /// `slow` if it is part of the evidence, `ok`, or `undecided`.
    pub state: NodeState,
}

/// Progress of a job of paired measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairProgress {
    /// The suspect.
    pub suspect: String,
    /// Node that runs the job.
    pub node: String,
    /// Number of the turn, from 1.
    pub turn: usize,
    /// Progress of the job.
    pub progress: NodeProgress,
}

/// A hardware class of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignClass {
    /// Name.
    pub name: String,
    /// Number of nodes, measured or not.
    pub nodes: usize,
    /// Number of judged nodes.
    pub judged: usize,
    /// Number of nodes that look slow.
    pub suspects: usize,
    /// Whether too many nodes look slow for any to be called slow.
    pub is_breaker_open: bool,
    /// Median over its cases of the spread between its nodes (scaled MAD), in percent. Null if
    /// unknown.
    pub spread_percent: Option<f64>,
    /// Case with the largest spread. Null if unknown.
    pub widest: Option<CaseSpread>,
}

/// Difference between the nodes of a class in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseSpread {
    /// Id of the case.
    pub case: String,
    /// Spread between the nodes in percent.
    pub spread_percent: f64,
}

/// A node of a campaign with all its cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignNodeDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Name of the campaign.
    pub campaign: String,
    /// The node.
    pub node: CampaignNode,
    /// Its cases: those that are part of the evidence first, then the most deviating.
    pub cases: Vec<CaseDeviation>,
}

impl CampaignDocument {
    /// Returns the number of nodes in `state`.
    pub fn count(&self, state: NodeState) -> usize {
        self.nodes.iter().filter(|node| node.state == state).count()
    }
}

impl NodeProgress {
    /// Returns whether the job may still write results.
    pub const fn is_active(&self) -> bool {
        !matches!(self, Self::Done | Self::Failed { .. })
    }
}

impl CampaignNode {
    /// Returns whether the node waits in the queue or is being measured.
    pub const fn is_underway(&self) -> bool {
        matches!(self.progress, Some(NodeProgress::Queued { .. } | NodeProgress::Running { .. }))
    }
}
