//! Check of the median. Low quantiles and minima show the cost of undisturbed code, so they miss
//! code that became slow most of the time, but not always. A case therefore has no verdict of
//! Unchanged or Improved if its median is worse by more than the variation of the baseline
//! explains.

use rsb_model::{ReasonCode, Verdict};

use super::{Candidate, Pair, change_of_log, orient};
use crate::conclusion::Doubt;
use crate::noise_model::ChangeCluster;
use crate::wording::describe_change;

/// Returns the spread of the median changes of all cases with a single process in the baseline.
/// `None` if there are too few such cases.
pub(super) fn scatter(pairs: &[Pair]) -> Option<f64> {
    let alone = pairs.iter().filter(|pair| pair.ratios.is_none() && pair.baseline.is_lone());
    let moves: Vec<f64> = alone.map(worsening).collect();
    ChangeCluster::of(&moves).map(|common| common.reach())
}

/// Withdraws Unchanged or Improved if the median is worse.
pub(super) fn doubt(candidate: &Candidate<'_>) -> Option<Doubt> {
    let &Candidate { pair, found, shift, median_scatter } = candidate;
    let worse = worsening(pair) - shift.log;
    let change = change_of_log(worse, pair.better);
    let passes = matches!(found.verdict, Verdict::Unchanged | Verdict::Improved);
    // Pairs measured interleaved do not need this check: they are judged by a trimmed mean of their
    // ratios, to which most pairs contribute.
    if pair.ratios.is_some()
        || !passes
        || change < pair.threshold
        || worse <= median_tolerance(pair, median_scatter)
    {
        return None;
    }
    let median = describe_change(change, pair.unit.symbol(), pair.better);
    Some(Doubt {
        reason: ReasonCode::MedianWorse,
        detail: format!("of the fastest samples; {median} by the median"),
        consequence: "most of the run was slow, by more than the baseline varies: measure again, \
                      or both sides at once with `gate --against`",
    })
}

/// Returns the largest change of a median that noise explains: the spread of the medians of the
/// baseline's processes. If the baseline has one process, the spread of the other cases is used, or
/// else that of the current side.
fn median_tolerance(pair: &Pair, scatter: Option<f64>) -> f64 {
    let own = pair.baseline.medians_apart();
    own.or(scatter).or_else(|| pair.current.medians_apart()).unwrap_or(0.0)
}

fn worsening(pair: &Pair) -> f64 {
    orient(pair.current.median_log() - pair.baseline.median_log(), pair.better)
}

#[cfg(test)]
mod tests {
    use rsb_model::{Better, Unit};

    use super::*;
    use crate::compare::{ErrorRates, Shift, Side, compare, compare_less};
    use crate::conclusion::CaseConclusion;

    fn side(replicates: &[f64], medians: &[f64]) -> Side {
        Side::with_medians(replicates.to_vec(), medians.to_vec()).unwrap()
    }

    fn pair(baseline: Side, current: Side) -> Pair {
        Pair {
            baseline,
            current,
            ratios: None,
            unit: Unit::Milliseconds,
            better: Better::Lower,
            threshold: 0.1,
        }
    }

    /// Returns the conclusion for a case among eleven whose processes agree within 1 %.
    fn among_others(last: Pair, processes: usize) -> CaseConclusion {
        let others = (0..11).map(|at| pair(steady_side(at, processes), steady_side(at, processes)));
        let pairs: Vec<Pair> = others.chain([last]).collect();
        compare(&pairs, ErrorRates::USUAL).pop().unwrap()
    }

    fn steady_side(at: u32, processes: usize) -> Side {
        let values = [1.0, 1.01, 0.995].map(|each| each * f64::from(100 + at));
        let first = 1.0 + 0.002 * f64::from(at % 5);
        side(&values[..processes], &values.map(|each| each * 1.02 * first)[..processes])
    }

    #[test]
    fn what_is_slow_most_of_the_time_is_not_unchanged_by_its_floor() {
        use ReasonCode::{AboveThreshold, MedianWorse, WithinNoise};
        let steady = side(&[100.0, 101.0, 99.5], &[102.0, 103.0, 101.5]);
        let one = side(&[100.0], &[102.0]);
        for (baseline, current, reason) in [
            // 98 of 100 samples in every process; with one process per side, the other cases show
            // the usual variation.
            (steady.clone(), side(&[100.0, 101.0, 99.5], &[204.0, 206.0, 203.0]), MedianWorse),
            (one.clone(), side(&[100.0], &[204.0]), MedianWorse),
            (one, side(&[100.0], &[106.0]), WithinNoise),
            // Improved by its low quantile.
            (steady.clone(), side(&[80.0, 80.5, 79.5], &[204.0, 206.0, 203.0]), MedianWorse),
            // Below the threshold, or within the variation of the baseline.
            (steady.clone(), side(&[100.0, 101.0, 99.5], &[110.0, 111.0, 109.5]), WithinNoise),
            (
                side(&[100.0, 101.0, 99.5], &[102.0, 140.0, 150.0]),
                side(&[100.0, 101.0, 99.5], &[170.0; 3]),
                WithinNoise,
            ),
            // One of three processes is a minority.
            (steady.clone(), side(&[100.0, 101.0, 99.5], &[102.0, 103.0, 204.0]), WithinNoise),
            // A clear regression stays one.
            (steady.clone(), side(&[200.0, 202.0, 199.0], &[204.0, 206.0, 203.0]), AboveThreshold),
        ] {
            let processes = baseline.replicates().len();
            let found = among_others(pair(baseline.clone(), current.clone()), processes);
            assert_eq!(found.reason, reason, "{baseline:?} {current:?}: {found:?}");
            assert_eq!(found.doubt.is_some(), reason == MedianWorse, "{found:?}");
        }
        let neighbors = Pair {
            ratios: Some(vec![0.0; 3]),
            ..pair(steady, side(&[100.0, 101.0, 99.5], &[204.0, 206.0, 203.0]))
        };
        assert_eq!(among_others(neighbors, 3).reason, WithinNoise);
    }

    #[test]
    fn a_single_stray_run_of_ten_in_the_baseline_excuses_no_majority() {
        let others = (0..11).map(|at| pair(ten_runs(at % 2, 1.2), ten_runs((at + 1) % 2, 1.2)));
        let pairs: Vec<Pair> = others.chain([pair(ten_runs(1, 3.5), ten_runs(9, 3.0))]).collect();
        let found = compare(&pairs, ErrorRates::USUAL);
        assert!(!found[11].verdict.is_decided(), "{:?}", found[11]);
        assert!(found[..11].iter().all(|each| each.verdict == Verdict::Unchanged), "{found:?}");
    }

    /// Builds ten runs, the last `slow` of them slower by `factor`.
    fn ten_runs(slow: usize, factor: f64) -> Side {
        let mut times = Vec::new();
        for at in 0..10 {
            let factor = if at >= 10 - slow { factor } else { 1.0 };
            times.push(100.0 * (1.0 + at as f64 / 1000.0) * factor);
        }
        Side::new(times).unwrap()
    }

    #[test]
    fn what_the_machine_did_is_taken_out_of_the_median_too() {
        let slower = pair(side(&[100.0; 3], &[102.0; 3]), side(&[115.0; 3], &[117.3; 3]));
        let shift = Shift { log: 1.15_f64.ln(), variance: 0.0 };
        let found = compare_less(&[slower], ErrorRates::USUAL, shift);
        assert_eq!(found[0].verdict, Verdict::Unchanged);
    }
}
