//! Two runs beside each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ComparisonStatistics, ThresholdCheck};
use crate::ids::{CaseId, RunId};
use crate::unit::Better;
use crate::verdict::{ReasonCode, Verdict};

/// A comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonResult {
    /// See [`crate::format`].
    pub format_version: u32,
    /// Unique.
    pub comparison_id: String,
    /// The run or baseline compared with.
    pub baseline_run_id: String,
    /// The run compared.
    pub current_run_id: String,
    /// When.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub timestamp: jiff::Timestamp,
    /// The worst of all.
    pub verdict: Verdict,
    /// The threshold where no other is set.
    pub threshold_percent: f64,
    /// One for each metric of each case.
    pub comparisons: Vec<Comparison>,
    /// In the baseline, not in the run.
    pub missing: Vec<CaseId>,
    /// In the run, not in the baseline.
    pub new: Vec<CaseId>,
    /// Targets beside what was achieved.
    #[serde(default)]
    pub threshold_checks: Vec<ThresholdCheck>,
    /// What a reader should know beside the rows: of what is judged, of the policy, of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ComparisonNote>,
    /// Counts and the overall status.
    pub summary: ComparisonSummary,
}

/// What a reader of a comparison should know beside its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonNote {
    /// What it is about, for programs.
    pub code: ComparisonNoteCode,
    /// The sentence for people.
    pub text: String,
}

impl ComparisonNote {
    /// A note.
    pub fn new(code: ComparisonNoteCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// What a note on a comparison is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonNoteCode {
    /// Which run is judged: when it was measured, on which commit.
    JudgedRun,
    /// A time lies in the future: a clock was wrong.
    Clock,
    /// The machine of a side is not known.
    MachineUnknown,
    /// The machine differs in something that does not forbid comparing.
    MachineDiffers,
    /// The machine was slower while it measured: lower clocks, or something that held it back.
    MachineState,
    /// A side has no checksum, or one process alone.
    Evidence,
    /// Baseline and policy are those of the merge base.
    MergeBase,
    /// The policy: what of it fits nothing, where it comes from, what it allows.
    Policy,
    /// The control set.
    Control,
    /// What looked slower or undecided was measured again before it was judged.
    Remeasured,
    /// A slow-down or a removal that somebody accepted before.
    Accepted,
    /// Something that nothing but a reader asks for.
    #[serde(other)]
    Other,
}

/// One metric of one case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The case.
    pub id: CaseId,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which way it improves.
    pub better: Better,
    /// The baseline's estimate.
    pub baseline_value: Option<f64>,
    /// The run's estimate.
    pub current_value: Option<f64>,
    /// Current less baseline, over baseline, in percent. Whether that is worse is for the verdict
    /// to say.
    pub difference_percent: Option<f64>,
    /// Interval of the difference in percent, low then high.
    pub confidence_interval: Option<[f64; 2]>,
    /// Display band of ±5 %; left out without a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_status: Option<ChangeStatus>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Why, for programs.
    pub reason_code: ReasonCode,
    /// The threshold applied.
    pub threshold_percent: f64,
    /// The smallest change for the worse that so many replicates would have found, at the error
    /// rates of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable_percent: Option<f64>,
    /// What textbook statistics say of both sides, in `compare`: for readers, no verdict follows
    /// from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Box<ComparisonStatistics>>,
}

impl Comparison {
    /// Returns the reason without its figures, which differ from case to case: `above the threshold
    /// of 10 %`.
    pub fn why(&self) -> String {
        let figures = [" % interval ", " % in each of "];
        if let Some((head, rest)) = figures.iter().find_map(|text| self.reason.split_once(text))
            && let Some((_, rest)) = rest.split_once(')')
        {
            let rest = rest.trim_start_matches([',', ';', ' ']);
            // A cause may precede the figures.
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

/// Display band of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeStatus {
    /// Better by more than 5 %.
    Improved,
    /// Worse by more than 5 %.
    Degraded,
    /// Between.
    Unchanged,
}

/// Counts and the overall status of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonSummary {
    /// Comparisons Improved.
    pub total_improved: usize,
    /// Comparisons Regressed.
    pub total_degraded: usize,
    /// Comparisons Unchanged.
    pub total_unchanged: usize,
    /// Comparisons without a verdict.
    pub total_no_verdict: usize,
    /// The change of time over all cases, in percent, up being slower: the geometric mean, weighted
    /// by the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighted_change_percent: Option<f64>,
    /// In a word.
    pub overall_status: OverallStatus,
    /// The largest changes, worst first.
    pub significant_changes: Vec<SignificantChange>,
}

/// A comparison in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverallStatus {
    /// Every verdict is there and none is Regressed.
    #[default]
    Healthy,
    /// Something has no verdict, or a target is missed.
    Warning,
    /// Something Regressed.
    Critical,
}

/// A change worth a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignificantChange {
    /// Case and metric.
    pub metric: String,
    /// Difference in percent, as in the comparison.
    pub change_percent: f64,
    /// How bad.
    pub severity: Severity,
}

/// How bad a change is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing: an improvement.
    Info,
    /// Worse by the threshold.
    Warning,
    /// Worse by twice the threshold or more.
    Critical,
}

/// The run ids of a comparison, for its own id.
pub fn comparison_id(baseline: &str, current: &RunId, timestamp: jiff::Timestamp) -> String {
    format!("{current}-vs-{baseline}-{}", timestamp.as_second())
}
