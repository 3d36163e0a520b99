//! Effect sizes: the size of a difference, independent of its significance.

use crate::estimate::{mean, sorted, variance};

/// Returns Cohen's d: the difference of the means, `b` − `a`, over the pooled standard deviation.
/// `None` for fewer than two values per side, or if no value varies.
pub fn cohens_d(a: &[f64], b: &[f64]) -> Option<f64> {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let pooled = ((n - 1.0) * variance(a)? + (m - 1.0) * variance(b)?) / (n + m - 2.0);
    (pooled > 0.0).then_some((mean(b)? - mean(a)?) / pooled.sqrt())
}

/// Returns Cliff's delta, from −1 to 1: the share of pairs in which a value of `b` exceeds one of
/// `a`, less the share of the opposite.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let a = sorted(a);
    let dominance: f64 = b
        .iter()
        .map(|value| {
            let below = a.partition_point(|other| other < value);
            let above = a.len() - a.partition_point(|other| other <= value);
            below as f64 - above as f64
        })
        .sum();
    Some(dominance / (a.len() as f64 * b.len() as f64))
}
