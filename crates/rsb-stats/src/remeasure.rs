//! Selection of the cases that need more replicates for a verdict, and of the number of replicates.
//!
//! `rsb-gate` takes the measurements (`gate::remeasure`).

use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{Better, CaseId, ReasonCode, Run, Verdict};

/// Parameters of remeasuring undecided cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Number of fresh processes of every case at the start.
    pub first: u32,
    /// Number of processes added to each undecided case before the verdicts are computed again.
    pub step: u32,
    /// Maximum number of processes of a case; beyond it, the case is not remeasured even if it is
    /// undecided.
    pub enough: usize,
}

/// Rounds for pairs of processes, one process of each program.
pub const PAIRS: Rounds = Rounds { first: 3, step: 2, enough: 40 };

/// Rounds for pairs of several processes that take turns: two pairs of every case at first, then
/// one pair at a time of the case that is nearest to a verdict.
pub const PAIRS_IN_TURNS: Rounds = Rounds { first: 2, step: 1, enough: 40 };

/// Number of additional pairs allowed to confirm that a case is slower or faster.
const TO_REPEAT: usize = 8;

/// Rounds for processes that are compared with a stored baseline.
pub const AGAINST_BASELINE: Rounds = Rounds { first: 5, step: 2, enough: 24 };

/// Reason why a case needs more replicates, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It was called slower, which must be confirmed.
    Confirm,
    /// It looks slower.
    Slower,
    /// It is undecided.
    Undecided,
    /// It passes, but the next measurement may change that or show that it is faster.
    Passing,
}

/// A case that needs more replicates.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCase {
    /// The case.
    pub id: CaseId,
    /// Open question.
    pub urgency: Urgency,
    /// Approximate number of additional replicates until a verdict, at least one.
    pub replicates: f64,
}

/// Returns the cases for which more replicates of `current` may give a verdict or a better one:
///
/// - undecided because of noise, a worse median, or a change of the machine, which may pass;
/// - with the threshold inside their interval, so that the next replicate may change the verdict;
/// - Regressed with fewer processes than the initial number;
/// - called slower or faster without enough evidence.
///
/// Cases with the maximum number of processes are left out.
pub fn open_cases(result: &ComparisonResult, current: &Run, rounds: Rounds) -> Vec<OpenCase> {
    let mut open: Vec<OpenCase> = Vec::new();
    for comparison in &result.comparisons {
        let known = current.benchmarks.iter().find(|known| known.benchmark_id == comparison.id);
        let measured = known.map_or(0, |known| known.samples.len());
        // A case that is called slower or faster late must still be confirmed.
        let is_called = comparison.reason_code == ReasonCode::NotRepeated;
        let enough = if is_called { rounds.enough + TO_REPEAT } else { rounds.enough };
        let Some(urgency) = urgency_of(comparison, measured < rounds.first as usize) else {
            continue;
        };
        if measured >= enough {
            continue;
        }
        let case = OpenCase {
            id: comparison.id.clone(),
            urgency,
            replicates: replicates_to_decide(comparison, measured),
        };
        match open.iter_mut().find(|known| known.id == case.id) {
            Some(known) if known.urgency <= case.urgency => {}
            Some(known) => *known = case,
            None => open.push(case),
        }
    }
    open
}

/// Returns the ids of [`open_cases`].
pub fn undecided_cases(result: &ComparisonResult, current: &Run, rounds: Rounds) -> Vec<CaseId> {
    open_cases(result, current, rounds).into_iter().map(|case| case.id).collect()
}

/// Returns why a metric needs more replicates; `None` if they would change nothing. `is_new` means
/// fewer replicates than the initial number.
fn urgency_of(comparison: &Comparison, is_new: bool) -> Option<Urgency> {
    let change = worse_percent(comparison, comparison.difference_percent.unwrap_or_default());
    match comparison.verdict {
        Verdict::Inconclusive if !comparison.reason_code.can_be_remeasured() => None,
        Verdict::Inconclusive if comparison.reason_code == ReasonCode::NotRepeated => {
            Some(Urgency::Confirm)
        }
        Verdict::Inconclusive if change >= comparison.threshold_percent => Some(Urgency::Slower),
        Verdict::Inconclusive => Some(Urgency::Undecided),
        Verdict::Regressed if is_new => Some(Urgency::Confirm),
        Verdict::Unchanged
            if matches!(
                comparison.reason_code,
                ReasonCode::NotRepeated | ReasonCode::TooFewSamples
            ) =>
        {
            Some(Urgency::Passing)
        }
        _ => is_borderline(comparison).then_some(Urgency::Passing),
    }
}

/// Estimates the number of additional replicates until a verdict, at least one. The interval
/// narrows with the square root of the number of replicates. A case is decided when its interval
/// ends below 1.5 thresholds or, for a case that looks slower, begins above half a threshold.
fn replicates_to_decide(comparison: &Comparison, measured: usize) -> f64 {
    let (Some(change), Some([low, high])) =
        (comparison.difference_percent, comparison.confidence_interval)
    else {
        return 1.0;
    };
    let change = worse_percent(comparison, change);
    let threshold = comparison.threshold_percent;
    let allowed =
        if change < threshold { 1.5 * threshold - change } else { change - threshold / 2.0 };
    let half_width = (high - low).abs() / 2.0;
    (measured as f64 * ((half_width / allowed).powi(2) - 1.0)).max(1.0)
}

/// Returns a difference in percent, oriented so that worse is positive.
fn worse_percent(comparison: &Comparison, percent: f64) -> f64 {
    match comparison.better {
        Better::Lower => percent,
        Better::Higher => -percent,
    }
}

/// Returns the cases to remeasure with the program of the baseline: those that are undecided and
/// those that look slower.
pub fn suspects(result: &ComparisonResult, current: &Run) -> Vec<CaseId> {
    let mut ids = undecided_cases(result, current, AGAINST_BASELINE);
    for slower in result.comparisons.iter().filter(|row| row.verdict == Verdict::Regressed) {
        if !ids.contains(&slower.id) {
            ids.push(slower.id.clone());
        }
    }
    ids
}

fn is_borderline(comparison: &Comparison) -> bool {
    let threshold = match comparison.better {
        Better::Lower => comparison.threshold_percent,
        Better::Higher => -comparison.threshold_percent,
    };
    comparison.confidence_interval.is_some_and(|[low, high]| low < threshold && threshold < high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::row;

    #[test]
    fn a_verdict_that_the_next_replicate_may_turn_is_in_doubt() {
        for (better, interval, expected) in [
            (Better::Lower, Some([3.0, 14.0]), true),
            (Better::Lower, Some([11.0, 14.0]), false),
            (Better::Lower, Some([-14.0, -3.0]), false),
            (Better::Higher, Some([-14.0, -3.0]), true),
            (Better::Higher, Some([3.0, 14.0]), false),
            (Better::Lower, None, false),
        ] {
            let row = row("case", Verdict::Unchanged, 0.0);
            let comparison = Comparison { better, confidence_interval: interval, ..row };
            assert_eq!(is_borderline(&comparison), expected, "{better:?} {interval:?}");
        }
    }
}
