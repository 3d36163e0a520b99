//! Tests that each device fault produces the right failure, and that wrong results are never timed.

use rsb_device::Device;
use rsb_device::scripted::{Clock, Fault, Script, ScriptedDevice};
use rsb_model::Reason;
use rsb_workloads::{Benchmark, Failure, find};

use super::common::{backends, one_of_each};

fn broken(fault: Fault) -> ScriptedDevice {
    ScriptedDevice::new(Script::with_fault(fault))
}

/// Returns the result of preparing each benchmark on a device with `fault`.
fn preparing(fault: Fault) -> Vec<(&'static str, Option<Failure>)> {
    let sound = ScriptedDevice::new(Script::default());
    let cases = one_of_each(&sound);
    let end = |(benchmark, case): &(&'static dyn Benchmark, rsb_model::Case)| {
        // Uses a new device each time, since faults count from the first launch of a device.
        let device = broken(fault);
        (benchmark.name(), benchmark.prepare_with(&case.params, &device, &backends()).err())
    };
    cases.iter().map(end).collect()
}

fn is_failed(failure: Option<&Failure>, word: &str) -> bool {
    matches!(failure, Some(Failure::Failed(reason)) if reason.to_string().contains(word))
}

#[test]
fn without_memory_preparing_fails() {
    for (name, failure) in preparing(Fault::OutOfMemory { allocation: 0 }) {
        // These benchmarks allocate inside the launch, or not at all.
        if !["memory-allocation", "launch-latency"].contains(&name) {
            assert!(is_failed(failure.as_ref(), "memory"), "{name}: {failure:?}");
        }
    }
}

#[test]
fn when_a_launch_fails_preparing_fails() {
    for (name, failure) in preparing(Fault::LaunchFailure { launch: 0 }) {
        assert!(is_failed(failure.as_ref(), "launch"), "{name}: {failure:?}");
    }
}

#[test]
fn when_the_device_is_lost_preparing_fails() {
    for (name, failure) in preparing(Fault::DeviceLost { launch: 0 }) {
        assert!(is_failed(failure.as_ref(), "lost"), "{name}: {failure:?}");
    }
}

#[test]
fn a_wrong_result_is_never_timed() {
    for fault in [Fault::WrongResult { launch: 0 }, Fault::NotANumber { launch: 0 }] {
        for (name, failure) in preparing(fault) {
            // These benchmarks compute nothing that could be wrong.
            if !["memory-allocation", "launch-latency"].contains(&name) {
                assert!(
                    is_failed(failure.as_ref(), "wrong result"),
                    "{name}, {fault:?}: {failure:?}"
                );
            }
        }
    }
}

/// Returns the result of sampling and deriving fields on a device that was working during
/// preparation.
fn sampling(fault: Fault) -> Vec<(&'static str, Result<(), Failure>)> {
    let sound = ScriptedDevice::new(Script::default());
    let end = |(benchmark, case): &(&'static dyn Benchmark, rsb_model::Case)| {
        let device = broken(fault);
        let result =
            benchmark.prepare_with(&case.params, &device, &backends()).and_then(|mut prepared| {
                let time = prepared.sample(3)?;
                prepared.fields(time / 3.0).map(drop)
            });
        (benchmark.name(), result)
    };
    one_of_each(&sound).iter().map(end).collect()
}

#[test]
fn what_breaks_while_sampling_fails_the_case() {
    for (fault, word) in
        [(Fault::LaunchFailure { launch: 2 }, "launch"), (Fault::DeviceLost { launch: 2 }, "lost")]
    {
        for (name, result) in sampling(fault) {
            assert!(is_failed(result.as_ref().err(), word), "{name}: {result:?}");
        }
    }
}

#[test]
fn a_clock_that_stands_still_or_gives_nonsense_fails_the_case() {
    for elapsed_ns in [0.0, -5.0, f64::NAN, f64::INFINITY] {
        for (name, result) in sampling(Fault::LyingClock { elapsed_ns }) {
            assert!(
                is_failed(result.as_ref().err(), "clock"),
                "{name} at {elapsed_ns}: {result:?}"
            );
        }
    }
}

/// Samples three single launches, of which launches 1 to `slips` report a slightly negative time.
fn after_slips(slips: u64) -> Result<f64, Failure> {
    let clock = move |launch, _: &rsb_device::Operation| {
        if (1..=slips).contains(&launch) { -5.0 } else { 1000.0 }
    };
    let device = ScriptedDevice::new(Script::with_clock(Clock::Function(Box::new(clock))));
    let params = rsb_model::Params::new().with("launch_mode", "single").with("kernels", "1");
    find("launch-latency").unwrap().prepare_with(&params, &device, &backends())?.sample(3)
}

#[test]
fn a_single_time_below_zero_is_measured_again_and_repeated_ones_fail() {
    for slips in 0..=3 {
        let time = after_slips(slips).unwrap();
        assert!((time - 3000.0).abs() < 1e-9, "{slips}: {time}");
    }
    let failed = after_slips(4);
    assert!(is_failed(failed.as_ref().err(), "clock reports -5 ns"), "{failed:?}");
}

#[test]
fn a_clock_that_is_absurdly_fast_is_refused_naming_the_limit() {
    for (name, result) in sampling(Fault::LyingClock { elapsed_ns: 1e-3 }) {
        match name {
            // No limit exists for the speed of allocating nothing or for the rarity of cache
            // misses.
            "memory-allocation" | "memory-fragmentation" | "cache-hit-rate" => {}
            _ => {
                assert!(
                    is_failed(result.as_ref().err(), "impossible result"),
                    "{name}: {result:?}"
                );
            }
        }
    }
}

#[test]
fn a_rate_above_the_measured_peak_is_refused_naming_it() {
    let device = ScriptedDevice::new(Script::default());
    for (name, params) in [("gemm", "16x24x32"), ("convolution", "1x4x8x8")] {
        let benchmark = find(name).unwrap();
        let case =
            one_of_each(&device).into_iter().find(|(found, _)| found.name() == name).unwrap().1;
        assert!(case.id.as_str().contains(params));
        let mut prepared = benchmark.prepare_with(&case.params, &device, &backends()).unwrap();
        // The scripted device runs at 10 GFLOP/s; up to twice that rate is accepted.
        let flops = if name == "gemm" { 24_576.0 } else { 18_432.0 };
        assert!(prepared.fields(flops / 19.0).is_ok());
        match prepared.fields(flops / 21.0) {
            Err(Failure::Failed(Reason { why, .. })) => {
                assert!(
                    why.contains("21.0 GFLOP/s is above twice the measured peak, 20.0 GFLOP/s"),
                    "{why}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_device_without_counters_skips_the_cache_hit_rate() {
    let device = ScriptedDevice::new(Script { counters: None, ..Script::default() });
    assert!(device.counters().is_err());
    let (benchmark, case) = one_of_each(&device)
        .into_iter()
        .find(|(found, _)| found.name() == "cache-hit-rate")
        .unwrap();
    match benchmark.prepare_with(&case.params, &device, &backends()).err() {
        Some(Failure::Skipped(reason)) => assert!(!reason.cure.is_empty()),
        other => panic!("{other:?}"),
    }
}
