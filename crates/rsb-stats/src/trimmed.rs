//! A trimmed mean of few values, with its variance (Yuen, 1974).
//!
//! A disturbance of a fresh process affects the whole process and adds time, never removes it. The
//! slow processes are therefore slow because of the machine, and the mean of the others is the cost
//! of the code.

use crate::estimate::sorted;

/// Minimum number of values to keep, so that none is cut off from fewer.
const LEAST: f64 = 3.0;

/// Shares of the values that are cut off at the low and the high end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    low: f64,
    high: f64,
}

impl Cut {
    /// Cuts off the slower half of the times, or logarithms of times, of `count` processes; less if
    /// there are few. Two sides that are compared use the cut of the smaller side, because a larger
    /// cut lowers the mean.
    pub fn slow_half(count: usize) -> Self {
        let count = count as f64;
        Self { low: 0.0, high: 1.0 - (count / 2.0).max(count.min(LEAST)) / count.max(1.0) }
    }

    /// Cuts off a fifth at each end, for ratios of neighbors: a disturbance of either one makes a
    /// ratio too high or too low.
    pub fn both_ends(count: usize) -> Self {
        let count = count as f64;
        let share = (1.0 - (0.6 * count).max(count.min(LEAST)) / count.max(1.0)) / 2.0;
        Self { low: share, high: share }
    }

    /// Keeps the middle half, for many values.
    pub const QUARTERS: Self = Self { low: 0.25, high: 0.25 };

    /// Returns the share that is kept.
    pub fn kept_share(self) -> f64 {
        1.0 - self.low - self.high
    }
}

/// A trimmed mean and its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trimmed {
    /// Mean of the kept values. A value that is kept in part counts with that part.
    pub mean: f64,
    /// Squared deviations from their mean; values that were cut off are replaced with the nearest
    /// kept one (winsorized).
    pub sum_of_squares: f64,
    /// Number of kept values. The variance of the mean is `sum_of_squares / (kept (kept − 1))`,
    /// with `kept − 1` degrees of freedom.
    pub kept: f64,
}

/// Returns the mean of `values` without `cut`; `None` if there are no values.
pub fn trimmed_mean(values: &[f64], cut: Cut) -> Option<Trimmed> {
    let values = sorted(values);
    let count = values.len() as f64;
    let (from, to) = (cut.low * count, (1.0 - cut.high) * count);
    let kept = to - from;
    // In the sorted list, value i covers the range from i to i + 1.
    let weights: Vec<f64> = (0..values.len())
        .map(|at| (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0))
        .collect();
    let first = weights.iter().position(|&weight| weight > EDGE)?;
    let last = weights.iter().rposition(|&weight| weight > EDGE)?;
    let mean =
        values.iter().zip(&weights).map(|(value, weight)| value * weight).sum::<f64>() / kept;
    let (low, high) = (*values.get(first)?, *values.get(last)?);
    let drawn: Vec<f64> = values.iter().map(|value| value.clamp(low, high)).collect();
    let center = drawn.iter().sum::<f64>() / count;
    let sum_of_squares = drawn.iter().map(|value| (value - center).powi(2)).sum();
    Some(Trimmed { mean, sum_of_squares, kept })
}

/// Smallest weight of a value; smaller ones are rounding errors.
const EDGE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: [f64; 10] = [4.0, 1.0, 3.0, 2.0, 5.0, 60.0, 9.0, 7.0, 8.0, 100.0];

    #[test]
    fn the_slow_half_does_not_count() {
        let found = trimmed_mean(&TEN, Cut::slow_half(10)).unwrap();
        assert_eq!((found.mean, found.kept), (3.0, 5.0));
        // 1 2 3 4 5 5 5 5 5 5: mean 4, squares 9 + 4 + 1 + 0 + 6.
        assert!((found.sum_of_squares - 20.0).abs() < 1e-12);
    }

    #[test]
    fn few_figures_are_all_kept_and_between_them_a_part_counts() {
        for (values, mean, kept) in [
            (&[7.0][..], 7.0, 1.0),
            (&[1.0, 3.0], 2.0, 2.0),
            (&[1.0, 2.0, 9.0], 4.0, 3.0),
            (&[1.0, 2.0, 3.0, 99.0, 99.0], 2.0, 3.0),
            (&[1.0, 2.0, 3.0, 8.0, 99.0, 99.0, 99.0], (6.0 + 8.0 / 2.0) / 3.5, 3.5),
        ] {
            let found = trimmed_mean(values, Cut::slow_half(values.len())).unwrap();
            assert!(
                (found.mean - mean).abs() < 1e-12 && (found.kept - kept).abs() < 1e-12,
                "{values:?}: {found:?}"
            );
        }
        assert_eq!(trimmed_mean(&[], Cut::slow_half(0)), None);
    }

    /// `scipy.stats.trim_mean(x, 0.2)` and `mstats.winsorize(x, (0.2, 0.2))`, SciPy 1.17.1.
    #[test]
    fn both_ends_as_scipy_has_it() {
        let found = trimmed_mean(&TEN, Cut::both_ends(10)).unwrap();
        assert!((found.mean - 6.0).abs() < 1e-12 && (found.kept - 6.0).abs() < 1e-12, "{found:?}");
        assert!((found.sum_of_squares - 64.0).abs() < 1e-9, "{found:?}");
    }
}
