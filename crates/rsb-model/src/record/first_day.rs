//! What `doctor --first-day` found: numbered checks, each with its values and their expected
//! ranges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::ids::DeviceType;
use crate::outcome::Reason;
use crate::unit::Unit;

/// The document of `doctor --first-day`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstDayDocument {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Version of the program.
    pub program_version: String,
    /// When the first check began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: jiff::Timestamp,
    /// When the last check ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub finished: jiff::Timestamp,
    /// The devices that were checked.
    pub devices: Vec<CheckedDevice>,
    /// One for each check that was asked for, in order.
    pub checks: Vec<CheckResult>,
    /// How many checks ended how.
    pub summary: CheckCounts,
    /// What `doctor` finds on this machine, the worst first.
    pub findings: Vec<Finding>,
}

/// A device that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedDevice {
    /// Such as `rocm:0`.
    pub device: String,
    /// Marketing name.
    pub name: String,
    /// What kind of hardware it is.
    pub device_type: DeviceType,
    /// Its architecture, such as `gfx942`.
    pub arch: Option<String>,
    /// Compute units, multiprocessors, or threads of a CPU.
    pub units: u32,
    /// The card whose expected ranges apply; null if the table has none for this device.
    pub ranges_of: Option<String>,
}

/// How a check, or one of its values, ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// It could not be checked here; the reason says why.
    Skipped,
    /// As expected, or nothing is expected of it.
    Ok,
    /// Outside the expected range: worth a look, not a failure.
    Look,
    /// Wrong: a case failed, or a check of correctness did not hold.
    Failed,
}

impl CheckStatus {
    /// Every status, the worst first.
    pub const ALL: [Self; 4] = [Self::Failed, Self::Look, Self::Ok, Self::Skipped];

    /// The word used in documents and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Ok => "ok",
            Self::Look => "look",
            Self::Failed => "failed",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// From 1.
    pub number: u8,
    /// A few words.
    pub name: String,
    /// The worst status of its values.
    pub status: CheckStatus,
    /// What a value outside its range means, in one line.
    pub meaning: String,
    /// What was looked at.
    pub values: Vec<CheckValue>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// One value that a check looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckValue {
    /// The device, such as `rocm:0`, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// What it is, in a few words.
    pub what: String,
    /// How it ended.
    pub status: CheckStatus,
    /// The value that was measured, in `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The unit of `measured` and `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// What was found, if it is not a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What is expected of the value; absent if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedRange>,
    /// A sentence about it, such as why a case failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The range in which a value is expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedRange {
    /// The lowest; null if there is none.
    pub low: Option<f64>,
    /// The highest; null if there is none.
    pub high: Option<f64>,
    /// Where the range is from.
    pub source: String,
}

impl ExpectedRange {
    /// Whether `value` is in the range, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCounts {
    /// As expected.
    pub ok: usize,
    /// With a value worth a look.
    pub look: usize,
    /// Wrong.
    pub failed: usize,
    /// Not possible here.
    pub skipped: usize,
}

impl CheckCounts {
    /// Counts `checks`.
    pub fn of(checks: &[CheckResult]) -> Self {
        Self {
            ok: count_with(checks, CheckStatus::Ok),
            look: count_with(checks, CheckStatus::Look),
            failed: count_with(checks, CheckStatus::Failed),
            skipped: count_with(checks, CheckStatus::Skipped),
        }
    }
}

fn count_with(checks: &[CheckResult], status: CheckStatus) -> usize {
    checks.iter().filter(|check| check.status == status).count()
}
