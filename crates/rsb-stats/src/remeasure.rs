//! Where more replicates would decide, and how many of them are worth it.
//!
//! `rsb-gate` does the measuring (`gate::remeasure`).

use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{Better, CaseId, ReasonCode, Run, Verdict};

/// How measuring goes on while verdicts are in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Fresh processes of every case to begin with.
    pub first: u32,
    /// More of them for each undecided case before the verdicts are looked at again.
    pub step: u32,
    /// A case with so many is not remeasured: what doubt is left stays.
    pub enough: usize,
}

/// Pairs of processes, one of each program.
pub const PAIRS: Rounds = Rounds { first: 3, step: 2, enough: 40 };

/// Pairs of several processes that take turns: of every case two, then one at a time of the case
/// that is nearest to a verdict.
pub const PAIRS_IN_TURNS: Rounds = Rounds { first: 2, step: 1, enough: 40 };

/// How many more pairs a case may have that was called slower or faster.
const TO_REPEAT: usize = 8;

/// Processes beside a baseline that stays as it is.
pub const AGAINST_BASELINE: Rounds = Rounds { first: 5, step: 2, enough: 24 };

/// What is still open of a case, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It was called slower and must be confirmed.
    Confirm,
    /// It looks slower.
    Slower,
    /// It is undecided.
    Undecided,
    /// It passes, and the next measurement may turn that or call it faster.
    Passing,
}

/// A case that more replicates may decide, or decide better.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCase {
    /// The case.
    pub id: CaseId,
    /// What is open.
    pub urgency: Urgency,
    /// About how many more replicates decide it, at least one.
    pub replicates: f64,
}

/// The cases that more replicates of `current` may decide, or decide better: undecided for noise,
/// by a median that is worse, or because the machine had changed, which may pass; with the
/// threshold within their interval, so that the next replicate may turn the verdict; Regressed by
/// fewer processes than one begins with; or called slower or faster without enough evidence. None
/// that was measured often enough.
pub fn open_cases(result: &ComparisonResult, current: &Run, rounds: Rounds) -> Vec<OpenCase> {
    let mut open: Vec<OpenCase> = Vec::new();
    for comparison in &result.comparisons {
        let known = current.benchmarks.iter().find(|known| known.benchmark_id == comparison.id);
        let measured = known.map_or(0, |known| known.samples.len());
        // What was called late has still to be repeated.
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

/// The ids of [`open_cases`].
pub fn undecided_cases(result: &ComparisonResult, current: &Run, rounds: Rounds) -> Vec<CaseId> {
    open_cases(result, current, rounds).into_iter().map(|case| case.id).collect()
}

/// What is open of a metric; `None` if more replicates would change nothing. `is_new` if it has
/// fewer replicates than one begins with.
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

/// About how many more replicates give a verdict, at least one. The interval narrows with the root
/// of their number, until it ends below 1.5 thresholds, or above half a threshold if the case looks
/// slower.
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

/// A difference in percent, turned so that worse is positive.
fn worse_percent(comparison: &Comparison, percent: f64) -> f64 {
    match comparison.better {
        Better::Lower => percent,
        Better::Higher => -percent,
    }
}

/// The cases to look at beside the program that made the baseline: the doubtful ones, and what
/// looks slower.
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
