//! Forecast for the next days, with prediction intervals.

use rsb_model::record::PredictedValue;

use super::line::{Line, fit};
use crate::distribution::t_exceeded_with;
use crate::estimate::mean;

/// Input of a forecast.
#[derive(Debug, Clone, Copy)]
pub struct ForecastInput<'a> {
    /// Days since a reference day, ascending, of the points since the last change of level.
    pub days: &'a [f64],
    /// Their values.
    pub values: &'a [f64],
    /// Variance inflation of the mean relative to independent points: (1 + ρ) / (1 − ρ).
    pub inflation: f64,
    /// P-value of the slope below which the trend is assumed to continue.
    pub significance: f64,
}

/// Returns the values expected on each of the `days_ahead` days after the last point, each with its
/// prediction interval at level `confidence`. They follow the line if its slope is significant,
/// otherwise the mean. Empty for fewer than three points.
///
/// The interval is that of ordinary least squares, s √(1 + f/n + f (x − x̄)²/Σ(x − x̄)²) times
/// Student's t, where f is the inflation. It does not include the possibility of another change of
/// level.
pub fn predict_future(
    past: ForecastInput<'_>,
    days_ahead: u32,
    confidence: f64,
) -> Vec<PredictedValue> {
    let n = past.values.len();
    let (Some(center), Some(day), Some(&last)) =
        (mean(past.values), mean(past.days), past.days.last())
    else {
        return Vec::new();
    };
    if n < 3 || past.days.len() != n {
        return Vec::new();
    }
    let line = fit(past.days, past.values)
        .filter(|line| line.inflated_chance(n, past.inflation) < past.significance);
    let freedom = if line.is_some() { n - 2 } else { n - 1 } as f64;
    let squares: f64 = past
        .days
        .iter()
        .zip(past.values)
        .map(|(x, value)| (value - value_at(line, center, *x)).powi(2))
        .sum();
    let spread = (squares / freedom).sqrt();
    let along: f64 = past.days.iter().map(|x| (x - day).powi(2)).sum();
    let t = t_exceeded_with((1.0 - confidence.clamp(0.0, 0.999_999)) / 2.0, freedom);
    let mut predicted = Vec::new();
    for ahead in 1..=days_ahead {
        let x = last + f64::from(ahead);
        let slope = if line.is_some() { (x - day).powi(2) / along } else { 0.0 };
        let reach = t * spread * (1.0 + past.inflation * (1.0 / n as f64 + slope)).sqrt();
        let value = value_at(line, center, x);
        let (low, high) = (value - reach, value + reach);
        if low.is_finite() && high.is_finite() {
            predicted.push(PredictedValue { days: f64::from(ahead), value, low, high });
        }
    }
    predicted
}

/// Returns the value at `x` on `line`, or `center` without a line.
fn value_at(line: Option<Line>, center: f64, x: f64) -> f64 {
    line.map_or(center, |line| line.at(x))
}
