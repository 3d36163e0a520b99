//! Tests that the gate returns a result for any values, and never passes a case that it cannot
//! judge.

mod common;

use common::{bare, now, run};
use proptest::prelude::*;
use rsb_model::{BenchmarkResult, Fields, Outcome, Samples, Verdict};
use rsb_stats::{Policy, SeriesInput, gate, trend};

/// Generates numbers, some of them unusual, such as NaN, infinity and zero.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 1.0..1e9_f64,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, -1.0]),
    ]
}

fn samples() -> impl Strategy<Value = Samples> {
    let lists = (prop::collection::vec(0..9_u64, 0..4), prop::collection::vec(figure(), 0..4));
    (0..3_u32, lists).prop_map(|(replicate, (iters, times_ns))| Samples {
        replicate,
        iters,
        times_ns,
    })
}

fn result() -> impl Strategy<Value = BenchmarkResult> {
    let outcome = prop_oneof![
        6 => Just(Outcome::Measured),
        1 => Just(Outcome::Skipped),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::Simulated)
    ];
    let fields = prop::option::of((figure(), figure()));
    (0..14_u8, outcome, prop::collection::vec(samples(), 0..3), fields).prop_map(
        |(name, outcome, samples, fields)| {
            let fields = fields.map(|(time, memory)| {
                Fields::new().with("time_ms", time).with("memory_used_mb", memory)
            });
            let case = bare(&format!("case{name}"), outcome);
            BenchmarkResult { samples, results: fields.into_iter().collect(), ..case }
        },
    )
}

fn results() -> impl Strategy<Value = Vec<BenchmarkResult>> {
    prop::collection::vec(result(), 0..16)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn the_gate_always_answers(before in results(), after in results()) {
        let compared = gate(&[run("before", before.clone())], &[run("after", after)], &Policy::default(), &[], now());
        let decided = compared.comparisons.iter().all(|comparison| comparison.verdict.is_decided());
        prop_assert!(decided || !matches!(compared.verdict, Verdict::Unchanged | Verdict::Improved));
        for comparison in &compared.comparisons {
            let figures = [comparison.baseline_value, comparison.current_value, comparison.difference_percent];
            prop_assert!(figures.iter().flatten().all(|figure| !figure.is_nan()), "{comparison:#?}");
            prop_assert!(comparison.confidence_interval.is_none_or(|[low, high]| low <= high), "{comparison:#?}");
            let banded = comparison.verdict.is_decided() && comparison.difference_percent.is_some();
            prop_assert_eq!(comparison.change_status.is_some(), banded);
        }
        for measured in before.iter().filter(|result| result.outcome == Outcome::Measured) {
            let told = compared.comparisons.iter().any(|comparison| comparison.id == measured.benchmark_id);
            prop_assert!(told, "{} is missing from the comparison", measured.benchmark_id);
        }
    }

    #[test]
    fn a_trend_always_answers(values in prop::collection::vec(figure(), 0..40), same_time in any::<bool>()) {
        let at = |second: usize| if same_time { now() } else { now() + std::time::Duration::from_secs(second as u64) };
        let points = values.into_iter().enumerate().map(|(second, value)| (at(second), value)).collect();
        let series = SeriesInput { id: "id".into(), metric: "time_ms".into(), unit: "ms".into(), better: None, points };
        for series in trend(&[series]).series {
            let fitted = [series.slope_per_day, series.intercept, series.r_squared, series.p_value];
            prop_assert!(fitted.iter().flatten().all(|figure| figure.is_finite()), "{series:#?}");
        }
    }
}
