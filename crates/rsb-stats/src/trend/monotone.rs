//! Where a series goes, by order alone: one wild point counts as one point. Theil and Sen's slope,
//! Mann and Kendall's test.

use crate::distribution::normal_above;
use crate::estimate::median;

/// Up to so many points every pair has a say in the slope.
const EVERY_PAIR_UP_TO: usize = 250;

/// Beyond, the pairs at so many distances, from a third of the series on: near pairs say little
/// about a slope.
const DISTANCES: usize = 12;

/// The test of whether a series rises or falls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Pairs that rise less pairs that fall.
    pub s: f64,
    /// That over all pairs that are not at one value: Kendall's τ, from −1 to 1.
    pub tau: f64,
    /// Chance of such an S in either direction where the series goes nowhere.
    pub p_value: f64,
}

/// The median of the slopes between pairs of points, y over x (Theil, 1950; Sen, 1968). `None`
/// where no two x differ. Beyond 250 points, of the pairs at 12 distances.
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

/// The median, in linear time.
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

/// Mann and Kendall's test of `values` in order of time, with the correction for ties and
/// continuity. The variance is `inflation` times that of independent points: (1 + ρ) / (1 − ρ)
/// where neighbors resemble each other by ρ (Yue and Wang, 2004), else 1. `None` with fewer than
/// three values, or where all are equal.
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

/// How many pairs fall; sorts `values` while it counts.
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

/// Merges two sorted lists; how many of `first` are above how many of `second`.
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
