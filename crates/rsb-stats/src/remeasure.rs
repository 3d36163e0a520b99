//! Where more replicates would decide, and how many of them are worth it.
//!
//! The engine does the measuring (`rsb-engine`, `gate::remeasure`).

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

/// More pairs than those, of what was called slower.
const TO_REPEAT: usize = 8;

/// Processes beside a baseline that stays as it is.
pub const AGAINST_BASELINE: Rounds = Rounds { first: 5, step: 2, enough: 24 };

/// The cases that more replicates of `current` may decide, or decide better: undecided for noise,
/// by a median that is worse, or because the machine had changed, which may pass; with the
/// threshold within their interval, so that the next replicate may turn the verdict; or Regressed
/// by fewer processes than one begins with. None that was measured often enough.
pub fn undecided_cases(result: &ComparisonResult, current: &Run, rounds: Rounds) -> Vec<CaseId> {
    let mut ids: Vec<CaseId> = Vec::new();
    for comparison in &result.comparisons {
        let known = current.benchmarks.iter().find(|known| known.benchmark_id == comparison.id);
        let measured = known.map_or(0, |known| known.samples.len());
        let is_hasty = comparison.verdict == Verdict::Regressed && measured < rounds.first as usize;
        let in_doubt = is_open(comparison) || is_borderline(comparison) || is_hasty;
        // What was called slower late has still to be repeated.
        let is_called = comparison.reason_code == ReasonCode::NotRepeated;
        let enough = if is_called { rounds.enough + TO_REPEAT } else { rounds.enough };
        if in_doubt && measured < enough && !ids.contains(&comparison.id) {
            ids.push(comparison.id.clone());
        }
    }
    ids
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

fn is_open(comparison: &Comparison) -> bool {
    comparison.verdict == Verdict::Inconclusive && comparison.reason_code.can_be_remeasured()
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
