//! Variance between runs that all cases share, estimated from earlier runs. A disturbance of a
//! whole run affects all of its processes, so it cannot be seen within one run.

use super::{Pair, orient};
use crate::estimate::{median, median_absolute_deviation};
use crate::noise_model::MIN_CASES;

/// Minimum number of steps from one run to the next.
const FEWEST: usize = 3;

/// Variance of the median of normal values over that of their mean: π/2.
const VARIANCE_OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Returns the variance that common changes between runs add to a change between two runs; 0 if
/// there are fewer than three usable steps between runs, or fewer than ten cases. Code changes of
/// single cases do not affect it, because a step is the median over all cases.
pub(super) fn run_variance(pairs: &[Pair]) -> f64 {
    let apart: Vec<&Pair> = pairs.iter().filter(|pair| pair.ratios.is_none()).collect();
    let runs = apart.iter().map(|pair| pair.baseline.past().len()).max().unwrap_or_default();
    let levels: Vec<Vec<Option<f64>>> = apart
        .iter()
        .map(|pair| {
            let past =
                (0..runs).map(|run| pair.baseline.past().get(run).map_or(&[][..], Vec::as_slice));
            past.chain([pair.baseline.replicates()]).map(|values| level(pair, values)).collect()
        })
        .collect();
    let steps: Vec<f64> = (0..runs).filter_map(|run| squared_step(&levels, run)).collect();
    if steps.len() < FEWEST {
        return 0.0;
    }
    (steps.iter().sum::<f64>() / steps.len() as f64).max(0.0)
}

/// Returns the squared common step of the cases from one run to the next, less the part that their
/// own noise contributes.
fn squared_step(levels: &[Vec<Option<f64>>], run: usize) -> Option<f64> {
    let steps: Vec<f64> = levels
        .iter()
        .filter_map(|levels| Some((*levels.get(run + 1)?)? - (*levels.get(run)?)?))
        .collect();
    if steps.len() < MIN_CASES {
        return None;
    }
    let noise =
        median_absolute_deviation(&steps)?.powi(2) * VARIANCE_OF_MEDIAN / steps.len() as f64;
    Some(median(&steps)?.powi(2) - noise)
}

/// Returns the minimum of the processes. The noise model of a run's level does not matter, as long
/// as all runs use the same.
fn level(pair: &Pair, values: &[f64]) -> Option<f64> {
    values.iter().map(|value| orient(value.ln(), pair.better)).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use rsb_model::Better;

    use super::*;
    use crate::compare::Side;

    /// Builds cases whose runs are at the levels `runs`, the last of them the baseline; the first
    /// case became faster before the last run.
    fn pairs(cases: usize, runs: &[f64]) -> Vec<Pair> {
        let (last, earlier) = runs.split_last().unwrap();
        let mut pairs = Vec::new();
        for at in 0..cases {
            let faster = if at == 0 { 0.5 } else { 1.0 };
            let past = earlier.iter().map(|level| case_values(at, *level)).collect();
            let baseline = Side::new(case_values(at, last * faster)).unwrap().with_past(past);
            let current = Side::new(case_values(at, 1.0)).unwrap();
            pairs.push(Pair {
                baseline,
                current,
                ratios: None,
                unit: rsb_model::Unit::Milliseconds,
                better: Better::Lower,
                threshold: 0.1,
            });
        }
        pairs
    }

    fn case_values(at: usize, level: f64) -> Vec<f64> {
        [1.0, 1.001, 1.002].map(|each| each * level * (100.0 + at as f64)).to_vec()
    }

    #[test]
    fn a_machine_that_wanders_is_told_by_its_runs_and_not_by_a_change_of_one_case() {
        assert!(run_variance(&pairs(12, &[1.0, 1.0, 1.0, 1.0])) < 1e-6);
        let step = 1.05_f64.ln();
        let wandering = run_variance(&pairs(12, &[1.0, 1.05, 1.0, 1.05]));
        assert!((wandering.sqrt() - step).abs() < 1e-4, "{wandering}");
        assert!(
            run_variance(&pairs(12, &[1.0, 1.05, 1.0])).abs() < 1e-12,
            "two steps are too few for a variance"
        );
        assert!(
            run_variance(&pairs(9, &[1.0, 1.05, 1.0, 1.05])).abs() < 1e-12,
            "nine cases are too few for a variance"
        );
    }
}
