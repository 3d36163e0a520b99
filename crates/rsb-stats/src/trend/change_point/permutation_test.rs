//! A permutation test for whether the order of the values matters, without the removal of outliers.
//!
//! The statistic is the largest squared standardized difference between a stretch of the series and
//! the rest of it: over all splits into two, and over inner stretches with lengths from a geometric
//! grid (circular binary segmentation; Olshen and others, Biostatistics 5, 2004). For an inner
//! stretch, a penalty for the number of equally short ones is subtracted. If the values are
//! exchangeable, the statistic has the same distribution as over all permutations, whatever the
//! distribution of the values: two levels, outliers and skewed noise need no assumption.
//! Autocorrelated values are permuted by their innovations: the series is whitened with its
//! autocorrelation, shuffled, and colored again.

use crate::estimate::MAD_TO_SIGMA;
use crate::rng::Rng;
use crate::trend::monotone::middle;

/// Maximum number of permutations.
const ROUNDS: usize = 999;

/// The test stops after this many permutations that reach the observed statistic (Besag and
/// Clifford, Biometrika 78, 1991).
const ENOUGH: usize = 20;

/// Number of largest statistics of the permutations to which the tail is fitted if no permutation
/// reaches the observed statistic.
const TAIL: usize = 100;

/// Distance from the median, in robust standard deviations, to which values are clamped. The limit
/// applies to the whole series and does not depend on the order, so a permutation test stays exact.
const REACH: f64 = 6.0;

/// Number of differences in one pass of the inner loop.
const LANES: usize = 8;

/// Ratio of two neighboring lengths of the grid.
const RATIO: f64 = 1.15;

/// Returns the probability that the values in random order have a stretch that differs from the
/// rest as much as in the given order.
///
/// `correlation` is the autocorrelation at lag 1 of the noise; stretches have at least `min_size`
/// points. If no permutation reaches the observed statistic, the probability is extrapolated with
/// an exponential tail. It is never below the share of permutations that keep the points of the
/// best stretch together.
pub(super) fn p_value(values: &[f64], correlation: f64, min_size: usize) -> f64 {
    let n = values.len();
    let Some(values) = standardize(values) else { return 1.0 };
    if n < 2 * min_size {
        return 1.0;
    }
    let mut scan = Scan::new(n, min_size);
    let (observed, length) = scan.largest(&values);
    let mut rng = Rng::new(n as u64);
    let mut innovations = whiten(&values, correlation);
    let mut shuffled = vec![0.0; n];
    let mut reached = 0;
    let mut all = Vec::with_capacity(ROUNDS);
    for round in 1..=ROUNDS {
        rng.shuffle(&mut innovations);
        unwhiten(&innovations, correlation, &mut shuffled);
        let (statistic, _) = scan.largest(&shuffled);
        all.push(statistic);
        if statistic >= observed - 1e-9 * observed.abs() {
            reached += 1;
            if reached == ENOUGH {
                return reached as f64 / round as f64;
            }
        }
    }
    let chance =
        if reached > 0 { (reached + 1) as f64 / (ROUNDS + 1) as f64 } else { tail(all, observed) };
    chance.max(together(n, length))
}

/// Returns `values` centered at 0 with a mean square of 1, clamped to [`REACH`]. `None` if they do
/// not vary.
fn standardize(values: &[f64]) -> Option<Vec<f64>> {
    let center = middle(values.to_vec())?;
    let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    let mean_distance = distances.iter().sum::<f64>() / values.len() as f64;
    let robust = middle(distances).unwrap_or(0.0) * MAD_TO_SIGMA;
    // If most values are equal, the mean distance replaces the median one.
    let reach = REACH * if robust > 0.0 { robust } else { mean_distance * MAD_TO_SIGMA };
    let mut held: Vec<f64> =
        values.iter().map(|value| (value - center).clamp(-reach, reach)).collect();
    let norm = subtract_mean(&mut held);
    if norm <= 1e-12 * center.abs() || !norm.is_finite() {
        return None;
    }
    for value in &mut held {
        *value /= norm;
    }
    Some(held)
}

