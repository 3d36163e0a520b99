//! The Hampel filter: outliers are brought back towards the median of their neighbors.

use crate::estimate::MAD_TO_SIGMA;
use crate::trend::monotone::middle;
use crate::trend::rolling::SortedWindow;

/// How far a point may lie from the median of its neighbors, in robust standard deviations.
const REACH: f64 = 3.0;

/// From here on a point says nothing but its neighbors' median.
const GONE: f64 = 6.0;

/// `values`, each brought back to the median of itself and the `half` points on either side where
/// it lies far from it (Hampel). A level that holds for more than `half` points keeps its place: at
/// its edge most of a window is on its side.
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
    // Where most points equal their neighbors, what the others stray by in the mean.
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
