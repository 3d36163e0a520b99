//! Rank test against the baseline's own processes. A noise model assumes that all processes have
//! the same distribution. If some are slow for their whole life, because of their memory layout or
//! a neighbor, three slow ones in a row can occur by chance. Ranks among the processes of the
//! baseline give the probability of this without a model.

use rsb_model::{Better, ReasonCode, Verdict};

use super::{Candidate, Pair, Shift, log_of_change, orient};
use crate::conclusion::Doubt;

/// Probability of a chance result above which Regressed becomes Inconclusive.
const MAX_RANK_CHANCE: f64 = 0.005;

/// Withdraws Regressed if so many processes of the baseline, or of earlier runs, are as slow as the
/// current side that its slowness may be chance.
pub(super) fn doubt(candidate: &Candidate<'_>) -> Option<Doubt> {
    let &Candidate { pair, found, shift, .. } = candidate;
    if found.verdict != Verdict::Regressed || pair.ratios.is_some() {
        return None;
    }
    let rank_test = BaselineRankTest::of(pair, shift)?;
    if rank_test.chance() <= MAX_RANK_CHANCE {
        return None;
    }
    let BaselineRankTest { slow, processes, .. } = rank_test;
    Some(Doubt {
        reason: ReasonCode::BaselineAsSlow,
        detail: format!("{slow} of {processes} earlier processes were as slow"),
        consequence: "which may be chance: measure again, or both sides at once with `gate \
                      --against`",
    })
}

/// Counts of processes of the baseline, and of earlier runs, that are as slow as the judged ones,
/// within half of the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BaselineRankTest {
    /// Number of earlier processes that are as slow as the judged ones.
    slow: usize,
    /// Number of all processes of the baseline and earlier runs.
    processes: usize,
    /// Number of processes that are judged.
    judged: usize,
}

impl BaselineRankTest {
    /// Counts the slow processes. Returns `None` if there are none: ranks of a few processes then
    /// add no evidence.
    fn of(pair: &Pair, shift: Shift) -> Option<Self> {
        let before = oriented_logs(pair.baseline.replicates(), pair.better);
        let after: Vec<f64> = oriented_logs(pair.current.replicates(), pair.better)
            .iter()
            .map(|value| value - shift.log)
            .collect();
        let (floor, fastest) = (least(&before), least(&after));
        let earlier = pair.baseline.past().iter().flat_map(|run| {
            let run = oriented_logs(run, pair.better);
            let own = least(&run);
            run.into_iter().map(move |value| value - own + floor)
        });
        let all: Vec<f64> = before.iter().copied().chain(earlier).collect();
        let margin = log_of_change(pair.threshold / 2.0, pair.better);
        let slowest = after.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slow = all
            .iter()
            .filter(|value| (fastest - margin..=slowest + margin).contains(*value))
            .count();
        (slow > 0).then_some(Self { slow, processes: all.len(), judged: after.len() })
    }

    /// Returns the probability that all judged processes are in the slow range if all processes
    /// have the same distribution.
    fn chance(self) -> f64 {
        (1..=self.judged).map(|at| (self.slow + at) as f64 / (self.processes + at) as f64).product()
    }
}

/// Returns the logarithms of `values`, larger being worse.
fn oriented_logs(values: &[f64], better: Better) -> Vec<f64> {
    values.iter().map(|value| orient(value.ln(), better)).collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ErrorRates, Side, compare};

    #[test]
    fn the_chance_is_that_of_ranks() {
        for (slow, processes, judged, chance) in
            [(1, 9, 3, 4.0 / 220.0), (2, 9, 3, 10.0 / 220.0), (3, 3, 3, 1.0)]
        {
            let found = BaselineRankTest { slow, processes, judged }.chance();
            assert!((found - chance).abs() < 1e-12, "{slow} of {processes}, {judged}: {found}");
        }
    }

    /// One process in three takes 1.3 times as long, in the baseline and in earlier runs.
    #[test]
    fn what_the_baseline_does_by_luck_is_no_regression() {
        let steady = [100.0, 101.0, 100.5, 100.2, 100.7, 100.1, 100.4, 100.6, 100.3];
        let bimodal = [100.0, 131.0, 100.5, 100.2, 130.0, 100.1, 100.4, 130.5, 100.3];
        let slow = [130.0, 130.5, 131.0];
        assert_eq!(reason_of(side(&steady), &slow), ReasonCode::AboveThreshold);
        assert_eq!(reason_of(side(&bimodal), &slow), ReasonCode::BaselineAsSlow);
        assert_eq!(
            reason_of(side(&bimodal), &[150.0, 150.5, 151.0]),
            ReasonCode::AboveThreshold,
            "slower than every baseline process"
        );
        let earlier = vec![vec![50.0, 65.0, 50.2], vec![50.1, 50.0, 65.2]];
        assert_eq!(
            reason_of(side(&steady[..3]).with_past(earlier), &slow),
            ReasonCode::BaselineAsSlow
        );
    }

    fn reason_of(baseline: Side, current: &[f64]) -> ReasonCode {
        let pair = Pair {
            baseline,
            current: side(current),
            ratios: None,
            unit: rsb_model::Unit::Milliseconds,
            better: Better::Lower,
            threshold: 0.1,
        };
        compare(&[pair], ErrorRates::USUAL)[0].reason
    }

    fn side(values: &[f64]) -> Side {
        Side::new(values.to_vec()).unwrap()
    }
}
