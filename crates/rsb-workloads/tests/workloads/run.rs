//! Every benchmark runs on the scripted device and on the CPU, at small sizes.

use rsb_device::Device;
use rsb_device::scripted::{Clock, Script, ScriptedDevice};
use rsb_model::environment::Cache;
use rsb_model::{Field, Fields, Params};
use rsb_workloads::{Breadth, Failure, all, find};

use super::common::{backends, on_devices, one_of_each, small_cases, staged};

fn check_fields(id: &str, fields: &Fields) {
    for (name, value) in fields.iter() {
        assert!(Field::find(name).is_some(), "{id}: `{name}` is not in the field table");
        // Missing profiler counters are null, with a note that gives the reason.
        let is_told =
            name.ends_with("_efficiency_percent") && fields.text("counters_note").is_some();
        assert!(is_told || !value.is_null(), "{id}: `{name}` is unknown");
    }
    let mut metrics = 0;
    for (field, value) in fields.metrics() {
        assert!(value.is_finite() && value >= 0.0, "{id}: {} is {value}", field.name);
        metrics += 1;
    }
    assert!(metrics >= 2, "{id}: expected a time and at least one other metric");
    for name in ["operation", "provider"] {
        assert!(fields.get(name).is_some(), "{id}: `{name}` is missing");
    }
    // Operations without data must not report accuracy.
    let without_data = ["memory-allocation", "memory-fragmentation", "launch-latency"]
        .iter()
        .any(|name| id.contains(name));
    assert_eq!(fields.get("accuracy_error").is_some(), !without_data, "{id}");
    assert!(
        ["time_us", "time_ms", "latency_ns"].iter().any(|name| fields.number(name).is_some()),
        "{id}"
    );
}

#[test]
fn every_benchmark_runs_on_the_scripted_device() {
    let device = ScriptedDevice::new(Script::default());
    for benchmark in on_devices() {
        let cases = small_cases(benchmark, Breadth::Standard, &staged(benchmark, device.info()));
        assert!(!cases.is_empty(), "{}", benchmark.name());
        for case in cases {
            let prepared = benchmark.prepare_with(&case.params, &device, &backends());
            if ["communication_backend=rccl", "/data-parallel/", "rocprofv3"]
                .iter()
                .any(|own| case.id.as_str().contains(own))
            {
                assert!(
                    matches!(prepared.err(), Some(Failure::Skipped(_))),
                    "{}: a case for AMD GPUs must be skipped",
                    case.id
                );
                continue;
            }
            let mut prepared = prepared.unwrap();
            let time = prepared.sample(4).unwrap();
            assert!(time > 0.0);
            let fields = prepared.fields(time / 4.0).unwrap();
            check_fields(case.id.as_str(), &fields);
            // Host memory is measured by the host, not by the GPU.
            if case.params.text("tier") != Some("host") {
                assert!(
                    fields.text("provider").is_some_and(|name| name.contains("scripted")),
                    "{}",
                    case.id
                );
            }
        }
    }
    assert_eq!(device.counts().live_buffers, 0, "everything is freed");
}

#[test]
fn every_benchmark_runs_on_the_cpu_or_says_why_not() {
    let device = rsb_cpu::CpuDevice::new();
    let mut measured = 0;
    for benchmark in on_devices() {
        for case in small_cases(benchmark, Breadth::Standard, device.info()) {
            let mut prepared = match benchmark.prepare_with(&case.params, &device, &backends()) {
                Ok(prepared) => prepared,
                Err(Failure::Skipped(reason)) => {
                    assert!(!reason.why.is_empty() && !reason.cure.is_empty(), "{}", case.id);
                    continue;
                }
                Err(Failure::Failed(reason)) => panic!("{}: {reason}", case.id),
            };
            let time = prepared.sample(2).unwrap();
            match prepared.fields(time / 2.0) {
                Ok(fields) => check_fields(case.id.as_str(), &fields),
                Err(failure) => {
                    assert_eq!(benchmark.name(), "cache-hit-rate", "{}: {failure}", case.id);
                }
            }
            measured += 1;
        }
    }
    assert!(measured > 50, "only {measured} cases ran");
}

#[test]
fn exactly_as_many_launches_as_asked_for() {
    let device = ScriptedDevice::new(Script::with_clock(Clock::Constant(2000.0)));
    // These benchmarks run several launches per iteration.
    let composed = ["all-reduce", "inference"];
    for (benchmark, case) in
        one_of_each(&device).into_iter().filter(|(found, _)| !composed.contains(&found.name()))
    {
        let mut prepared = benchmark.prepare_with(&case.params, &device, &backends()).unwrap();
        let before = device.counts();
        let time = prepared.sample(7).unwrap();
        assert_eq!(device.counts().launches - before.launches, 7, "{}", case.id);
        assert_eq!(device.counts().flushes, before.flushes, "{}", case.id);
        assert!((time - 14_000.0).abs() < 1e-6, "{}: {time}", case.id);
    }
}

