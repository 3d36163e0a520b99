//! Ordinary least squares on one variable.

use crate::distribution::t_above;
use crate::estimate::mean;

/// A fitted line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Slope per unit of x.
    pub slope: f64,
    /// Value at x = 0.
    pub intercept: f64,
    /// Share of the variance that the line explains.
    pub r_squared: f64,
    /// P-value of the slope by Student's t, for independent points. Neighbors in a history are
    /// correlated, so it is only a rough indication.
    pub p_value: f64,
}

impl Line {
    /// Returns the value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Returns the p-value of the slope through `n` points if the variance of their mean is
    /// `inflation` times that of independent points.
    pub(super) fn inflated_chance(&self, n: usize, inflation: f64) -> f64 {
        let freedom = n.saturating_sub(2) as f64;
        let t = (freedom * self.r_squared / (1.0 - self.r_squared) / inflation.max(1.0)).sqrt();
        (2.0 * t_above(t, freedom)).min(1.0)
    }
}

/// Fits a line through `x` and `y`; `None` for fewer than three points, or if either does not vary.
pub(super) fn fit(x: &[f64], y: &[f64]) -> Option<Line> {
    if x.len() < 3 || x.len() != y.len() {
        return None;
    }
    let (x_mean, y_mean) = (mean(x)?, mean(y)?);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (x - x_mean, y - y_mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let varies = is_varying(xx, x_mean, x.len()) && is_varying(yy, y_mean, x.len());
    if !varies || !xy.is_finite() || !yy.is_finite() {
        return None;
    }
    let slope = xy / xx;
    let r_squared = (xy * xy / xx / yy).min(1.0);
    let degrees_of_freedom = (x.len() - 2) as f64;
    // A perfect fit has an infinite t and a p-value of zero.
    let t = (degrees_of_freedom * r_squared / (1.0 - r_squared)).sqrt();
    let p_value = (2.0 * t_above(t, degrees_of_freedom)).min(1.0);
    Some(Line { slope, intercept: y_mean - slope * x_mean, r_squared, p_value })
}

/// Returns whether the sum of `squares` around the `mean` of `n` values exceeds rounding.
fn is_varying(squares: f64, mean: f64, n: usize) -> bool {
    squares > (mean * f64::EPSILON).powi(2) * n as f64
}
