//! Comparison of two runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ComparisonStatistics, ThresholdCheck};
use crate::ids::{CaseId, RunId};
use crate::unit::Better;
use crate::verdict::{ReasonCode, Verdict};

/// Comparison of a run with a baseline or another run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonResult {
    /// Version of the document format; see [`crate::format`].
    pub format_version: u32,
    /// Unique id of the comparison.
    pub comparison_id: String,
    /// Id of the baseline or baseline run.
    pub baseline_run_id: String,
    /// Id of the run that is compared.
    pub current_run_id: String,
    /// Time of the comparison.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// Overall verdict: the worst of all comparisons.
    pub verdict: Verdict,
    /// Default threshold in percent, for metrics without a threshold of their own.
    pub threshold_percent: f64,
    /// Comparisons, one for each metric of each case.
    pub comparisons: Vec<Comparison>,
    /// Cases in the baseline that are missing from the run.
    pub missing: Vec<CaseId>,
    /// Cases in the run that are missing from the baseline.
    pub new: Vec<CaseId>,
    /// Absolute targets and measured values.
    #[serde(default)]
    pub threshold_checks: Vec<ThresholdCheck>,
    /// Notes for readers, for example about the judged run, the policy or the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ComparisonNote>,
    /// Counts and overall status.
    pub summary: ComparisonSummary,
}

/// Note for readers of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonNote {
    /// Topic of the note, for programs.
    pub code: ComparisonNoteCode,
    /// Text of the note.
    pub text: String,
}

impl ComparisonNote {
    /// Returns a note with the given topic and text.
    pub fn new(code: ComparisonNoteCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// Topic of a note on a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonNoteCode {
    /// The judged run: when it was measured, and on which commit.
    JudgedRun,
    /// A time is in the future, so a clock is wrong.
    Clock,
    /// The machine of one side is unknown.
    MachineUnknown,
    /// The machines differ in a property that does not prevent a comparison.
    MachineDiffers,
    /// The machine was slower during the run: lower clocks or throttling.
    MachineState,
    /// The comparison rests on weak evidence, such as a side without a checksum or with one process
    /// only.
    Evidence,
    /// Baseline and policy are those of the merge base.
    MergeBase,
    /// The policy: its source, entries that match nothing, and settings that weaken the gate.
    Policy,
    /// The control set.
    Control,
    /// Cases that looked slower or were undecided were measured again before the verdict.
    Remeasured,
    /// A regression or removal that a user has accepted.
    Accepted,
    /// Any other topic.
    #[serde(other)]
    Other,
}

/// Comparison of one metric of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Id of the case.
    pub id: CaseId,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Direction in which the metric improves.
    pub better: Better,
    /// Estimated value of the baseline.
    pub baseline_value: Option<f64>,
    /// Estimated value of the current run.
    pub current_value: Option<f64>,
    /// Relative difference in percent: (current − baseline) / baseline. Its sign does not depend on
    /// the direction in which the metric improves; see `verdict`.
    pub difference_percent: Option<f64>,
    /// Confidence interval of the difference in percent: `[low, high]`.
    pub confidence_interval: Option<[f64; 2]>,
    /// Class of the change, with limits at ±5 %, for display. Absent without a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_status: Option<ChangeStatus>,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason for the verdict, as a sentence.
    pub reason: String,
    /// Reason for the verdict, for programs.
    pub reason_code: ReasonCode,
    /// Threshold applied, in percent.
    pub threshold_percent: f64,
    /// Smallest change for the worse, in percent, that this number of replicates would have
    /// detected at the error rates of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable_percent: Option<f64>,
    /// Textbook statistics of both sides, written by `compare`. No verdict depends on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Box<ComparisonStatistics>>,
}

impl Comparison {
    /// Returns an inconclusive comparison without values, reason and threshold.
    pub fn new(
        id: CaseId,
        metric: impl Into<String>,
        unit: impl Into<String>,
        better: Better,
    ) -> Self {
        Self {
            id,
            metric: metric.into(),
            unit: unit.into(),
            better,
            baseline_value: None,
            current_value: None,
            difference_percent: None,
            confidence_interval: None,
            change_status: None,
            verdict: Verdict::Inconclusive,
            reason: String::new(),
            reason_code: ReasonCode::NotMeasured,
            threshold_percent: 0.0,
            detectable_percent: None,
            statistics: None,
        }
    }

    /// Returns the reason without its values, which differ between cases:
    /// `above the threshold of 10 %`.
    pub fn why(&self) -> String {
        let figures = [" % interval ", " % in each of "];
        if let Some((head, rest)) = figures.iter().find_map(|text| self.reason.split_once(text))
            && let Some((_, rest)) = rest.split_once(')')
        {
            let rest = rest.trim_start_matches([',', ';', ' ']);
            // A cause can precede the values.
            return match head.rsplit_once("; ") {
                Some((cause, _)) => format!("{cause}; {rest}"),
                None => rest.to_owned(),
            };
        }
        match self.reason.split_once(": ") {
            Some((_, why)) if self.difference_percent.is_some() => why.to_owned(),
            _ => self.reason.clone(),
        }
    }
}

named_enum! {
    serde
    /// Class of a change, for display.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum ChangeStatus {
        /// Better by more than 5 %.
        Improved = "improved",
        /// Worse by more than 5 %.
        Degraded = "degraded",
        /// Within ±5 %.
        Unchanged = "unchanged",
    }
}

/// Counts and overall status of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonSummary {
    /// Number of comparisons with the verdict `Improved`.
    pub total_improved: usize,
    /// Number of comparisons with the verdict `Regressed`.
    pub total_degraded: usize,
    /// Number of comparisons with the verdict `Unchanged`.
    pub total_unchanged: usize,
    /// Number of comparisons without a verdict.
    pub total_no_verdict: usize,
    /// Change of the time over all cases in percent, positive if slower. This is the geometric
    /// mean, weighted by the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighted_change_percent: Option<f64>,
    /// Overall status.
    pub overall_status: OverallStatus,
    /// Largest changes, worst first.
    pub significant_changes: Vec<SignificantChange>,
    /// Weights of metrics from the policy; all other metrics have weight 1. Among equal verdicts,
    /// reports list metrics with a higher weight first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metric_weights: BTreeMap<String, f64>,
}

/// Overall status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverallStatus {
    /// Every verdict is decided and none is `Regressed`.
    #[default]
    Healthy,
    /// A verdict is missing, or a target is missed.
    Warning,
    /// A verdict is `Regressed`.
    Critical,
}

/// Change that deserves attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignificantChange {
    /// Case and metric.
    pub metric: String,
    /// Difference in percent, as in the comparison.
    pub change_percent: f64,
    /// Severity of the change.
    pub severity: Severity,
}

/// Severity of a change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Informational: an improvement.
    Info,
    /// Worse by at least the threshold.
    Warning,
    /// Worse by at least twice the threshold.
    Critical,
}

/// Returns the id of a comparison, built from the ids of its runs and the time.
pub fn comparison_id(baseline: &str, current: &RunId, timestamp: jiff::Timestamp) -> String {
    format!("{current}-vs-{baseline}-{}", timestamp.as_second())
}
