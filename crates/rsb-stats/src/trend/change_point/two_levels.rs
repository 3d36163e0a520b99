//! Two levels that alternate, such as the runs of two machine types in one series.

use crate::estimate::{MAD_TO_SIGMA, median};
use crate::trend::monotone::middle;

/// Minimum number of points at the smaller level, and minimum number of switches between the
/// levels.
const FEWEST: usize = 4;

/// Smallest share of the points at the smaller level.
const LEAST_SHARE: f64 = 0.03;

/// Smallest gap without points between the two levels, as a share of their distance.
const LEAST_GAP: f64 = 0.3;

/// Largest standard deviation of the noise at a level, as a share of their distance.
const LARGEST_SPREAD: f64 = 0.18;

/// Minimum number of switches between the levels, as a share of the number expected in random
/// order. Fewer switches mean steps between lasting levels.
const LEAST_SWITCHES: f64 = 0.25;

/// Two levels, and the level of each point.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPair {
    /// Median of the points at the lower level.
    pub lower: f64,
    /// Median of the points at the upper level.
    pub upper: f64,
    /// For each point since the last change, whether it is at the upper level.
    pub is_upper: Vec<bool>,
}

impl LevelPair {
    /// Finds the two levels of `values`, if two well-separated levels explain most of their
    /// variance and alternate.
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
        let widest = spread_of_steps(&lower).max(spread_of_steps(&upper));
        let is_clear = gap >= LEAST_GAP * distance && widest <= LARGEST_SPREAD * distance;
        is_clear.then_some(Self { lower: low, upper: high, is_upper })
    }

    /// Recomputes both levels from the points of `values` since `from`. Returns the old levels if
    /// one of them has no such points.
    pub(super) fn since(self, values: &[f64], from: usize) -> Self {
        let [lower, upper] = [false, true].map(|wanted| {
            let own = values
                .iter()
                .zip(&self.is_upper)
                .skip(from)
                .filter(|(_, is_upper)| **is_upper == wanted);
            median(&own.map(|(value, _)| *value).collect::<Vec<_>>())
        });
        match (lower, upper) {
            (Some(lower), Some(upper)) => {
                Self { lower, upper, is_upper: self.is_upper[from..].to_vec() }
            }
            _ => self,
        }
    }

    /// Returns the share of the points at the upper level.
    pub fn upper_share(&self) -> f64 {
        self.is_upper.iter().filter(|is_upper| **is_upper).count() as f64
            / self.is_upper.len() as f64
    }

    /// Returns the positions of the points at the upper level, or at the lower one.
    pub(super) fn positions(&self, upper: bool) -> Vec<usize> {
        (0..self.is_upper.len()).filter(|&at| self.is_upper[at] == upper).collect()
    }
}

/// Estimates the standard deviation of the noise from the differences of neighbors, which a few
/// changes of level do not dominate.
fn spread_of_steps(values: &[f64]) -> f64 {
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    middle(steps).unwrap_or(0.0) * MAD_TO_SIGMA / std::f64::consts::SQRT_2
}

/// Returns the value that separates two groups best: the largest variance between them (Otsu,
/// 1979).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Counts how many of 500 series of `n` points, generated with `value`, have two levels.
    fn count_two_level_series(n: usize, value: impl Fn(&mut Rng) -> f64) -> usize {
        let mut rng = Rng::new(n as u64);
        let found = (0..500).filter(|_| {
            let series: Vec<f64> = (0..n).map(|_| value(&mut rng)).collect();
            LevelPair::find(&series).is_some()
        });
        found.count()
    }

    #[test]
    fn one_level_is_seldom_taken_for_two() {
        for n in [12, 20, 40, 100] {
            for found in [
                count_two_level_series(n, Rng::normal),
                count_two_level_series(n, |rng| (0.5 * rng.normal()).exp()),
            ] {
                assert!(found <= 10, "{n} points: {found} of 500");
            }
        }
    }

    #[test]
    fn two_levels_in_noise_are_found() {
        for n in [40, 100] {
            assert!(count_two_level_series(n, value_of_two_levels) >= 490, "{n} points");
        }
    }

    fn value_of_two_levels(rng: &mut Rng) -> f64 {
        let level = if rng.uniform() < 0.3 { 130.0 } else { 100.0 };
        level * (1.0 + 0.01 * rng.normal())
    }
}
