//! What a comparison concludes. Undecided is an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ParseIdError;

/// The conclusion for one metric of one case, or for a whole comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// Better by at least the threshold.
    Improved,
    /// Worse by at least the threshold.
    Regressed,
    /// Not worse by the threshold.
    Unchanged,
    /// The measurements do not decide.
    Inconclusive,
    /// The two sides are not the same thing.
    NotComparable,
}

impl Verdict {
    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Improved => "Improved",
            Self::Regressed => "Regressed",
            Self::Unchanged => "Unchanged",
            Self::Inconclusive => "Inconclusive",
            Self::NotComparable => "NotComparable",
        }
    }

    /// Whether it is an answer.
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

/// Why a verdict is what it is, for programs. The sentence beside it is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Worse by the threshold or more, and the interval agrees.
    AboveThreshold,
    /// Better by the threshold or more, and the interval agrees.
    BetterThanThreshold,
    /// No clear change.
    WithinNoise,
    /// A clear change that is below the threshold.
    BelowThreshold,
    /// The interval is too wide.
    TooNoisy,
    /// Too few samples, replicates or cases to estimate the spread.
    TooFewSamples,
    /// Hardware or a software factor differs.
    UnlikeMachine,
    /// Another unit than before, or another source of the figure.
    UnlikeUnit,
    /// The baseline has it, the run does not.
    Missing,
    /// The case failed.
    CaseFailed,
    /// The case was skipped, or what was asked for of it could not be counted.
    CaseSkipped,
    /// The case ran on a fake GPU.
    CaseSimulated,
    /// Its figures cannot be read.
    Unreadable,
    /// A person accepted this regression.
    Accepted,
    /// Every case moved with the control set: the machine changed.
    MachineMoved,
    /// An absolute target is not met.
    TargetMissed,
    /// The case had no turn before the time to measure was over.
    NotMeasured,
    /// The fastest samples are as before, and the median is worse by the threshold or more.
    MedianWorse,
    /// Slower, and the baseline's own processes, or those of earlier runs, are as slow often enough
    /// for that to be luck.
    BaselineAsSlow,
    /// Both sides, or two runs of one side, hold the same samples.
    SameSamples,
    /// Both sides execute the same machine code: there is nothing to measure.
    SameMachineCode,
    /// It was called slower once, and what was measured after that has not said so again.
    NotRepeated,
}

impl ReasonCode {
    /// The name used in documents.
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
    /// Returns why a metric has no verdict, as a phrase that follows a count.
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
            Self::BaselineAsSlow => "within what the baseline varies",
            Self::SameSamples => "with the same samples twice",
            Self::NotRepeated => "not confirmed",
        }
    }

    /// Whether more samples of a metric without a verdict may give one.
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