#[test]
fn cold_cases_flush_before_every_iteration_and_time_only_the_launch() {
    let device = ScriptedDevice::new(Script::with_clock(Clock::Constant(3e7)));
    for name in ["memory-bandwidth", "gemm", "tensor-ops", "convolution"] {
        let benchmark = find(name).unwrap();
        let case = small_cases(benchmark, Breadth::Quick, device.info()).swap_remove(0);
        let cold = case.params.with("cache", "cold");
        let mut prepared = benchmark.prepare_with(&cold, &device, &backends()).unwrap();
        let before = device.counts();
        let time = prepared.sample(5).unwrap();
        assert_eq!(device.counts().flushes - before.flushes, 5);
        assert_eq!(device.counts().launches - before.launches, 5);
        assert!((time - 1.5e8).abs() < 1e-6);
        assert_eq!(prepared.fields(time / 5.0).unwrap().text("cache"), Some("cold"));
    }
}

#[test]
fn figures_follow_from_the_time() {
    let device = ScriptedDevice::new(Script::default());
    let fields_of = |name: &str, overrides: &[(&str, &str)], time_ns: f64| {
        let benchmark = find(name).unwrap();
        let mut params: Params =
            small_cases(benchmark, Breadth::Quick, device.info()).swap_remove(0).params;
        for (axis, value) in overrides {
            params.set(axis, *value);
        }
        benchmark.prepare_with(&params, &device, &backends()).unwrap().fields(time_ns).unwrap()
    };
    let near = |fields: &Fields, name: &str, expected: f64| {
        let found = fields.number(name).unwrap();
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{name} is {found}, not {expected}"
        );
    };
    let copy = fields_of("memory-bandwidth", &[("operation", "copy"), ("size", "4KiB")], 1000.0);
    near(&copy, "bandwidth_gb_s", 8.192);
    near(&copy, "time_us", 1.0);
    near(&copy, "size_bytes", 4096.0);
    // The scripted device runs at 10 GFLOP/s.
    let gemm =
        fields_of("gemm", &[("dtype", "f32"), ("shape", "16x24x32"), ("batch_size", "2")], 9_830.4);
    near(&gemm, "gflops", 5.0);
    near(&gemm, "tflops", 0.005);
    near(&gemm, "peak_gflops", 10.0);
    near(&gemm, "roofline_percent", 50.0);
    near(&gemm, "batch_size", 2.0);
    assert_eq!(
        (gemm.number("m"), gemm.number("n"), gemm.number("k")),
        (Some(16.0), Some(24.0), Some(32.0))
    );
    let latency = fields_of("memory-latency", &[("size", "4KiB")], 8191.0 * 5.0);
    near(&latency, "latency_ns", 5.0);
    let hits = fields_of("cache-hit-rate", &[("operation", "triad")], 1000.0);
    near(&hits, "cache_hit_percent", 95.0);
    near(&hits, "cache_references", 1000.0);
    let relu = fields_of(
        "tensor-ops",
        &[("operation", "relu"), ("dtype", "f16"), ("shape", "100x10")],
        1000.0,
    );
    near(&relu, "throughput_gb_s", 4.0);
    let fragmentation = fields_of("memory-fragmentation", &[], 1e6);
    near(&fragmentation, "memory_fragmentation_percent", 0.0);
    let allocation = fields_of("memory-allocation", &[], 100.0);
    near(&allocation, "allocation_overhead_percent", 10.0);
    let convolution = fields_of(
        "convolution",
        &[("shape", "1x4x8x8"), ("kernel", "4x3x3"), ("padding", "1")],
        1e6,
    );
    assert_eq!(convolution.text("output_shape"), Some("1x4x8x8"));
    near(&convolution, "gflops", 2.0 * 256.0 * 36.0 / 1e6);
    let peak = fields_of("compute-peak", &[], 1e6);
    near(&peak, "tflops", 24_576.0 * 512.0 / 1e9);
}

/// A GPU with a memory peak of 1 GB/s.
fn slow_memory() -> Script {
    let mut script = Script::with_clock(Clock::Constant(1000.0));
    script.info.peak_bandwidth_gb_s = Some(1.0);
    script.info.caches = vec![Cache { level: 1, size_bytes: 64, shared_by: None }];
    script
}

#[test]
fn bandwidth_above_the_memorys_peak_is_refused_and_below_it_shown_against_it() {
    let device = ScriptedDevice::new(slow_memory());
    for name in ["memory-bandwidth", "tensor-ops"] {
        let benchmark = find(name).unwrap();
        let case = small_cases(benchmark, Breadth::Quick, device.info()).swap_remove(0);
        let mut prepared = benchmark.prepare_with(&case.params, &device, &backends()).unwrap();
        match prepared.fields(1000.0) {
            Err(Failure::Failed(reason)) => {
                assert!(reason.why.contains("the memory's peak of 1.0 GB/s"), "{reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
        let fields = prepared.fields(1e6).unwrap();
        if name == "memory-bandwidth" {
            assert!(fields.number("roofline_percent").unwrap() < 100.0);
            assert_eq!(fields.number("peak_bandwidth_gb_s"), Some(1.0));
        }
    }
}

#[test]
fn names_are_found_and_nothing_else_is() {
    for benchmark in all() {
        assert_eq!(
            find(benchmark.name()).map(rsb_workloads::Benchmark::name),
            Some(benchmark.name())
        );
        assert!(!benchmark.info().about.is_empty());
    }
    assert!(find("toast").is_none());
}
