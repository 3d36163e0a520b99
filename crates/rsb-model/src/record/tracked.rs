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
    /// Decisions of users, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<AlertDecision>,
}

/// Decision of a user on a level change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlertDecision {
    /// State that the user chose.
    pub state: AlertState,
    /// Reason.
    pub because: String,
    /// Name of the user.
    pub author: String,
    /// Time of the decision.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: jiff::Timestamp,
    /// Id of the alert or name of the change that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<String>,
}

impl AlertDecision {
    /// Returns the decision without its time: `acknowledged by Ada: wanted`.
    pub fn text(&self) -> String {
        let Self { state, because, author, caused_by, .. } = self;
        let state = match (state, caused_by) {
            (AlertState::Invalid, _) => "dismissed".to_owned(),
            (AlertState::Downstream, Some(cause)) => format!("downstream of {cause},"),
            _ => state.as_str().to_owned(),
        };
        format!("{state} by {author}: {because}")
    }

    /// Returns whether `other` differs only in its time.
    pub fn repeats(&self, other: &Self) -> bool {
        *self == Self { at: self.at, ..other.clone() }
    }
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
    /// Returns the decision to which the alert owes its state, if a user made one.
    pub fn decision(&self) -> Option<&AlertDecision> {
        self.decisions.last().filter(|last| {
            last.state == self.state && self.because.as_deref() == Some(last.because.as_str())
        })
    }

    /// Returns the runs between which the series `one` changed.
    pub fn range_of<'a>(&'a self, one: &'a SeriesMove) -> &'a ChangeRange {
        one.range.as_ref().unwrap_or(&self.range)
    }
}
