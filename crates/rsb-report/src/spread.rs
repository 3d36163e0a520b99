//! The spread of a metric, derived from the samples of its case. Times are proportional to the
//! samples; rates are inversely proportional.

use rsb_model::samples::quantile_of_sorted;
use rsb_model::{BenchmarkResult, Field};

use crate::label::time_ns;

/// Spread of a metric over the samples of its case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureSpread {
    /// 10th percentile.
    pub(crate) low: f64,
    /// 90th percentile.
    pub(crate) high: f64,
    /// The metric's value for each sample, in ascending order.
    pub(crate) values: Vec<f64>,
}

/// Returns the spread of `field`, whose recorded value is `value`. `None` if the case has no
/// samples, or if the metric does not depend on time.
pub(crate) fn spread_of(
    result: &BenchmarkResult,
    field: &Field,
    value: f64,
) -> Option<FigureSpread> {
    let of_time: fn(f64, f64) -> f64 = match field.name {
        "time_ms" | "time_us" | "latency_ns" => |value, slower| value * slower,
        "bandwidth_gb_s"
        | "throughput_gb_s"
        | "gflops"
        | "tflops"
        | "tokens_per_second"
        | "throughput_samples_per_second" => |value, slower| value / slower,
        _ => return None,
    };
    let usual = time_ns(result).filter(|time| *time > 0.0)?;
    let times = result.samples.iter().filter_map(|samples| samples.per_iteration().ok()).flatten();
    let mut values: Vec<f64> =
        times.map(|time| of_time(value, time / usual)).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (quantile_of_sorted(&values, 0.1)?, quantile_of_sorted(&values, 0.9)?);
    Some(FigureSpread { low, high, values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{Fields, Samples};

    #[test]
    fn a_rate_is_as_much_higher_as_its_samples_are_shorter() {
        let mut result =
            crate::sample::measured_case("a/b/cpu:0/c", 100.0, &Fields::new().with("gflops", 10.0));
        result.samples =
            vec![Samples { replicate: 0, iters: vec![1; 3], times_ns: vec![100.0, 200.0, 50.0] }];
        let [gflops, latency, occupancy] =
            ["gflops", "latency_ns", "occupancy_percent"].map(|name| Field::find(name).unwrap());
        assert_eq!(spread_of(&result, gflops, 10.0).unwrap().values, [5.0, 10.0, 20.0]);
        assert_eq!(spread_of(&result, latency, 10.0).unwrap().values, [5.0, 10.0, 20.0]);
        assert_eq!(
            spread_of(&result, occupancy, 10.0),
            None,
            "occupancy cannot be derived from the times"
        );
        result.samples.clear();
        assert_eq!(spread_of(&result, gflops, 10.0), None);
    }
}
