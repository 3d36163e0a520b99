//! Likelihood ratio test of each change, with autocorrelated noise.

use super::MOST_CORRELATION;
use super::segments::{Sums, ends};
use super::significance::ln_chance;

/// Sum of squares, of values of unit size, that rounding can cause.
const ROUNDING: f64 = 1e-20;

/// Criteria for a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeCriterion {
    /// Minimum number of points on each side.
    pub(super) min_size: usize,
    /// Maximum probability of such a change in an unchanged series.
    pub(super) chance: f64,
}

/// A change under test.
#[derive(Debug, Clone, Copy)]
struct Tested {
    /// Twice the logarithm of the likelihood ratio of the points with and without the change.
    ratio: f64,
    ln_chance: f64,
}

/// Returns the significant ones of `starts`, each with the logarithm of its p-value. Other starts
/// are removed, the weakest of neighboring ones first, and the remaining starts are moved to their
/// best positions.
pub(super) fn confirm_starts(
    sums: &Sums,
    mut starts: Vec<usize>,
    bar: ChangeCriterion,
) -> Vec<(usize, f64)> {
    loop {
        let tests = tests(sums, &starts, bar.min_size);
        let failing: Vec<usize> =
            (0..starts.len()).filter(|&at| tests[at].ln_chance > bar.chance.ln()).collect();
        let Some(&weakest) =
            failing.iter().min_by(|a, b| tests[**a].ratio.total_cmp(&tests[**b].ratio))
        else {
            return starts
                .into_iter()
                .zip(tests)
                .map(|(start, test)| (start, test.ln_chance))
                .collect();
        };
        let gone: Vec<usize> =
            failing.into_iter().filter(|&at| at == weakest || is_weakest(&tests, at)).collect();
        let left = starts.iter().enumerate().filter(|(at, _)| gone.binary_search(at).is_err());
        starts = left.map(|(_, start)| *start).collect();
        refine_starts(sums, &mut starts, bar.min_size);
    }
}

/// Returns whether the change at `at` is weaker than its neighbors.
fn is_weakest(tests: &[Tested], at: usize) -> bool {
    (at == 0 || tests[at - 1].ratio >= tests[at].ratio)
        && tests.get(at + 1).is_none_or(|next| next.ratio > tests[at].ratio)
}

/// Returns the p-value of the best split of all points into two.
pub(super) fn best_chance(sums: &Sums, bar: ChangeCriterion) -> f64 {
    let n = sums.len();
    if n < 2 * bar.min_size {
        return 1.0;
    }
    let mut starts = [n / 2];
    refine_starts(sums, &mut starts, bar.min_size);
    tests(sums, &starts, bar.min_size).first().map_or(1.0, |test| test.ln_chance.exp())
}

/// Tests each change against its absence. The noise is a first-order autoregression, estimated with
/// and without the change, because correlated noise often explains a step that independent noise
/// would not.
fn tests(sums: &Sums, starts: &[usize], min_size: usize) -> Vec<Tested> {
    let n = sums.len();
    let total = sums.residual(starts);
    let ends = ends(starts, n);
    let freedom = (n as f64 - 2.0 * starts.len() as f64 - 2.0).max(1.0);
    let floor = ROUNDING * n as f64;
    let with = total.innovation(MOST_CORRELATION) + floor;
    let mut tests = Vec::with_capacity(starts.len());
    for at in 0..starts.len() {
        let without = sums.without(total, &ends, at).innovation(MOST_CORRELATION) + floor;
        let ratio = (freedom * (without / with).ln()).max(0.0);
        let ln_chance = ln_chance(ratio.sqrt(), ends[at + 2] - ends[at], min_size);
        tests.push(Tested { ratio, ln_chance });
    }
    tests
}

/// Moves each start to the best position between the neighboring starts.
fn refine_starts(sums: &Sums, starts: &mut [usize], min_size: usize) {
    let mut from = 0;
    for at in 0..starts.len() {
        let to = starts.get(at + 1).copied().unwrap_or(sums.len());
        let mut best = (f64::INFINITY, starts[at]);
        for place in from + min_size..=to - min_size {
            let cost = sums.scatter(from, place) + sums.scatter(place, to);
            if cost < best.0 {
                best = (cost, place);
            }
        }
        starts[at] = best.1;
        from = best.1;
    }
}
