//! Statistics of lists of numbers.

use rsb_stats::effect;
use rsb_stats::estimate::{
    OutlierRule, mean, median, median_absolute_deviation, outliers, quantile, std_dev,
};
use rsb_stats::hypothesis::{TestResult, mann_whitney, welch_t};
use rsb_stats::interval::{Interval, difference_interval, mean_interval};
use rsb_stats::trend::rolling::{rolling_mean, rolling_median};
use serde_json::{Value, json};

use crate::keep::{KeepError, text};

/// Checks that there is at least one value and that all values are finite.
pub(crate) fn check_finite(values: &[f64]) -> Result<(), KeepError> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => {
            Err(KeepError::Unknown(format!("{value} is not a finite number; leave it out")))
        }
        None if values.is_empty() => {
            Err(KeepError::Unknown("there are no values; pass at least one".to_owned()))
        }
        None => Ok(()),
    }
}

fn rate(confidence: f64) -> Result<f64, KeepError> {
    if (0.5..1.0).contains(&confidence) {
        return Ok(1.0 - confidence);
    }
    Err(KeepError::Unknown(format!(
        "confidence {confidence} is out of range; use a number from 0.5 to below 1, such as 0.95"
    )))
}

fn ends(interval: Option<Interval>) -> Value {
    interval.map_or(Value::Null, |interval| json!([interval.low, interval.high]))
}

/// Computes the statistics of `values`, as JSON.
pub(crate) fn statistics(values: &[f64], confidence: f64) -> Result<String, KeepError> {
    check_finite(values)?;
    text(&json!({
        "n": values.len(),
        "mean": mean(values),
        "median": median(values),
        "std_dev": std_dev(values),
        "median_absolute_deviation": median_absolute_deviation(values),
        "min": quantile(values, 0.0),
        "max": quantile(values, 1.0),
        "percentiles": {
            "p50": quantile(values, 0.5),
            "p90": quantile(values, 0.9),
            "p95": quantile(values, 0.95),
            "p99": quantile(values, 0.99),
        },
        "confidence_interval": ends(mean_interval(values, rate(confidence)?)),
        "outliers": outliers(values, OutlierRule::Mad(3.5)),
    }))
}

/// Tests whether `after` differs from `before`, as JSON.
pub(crate) fn difference(
    before: &[f64],
    after: &[f64],
    confidence: f64,
) -> Result<String, KeepError> {
    check_finite(before)?;
    check_finite(after)?;
    let alpha = rate(confidence)?;
    let (welch, ranks) = (welch_t(before, after), mann_whitney(before, after));
    let change = mean(before).zip(mean(after)).filter(|(before, _)| *before != 0.0);
    text(&json!({
        "change_percent": change.map(|(before, after)| 100.0 * (after - before) / before),
        "difference_interval": ends(difference_interval(before, after, alpha)),
        "welch_t": test_as_json(welch),
        "mann_whitney": test_as_json(ranks),
        "cohens_d": effect::cohens_d(before, after),
        "cliffs_delta": effect::cliffs_delta(before, after),
        "is_significant": ranks.or(welch).is_some_and(|test| test.p_value < alpha),
    }))
}

fn test_as_json(test: Option<TestResult>) -> Value {
    let Some(test) = test else { return Value::Null };
    json!({
        "statistic": test.statistic,
        "degrees_of_freedom": test.degrees_of_freedom,
        "p_value": test.p_value,
    })
}

/// Returns for each value whether it is an outlier: more than `threshold` interquartile ranges
/// outside the quartiles (`iqr`), or more than `threshold` scaled median absolute deviations from
/// the median (`mad`).
pub(crate) fn find_outliers(
    values: &[f64],
    method: &str,
    threshold: f64,
) -> Result<Vec<bool>, KeepError> {
    check_finite(values)?;
    if !(threshold.is_finite() && threshold > 0.0) {
        return Err(KeepError::Unknown(format!(
            "threshold {threshold} is out of range; use a number above 0, such as 1.5"
        )));
    }
    match method {
        "iqr" => Ok(outliers(values, OutlierRule::Iqr(threshold))),
        "mad" => Ok(outliers(values, OutlierRule::Mad(threshold))),
        other => {
            Err(KeepError::Unknown(format!("`{other}` is not a rule for outliers; use iqr or mad")))
        }
    }
}

/// Returns the percentile `percent` of `values`.
pub(crate) fn percentile(values: &[f64], percent: f64) -> Result<f64, KeepError> {
    check_finite(values)?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(KeepError::Unknown(format!(
            "percentile {percent} is out of range; use a number from 0 to 100"
        )));
    }
    // There is at least one value.
    Ok(quantile(values, percent / 100.0).unwrap_or(f64::NAN))
}

/// Computes the mean and the median of each value and the `window` − 1 before it, as JSON.
pub(crate) fn rolling(values: &[f64], window: usize) -> Result<String, KeepError> {
    check_finite(values)?;
    if window == 0 {
        return Err(KeepError::Unknown("window 0 is out of range; use at least 1".to_owned()));
    }
    text(&json!({
        "mean": rolling_mean(values, window),
        "median": rolling_median(values, window),
    }))
}
