//! Confidence intervals of means and of their difference, from Student's t, for the statistics of
//! `compare`. The interval that decides a verdict is in `compare/estimate.rs`.

use crate::distribution::t_exceeded_with;
use crate::estimate::{mean, variance};

/// A confidence interval.
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

/// Returns the confidence interval of the mean of `values` with error rate `alpha`. `None` for
/// fewer than two values.
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    Some(Interval::about(
        mean(values)?,
        t_exceeded_with(alpha / 2.0, (values.len() - 1) as f64) * error,
    ))
}

/// Returns the confidence interval of the difference of the means, `b` − `a`, with unequal
/// variances (Welch). `None` for fewer than two values per side, or if no value varies.
pub fn difference_interval(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    let degrees_of_freedom = crate::hypothesis::welch_t(b, a)?.degrees_of_freedom?;
    let error = (variance(a)? / a.len() as f64 + variance(b)? / b.len() as f64).sqrt();
    Some(Interval::about(
        mean(b)? - mean(a)?,
        t_exceeded_with(alpha / 2.0, degrees_of_freedom) * error,
    ))
}
