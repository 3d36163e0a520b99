//! Making a run small enough to be committed.
//!
//! Each replicate of a case keeps at most [`SAMPLES_KEPT`] samples. Where there were more, their times of one
//! iteration are replaced by as many evenly spaced quantiles (0.5/30, 1.5/30 …), the lowest of them by the floor that the
//! gate compares ([`Samples::floor`]): floor, center and spread stay, the order in which they were taken and the farthest
//! outliers do not. Times keep six significant digits.

use rsb_model::record::EnvironmentSummary;
use rsb_model::samples::{FLOOR_SHARE, share_of_sorted};
use rsb_model::{BenchmarkResult, Run, Samples};

/// Samples of one replicate of one case in a baseline, at most.
pub const SAMPLES_KEPT: usize = 30;

/// `run` with its cases in order of their ids, and few samples for each.
pub(crate) fn compact_run(run: &Run) -> Run {
    let mut run = run.clone();
    run.benchmarks.sort_by(|a, b| a.benchmark_id.cmp(&b.benchmark_id));
    for result in &mut run.benchmarks {
        compact_result(result);
    }
    run
}

fn compact_result(result: &mut BenchmarkResult) {
    result.environment = EnvironmentSummary::default();
    for samples in &mut result.samples {
        *samples = compact_samples(samples);
    }
}

/// At most [`SAMPLES_KEPT`] samples that have the same center and spread. Samples that no clock can give stay as they
/// are: what judges them says what is wrong with them.
fn compact_samples(samples: &Samples) -> Samples {
    let Ok(mut each) = samples.per_iteration() else { return samples.clone() };
    if each.len() <= SAMPLES_KEPT {
        let times_ns = samples.times_ns.iter().map(|&time| six_digits(time)).collect();
        return Samples { times_ns, ..samples.clone() };
    }
    each.sort_by(f64::total_cmp);
    let mut iters = samples.iters.clone();
    iters.sort_unstable();
    let typical = iters.get(iters.len() / 2).copied().unwrap_or(1);
    let time = |index: usize| {
        let share = if index == 0 { FLOOR_SHARE } else { (index as f64 + 0.5) / SAMPLES_KEPT as f64 };
        six_digits(share_of_sorted(&each, share).unwrap_or(f64::NAN) * typical as f64) // Never empty.
    };
    Samples {
        replicate: samples.replicate,
        iters: vec![typical; SAMPLES_KEPT],
        times_ns: (0..SAMPLES_KEPT).map(time).collect(),
    }
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn center_and_spread_stay() {
        // A skewed distribution: the quantiles of an exponential one, shuffled by a fixed step.
        let times: Vec<f64> =
            (0..500_u32).map(|i| 100.0 - (1.0 - f64::from(i * 37 % 500) / 500.0).ln() * 10.0).collect();
        let samples =
            Samples { replicate: 3, iters: vec![4; 500], times_ns: times.iter().map(|time| time * 4.0).collect() };
        let kept = compact_samples(&samples);
        assert_eq!((kept.replicate, kept.len(), kept.iters.len()), (3, SAMPLES_KEPT, SAMPLES_KEPT));
        let each = kept.per_iteration().unwrap();
        let ((mean, deviation), (kept_mean, kept_deviation)) = (spread(&times), spread(&each));
        assert!((kept_mean / mean - 1.0).abs() < 0.002, "{kept_mean} for {mean}");
        assert!((kept_deviation / deviation - 1.0).abs() < 0.1, "{kept_deviation} for {deviation}");
        let median = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
        };
        assert!((median(&each) / median(&times) - 1.0).abs() < 1e-3);
        assert!((kept.floor().unwrap() / samples.floor().unwrap() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn few_samples_stay_in_their_order() {
        let samples = Samples { replicate: 0, iters: vec![1, 2, 3], times_ns: vec![3.123_456_789, 2.0, 1e9 + 1.0] };
        assert_eq!(compact_samples(&samples).times_ns, [3.123_46, 2.0, 1e9]);
        assert_eq!(compact_samples(&samples).iters, [1, 2, 3]);
    }

    #[test]
    fn impossible_samples_stay_for_the_gate_to_refuse() {
        let samples = Samples { replicate: 0, iters: vec![1; 50], times_ns: vec![-1.0; 50] };
        assert_eq!(compact_samples(&samples), samples);
    }

    #[test]
    fn compacting_twice_changes_nothing() {
        let run = Run {
            benchmarks: vec![crate::testing::measured("b", 2.0), crate::testing::measured("a", 1.0)],
            ..crate::testing::run("x", 0)
        };
        let once = compact_run(&run);
        assert_eq!(once.benchmarks[0].benchmark_id.as_str(), "cpu_performance/gemm/cpu:0/a");
        assert_eq!(compact_run(&once), once);
    }
}
