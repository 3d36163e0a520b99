//! Two levels that alternate, such as the runs of two machine types in one series.

use crate::estimate::{MAD_TO_SIGMA, median};
use crate::trend::monotone::middle;

/// Fewest points of the smaller level, and the fewest times that the series goes from one level to the other.
const FEWEST: usize = 4;

/// Smallest share of the points in the smaller level.
const LEAST_SHARE: f64 = 0.03;

/// Smallest empty gap between the two levels, as a share of their distance.
const LEAST_GAP: f64 = 0.3;

/// Largest spread within a level, as a share of their distance.
const LARGEST_SPREAD: f64 = 0.33;

/// Fewest changes between the levels, as a share of those that a random order has. Levels that hold for long are steps.
const LEAST_SWITCHES: f64 = 0.25;

/// Two levels, and which points are at which.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPair {
    /// Median of the points at the lower level.
    pub lower: f64,
    /// Median of the points at the upper level.
    pub upper: f64,
    /// For each point whether it is at the upper level.
    pub is_upper: Vec<bool>,
}

impl LevelPair {
    /// Returns the two levels of `values`, if two well-separated levels tell most of their variance and alternate.
    pub fn find(values: &[f64]) -> Option<Self> {
        let limit = separating(values)?;
        let is_upper: Vec<bool> = values.iter().map(|&value| value > limit).collect();
        let (upper, lower): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value > limit);
        let (u, l, n) = (upper.len() as f64, lower.len() as f64, values.len() as f64);
        if u.min(l) < (FEWEST as f64).max(LEAST_SHARE * n) {
            return None;
        }
        let switches = is_upper.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
        if switches < (FEWEST as f64).max(LEAST_SWITCHES * 2.0 * u * l / n) {
            return None;
        }
        let (low, high) = (median(&lower)?, median(&upper)?);
        let distance = high - low;
        let gap = upper.iter().copied().fold(f64::INFINITY, f64::min)
            - lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = |values: &[f64], center: f64| {
            let distances = values.iter().map(|value| (value - center).abs()).collect();
            middle(distances).unwrap_or(0.0) * MAD_TO_SIGMA
        };
        let widest = spread(&lower, low).max(spread(&upper, high));
        let is_clear = gap >= LEAST_GAP * distance && widest <= LARGEST_SPREAD * distance;
        is_clear.then_some(Self { lower: low, upper: high, is_upper })
    }

    /// The share of the points at the upper level.
    pub fn upper_share(&self) -> f64 {
        self.is_upper.iter().filter(|is_upper| **is_upper).count() as f64 / self.is_upper.len() as f64
    }

    /// The positions of the points at the upper level, or at the lower one.
    pub(super) fn positions(&self, upper: bool) -> Vec<usize> {
        (0..self.is_upper.len()).filter(|&at| self.is_upper[at] == upper).collect()
    }
}

/// The value that separates two groups best: the largest variance between them (Otsu, 1979).
fn separating(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let center = *sorted.get(n / 2)?;
    let total: f64 = sorted.iter().map(|value| value - center).sum();
    let mut below = 0.0;
    let mut best = (0.0, None);
    for at in 1..n {
        below += sorted[at - 1] - center;
        let (low, high) = (at as f64, (n - at) as f64);
        let between = low * high * (below / low - (total - below) / high).powi(2);
        if sorted[at] > sorted[at - 1] && between > best.0 {
            best = (between, Some(f64::midpoint(sorted[at - 1], sorted[at])));
        }
    }
    best.1
}
