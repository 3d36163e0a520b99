//! The conclusion for one metric of one case.

use rsb_model::record::{ChangeStatus, Comparison};
use rsb_model::{Better, ReasonCode, Verdict};

/// Half the width of the display band.
const BAND: f64 = 0.05;

/// The conclusion for one metric of one case, from two sides or from its history. Changes are
/// fractions in the bad direction.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseConclusion {
    /// Estimate of the baseline, or level of the earlier runs; NaN if there is none.
    pub baseline: f64,
    /// Estimate of the judged side.
    pub current: f64,
    /// Relative change in the bad direction, Δ.
    pub change: f64,
    /// Interval of Δ, low then high, from this case only. `None` if there are too few values.
    pub interval: Option<[f64; 2]>,
    /// Low end of Δ corrected over all cases, which decides whether the case is Regressed. Two
    /// sides only.
    pub corrected_low: Option<f64>,
    /// The smallest slowdown that would be called Regressed, with at most the allowed probability
    /// of a miss.
    pub detectable: Option<f64>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Code of the reason for the verdict.
    pub reason: ReasonCode,
    /// The check that withdrew the verdict. Two sides only.
    pub doubt: Option<Doubt>,
    /// Measurements that the verdict is based on.
    pub evidence: Evidence,
    /// Change of the case relative to the other cases, if that is the best evidence of a slowdown.
    /// History only.
    pub beyond_others: Option<f64>,
}

/// The result of a check that withdraws a verdict, with the parts of the sentence `12.3 % slower
/// (95 % interval 10.1 to 14.6 %; DETAIL), CONSEQUENCE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Reason for the missing verdict.
    pub reason: ReasonCode,
    /// The measurements that raise the doubt.
    pub detail: String,
    /// Meaning of these measurements, and what to do about it.
    pub consequence: &'static str,
}

/// Measurements that a verdict is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The processes of two sides.
    Sides,
    /// All of the judged runs, and their number.
    Runs(usize),
    /// The judged runs except the first, and their number. The first run looked slow, which is why
    /// it was repeated.
    Repeats(usize),
    /// At least half of the runs are clearly slow by themselves, so the fast runs do not clear the
    /// code.
    Split {
        /// Number of clearly slow runs.
        slow: usize,
        /// Number of all runs.
        runs: usize,
    },
}

impl CaseConclusion {
    /// Returns a conclusion without an interval: too few values.
    pub(crate) const fn too_few(
        evidence: Evidence,
        baseline: f64,
        current: f64,
        change: f64,
    ) -> Self {
        Self {
            baseline,
            current,
            change,
            interval: None,
            corrected_low: None,
            detectable: None,
            verdict: Verdict::Inconclusive,
            reason: ReasonCode::TooFewSamples,
            doubt: None,
            evidence,
            beyond_others: None,
        }
    }

    /// Replaces the verdict and its reason.
    pub(crate) fn with_verdict(self, verdict: Verdict, reason: ReasonCode) -> Self {
        Self { verdict, reason, doubt: None, ..self }
    }

    /// Withdraws the verdict.
    pub(crate) fn with_doubt(self, doubt: Doubt) -> Self {
        Self { verdict: Verdict::Inconclusive, reason: doubt.reason, doubt: Some(doubt), ..self }
    }

    /// Writes the conclusion to `row`, except its sentence.
    pub(crate) fn write_to(&self, row: &mut Comparison) {
        let sign = match row.better {
            Better::Lower => 100.0,
            Better::Higher => -100.0,
        };
        row.baseline_value = finite_value(self.baseline);
        row.current_value = finite_value(self.current);
        row.difference_percent = finite_value(sign * self.change);
        row.confidence_interval = self.interval.map(|[low, high]| match row.better {
            Better::Lower => [sign * low, sign * high],
            Better::Higher => [sign * high, sign * low],
        });
        row.detectable_percent = self.detectable.and_then(|change| finite_value(100.0 * change));
        row.change_status = self.verdict.is_decided().then(|| band(self.change));
        row.verdict = self.verdict;
        row.reason_code = self.reason;
    }
}

/// Returns the display band of a change in the bad direction.
pub(crate) fn band(change: f64) -> ChangeStatus {
    if change > BAND {
        ChangeStatus::Degraded
    } else if change < -BAND {
        ChangeStatus::Improved
    } else {
        ChangeStatus::Unchanged
    }
}

/// Returns `value`, or `None` if it is infinite or NaN.
fn finite_value(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
