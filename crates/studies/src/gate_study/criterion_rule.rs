//! The verdict of Criterion 0.8 on two sets of samples: a t-test and a confidence interval of the
//! change of the mean, both by resampling. Uses Criterion's defaults (significance 5 %, noise
//! threshold 1 %), but fewer resamples.

use rsb_model::Samples;
use rsb_stats::estimate::{mean, quantile, variance};
use rsb_stats::rng::Rng;

const RESAMPLES: usize = 1_000;
const SIGNIFICANCE: f64 = 0.05;
const NOISE: f64 = 0.01;

/// Returns whether Criterion would print “Performance has regressed”.
pub(super) fn is_regressed(before: &Samples, after: &Samples, rng: &mut Rng) -> bool {
    let (Ok(before), Ok(after)) = (before.per_iteration(), after.per_iteration()) else {
        return false;
    };
    let Some(observed) = t(&before, &after) else { return false };
    let pooled: Vec<f64> = before.iter().chain(&after).copied().collect();
    let mut as_extreme = 0;
    let mut changes = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let (one, other) = (draw(&pooled, before.len(), rng), draw(&pooled, after.len(), rng));
        as_extreme += usize::from(t(&one, &other).is_some_and(|t| t.abs() >= observed.abs()));
        let (one, other) = (draw(&before, before.len(), rng), draw(&after, after.len(), rng));
        if let (Some(one), Some(other)) = (mean(&one), mean(&other)) {
            changes.push(other / one - 1.0);
        }
    }
    let low = quantile(&changes, 0.025).unwrap_or(0.0);
    (as_extreme as f64) < SIGNIFICANCE * RESAMPLES as f64 && low > NOISE
}

/// Returns `count` values drawn from `values` with replacement.
fn draw(values: &[f64], count: usize, rng: &mut Rng) -> Vec<f64> {
    (0..count).map(|_| values[rng.below(values.len())]).collect()
}

fn t(before: &[f64], after: &[f64]) -> Option<f64> {
    let error =
        (variance(before)? / before.len() as f64 + variance(after)? / after.len() as f64).sqrt();
    Some((mean(after)? - mean(before)?) / error.max(f64::MIN_POSITIVE))
}
