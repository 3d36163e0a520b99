//! Monotone trends from ranks, which limit the influence of an outlier: the Theil-Sen slope and the
//! Mann-Kendall test.

use crate::distribution::normal_above;
use crate::estimate::median;

/// Number of points up to which the slope uses every pair.
const EVERY_PAIR_UP_TO: usize = 250;

/// Number of distances at which pairs are used for longer series, starting at a third of the
/// length: near pairs contribute little to a slope.
const DISTANCES: usize = 12;

/// Result of the test for a rise or a fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Number of rising pairs less the number of falling pairs (S).
    pub s: f64,
    /// Kendall's τ-b, from −1 to 1: S over the geometric mean of the number of pairs and the number
    /// of pairs with different values.
    pub tau: f64,
    /// Probability of an S at least as large in either direction without a trend.
    pub p_value: f64,
}

/// Returns the median of the slopes between pairs of points, y over x (Theil, 1950; Sen, 1968).
/// `None` if all x are equal. For more than 250 points, it uses the pairs at 12 distances.
pub fn theil_sen(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len().min(y.len());
    let distances: Vec<usize> = if n <= EVERY_PAIR_UP_TO {
        (1..n).collect()
    } else {
        (0..DISTANCES).map(|step| n / 3 + step * n / (2 * DISTANCES)).collect()
    };
    let mut slopes = Vec::new();
    for distance in distances {
        let pairs = x.iter().zip(y).zip(x.iter().zip(y).skip(distance));
        slopes.extend(
            pairs
                .map(|((x0, y0), (x1, y1))| (y1 - y0) / (x1 - x0))
                .filter(|slope| slope.is_finite()),
        );
    }
    middle(slopes)
}

/// Returns the median, in linear time.
pub(super) fn middle(mut values: Vec<f64>) -> Option<f64> {
    let half = values.len() / 2;
    if values.len() < 3 {
        return median(&values);
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut high, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let low = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if is_even { f64::midpoint(low, high) } else { high })
}

/// Runs the Mann-Kendall test on `values` in order of time, with corrections for ties and
/// continuity. The variance is `inflation` times that of independent points: (1 + ρ) / (1 − ρ) for
/// a lag-1 autocorrelation ρ (Yue and Wang, 2004), otherwise 1. `None` for fewer than three values,
/// or if all are equal.
pub fn mann_kendall(values: &[f64], inflation: f64) -> Option<MannKendall> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let mut sorted: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    let pairs = n * (n - 1.0) / 2.0;
    let falling = inversions(&mut sorted);
    let (mut tied, mut less) = (0.0, 0.0);
    for group in sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        let t = group.len() as f64;
        tied += t * (t - 1.0) / 2.0;
        less += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let s = pairs - tied - 2.0 * falling;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - less) / 18.0 * inflation.max(1.0);
    if variance <= 0.0 {
        return None;
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    let tau = s / (pairs * (pairs - tied)).sqrt();
    Some(MannKendall { s, tau, p_value: (2.0 * normal_above(z)).min(1.0) })
}

/// Counts the falling pairs, sorting `values` in the process.
fn inversions(values: &mut [f64]) -> f64 {
    let mut scratch = values.to_vec();
    let mut count = 0.0;
    let mut width = 1;
    while width < values.len() {
        for part in 0..values.len().div_ceil(2 * width) {
            let from = part * 2 * width;
            let (middle, to) =
                ((from + width).min(values.len()), (from + 2 * width).min(values.len()));
            count += merge(&values[from..middle], &values[middle..to], &mut scratch[from..to]);
        }
        values.copy_from_slice(&scratch);
        width *= 2;
    }
    count
}

/// Merges two sorted lists and counts the pairs in which a value of `first` exceeds one of
/// `second`.
fn merge(first: &[f64], second: &[f64], merged: &mut [f64]) -> f64 {
    let (mut left, mut right, mut count) = (0, 0, 0_u64);
    for slot in merged {
        let takes_second = match (first.get(left), second.get(right)) {
            (Some(a), Some(b)) => b.total_cmp(a).is_lt(),
            (None, _) => true,
            _ => false,
        };
        if takes_second {
            count += (first.len() - left) as u64;
            *slot = second[right];
            right += 1;
        } else {
            *slot = first[left];
            left += 1;
        }
    }
    count as f64
}
