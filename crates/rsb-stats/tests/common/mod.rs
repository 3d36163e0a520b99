//! Synthetic runs with known noise. Not every test file uses the whole module.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::sync::atomic::{AtomicU32, Ordering};

use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{
    BenchmarkResult, CaseId, Environment, Fields, Outcome, Reason, ReasonCode, Run, RunId, Samples,
    Timestamp, Verdict,
};
use rsb_stats::rng::Rng;
use rsb_stats::{Policy, gate};

/// Returns a constant time.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

/// Builds a run called `name` of `benchmarks`.
pub fn run(name: &str, benchmarks: Vec<BenchmarkResult>) -> Run {
    let mut run =
        Run::begin(RunId(name.to_owned()), now(), "quick", "quick", Environment::default());
    run.benchmarks = benchmarks;
    run
}

/// Returns the id of the case called `name`.
pub fn id(name: &str) -> CaseId {
    CaseId::from_segments(&["cpu_performance", name, "cpu:0"])
}

/// Builds a case that ended as `outcome` and has neither samples nor fields.
pub fn bare(name: &str, outcome: Outcome) -> BenchmarkResult {
    let reason = (outcome != Outcome::Measured)
        .then(|| Reason::new("rocBLAS", "it is not here", "install it"));
    BenchmarkResult {
        category: Some(name.to_owned()),
        reason,
        ..BenchmarkResult::new(id(name), now(), outcome)
    }
}

/// Builds a measured case with one list of equal samples for each of `times_ns`. No two cases have
/// exactly the same samples, as in real measurements.
pub fn steady(name: &str, times_ns: &[f64]) -> BenchmarkResult {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let own = 1.0 + f64::from(MADE.fetch_add(1, Ordering::Relaxed)) * 1e-12;
    let samples = times_ns.iter().zip(0..).map(|(&time, replicate)| Samples {
        replicate,
        iters: vec![10; 5],
        times_ns: vec![time * 10.0 * own; 5],
    });
    BenchmarkResult { samples: samples.collect(), ..bare(name, Outcome::Measured) }
}

/// Builds a measured case with `fields` only.
pub fn valued(name: &str, fields: Fields) -> BenchmarkResult {
    BenchmarkResult { results: vec![fields], ..bare(name, Outcome::Measured) }
}

/// Noise of a synthetic machine.
#[derive(Debug, Clone, Copy)]
pub struct Noise {
    /// Standard deviation from process to process, as a fraction.
    pub between: f64,
    /// Standard deviation from sample to sample within a process.
    pub within: f64,
    /// Share of samples that a disturbance lengthens.
    pub spikes: f64,
}

/// Builds a measured case of `replicates` processes with 30 samples each, whose true time is
/// `time_ns`.
pub fn noisy(
    rng: &mut Rng,
    name: &str,
    time_ns: f64,
    replicates: u32,
    noise: Noise,
) -> BenchmarkResult {
    let samples = (0..replicates).map(|replicate| {
        let level = time_ns * (noise.between * rng.normal()).exp();
        let mut samples = Samples::new(replicate);
        for _ in 0..30 {
            let mut time = level * (noise.within * rng.normal()).exp();
            if rng.uniform() < noise.spikes {
                time *= 1.0 + 1.5 * rng.uniform();
            }
            samples.push(8, 8.0 * time);
        }
        samples
    });
    BenchmarkResult { samples: samples.collect(), ..bare(name, Outcome::Measured) }
}

/// Times of the processes of a side, in nanoseconds.
pub const BASE: [f64; 3] = [1000.0, 1010.0, 990.0];

/// Judges `current` against `baseline`, one run each.
pub fn compared(
    baseline: Vec<BenchmarkResult>,
    current: Vec<BenchmarkResult>,
    policy: &Policy,
) -> ComparisonResult {
    gate(&[run("before", baseline)], &[run("after", current)], policy, &[], now())
}

/// Builds a case that takes `factor` times [`BASE`].
pub fn times(factor: f64) -> BenchmarkResult {
    steady("gemm", &BASE.map(|time| time * factor))
}

/// Asserts the verdict of `comparison` and its reason.
#[track_caller]
pub fn check(comparison: &Comparison, verdict: Verdict, code: ReasonCode) {
    assert_eq!((comparison.verdict, comparison.reason_code), (verdict, code), "{comparison:#?}");
}
