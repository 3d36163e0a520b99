//! A policy in file form, usually `baselines/policy.toml`. Strict: an unknown key is an error.
//!
//! ```toml
//! threshold_percent = 10.0      # a change of a tenth in the bad direction
//! alpha = 0.05                  # error rate of the intervals: 95 %
//! miss_percent = 5.0            # `detectable_percent` of a comparison is missed at most this often, in percent
//! critical_factor = 2.0         # a regression of this many thresholds is critical
//! fail_targets = ["gflops"]     # missed targets of these metrics are regressions
//! percentiles = [50, 90, 99]    # compared in addition to the time, as time_p50_ms …; none by default
//!
//! [ignore]
//! cases = ["*/allocation/*"]    # `*` matches any text, `?` any one character
//! metrics = ["cache_hit_percent"]
//!
//! [[threshold]]                 # the last entry that matches a case is used
//! id = "*/gemm/*"
//! percent = 5.0
//!
//! [[threshold]]
//! metric = "memory_used_mb"
//! percent = 25.0
//!
//! [floors]                      # smaller changes, in the metric's unit, do not count (metrics compared by value)
//! accuracy_error = 1e-6
//!
//! [[weight]]                    # in the overall change of the summary; 1 by default
//! id = "*/gemm/*"
//! weight = 3.0
//!
//! [[weight]]                    # in the order of the report: heavier metrics come first among equal verdicts
//! metric = "memory_used_mb"
//! weight = 2.0
//!
//! [control]                     # cases that show whether the machine changed between the two sides
//! cases = ["*/control/*"]       # `[]` disables it; default: this program's own benchmark `control`
//! moved_percent = 5.0           # a clear change of one of them by this much counts; below every threshold
//! when_moved = "refuse"         # no verdict if that may explain the change; or "correct" (subtract it), "ignore"
//!
//! [[target]]                    # shown with the measured value
//! id = "*/gemm/cpu:0/f32/1024x1024x1024*"
//! metric = "gflops"
//! above = 100.0                 # or: below = …
//! fail = false                  # true: a miss is a regression
//! reference = "104 on an EPYC"  # value reached elsewhere, shown with it
//! ```
//!
//! Every key is optional. A metric that has samples of its time is compared as `time_ms`, whatever
//! rates are derived from it, so use that name for a threshold on speed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::{
    Control, Override, Policy, PolicyError, Target, TargetEffect, TargetOp, Weight, WhenMoved,
};

/// A policy in file form. `Policy::try_from` validates it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyFile {
    /// Threshold in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_percent: Option<f64>,
    /// Error rate of the intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Multiple of the threshold from which a regression is critical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_factor: Option<f64>,
    /// Probability in percent that a detectable change is missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_percent: Option<f64>,
    /// Percentiles of the samples' times to compare: 50, 90, 99.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<f64>,
    /// Ignored cases and metrics.
    pub ignore: IgnoreFile,
    /// Floors by metric: changes up to them do not count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub floors: BTreeMap<String, f64>,
    /// Thresholds of some cases or metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threshold: Vec<ThresholdFile>,
    /// Weights of some cases in the overall change, and of metrics in the order of the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weight: Vec<WeightFile>,
    /// The control set.
    pub control: ControlFile,
    /// Metrics whose missed targets are regressions, as with `fail = true` in each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fail_targets: Vec<String>,
    /// Absolute targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub target: Vec<TargetFile>,
}

/// The control set; absent keys keep their defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlFile {
    /// Patterns on case ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<Vec<String>>,
    /// Change in percent that indicates a change of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_percent: Option<f64>,
    /// Reaction to a change of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_moved: Option<WhenMoved>,
}

/// Ignored cases and metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IgnoreFile {
    /// Patterns on case ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Names of metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
}

/// Threshold of some cases or metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThresholdFile {
    /// Pattern on case ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The threshold in percent.
    pub percent: f64,
}

/// Weight of some cases or of a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightFile {
    /// Pattern on case ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Weight of each case, or of the metric.
    pub weight: f64,
}

/// An absolute target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetFile {
    /// Pattern on case ids.
    pub id: String,
    /// A metric.
    pub metric: String,
    /// The value must be greater.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The value must be smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Whether a miss is a regression.
    #[serde(default)]
    pub fail: bool,
    /// Value achieved elsewhere, shown with the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl TryFrom<PolicyFile> for Policy {
    type Error = PolicyError;

    fn try_from(file: PolicyFile) -> Result<Self, PolicyError> {
        let mut policy = Self::default();
        if let Some(percent) = file.threshold_percent {
            policy.set_threshold("threshold_percent", percent)?;
        }
        if let Some(alpha) = file.alpha {
            policy.set_alpha("alpha", alpha)?;
        }
        if let Some(factor) = file.critical_factor {
            policy.set_critical_factor("critical_factor", factor)?;
        }
        if let Some(percent) = file.miss_percent {
            policy.set_miss_percent("miss_percent", percent)?;
        }
        policy.set_percentiles("percentiles", &file.percentiles)?;
        for (at, entry) in file.weight.into_iter().enumerate() {
            let (key, weight) = (format!("weight[{at}]"), entry.weight);
            match (entry.id, entry.metric) {
                (Some(id), None) => policy.add_weight(&key, Weight { id, weight })?,
                (None, Some(metric)) => policy.set_metric_weight(&key, &metric, weight)?,
                _ => return Err(PolicyError::OneWeight { key }),
            }
        }
        for (at, pattern) in file.ignore.cases.into_iter().enumerate() {
            policy.ignore_cases(&format!("ignore.cases[{at}]"), pattern)?;
        }
        for (at, metric) in file.ignore.metrics.into_iter().enumerate() {
            policy.ignore_metric(&format!("ignore.metrics[{at}]"), &metric)?;
        }
        for (metric, floor) in file.floors {
            policy.set_floor(&format!("floors.{metric}"), &metric, floor)?;
        }
        for (at, entry) in file.threshold.into_iter().enumerate() {
            let added = Override { id: entry.id, metric: entry.metric, percent: entry.percent };
            policy.add_override(&format!("threshold[{at}]"), added)?;
        }
        let usual = Control::default();
        let control = Control {
            cases: file.control.cases.unwrap_or(usual.cases),
            moved_percent: file.control.moved_percent,
            when_moved: file.control.when_moved.unwrap_or(usual.when_moved),
        };
        policy.set_control("control", control)?;
        policy.check_control()?;
        for (at, entry) in file.target.into_iter().enumerate() {
            let key = format!("target[{at}]");
            policy.add_target(&key, target(&key, entry)?)?;
        }
        for (at, metric) in file.fail_targets.iter().enumerate() {
            policy.fail_targets_of(&format!("fail_targets[{at}]"), metric)?;
        }
        Ok(policy)
    }
}

fn target(key: &str, entry: TargetFile) -> Result<Target, PolicyError> {
    let (op, value) = match (entry.above, entry.below) {
        (Some(value), None) => (TargetOp::Above, value),
        (None, Some(value)) => (TargetOp::Below, value),
        (None, None) | (Some(_), Some(_)) => {
            return Err(PolicyError::OneLimit { key: key.to_owned() });
        }
    };
    let effect = if entry.fail { TargetEffect::Fail } else { TargetEffect::Show };
    Ok(Target {
        id_pattern: entry.id,
        metric: entry.metric,
        op,
        value,
        effect,
        reference: entry.reference,
    })
}
