//! Estimators for one list of values. They do not fail on unusual input: a quantity that cannot be
//! estimated is `None`.

use rsb_model::Samples;
use rsb_model::record::{Percentiles, Statistics};
use rsb_model::samples::SamplesError;
pub use rsb_model::samples::quantile_of_sorted;

/// Description of [`location`], for the record of a case.
pub const ESTIMATOR: &str = "10 % quantile of the time of an iteration, in each replicate";

/// Factor that makes the median absolute deviation of normal values their standard deviation: 1 /
/// Φ⁻¹(3/4).
pub const MAD_TO_SIGMA: f64 = 1.4826;

/// Returns the time of one iteration in nanoseconds in one replicate: [`Samples::location`].
///
/// # Errors
/// If there is no sample, the lists differ in length, or a time is NaN, infinite, zero or negative.
pub fn location(samples: &Samples) -> Result<f64, SamplesError> {
    samples.location()
}

/// Computes statistics in milliseconds of `times_ns`, the nanoseconds of one iteration in each
/// sample. `None` if there are no samples or one is not finite.
pub fn statistics(times_ns: &[f64]) -> Option<Statistics> {
    if times_ns.iter().any(|time| !time.is_finite()) {
        return None;
    }
    let ms = sorted(&times_ns.iter().map(|time| time / 1e6).collect::<Vec<_>>());
    Some(Statistics {
        unit: "ms".to_owned(),
        mean: mean(&ms)?,
        std_dev: std_dev(&ms).unwrap_or(0.0),
        min: *ms.first()?,
        max: *ms.last()?,
        percentiles: Percentiles {
            p50: quantile_of_sorted(&ms, 0.5)?,
            p90: quantile_of_sorted(&ms, 0.9)?,
            p95: quantile_of_sorted(&ms, 0.95)?,
            p99: quantile_of_sorted(&ms, 0.99)?,
        },
    })
}

/// Returns the arithmetic mean, or `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the median, or `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the quantile `p` of `values` by linear interpolation between order statistics (type 7 of
/// Hyndman and Fan, the default of R and NumPy). `p` is clamped to 0..=1.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), p)
}

/// Returns the sample variance, with n − 1 in the denominator. `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let center = mean(values)?;
    let degrees_of_freedom = values.len() - 1;
    (degrees_of_freedom > 0).then(|| {
        values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / degrees_of_freedom as f64
    })
}

/// Returns the sample standard deviation, with n − 1 in the denominator. `None` for fewer than two
/// values.
pub fn std_dev(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Returns the median absolute deviation from the median, scaled by 1.4826 to estimate a standard
/// deviation.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    median(&values.iter().map(|value| (value - center).abs()).collect::<Vec<_>>())
        .map(|mad| mad * MAD_TO_SIGMA)
}

/// Definition of an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutlierRule {
    /// Further than this many interquartile ranges outside the quartiles (Tukey's fences: 1.5 mild,
    /// 3 severe).
    Iqr(f64),
    /// Further than this many scaled median absolute deviations from the median (3.5 is usual).
    Mad(f64),
}

/// Returns for each value whether it is an outlier. If all values are equal, none is.
pub fn outliers(values: &[f64], rule: OutlierRule) -> Vec<bool> {
    let fences = match rule {
        OutlierRule::Iqr(reach) => {
            quantile(values, 0.25).zip(quantile(values, 0.75)).map(|(low, high)| {
                let range = (high - low) * reach;
                (low - range, high + range)
            })
        }
        OutlierRule::Mad(reach) => median(values)
            .zip(median_absolute_deviation(values))
            .map(|(center, spread)| (center - reach * spread, center + reach * spread)),
    };
    let Some((low, high)) = fences else { return Vec::new() };
    values.iter().map(|&value| value < low || value > high).collect()
}

/// Returns `values` in ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn samples(times: &[f64]) -> Samples {
        Samples {
            replicate: 0,
            iters: vec![2; times.len()],
            times_ns: times.iter().map(|time| 2.0 * time).collect(),
        }
    }

    #[test]
    fn disturbances_hardly_move_the_location() {
        let mut rng = Rng::new(9);
        let quiet: Vec<f64> = (0..60).map(|_| 100.0 * (1.0 + 0.01 * rng.normal())).collect();
        let disturbed: Vec<f64> =
            quiet.iter().map(|time| time * if rng.uniform() < 0.6 { 1.7 } else { 1.0 }).collect();
        let shift =
            |of: fn(&[f64]) -> Option<f64>| of(&disturbed).unwrap() / of(&quiet).unwrap() - 1.0;
        let located =
            location(&samples(&disturbed)).unwrap() / location(&samples(&quiet)).unwrap() - 1.0;
        assert!(located < 0.015, "{located}");
        assert!(shift(mean) > 0.3 && shift(median) > 0.3);
    }

    #[test]
    fn one_sample_is_its_own_location_and_broken_ones_have_none() {
        assert_eq!(location(&samples(&[7.0])), Ok(7.0));
        assert_eq!(location(&Samples::new(0)), Err(SamplesError::Empty));
        assert!(matches!(
            location(&samples(&[7.0, f64::NAN])),
            Err(SamplesError::Impossible { index: 1, .. })
        ));
    }
}
