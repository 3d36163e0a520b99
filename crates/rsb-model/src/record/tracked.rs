//! A change of level that is followed from one look at the history to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Severity;
use crate::fingerprint::Difference;
use crate::ids::RunId;

/// What became of a change of level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// Nobody has said anything of it.
    New,
    /// A person knows of it.
    Acknowledged,
    /// A person says that it follows from another change.
    Downstream,
    /// A person says that it is none, or it went away by itself: with more runs no change is found
    /// there.
    Invalid,
    /// A later change took the level back.
    Fixed,
}

impl AlertState {
    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Acknowledged => "acknowledged",
            Self::Downstream => "downstream",
            Self::Invalid => "invalid",
            Self::Fixed => "fixed",
        }
    }

    /// Whether nothing is left to do about it.
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Invalid | Self::Fixed)
    }
}

/// Series of one machine whose level changed at the same run, in the same sense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedAlert {
    /// Its name, which stays when the point moves as runs are added.
    pub id: String,
    /// What became of it.
    pub state: AlertState,
    /// The machine, by the directory name of its hardware.
    pub machine: String,
    /// `worse`, `better`, or `changed` where the direction is unknown.
    pub direction: String,
    /// How bad the worst of it is.
    pub severity: Severity,
    /// The last run of the old level and the first of the new one.
    pub range: ChangeRange,
    /// The series that moved, the largest change first.
    pub moves: Vec<SeriesMove>,
    /// What is unlike between the two runs of the range beside the code: to be looked at before the
    /// code is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment_changes: Vec<Difference>,
    /// The commits between the two runs, oldest first, each as `abbreviated hash, subject`; none
    /// where they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// When it was told first.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub first_seen: jiff::Timestamp,
    /// Why it is in its state, in the words of a person or of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Between which runs a level changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRange {
    /// The last run of the old level.
    pub last_before: RunPoint,
    /// The first run of the new one.
    pub first_after: RunPoint,
}

/// One run of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPoint {
    /// When it began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Its id; null for a point of a file of somebody else's.
    pub run_id: Option<RunId>,
    /// The commit measured.
    pub commit: Option<String>,
}

/// A series that moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesMove {
    /// The case or series.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// How far, in percent of the old level.
    pub change_percent: f64,
    /// Whether enough runs stand on the new level to be sure.
    pub confirmed: bool,
    /// The runs between which this series changed, if they are not those of the alert: series of
    /// several suites are not measured by the same runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ChangeRange>,
}

impl TrackedAlert {
    /// Returns the runs between which `one` of its series changed.
    pub fn range_of<'a>(&'a self, one: &'a SeriesMove) -> &'a ChangeRange {
        one.range.as_ref().unwrap_or(&self.range)
    }
}
