//! The minimum of a few values: its location, and its excess over an undisturbed minimum.
//!
//! A disturbance adds time to a process, often for its whole life, and never removes any. The mean
//! of three processes therefore depends on the disturbed ones; their minimum is the cost of the
//! code if at least one process was undisturbed. The excesses of the other values over the minimum
//! show how rare an undisturbed process is. If they are exponential with mean θ, they are
//! independent of the minimum itself (Rényi, 1953). The minimum of k values exceeds the floor by
//! θ/k on average, with a standard deviation of θ/k. The difference of two minima has a Laplace
//! distribution with that scale. If θ is estimated from only ν/2 excesses, the absolute difference
//! over θ/k has Fisher's F(2, ν) distribution ([`crate::distribution::least_above`]).

use crate::estimate::sorted;

/// Returns the expected minimum of `of` values drawn without replacement from `sorted`: the minimum
/// if `of` is the number of all values, their mean if it is 1. Using the same `of` for two sides
/// removes the advantage of the side with more values. `None` if there are no values.
pub fn expected_least(sorted: &[f64], of: usize) -> Option<f64> {
    let count = sorted.len();
    let of = of.clamp(1, count.max(1));
    // Probability that the n-th value is the minimum of the draw, derived from that of the value
    // before.
    let mut chance = of as f64 / count as f64;
    let mut least = 0.0;
    for (at, value) in sorted.iter().enumerate().take(count + 1 - of) {
        least += chance * value;
        let left = (count - 1 - at) as f64;
        chance *= (left + 1.0 - of as f64) / left.max(1.0);
    }
    (count > 0).then_some(least)
}

/// Estimates the mean excess θ of values over the minimum of their side, with its degrees of
/// freedom.
///
/// The estimate uses the smaller half of the excesses of all sides; each larger excess counts as if
/// it equaled the largest of that half, the usual estimate for censored waiting times. A few
/// processes that were disturbed for their whole life therefore do not dominate it. `None` if no
/// side has two values.
pub fn mean_excess(sides: &[&[f64]]) -> Option<Excess> {
    let excesses: Vec<Vec<f64>> = sides.iter().map(|side| excesses_over_least(side)).collect();
    let excesses = sorted(&excesses.concat());
    let used = (excesses.len() / 2).max(1);
    let (small, large) = excesses.split_at_checked(used)?;
    let total = small.iter().sum::<f64>() + large.len() as f64 * small.last()?;
    Some(Excess { mean: total / used as f64, degrees_of_freedom: 2.0 * used as f64 })
}

fn excesses_over_least(side: &[f64]) -> Vec<f64> {
    let side = sorted(side);
    let Some((least, others)) = side.split_first() else { return Vec::new() };
    others.iter().map(|other| other - least).collect()
}

/// An estimated mean excess. It varies as χ² with `degrees_of_freedom` degrees, divided by
/// `degrees_of_freedom`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The estimate.
    pub mean: f64,
    /// Twice the number of excesses that were used.
    pub degrees_of_freedom: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::least_above;
    use crate::rng::Rng;

    #[test]
    fn more_figures_are_no_advantage() {
        for (of, expected) in [(1, 2.5), (2, 5.0 / 3.0), (3, 1.25), (4, 1.0), (9, 1.0), (0, 2.5)] {
            let found = expected_least(&[1.0, 2.0, 3.0, 4.0], of).unwrap();
            assert!((found - expected).abs() < 1e-12, "{of}: {found}");
        }
        assert_eq!(expected_least(&[], 3), None);
    }

    #[test]
    fn what_lies_far_off_hardly_counts() {
        let near = mean_excess(&[&[1.0, 1.01, 1.03], &[2.0, 2.02, 2.05]]).unwrap();
        // (0.01 + 0.02 + two censored excesses counted as 0.02) / 2
        assert!(
            (near.mean - 0.035).abs() < 1e-12 && (near.degrees_of_freedom - 4.0).abs() < 1e-12,
            "{near:?}"
        );
        let far = mean_excess(&[&[1.0, 1.01, 7.0], &[2.0, 2.02, 9.0]]).unwrap();
        assert_eq!(near, far);
        assert_eq!(mean_excess(&[&[1.0], &[2.0]]), None);
        assert_eq!(
            mean_excess(&[&[1.0], &[2.0, 2.5]]).map(|excess| excess.degrees_of_freedom),
            Some(2.0)
        );
    }

    /// Differences of minima of exponential values exceed the limits with the probabilities of the
    /// distribution.
    #[test]
    fn two_leasts_differ_as_often_as_promised() {
        let mut rng = Rng::new(9);
        let mut beyond = [0_u32; 3];
        let limits = [0.5, 2.0, 6.0];
        let tries = 20_000;
        for _ in 0..tries {
            let (before, after) = (exponential_side(&mut rng), exponential_side(&mut rng));
            let excess = mean_excess(&[&before, &after]).unwrap();
            let apart = (after[0] - before[0]) / (excess.mean / 3.0);
            for (count, limit) in beyond.iter_mut().zip(limits) {
                *count += u32::from(apart > limit);
            }
        }
        for (count, limit) in beyond.into_iter().zip(limits) {
            let (found, promised) = (f64::from(count) / f64::from(tries), least_above(limit, 4.0));
            assert!(
                (found - promised).abs() < 0.01,
                "share above {limit}: found {found}, expected {promised}"
            );
        }
    }

    fn exponential_side(rng: &mut Rng) -> Vec<f64> {
        sorted(&[0; 3].map(|_| -rng.uniform().max(1e-300).ln()))
    }
}