/// Subtracts the mean from `values`; returns the root of their mean square.
fn subtract_mean(values: &mut [f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let mut squares = 0.0;
    for value in values.iter_mut() {
        *value -= mean;
        squares += *value * *value;
    }
    (squares / n).sqrt()
}

/// Returns the innovations: the part of each value that its predecessor does not predict, all with
/// the same variance.
fn whiten(values: &[f64], correlation: f64) -> Vec<f64> {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let first = values.first().copied().into_iter();
    let rest = values.windows(2).map(|pair| (pair[1] - correlation * pair[0]) / fresh);
    first.chain(rest).collect()
}

/// Undoes [`whiten`] into `values`, centered at 0 with a mean square of 1.
fn unwhiten(innovations: &[f64], correlation: f64, values: &mut [f64]) {
    if correlation == 0.0 {
        values.copy_from_slice(innovations);
        return;
    }
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut last = innovations.first().copied().unwrap_or(0.0) / fresh;
    for (value, innovation) in values.iter_mut().zip(innovations) {
        last = correlation * last + fresh * innovation;
        *value = last;
    }
    let norm = subtract_mean(values);
    for value in values {
        *value /= norm;
    }
}

/// Returns the p-value of `observed` by an exponential tail fitted to the largest values in `all`.
fn tail(mut all: Vec<f64>, observed: f64) -> f64 {
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    let from = all[TAIL];
    let excess = all[..TAIL].iter().map(|statistic| statistic - from).sum::<f64>() / TAIL as f64;
    TAIL as f64 / ROUNDS as f64 * (-(observed - from) / excess.max(1e-9)).exp()
}

/// Returns the share of permutations of `n` points in which a given set of `length` of them is at
/// either end.
fn together(n: usize, length: usize) -> f64 {
    let shorter = length.min(n - length);
    let ln_sets: f64 = (0..shorter).map(|at| ((n - at) as f64 / (shorter - at) as f64).ln()).sum();
    (2.0 * (-ln_sets).exp()).min(1.0)
}

/// Search for the stretch that differs most from the rest.
struct Scan {
    /// Scale factor of the sum up to each position, starting with the shortest stretch.
    splits: Vec<f64>,
    shortest: usize,
    lengths: Vec<StretchLength>,
    /// Running sums of the series repeated twice, so that stretches wrap around its end.
    sums: Vec<f64>,
}

/// Stretches of one length.
struct StretchLength {
    length: usize,
    /// Scale factor of a sum of this many values.
    scale: f64,
    /// Penalty that is subtracted from the square.
    penalty: f64,
}

impl Scan {
    fn new(n: usize, shortest: usize) -> Self {
        let scale =
            |length: usize| ((n as f64 - 1.0) / (length as f64 * (n - length) as f64)).sqrt();
        let mut lengths = Vec::new();
        let mut length = shortest;
        while length <= n / 2 {
            lengths.push(StretchLength {
                length,
                scale: scale(length),
                penalty: 2.0 * (n as f64 / length as f64).ln(),
            });
            length = (length + 1).max((length as f64 * RATIO).round() as usize);
        }
        Self {
            splits: (shortest..=n - shortest).map(scale).collect(),
            shortest,
            lengths,
            sums: vec![0.0; 2 * n + 1],
        }
    }

    /// Returns the largest square less its penalty, and the length of its stretch. `values` have a
    /// mean of 0 and a mean square of 1.
    fn largest(&mut self, values: &[f64]) -> (f64, usize) {
        let n = values.len();
        let mut sum = 0.0;
        for (at, value) in values.iter().chain(values).enumerate() {
            sum += value;
            self.sums[at + 1] = sum;
        }
        let mut best = (0.0, self.shortest);
        for (at, scale) in self.splits.iter().enumerate() {
            let square = (self.sums[self.shortest + at] * scale).powi(2);
            if square > best.0 {
                best = (square, self.shortest + at);
            }
        }
        for stretch in &self.lengths {
            let rise =
                largest_difference(&self.sums[..n], &self.sums[stretch.length..stretch.length + n]);
            let square = (rise * stretch.scale).powi(2) - stretch.penalty;
            if square > best.0 {
                best = (square, stretch.length);
            }
        }
        best
    }
}

/// Returns the largest absolute difference between the values of `from` and `to` at the same
/// position.
fn largest_difference(from: &[f64], to: &[f64]) -> f64 {
    let mut largest = [0.0_f64; LANES];
    let (froms, from_rest) = from.as_chunks::<LANES>();
    let (tos, to_rest) = to.as_chunks::<LANES>();
    for (from, to) in froms.iter().zip(tos) {
        for lane in 0..LANES {
            let rise = (to[lane] - from[lane]).abs();
            largest[lane] = if rise > largest[lane] { rise } else { largest[lane] };
        }
    }
    let rest = from_rest.iter().zip(to_rest).map(|(from, to)| (to - from).abs());
    rest.chain(largest).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the series, of 400, with a p-value of at most 5 %; `value` returns the next value.
    fn count_rejections(mut value: impl FnMut(&mut Rng) -> f64, correlation: f64) -> usize {
        let mut rng = Rng::new(3);
        (0..400)
            .map(|_| (0..60).map(|_| value(&mut rng)).collect::<Vec<f64>>())
            .filter(|values| p_value(values, correlation, 5) <= 0.05)
            .count()
    }

    #[test]
    fn chances_are_even_for_any_distribution() {
        // 20 of 400 are expected; the 99.9 % range of the binomial distribution.
        let range = 7..=36;
        for rejected in [
            count_rejections(Rng::normal, 0.0),
            count_rejections(|rng| rng.normal().exp(), 0.0),
            count_rejections(
                |rng| f64::from(u8::from(rng.uniform() < 0.3)) + 0.01 * rng.normal(),
                0.0,
            ),
        ] {
            assert!(range.contains(&rejected), "{rejected} of 400");
        }
        let mut last = 0.0;
        let rejected = count_rejections(
            |rng| {
                last = 0.6 * last + 0.8 * rng.normal();
                last
            },
            0.6,
        );
        assert!(range.contains(&rejected), "{rejected} of 400");
    }

    #[test]
    fn a_chance_is_not_smaller_than_the_permutations_allow() {
        // 15! / (5! 10!) = 3003 sets of five, at either end.
        assert!(p_value(&step_series(10, 5), 0.0, 5) >= 2.0 / 3003.0 * 0.999);
        assert!(p_value(&step_series(40, 5), 0.0, 5) < 1e-4);
        assert!(p_value(&[1.0; 30], 0.0, 5) >= 1.0);
        assert!(p_value(&step_series(3, 3), 0.0, 5) >= 1.0);
    }

    fn step_series(before: usize, after: usize) -> Vec<f64> {
        let mut rng = Rng::new(4);
        (0..before + after)
            .map(|at| if at < before { 1.0 } else { 9.0 } + 0.01 * rng.normal())
            .collect()
    }
}
