//! Level changes that are tracked from one analysis of the history to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Severity;
use crate::fingerprint::Difference;
use crate::ids::RunId;

named_enum! {
    serde
    /// State of a tracked level change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum AlertState {
        /// No user has commented on it.
        New = "new",
        /// Acknowledged by a user.
        Acknowledged = "acknowledged",
        /// Marked by a user as a consequence of another change.
        Downstream = "downstream",
        /// Marked by a user as not a change, or closed automatically because too few runs showed it
        /// before the old level was back.
        Invalid = "invalid",
        /// The old level is back.
        Fixed = "fixed",
    }
}

impl AlertState {
    /// Returns whether no further action is needed.
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Invalid | Self::Fixed)
    }
}

/// Level change of one or more series of one machine, at the same run and in the same direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedAlert {
    /// Id of the alert. It stays the same if the change point moves as runs are added.
    pub id: String,
    /// State.
    pub state: AlertState,
    /// Machine, as the directory name of its hardware.
    pub machine: String,
    /// `worse`, `better`, or `changed` if the direction is unknown.
    pub direction: String,
    /// Severity of the worst series.
    pub severity: Severity,
    /// Last run at the old level and first run at the new level.
    pub range: ChangeRange,
    /// Series that changed, largest change first.
    pub moves: Vec<SeriesMove>,
    /// Differences between the environments of the two runs. Check these before the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment_changes: Vec<Difference>,
    /// Commits between the two runs, oldest first, each as `abbreviated hash, subject`. Absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Time at which the alert was first reported.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub first_seen: jiff::Timestamp,
    /// Explanation of the state, by the user or this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Runs between which a level changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRange {
    /// Last run at the old level.
    pub last_before: RunPoint,
    /// First run at the new level.
    pub first_after: RunPoint,
}

/// One run of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPoint {
    /// Time at which the run began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Id of the run. Null for a point from a file of another tool.
    pub run_id: Option<RunId>,
    /// Commit that was measured.
    pub commit: Option<String>,
}

/// Change of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesMove {
    /// Id of the case or series.
    pub id: String,
    /// Name of the metric.
    pub metric: String,
    /// Change in percent of the old level.
    pub change_percent: f64,
    /// Whether enough runs at the new level confirm the change.
    pub confirmed: bool,
    /// Runs between which this series changed, if they differ from those of the alert. Series of
    /// different suites are not measured by the same runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ChangeRange>,
}

impl TrackedAlert {
    /// Returns the runs between which the series `one` changed.
    pub fn range_of<'a>(&'a self, one: &'a SeriesMove) -> &'a ChangeRange {
        one.range.as_ref().unwrap_or(&self.range)
    }
}
