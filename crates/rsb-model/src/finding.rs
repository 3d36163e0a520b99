//! What an examination of a machine finds: how bad it is, what, why, and the cure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is; a worse one is greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing is wrong.
    Note,
    /// Works, but slower, less safely or only by luck.
    Warning,
    /// Does not work.
    Error,
}

impl FindingSeverity {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How bad it is.
    pub severity: FindingSeverity,
    /// What was found.
    pub what: String,
    /// How it is known, or why it matters.
    pub why: String,
    /// What to do; none when there is nothing to cure.
    pub cure: Option<String>,
}

impl Finding {
    /// Something that is as it should be.
    pub fn ok(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { severity: FindingSeverity::Ok, what: what.into(), why: why.into(), cure: None }
    }

    /// Something to know or to cure.
    pub fn new(
        severity: FindingSeverity,
        what: impl Into<String>,
        why: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { severity, what: what.into(), why: why.into(), cure: Some(cure.into()) }
    }
}
