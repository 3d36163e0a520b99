//! Intervals: from Student's t where a mean is meant, by resampling where it is not.

use crate::distribution::t_exceeded_with;
use crate::estimate::{mean, quantile_of_sorted, sorted, variance};
use crate::rng::Rng;

/// Two ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    fn about(centre: f64, reach: f64) -> Self {
        Self { low: centre - reach, high: centre + reach }
    }
}

/// Interval of the mean of `values`, with error rate `alpha`. `None` with fewer than two values.
pub fn mean_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    Some(Interval::about(mean(values)?, t_exceeded_with(alpha / 2.0, (values.len() - 1) as f64) * error))
}

/// Interval of the difference of the means, `b` less `a`, whose variances may differ (Welch). `None` with fewer than
/// two values a side, or where nothing varies.
pub fn difference_interval(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    let freedom = crate::hypothesis::welch_t(b, a)?.freedom?;
    let error = (variance(a)? / a.len() as f64 + variance(b)? / b.len() as f64).sqrt();
    Some(Interval::about(mean(b)? - mean(a)?, t_exceeded_with(alpha / 2.0, freedom) * error))
}

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// How often.
    pub times: usize,
    /// Error rate of the interval.
    pub alpha: f64,
    /// Seed of the random numbers: the same seed gives the same interval.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { times: 2000, alpha: 0.05, seed: 1 }
    }
}

/// Interval of a side's estimate by the hierarchical bootstrap: processes are drawn anew, then the samples within each.
///
/// `location` estimates one process from its samples; the side's estimate is the geometric mean over its processes.
/// Samples of one process resemble each other, so drawing them all from one pot would make the interval far too
/// narrow. With few processes it is still too narrow (with three of them, about half of what it should be): verdicts
/// use [`crate::compare`] instead, which borrows from the other cases. `None` when there is no process, one is empty,
/// or an estimate is not above zero.
pub fn bootstrap(
    processes: &[Vec<f64>],
    location: impl Fn(&[f64]) -> Option<f64>,
    how: Resampling,
) -> Option<Interval> {
    resampled(how, |rng| drawn_log(processes, &location, rng))
}

/// As [`bootstrap`], of the ratio of two sides: `current` over `baseline`.
pub fn bootstrap_ratio(
    baseline: &[Vec<f64>],
    current: &[Vec<f64>],
    location: impl Fn(&[f64]) -> Option<f64>,
    how: Resampling,
) -> Option<Interval> {
    resampled(how, |rng| Some(drawn_log(current, &location, rng)? - drawn_log(baseline, &location, rng)?))
}

/// Percentile interval of what `draw` gives, which is a logarithm.
fn resampled(how: Resampling, draw: impl Fn(&mut Rng) -> Option<f64>) -> Option<Interval> {
    let mut rng = Rng::new(how.seed);
    let drawn: Option<Vec<f64>> = (0..how.times).map(|_| draw(&mut rng)).collect();
    let drawn = sorted(&drawn?);
    let at = |p| quantile_of_sorted(&drawn, p).map(f64::exp);
    Some(Interval { low: at(how.alpha / 2.0)?, high: at(1.0 - how.alpha / 2.0)? })
}

/// The logarithm of the estimate of one drawing.
fn drawn_log(processes: &[Vec<f64>], location: &impl Fn(&[f64]) -> Option<f64>, rng: &mut Rng) -> Option<f64> {
    let mut logs = Vec::with_capacity(processes.len());
    for _ in processes {
        let chosen = processes.get(rng.below(processes.len()))?;
        let samples: Option<Vec<f64>> = chosen.iter().map(|_| chosen.get(rng.below(chosen.len())).copied()).collect();
        logs.push(location(&samples?).filter(|value| *value > 0.0)?.ln());
    }
    mean(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::median;

    fn processes(seed: u64, level: f64, count: usize) -> Vec<Vec<f64>> {
        let mut rng = Rng::new(seed);
        let mut process = || {
            let own = level * (0.02 * rng.normal()).exp();
            (0..20).map(|_| own * (0.01 * rng.normal()).exp()).collect()
        };
        (0..count).map(|_| process()).collect()
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let how = Resampling { times: 200, ..Resampling::default() };
        let holds = |seed: &u64| {
            let (before, after) = (processes(2 * seed, 100.0, 20), processes(2 * seed + 1, 110.0, 20));
            let interval = bootstrap_ratio(&before, &after, median, how).unwrap();
            interval.low <= 1.1 && 1.1 <= interval.high
        };
        let held = (1..=150).filter(holds).count();
        assert!((132..=149).contains(&held), "{held} of 150");
    }

    #[test]
    fn the_spread_between_processes_is_not_lost_in_many_samples() {
        let apart = processes(5, 100.0, 12);
        let pot = vec![apart.concat()];
        let width = |sides: &[Vec<f64>]| {
            let interval = bootstrap(sides, median, Resampling::default()).unwrap();
            interval.high - interval.low
        };
        assert!(width(&apart) > 2.0 * width(&pot), "{} {}", width(&apart), width(&pot));
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        let side = processes(6, 100.0, 5);
        let of = |seed| bootstrap(&side, median, Resampling { seed, ..Resampling::default() });
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_has_no_interval_is_none() {
        for sides in [vec![], vec![vec![]], vec![vec![0.0]], vec![vec![f64::NAN]]] {
            assert_eq!(bootstrap(&sides, median, Resampling::default()), None, "{sides:?}");
        }
        assert_eq!(bootstrap(&[vec![1.0]], median, Resampling { times: 0, ..Resampling::default() }), None);
        assert!(mean_interval(&[1.0], 0.05).is_none() && difference_interval(&[1.0; 2], &[1.0; 2], 0.05).is_none());
    }
}
