//! Compacting a run so that it is small enough to be committed.
//!
//! Each replicate of a case keeps at most [`SAMPLES_KEPT`] samples (`Samples::thinned`): floor,
//! center and spread are preserved; the sample order and the farthest outliers are not.

use rsb_model::record::EnvironmentSummary;
pub use rsb_model::samples::SAMPLES_KEPT;
use rsb_model::{BenchmarkResult, Run};

/// Returns a copy of `run` with its cases sorted by id and few samples for each.
pub(crate) fn compact_run(run: &Run) -> Run {
    let mut run = run.clone();
    run.benchmarks.sort_by(|a, b| a.benchmark_id.cmp(&b.benchmark_id));
    for result in &mut run.benchmarks {
        // The factors are stored per case: a baseline may contain cases from other runs, measured
        // after the software of the machine changed.
        result.factors = Some(result.factors_in(&run.environment).into_owned());
        compact_result(result);
    }
    run
}

fn compact_result(result: &mut BenchmarkResult) {
    result.environment = EnvironmentSummary::default();
    for samples in &mut result.samples {
        *samples = samples.thinned();
    }
}

#[cfg(test)]
mod tests {
    use rsb_model::Samples;

    use super::*;

    fn spread(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn center_and_spread_stay() {
        // A skewed distribution: the quantiles of an exponential one, shuffled by a fixed step.
        let times: Vec<f64> = (0..500_u32)
            .map(|i| 100.0 - (1.0 - f64::from(i * 37 % 500) / 500.0).ln() * 10.0)
            .collect();
        let samples = Samples {
            replicate: 3,
            iters: vec![4; 500],
            times_ns: times.iter().map(|time| time * 4.0).collect(),
        };
        let kept = samples.thinned();
        assert_eq!((kept.replicate, kept.len(), kept.iters.len()), (3, SAMPLES_KEPT, SAMPLES_KEPT));
        let each = kept.per_iteration().unwrap();
        let ((mean, deviation), (kept_mean, kept_deviation)) = (spread(&times), spread(&each));
        assert!((kept_mean / mean - 1.0).abs() < 0.002, "{kept_mean} for {mean}");
        assert!((kept_deviation / deviation - 1.0).abs() < 0.1, "{kept_deviation} for {deviation}");
        assert!((median(&each) / median(&times) - 1.0).abs() < 1e-3);
        assert!((kept.floor().unwrap() / samples.floor().unwrap() - 1.0).abs() < 1e-5);
    }

    fn median(values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
    }

    #[test]
    fn few_samples_stay_in_their_order() {
        let samples = Samples {
            replicate: 0,
            iters: vec![1, 2, 3],
            times_ns: vec![3.123_456_789, 2.0, 1e9 + 1.0],
        };
        assert_eq!(samples.thinned().times_ns, [3.123_46, 2.0, 1e9]);
        assert_eq!(samples.thinned().iters, [1, 2, 3]);
    }

    #[test]
    fn impossible_samples_stay_for_the_gate_to_refuse() {
        let samples = Samples { replicate: 0, iters: vec![1; 50], times_ns: vec![-1.0; 50] };
        assert_eq!(samples.thinned(), samples);
    }

    #[test]
    fn compacting_twice_changes_nothing() {
        let run = Run {
            benchmarks: vec![
                crate::testing::measured_case("b", 2.0),
                crate::testing::measured_case("a", 1.0),
            ],
            ..crate::testing::run("x", 0)
        };
        let once = compact_run(&run);
        assert_eq!(once.benchmarks[0].benchmark_id.as_str(), "cpu_performance/gemm/cpu:0/a");
        assert_eq!(compact_run(&once), once);
    }
}
