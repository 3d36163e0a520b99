//! Tests of policy settings in addition to the time of a case: percentiles, weights, and the miss
//! rate.

#![allow(clippy::unwrap_used)]

mod common;

use common::{bare, id, now, run, steady};
use rsb_model::{BenchmarkResult, Outcome, ReasonCode, Samples, Verdict};
use rsb_stats::{Policy, PolicyFile, gate};

fn policy(text: &str) -> Policy {
    Policy::try_from(toml::from_str::<PolicyFile>(text).unwrap()).unwrap()
}

/// Builds three processes of a hundred samples of about 1 µs. The last `tail` samples take `slow`
/// times as long.
fn with_tail(tail: usize, slow: f64) -> BenchmarkResult {
    let samples = |replicate: u32| {
        let time = |at: usize| {
            let level = 1000.0 * (1.0 + f64::from(replicate) / 500.0) * (1.0 + at as f64 / 1e5);
            if at < 100 - tail { level } else { level * slow }
        };
        Samples { replicate, iters: vec![1; 100], times_ns: (0..100).map(time).collect() }
    };
    BenchmarkResult { samples: (0..3).map(samples).collect(), ..bare("gemm", Outcome::Measured) }
}

#[test]
fn a_tail_that_grew_is_found_where_the_policy_asks_for_it() {
    let sides = |policy: &Policy| {
        gate(
            &[run("a", vec![with_tail(5, 1.1)])],
            &[run("b", vec![with_tail(5, 2.0)])],
            policy,
            &[],
            now(),
        )
    };
    let usual = sides(&Policy::default());
    assert_eq!((usual.verdict, usual.comparisons.len()), (Verdict::Unchanged, 1));
    let asked = sides(&policy("percentiles = [50, 90, 99]"));
    let found: Vec<(&str, Verdict)> =
        asked.comparisons.iter().map(|row| (row.metric.as_str(), row.verdict)).collect();
    assert_eq!(
        found,
        [
            ("time_ms", Verdict::Unchanged),
            ("time_p50_ms", Verdict::Unchanged),
            ("time_p90_ms", Verdict::Unchanged),
            ("time_p99_ms", Verdict::Regressed)
        ]
    );
    let lenient =
        policy("percentiles = [99]\n[[threshold]]\nmetric = \"time_p99_ms\"\npercent = 150.0\n");
    assert_eq!(sides(&lenient).verdict, Verdict::Unchanged);
}

#[test]
fn a_percentile_of_too_few_samples_has_no_verdict_and_names_the_cure() {
    let few = || vec![steady("gemm", &[1000.0, 1010.0, 990.0])];
    let result =
        gate(&[run("a", few())], &[run("b", few())], &policy("percentiles = [99]"), &[], now());
    let row = result.comparisons.iter().find(|row| row.metric == "time_p99_ms").unwrap();
    assert_eq!((row.verdict, row.reason_code), (Verdict::Inconclusive, ReasonCode::TooFewSamples));
    assert!(row.reason.contains("--runs 100"), "{}", row.reason);
}

#[test]
fn the_change_over_all_counts_cases_as_often_as_their_weights() {
    let side = |gemm: f64, copy: f64| {
        let times = |factor: f64| [1000.0 * factor, 1010.0 * factor, 990.0 * factor];
        vec![steady("gemm", &times(gemm)), steady("copy", &times(copy))]
    };
    let overall = |text: &str| {
        let result = gate(
            &[run("a", side(1.0, 1.0))],
            &[run("b", side(1.08, 1.0))],
            &policy(text),
            &[],
            now(),
        );
        result.summary.weighted_change_percent.unwrap()
    };
    for (weight, expected) in [(1.0, 1.08_f64.powf(0.5)), (3.0, 1.08_f64.powf(0.75)), (0.0, 1.0)] {
        let pattern = id("gemm");
        let text = format!("[[weight]]\nid = \"{pattern}\"\nweight = {weight:?}\n");
        assert!((overall(&text) - 100.0 * (expected - 1.0)).abs() < 1e-9, "{weight}");
    }
}

#[test]
fn the_rarer_a_miss_may_be_the_larger_a_detectable_change_is() {
    let side = |name| [run(name, vec![steady("gemm", &[1000.0, 1010.0, 990.0])])];
    let detectable = |text: &str| {
        let result = gate(&side("a"), &side("b"), &policy(text), &[], now());
        result.comparisons[0].detectable_percent.unwrap()
    };
    let [usual, strict] = ["miss_percent = 5.0", "miss_percent = 1.0"].map(detectable);
    assert!(10.0 < usual && usual < strict, "{usual} {strict}");
}
