//! The Hampel filter: moves outliers towards the median of their neighbors.

use crate::estimate::MAD_TO_SIGMA;
use crate::trend::monotone::middle;
use crate::trend::rolling::SortedWindow;

/// Distance of a point from the median of its neighbors, in robust standard deviations, above which
/// it is an outlier.
const REACH: f64 = 3.0;

/// Distance from which a point is replaced with its neighbors' median.
const GONE: f64 = 6.0;

/// Returns `values`, with each outlier moved towards the median of itself and the `half` points on
/// either side (Hampel). A level of more than `half` points is kept, because at its edge most
/// points of the window belong to it.
pub(super) fn clip_outliers(values: &[f64], half: usize) -> Vec<f64> {
    let n = values.len();
    let mut window = SortedWindow::default();
    values.iter().take(half).for_each(|value| window.insert(*value));
    let mut centers = Vec::with_capacity(n);
    for (at, &value) in values.iter().enumerate() {
        if let Some(&next) = values.get(at + half) {
            window.insert(next);
        }
        if let Some(&gone) = at.checked_sub(half + 1).and_then(|gone| values.get(gone)) {
            window.remove(gone);
        }
        centers.push(window.middle_nearest(value));
    }
    let distances: Vec<f64> =
        values.iter().zip(&centers).map(|(value, center)| (value - center).abs()).collect();
    let robust = middle(distances.clone()).unwrap_or(0.0) * MAD_TO_SIGMA;
    // If most points equal their neighbors, the spread is estimated from the mean distance of all
    // points.
    let spread = if robust > 0.0 {
        robust
    } else {
        1.2533 * distances.iter().sum::<f64>() / n.max(1) as f64
    };
    let mut clipped = Vec::with_capacity(n);
    for (value, center) in values.iter().zip(&centers) {
        let distance = value - center;
        let far = distance.abs() / spread;
        let kept =
            if far <= REACH { far } else { REACH * ((GONE - far) / (GONE - REACH)).max(0.0) };
        clipped.push(if spread > 0.0 {
            center + distance.signum() * kept * spread
        } else {
            *center
        });
    }
    clipped
}
