//! Detection of points far from those before them.

use rsb_model::Timestamp;
use rsb_model::record::Anomaly;

use crate::estimate::{mean, median, median_absolute_deviation, std_dev};

/// Minimum number of preceding points that a point is compared with.
const FEWEST: usize = 4;

/// Returns the points that are at least `reach` standard deviations away from the `window` points
/// before them, both by mean and standard deviation and by median and median absolute deviation. An
/// outlier in the window makes the first pair insensitive, and several equal values make the second
/// oversensitive. `points` are in order of time.
pub fn anomalies(points: &[(Timestamp, f64)], window: usize, reach: f64) -> Vec<Anomaly> {
    let values: Vec<f64> = points.iter().map(|&(_, value)| value).collect();
    points
        .iter()
        .enumerate()
        .filter_map(|(index, &(timestamp, value))| {
            let before = &values[index.saturating_sub(window)..index];
            if before.len() < FEWEST {
                return None;
            }
            let plain = z(value, mean(before)?, std_dev(before)?);
            // The point is near by mean and standard deviation, so the other distance is not
            // needed.
            if plain.is_some_and(|z| z.abs() < reach) {
                return None;
            }
            let robust = z(value, median(before)?, median_absolute_deviation(before)?);
            let is_far = is_far(value, plain, mean(before), reach)
                && is_far(value, robust, median(before), reach);
            is_far.then_some(Anomaly {
                index,
                timestamp,
                value,
                z_score: plain,
                robust_z_score: robust,
            })
        })
        .collect()
}

/// Returns whether `value` is at least `reach` spreads away from `center`, given as the distance
/// `z`. Without a spread, any different value is far.
fn is_far(value: f64, z: Option<f64>, center: Option<f64>, reach: f64) -> bool {
    z.map_or_else(|| center.is_some_and(|center| differs(value, center)), |z| z.abs() >= reach)
}

/// Returns the distance in units of `spread`; `None` if the spread is zero up to rounding.
fn z(value: f64, center: f64, spread: f64) -> Option<f64> {
    (spread > 1e-12 * center.abs()).then(|| (value - center) / spread).filter(|z| z.is_finite())
}

fn differs(value: f64, center: f64) -> bool {
    (value - center).abs() > 1e-12 * center.abs()
}
