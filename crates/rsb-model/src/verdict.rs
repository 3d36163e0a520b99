//! Conclusions of a comparison. A comparison can also be inconclusive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ParseIdError;

/// Conclusion for one metric of one case, or for a whole comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// Better by at least the threshold.
    Improved,
    /// Worse by at least the threshold.
    Regressed,
    /// No change for the worse that reaches the threshold.
    Unchanged,
    /// The measurements do not decide.
    Inconclusive,
    /// The two sides cannot be compared, for example because the hardware differs.
    NotComparable,
}

impl Verdict {
    /// Returns the name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Improved => "Improved",
            Self::Regressed => "Regressed",
            Self::Unchanged => "Unchanged",
            Self::Inconclusive => "Inconclusive",
            Self::NotComparable => "NotComparable",
        }
    }

    /// Returns whether the verdict is a decision: improved, regressed or unchanged.
    pub const fn is_decided(self) -> bool {
        matches!(self, Self::Improved | Self::Regressed | Self::Unchanged)
    }
}

impl std::str::FromStr for Verdict {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [
            Self::Improved,
            Self::Regressed,
            Self::Unchanged,
            Self::Inconclusive,
            Self::NotComparable,
        ];
        let found = all.into_iter().find(|verdict| verdict.as_str() == text);
        found.ok_or_else(|| ParseIdError::new(text, "a verdict"))
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reason for a verdict as a code for programs. The `reason` text is meant for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Worse by the threshold or more, and the confidence interval agrees.
    AboveThreshold,
    /// Better by the threshold or more, and the confidence interval agrees.
    BetterThanThreshold,
    /// No clear change.
    WithinNoise,
    /// Clear change that is smaller than the threshold.
    BelowThreshold,
    /// The confidence interval is too wide.
    TooNoisy,
    /// Too few samples, replicates or cases to estimate the spread.
    TooFewSamples,
    /// The hardware or a software version that the case depends on differs.
    UnlikeMachine,
    /// The unit or the source of the value differs.
    UnlikeUnit,
    /// The baseline has the case or metric; the run does not.
    Missing,
    /// The case failed.
    CaseFailed,
    /// The case was skipped, or the requested instruction count is not available.
    CaseSkipped,
    /// The case ran on a fake GPU.
    CaseSimulated,
    /// The samples or values are invalid.
    Unreadable,
    /// A user accepted this regression.
    Accepted,
    /// Cases of the control set changed too, so the machine may have changed.
    MachineMoved,
    /// An absolute target is not met.
    TargetMissed,
    /// The budget ran out before the case was measured.
    NotMeasured,
    /// The fastest samples did not change, but the median is worse by the threshold or more.
    MedianWorse,
    /// Slower, but processes of the baseline or of earlier runs were as slow so often that this may
    /// be chance.
    BaselineAsSlow,
    /// Both sides, or two runs of one side, contain the same samples.
    SameSamples,
    /// Both sides execute the same machine code, so there is nothing to measure.
    SameMachineCode,
    /// The change was found once, but later measurements have not confirmed it.
    NotRepeated,
}

impl ReasonCode {
    /// Returns the name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AboveThreshold => "above_threshold",
            Self::BetterThanThreshold => "better_than_threshold",
            Self::WithinNoise => "within_noise",
            Self::BelowThreshold => "below_threshold",
            Self::TooNoisy => "too_noisy",
            Self::TooFewSamples => "too_few_samples",
            Self::UnlikeMachine => "unlike_machine",
            Self::UnlikeUnit => "unlike_unit",
            Self::Missing => "missing",
            Self::CaseFailed => "case_failed",
            Self::CaseSkipped => "case_skipped",
            Self::CaseSimulated => "case_simulated",
            Self::Unreadable => "unreadable",
            Self::Accepted => "accepted",
            Self::MachineMoved => "machine_moved",
            Self::TargetMissed => "target_missed",
            Self::NotMeasured => "not_measured",
            Self::MedianWorse => "median_worse",
            Self::BaselineAsSlow => "baseline_as_slow",
            Self::SameSamples => "same_samples",
            Self::SameMachineCode => "same_machine_code",
            Self::NotRepeated => "not_repeated",
        }
    }
    /// Returns the cause of a missing verdict, as a phrase that follows a count.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::AboveThreshold
            | Self::BetterThanThreshold
            | Self::WithinNoise
            | Self::BelowThreshold
            | Self::TooNoisy
            | Self::Accepted
            | Self::TargetMissed
            | Self::SameMachineCode => "too noisy",
            Self::TooFewSamples => "with too few samples",
            Self::UnlikeMachine => "on another machine",
            Self::UnlikeUnit => "in another unit",
            Self::Missing => "missing",
            Self::CaseFailed => "failed",
            Self::CaseSkipped => "skipped",
            Self::CaseSimulated => "simulated",
            Self::Unreadable => "unreadable",
            Self::MachineMoved => "measured while the machine changed",
            Self::NotMeasured => "not measured",
            Self::MedianWorse => "slow for most of the run",
            Self::BaselineAsSlow => "within the variation of the baseline",
            Self::SameSamples => "with duplicate samples",
            Self::NotRepeated => "not confirmed",
        }
    }

    /// Returns whether more samples could produce a verdict.
    pub const fn can_be_remeasured(self) -> bool {
        matches!(
            self,
            Self::TooNoisy
                | Self::TooFewSamples
                | Self::MachineMoved
                | Self::MedianWorse
                | Self::BaselineAsSlow
                | Self::NotRepeated
        )
    }
}
