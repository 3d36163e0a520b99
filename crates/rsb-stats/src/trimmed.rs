//! A trimmed mean of few figures, with the spread that belongs to it (Yuen, 1974).
//!
//! What disturbs a fresh process disturbs it as a whole and adds time, never takes it away. Over
//! processes the slow part is therefore what the machine did, and the mean of the others is what
//! the code costs.

use crate::estimate::sorted;

/// Fewer figures than this are too few to leave one out.
const LEAST: f64 = 3.0;

/// What is cut off, as shares of the figures, at the low and the high end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    low: f64,
    high: f64,
}

impl Cut {
    /// The slower half, for times or logarithms of times of `count` processes: less where they are
    /// few. Two sides that are compared use the cut of the smaller one, as a mean over less of the
    /// slow part is lower.
    pub fn slow_half(count: usize) -> Self {
        let count = count as f64;
        Self { low: 0.0, high: 1.0 - (count / 2.0).max(count.min(LEAST)) / count.max(1.0) }
    }

    /// A fifth at each end, for ratios of neighbors, of which either may be disturbed.
    pub fn both_ends(count: usize) -> Self {
        let count = count as f64;
        let share = (1.0 - (0.6 * count).max(count.min(LEAST)) / count.max(1.0)) / 2.0;
        Self { low: share, high: share }
    }

    /// The middle half of many.
    pub const QUARTERS: Self = Self { low: 0.25, high: 0.25 };

    /// The share that is kept.
    pub fn kept_share(self) -> f64 {
        1.0 - self.low - self.high
    }
}

/// A trimmed mean and its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trimmed {
    /// Mean of what was kept. A figure at the edge counts with the part of it that was kept.
    pub mean: f64,
    /// Squared deviations from their mean, where what was cut off counts as the nearest that was
    /// kept.
    pub sum_of_squares: f64,
    /// How many figures were kept. The variance of the mean is `sum_of_squares / (kept (kept −
    /// 1))`, known with `kept − 1` degrees of freedom.
    pub kept: f64,
}

/// The mean of `values` without `cut`; `None` when there are none.
pub fn trimmed_mean(values: &[f64], cut: Cut) -> Option<Trimmed> {
    let values = sorted(values);
    let count = values.len() as f64;
    let (from, to) = (cut.low * count, (1.0 - cut.high) * count);
    let kept = to - from;
    // The figure at position i covers the stretch from i to i + 1.
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

/// A part of a figure smaller than this comes from rounding.
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
