use rsb_model::record::Comparison;
use rsb_model::{Environment, RunId, Samples};

use super::*;
use crate::gate::testing::measured_case;
use crate::rng::Rng;

/// Number of samples in each process of the pairs below.
const SAMPLES: usize = 40;

/// Builds a run of `pairs` processes. A sample takes `level(sample)` units with noise of 1 %; a
/// share `interrupted` of the samples takes four times as long.
fn run(pairs: usize, seed: u64, interrupted: f64, level: impl Fn(usize) -> f64) -> Run {
    let mut random = Rng::new(seed);
    let mut process = |replicate: usize| {
        let times = (0..SAMPLES).map(|sample| {
            let slice = if random.uniform() < interrupted { 4.0 } else { 1.0 };
            1000.0 * level(sample) * slice * (0.01 * random.normal()).exp()
        });
        Samples { replicate: replicate as u32, iters: vec![1; SAMPLES], times_ns: times.collect() }
    };
    let samples = (0..pairs).map(&mut process).collect();
    let mut run = Run::begin(
        RunId("side".to_owned()),
        Timestamp::UNIX_EPOCH,
        "test",
        "quick",
        Environment::default(),
    );
    run.keep(measured_case("made", samples));
    run
}

fn judged(baseline: &Run, current: &Run) -> Comparison {
    let result = gate_in_turns(baseline, current, &Policy::default(), Timestamp::UNIX_EPOCH);
    result.comparisons[0].clone()
}

#[test]
fn code_that_is_slower_some_of_the_time_is_regressed_by_its_distribution() {
    type Level = fn(usize) -> f64;
    let patterns: [(&str, Level); 5] = [
        ("9 of 10", |sample| if sample % 10 == 0 { 1.0 } else { 1.2 }),
        ("half", |sample| if sample % 2 == 0 { 1.0 } else { 1.2 }),
        ("growing", |sample| 1.0 + 0.4 * (sample % 10) as f64 / 9.0),
        ("half, twice as long", |sample| if sample % 2 == 0 { 1.0 } else { 2.0 }),
        ("a third, twice as long", |sample| if sample % 3 == 0 { 2.0 } else { 1.0 }),
    ];
    for (name, level) in patterns {
        for interrupted in [0.0, 0.1] {
            let row = judged(&run(12, 1, interrupted, |_| 1.0), &run(12, 2, interrupted, level));
            assert_eq!(
                row.verdict,
                Verdict::Regressed,
                "{name}, {interrupted} interrupted: {}",
                row.reason
            );
            let change = row.difference_percent.unwrap_or_default();
            assert!(
                change > 15.0 && row.reason.contains("of its samples, though not in the fastest"),
                "{}",
                row.reason
            );
        }
    }
}

#[test]
fn a_smaller_or_rarer_slow_down_of_the_distribution_denies_a_pass() {
    let quiet = run(12, 1, 0.0, |_| 1.0);
    let smaller =
        judged(&quiet, &run(12, 2, 0.0, |sample| if sample % 10 == 0 { 1.0 } else { 1.12 }));
    assert_eq!(
        (smaller.verdict, smaller.reason_code),
        (Verdict::Inconclusive, ReasonCode::MedianWorse)
    );
    assert!(smaller.reason.contains("the median of its samples is"), "{}", smaller.reason);
    let rarer = judged(&quiet, &run(12, 2, 0.0, |sample| if sample % 5 == 0 { 3.0 } else { 1.0 }));
    assert_eq!(
        (rarer.verdict, rarer.reason_code),
        (Verdict::Inconclusive, ReasonCode::MedianWorse)
    );
    assert!(rarer.reason.contains("1.5 times as long"), "{}", rarer.reason);
}

#[test]
fn interrupted_samples_on_both_sides_change_nothing() {
    for (seed, interrupted) in (0..20).flat_map(|seed| [(seed, 0.0), (seed, 0.2), (seed, 0.3)]) {
        let row = judged(
            &run(12, seed, interrupted, |_| 1.0),
            &run(12, 1000 + seed, interrupted, |_| 1.0),
        );
        assert_eq!(row.verdict, Verdict::Unchanged, "{interrupted}: {}", row.reason);
    }
}

#[test]
fn few_samples_are_judged_by_the_fastest_alone() {
    let side = |level: f64| {
        let mut run = run(12, 1, 0.0, |_| level);
        for samples in &mut run.benchmarks[0].samples {
            samples.iters.truncate(2);
            samples.times_ns.truncate(2);
        }
        run
    };
    assert_eq!(judged(&side(1.0), &side(1.0)).verdict, Verdict::Unchanged);
    assert_eq!(judged(&side(1.0), &side(1.2)).verdict, Verdict::Regressed);
}

/// The processor alternates between two speeds, and the code is slower in half of its samples: the
/// samples at the lower speed look interrupted.
#[test]
fn half_slow_code_on_a_machine_of_two_speeds_is_no_pass() {
    let speed = |sample: usize| if sample % 4 < 2 { 1.0 } else { 1.28 };
    for pairs in [3, 5, 7, 12] {
        let half =
            run(pairs, 2, 0.0, |sample| speed(sample) * if sample % 2 == 0 { 1.0 } else { 1.2 });
        let row = judged(&run(pairs, 1, 0.0, speed), &half);
        assert!(
            !matches!(row.verdict, Verdict::Unchanged | Verdict::Improved),
            "{pairs}: {}",
            row.reason
        );
    }
}
