//! Conclusions of a comparison. A comparison can also be inconclusive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ParseIdError;

named_enum! {
    serde
    /// Conclusion for one metric of one case, or for a whole comparison.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Verdict {
        /// Better by at least the threshold.
        Improved = "Improved",
        /// Worse by at least the threshold.
        Regressed = "Regressed",
        /// No change for the worse that reaches the threshold.
        Unchanged = "Unchanged",
        /// The measurements do not decide.
        Inconclusive = "Inconclusive",
        /// The two sides cannot be compared, for example because the hardware differs.
        NotComparable = "NotComparable",
    }
}

impl Verdict {
    /// Returns whether the verdict is a decision: improved, regressed or unchanged.
    pub const fn is_decided(self) -> bool {
        matches!(self, Self::Improved | Self::Regressed | Self::Unchanged)
    }
}

impl std::str::FromStr for Verdict {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::find(text).ok_or_else(|| ParseIdError::new(text, "a verdict"))
    }
}

named_enum! {
    serde
    /// Reason for a verdict as a code for programs. The `reason` text is meant for people.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ReasonCode {
        /// Worse by the threshold or more, and the confidence interval agrees.
        AboveThreshold = "above_threshold",
        /// Better by the threshold or more, and the confidence interval agrees.
        BetterThanThreshold = "better_than_threshold",
        /// No clear change.
        WithinNoise = "within_noise",
        /// Clear change that is smaller than the threshold.
        BelowThreshold = "below_threshold",
        /// The confidence interval is too wide.
        TooNoisy = "too_noisy",
        /// Too few samples, replicates or cases to estimate the spread.
        TooFewSamples = "too_few_samples",
        /// The hardware or a software version that the case depends on differs.
        UnlikeMachine = "unlike_machine",
        /// The unit or the source of the value differs.
        UnlikeUnit = "unlike_unit",
        /// The baseline has the case or metric; the run does not.
        Missing = "missing",
        /// The case failed.
        CaseFailed = "case_failed",
        /// The case was skipped, or the requested instruction count is not available.
        CaseSkipped = "case_skipped",
        /// The case ran on a fake GPU.
        CaseSimulated = "case_simulated",
        /// The samples or values are invalid.
        Unreadable = "unreadable",
        /// A user accepted this regression.
        Accepted = "accepted",
        /// Cases of the control set changed too, so the machine may have changed.
        MachineMoved = "machine_moved",
        /// An absolute target is not met.
        TargetMissed = "target_missed",
        /// The budget ran out before the case was measured.
        NotMeasured = "not_measured",
        /// The fastest samples did not change, but the median is worse by the threshold or more.
        MedianWorse = "median_worse",
        /// Slower, but processes of the baseline or of earlier runs were equally slow so often that
        /// this may be chance.
        BaselineAsSlow = "baseline_as_slow",
        /// Both sides, or two runs of one side, contain the same samples.
        SameSamples = "same_samples",
        /// Both sides execute the same machine code, so there is nothing to measure.
        SameMachineCode = "same_machine_code",
        /// The change was found once, but later measurements have not confirmed it.
        NotRepeated = "not_repeated",
    }
}

impl ReasonCode {
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
