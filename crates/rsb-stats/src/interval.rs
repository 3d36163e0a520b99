//! Intervals of means and of their difference, from Student's t, for the statistics of `compare`.
//! The interval that a verdict rests on is in `compare/estimate.rs`.

use crate::distribution::t_exceeded_with;
use crate::estimate::{mean, variance};

/// Two ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    fn about(center: f64, reach: f64) -> Self {
        Self { low: center - reach, high: center + reach }
    }
}

/// Interval of the mean of `values`, with error rate `alpha`. `None` with fewer than two values.
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    Some(Interval::about(
        mean(values)?,
        t_exceeded_with(alpha / 2.0, (values.len() - 1) as f64) * error,
    ))
}

/// Interval of the difference of the means, `b` less `a`, whose variances may differ (Welch).
/// `None` with fewer than two values a side, or where nothing varies.
pub fn difference_interval(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    let degrees_of_freedom = crate::hypothesis::welch_t(b, a)?.degrees_of_freedom?;
    let error = (variance(a)? / a.len() as f64 + variance(b)? / b.len() as f64).sqrt();
    Some(Interval::about(
        mean(b)? - mean(a)?,
        t_exceeded_with(alpha / 2.0, degrees_of_freedom) * error,
    ))
}
