//! Outcomes of cases. A case that was not measured has a reason with cause and remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ParseIdError;

named_enum! {
    serde
    /// How a case ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Outcome {
        /// The case ran and was verified and timed.
        Measured = "measured",
        /// The case could not run on this machine; this is not an error.
        Skipped = "skipped",
        /// The case broke, produced a wrong result or an impossible value, or took too long.
        Failed = "failed",
        /// The case ran on a fake GPU. It is never gated or ranked.
        Simulated = "simulated",
    }
}

impl std::str::FromStr for Outcome {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text).ok_or_else(|| {
            ParseIdError::new(text, "an outcome (measured, skipped, failed or simulated)")
        })
    }
}

/// Category of an obstacle, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// More memory is needed than available.
    DoesNotFit,
    /// A package, or the Python that should contain it, is missing or broken.
    MissingPackage,
    /// The software does not support the operation, or not for this data type.
    UnsupportedOperator,
    /// The run ended before the case was measured; nothing is known about it.
    NotReached,
}

/// Reason why something is unavailable: a missing library, device or permission, or a failure.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, thiserror::Error,
)]
#[error("{what}: {why} ({cure})")]
pub struct Reason {
    /// Missing or broken item.
    pub what: String,
    /// Cause, if it is known.
    pub why: String,
    /// Remedy: an action for the user.
    pub cure: String,
    /// Type of the obstacle, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

impl Reason {
    /// Returns a reason with the missing or broken item, its cause and its remedy.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into(), obstacle: None }
    }

    /// Sets the type of the obstacle.
    #[must_use]
    pub const fn of(mut self, obstacle: Obstacle) -> Self {
        self.obstacle = Some(obstacle);
        self
    }
}
