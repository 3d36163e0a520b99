//! Findings of a machine check: severity, description, explanation and remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    serde
    /// Severity of a finding; worse severities are greater.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum FindingSeverity {
        /// As expected.
        Ok = "ok",
        /// Informational; nothing is wrong.
        Note = "note",
        /// Works, but slower, less safely or only by chance.
        Warning = "warning",
        /// Does not work.
        Error = "error",
    }
}

/// Finding of a machine check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: FindingSeverity,
    /// Description.
    pub what: String,
    /// Evidence for the finding, or why it matters.
    pub why: String,
    /// What to do. Null if no action is needed.
    pub cure: Option<String>,
}

impl Finding {
    /// Returns a finding with severity `ok`.
    pub fn ok(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { severity: FindingSeverity::Ok, what: what.into(), why: why.into(), cure: None }
    }

    /// Returns a finding with a remedy.
    pub fn new(
        severity: FindingSeverity,
        what: impl Into<String>,
        why: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { severity, what: what.into(), why: why.into(), cure: Some(cure.into()) }
    }
}
