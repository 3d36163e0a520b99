//! Measures the duration of a comparison of two runs of 10,000 cases, with three replicates of 30
//! samples each: `cargo run --release -p rsb-stats --example ten_thousand`.

use rsb_model::{BenchmarkResult, CaseId, Environment, Outcome, Run, RunId, Samples, Timestamp};
use rsb_stats::rng::Rng;
use rsb_stats::{Policy, gate};
use std::time::Instant;

const CASES: usize = 10_000;

fn case(rng: &mut Rng, at: usize, factor: f64) -> BenchmarkResult {
    let samples = (0..3).map(|replicate| {
        let level = 1e5 * factor * (0.02 * rng.normal()).exp();
        let times_ns = (0..30).map(|_| level * (0.01 * rng.normal().abs()).exp()).collect();
        Samples { replicate, iters: vec![1; 30], times_ns }
    });
    BenchmarkResult {
        category: Some("gemm".to_owned()),
        samples: samples.collect(),
        ..BenchmarkResult::new(
            CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", &at.to_string()]),
            Timestamp::UNIX_EPOCH,
            Outcome::Measured,
        )
    }
}

fn run(rng: &mut Rng, changed: usize) -> Run {
    let id = RunId("run".to_owned());
    let mut run = Run::begin(id, Timestamp::UNIX_EPOCH, "full", "quick", Environment::default());
    run.benchmarks =
        (0..CASES).map(|at| case(rng, at, if at < changed { 1.5 } else { 1.0 })).collect();
    run
}

fn main() {
    let mut rng = Rng::new(1);
    let baseline = run(&mut rng, 0);
    for changed in [0, CASES] {
        let current = run(&mut rng, changed);
        let began = Instant::now();
        let sides = (std::slice::from_ref(&baseline), std::slice::from_ref(&current));
        let result = gate(sides.0, sides.1, &Policy::default(), &[], Timestamp::UNIX_EPOCH);
        let (took, cases) = (began.elapsed(), result.comparisons.len());
        println!(
            "{cases} cases, {changed} of them slower: {} regressed, in {took:.2?}",
            result.summary.total_degraded
        );
    }
}
