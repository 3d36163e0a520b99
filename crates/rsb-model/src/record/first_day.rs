//! Result of `doctor --first-day`: numbered checks, each with its values and their expected ranges.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::ids::DeviceType;
use crate::outcome::Reason;
use crate::unit::Unit;

/// Document written by `doctor --first-day`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstDayDocument {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Version of this program.
    pub program_version: String,
    /// Time at which the first check began.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub started: jiff::Timestamp,
    /// Time at which the last check ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub finished: jiff::Timestamp,
    /// Devices that were checked.
    pub devices: Vec<CheckedDevice>,
    /// Results of the requested checks, in order.
    pub checks: Vec<CheckResult>,
    /// Number of checks by status.
    pub summary: CheckCounts,
    /// Findings of `doctor` on this machine, worst first.
    pub findings: Vec<Finding>,
}

/// Device that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedDevice {
    /// Device, such as `rocm:0`.
    pub device: String,
    /// Marketing name.
    pub name: String,
    /// Type of hardware.
    pub device_type: DeviceType,
    /// Architecture, such as `gfx942`.
    pub arch: Option<String>,
    /// Number of compute units or multiprocessors, or of threads of a CPU.
    pub units: u32,
    /// Card whose expected ranges apply. Null if the table has no ranges for this device.
    pub ranges_of: Option<String>,
}

named_enum! {
    serde
    /// Status of a check or of one of its values.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
    )]
    pub enum CheckStatus {
        /// Not checked on this machine; the reason explains why.
        Skipped = "skipped",
        /// As expected, or without an expected range.
        Ok = "ok",
        /// Outside the expected range. Worth a look, but not a failure.
        Look = "look",
        /// Wrong: a case failed, or a correctness check did not pass.
        Failed = "failed",
    }
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// Number of the check, from 1.
    pub number: u8,
    /// Short name.
    pub name: String,
    /// Worst status of its values.
    pub status: CheckStatus,
    /// Meaning of a value outside its range, in one line.
    pub meaning: String,
    /// Values that were checked.
    pub values: Vec<CheckValue>,
    /// Reason why the check was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Value that was checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckValue {
    /// Device, such as `rocm:0`, if the value belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Short description of the value.
    pub what: String,
    /// Status of the value.
    pub status: CheckStatus,
    /// Measured value, in `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// Unit of `measured` and `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Result, if it is not a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Expected range. Absent if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedRange>,
    /// Remark, such as the reason why a case failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Expected range of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedRange {
    /// Lower bound. Null if there is none.
    pub low: Option<f64>,
    /// Upper bound. Null if there is none.
    pub high: Option<f64>,
    /// Source of the range.
    pub source: String,
}

impl ExpectedRange {
    /// Returns whether `value` is in the range, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

/// Number of checks by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCounts {
    /// Checks with all values as expected.
    pub ok: usize,
    /// Checks with a value outside its expected range.
    pub look: usize,
    /// Checks that failed.
    pub failed: usize,
    /// Checks that could not run on this machine.
    pub skipped: usize,
}

impl CheckCounts {
    /// Counts `checks` by status.
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
