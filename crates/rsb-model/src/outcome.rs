//! How a case ended. What was not measured says what, why, and what would cure it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ParseIdError;

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It ran, was verified and timed.
    Measured,
    /// It could not run here; nothing is wrong with it.
    Skipped,
    /// It ran and broke, gave a wrong result or an impossible figure, or took too long.
    Failed,
    /// It ran on a fake GPU: never gated, never ranked.
    Simulated,
}

impl Outcome {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Simulated => "simulated",
        }
    }
}

impl std::str::FromStr for Outcome {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Measured, Self::Skipped, Self::Failed, Self::Simulated];
        let found = all.into_iter().find(|outcome| outcome.as_str() == text);
        found.ok_or_else(|| {
            ParseIdError::new(text, "an outcome (measured, skipped, failed or simulated)")
        })
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What stands in the way, of the kinds that programs tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// It needs more memory than there is.
    DoesNotFit,
    /// A package, or the Python that should have it, is not installed or does not work.
    MissingPackage,
    /// The software has no such operation, or not for this type.
    UnsupportedOperator,
    /// The run ended before it had its turn: nothing is known of it.
    NotReached,
}

/// Why something is not there: a missing library, device or permission, a failure, a refusal.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, thiserror::Error,
)]
#[error("{what}: {why} ({cure})")]
pub struct Reason {
    /// What is missing or broke.
    pub what: String,
    /// Why, as far as it is known.
    pub why: String,
    /// What the reader can do about it.
    pub cure: String,
    /// What kind of thing stands in the way, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

impl Reason {
    /// A reason in three short sentences.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into(), obstacle: None }
    }

    /// With the kind of thing that stands in the way.
    #[must_use]
    pub const fn of(mut self, obstacle: Obstacle) -> Self {
        self.obstacle = Some(obstacle);
        self
    }
}
