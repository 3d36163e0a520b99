//! Tests of benchmarks that run only on GPUs: values follow from the time, and links and devices
//! have limits.

use rsb_device::scripted::{Clock, Script, ScriptedDevice};
use rsb_device::{Device, DeviceInfo};
use rsb_model::environment::Cache;
use rsb_model::shape::parse_bytes;
use rsb_model::{DeviceType, Fields, Params};
use rsb_workloads::{Breadth, Failure, RunsOn, all, cases, find};

use super::common::{backends, small_cases, staged};

/// A GPU whose launches take a microsecond, with a link of 10 GB/s.
fn gpu() -> ScriptedDevice {
    let mut script =
        Script { link_gb_s: Some(10.0), ..Script::with_clock(Clock::Constant(1000.0)) };
    script.info.device = "rocm:0".parse().unwrap();
    ScriptedDevice::new(script)
}

fn params(name: &str, axes: &[(&str, &str)]) -> Params {
    let benchmark = find(name).unwrap();
    let mut params = small_cases(benchmark, Breadth::Quick, gpu().info()).swap_remove(0).params;
    for (axis, value) in axes {
        params.set(axis, *value);
    }
    params
}

fn fields(
    device: &ScriptedDevice,
    name: &str,
    axes: &[(&str, &str)],
    time_ns: f64,
) -> Result<Fields, Failure> {
    find(name)
        .unwrap()
        .prepare_with(&params(name, axes), device, &backends())
        .unwrap()
        .fields(time_ns)
}

fn near(fields: &Fields, name: &str, expected: f64) {
    let found = fields.number(name).unwrap_or_else(|| panic!("{name} is missing: {fields:?}"));
    assert!(
        (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{name} is {found}, not {expected}"
    );
}

#[test]
fn a_device_has_no_cases_of_what_runs_on_others_alone() {
    let cpu = ScriptedDevice::new(Script::default());
    for benchmark in all() {
        let found = cases(*benchmark, cpu.info(), Breadth::Full, &[]).unwrap();
        assert_eq!(
            found.is_empty(),
            benchmark.info().runs_on == RunsOn::Gpus,
            "{}",
            benchmark.name()
        );
        let found = cases(*benchmark, gpu().info(), Breadth::Full, &[]).unwrap();
        assert_eq!(
            found.is_empty(),
            matches!(benchmark.info().runs_on, RunsOn::Cpu | RunsOn::Host(_)),
            "{}",
            benchmark.name()
        );
    }
}

#[test]
fn one_operation_alone_brings_no_skips_of_the_others() {
    for operation in ["triad", "data-parallel", "peer-copy"] {
        let asked = [("operation".to_owned(), vec![operation.to_owned()])];
        let found =
            cases(find("multi-gpu").unwrap(), gpu().info(), Breadth::Standard, &asked).unwrap();
        assert!(!found.is_empty() && found.iter().all(Result::is_ok), "{operation}: {found:?}");
    }
    // An impossible combination that was requested explicitly is reported as skipped.
    let asked = [("operation", "triad"), ("overlap", "on")]
        .map(|(name, value)| (name.to_owned(), vec![value.to_owned()]));
    let found = cases(find("multi-gpu").unwrap(), gpu().info(), Breadth::Quick, &asked).unwrap();
    assert!(found.iter().any(Result::is_err), "{found:?}");
}

/// A GPU that is not simulated, with a last-level cache of `cache` bytes or of unknown size.
fn real(cache: Option<u64>) -> DeviceInfo {
    let caches = cache
        .map(|size_bytes| Cache { level: 3, size_bytes, shared_by: None })
        .into_iter()
        .collect();
    let info = gpu().info().clone();
    DeviceInfo {
        device_type: DeviceType::Gpu,
        caches,
        usable_memory_bytes: 170_000_000_000,
        ..info
    }
}

fn sizes(params: &Params) -> u64 {
    parse_bytes(params.text("size").unwrap()).unwrap()
}

#[test]
fn each_part_of_a_shared_triad_is_four_times_the_last_cache() {
    const CACHE: u64 = 256 << 20;
    for breadth in [Breadth::Quick, Breadth::Standard] {
        let found = cases(find("multi-gpu").unwrap(), &real(Some(CACHE)), breadth, &[]).unwrap();
        let params = found.into_iter().map(|case| case.unwrap().params);
        let triads: Vec<Params> =
            params.filter(|params| params.text("operation") == Some("triad")).collect();
        assert!(!triads.is_empty());
        for params in triads {
            let parts = if params.text("scaling") == Some("weak") {
                1
            } else {
                params.get::<u64>("num_gpus").unwrap()
            };
            assert!(sizes(&params) / parts >= 4 * CACHE, "{params:?}");
        }
    }
}

#[test]
fn arrays_in_memory_are_a_gibibyte_where_the_caches_of_a_gpu_are_unknown() {
    let largest = |info: &DeviceInfo| {
        let found = cases(find("memory-bandwidth").unwrap(), info, Breadth::Quick, &[]).unwrap();
        found.into_iter().map(|case| sizes(&case.unwrap().params)).max().unwrap()
    };
    assert_eq!(largest(&real(None)), 1 << 30);
    let mut nvidia = real(Some(72 << 20));
    nvidia.caches[0].level = 2;
    assert_eq!(largest(&nvidia), 320 << 20, "an RTX 4090");
    assert_eq!(
        largest(&real(Some(96 << 20))),
        768 << 20,
        "eight times the Infinity Cache of a 7900 XTX"
    );
    let small = DeviceInfo { usable_memory_bytes: 4 << 30, ..real(None) };
    assert!(
        largest(&small) <= 1 << 30 && largest(&small) * 4 <= small.usable_memory_bytes,
        "at most a quarter of the memory"
    );
    // The location of data is reported as memory only if the caches are known.
    let mut script = Script::with_clock(Clock::Constant(1e6));
    script.info = DeviceInfo { usable_memory_bytes: 4 << 30, ..real(None) };
    let device = ScriptedDevice::new(script);
    let found =
        fields(&device, "memory-bandwidth", &[("operation", "read"), ("size", "1MiB")], 1e6)
            .unwrap();
    assert!(found.get("lies_in").is_none(), "{found:?}");
}

#[test]
fn the_scalar_path_is_walked_on_rocm_alone() {
    let walks = |backend: &str| {
        let info =
            DeviceInfo { device: format!("{backend}:0").parse().unwrap(), ..real(Some(8 << 20)) };
        let found = cases(find("memory-latency").unwrap(), &info, Breadth::Standard, &[]).unwrap();
        let ids = found.into_iter().map(|case| case.unwrap().id.to_string());
        ids.partition::<Vec<_>, _>(|id| id.ends_with("/path=scalar"))
    };
    let (scalar, vector) = walks("rocm");
    assert_eq!(scalar.len(), vector.len(), "one scalar and one vector walk for each size");
    for backend in ["cuda", "opencl", "vulkan"] {
        assert_eq!(walks(backend).0, [""; 0], "{backend}");
    }
}

#[test]
fn a_single_launch_has_the_hosts_time_beside_the_gpus() {
    let single =
        fields(&gpu(), "launch-latency", &[("launch_mode", "single"), ("kernels", "1")], 1000.0)
            .unwrap();
    near(&single, "latency_us", 1.0);
    assert!(single.number("host_latency_us").is_some_and(|time| time > 0.0), "{single:?}");
    let row = fields(
        &gpu(),
        "launch-latency",
        &[("launch_mode", "back-to-back"), ("kernels", "10")],
        1e4,
    )
    .unwrap();
    assert!(row.get("host_latency_us").is_none(), "back-to-back launches have no host latency");
}

#[test]
fn a_transfer_is_shown_against_its_link_and_refused_above_it() {
    let gpu = gpu();
    let to_gpu = fields(&gpu, "memory-transfer", &[("size", "1MiB")], 209_715.2).unwrap();
    near(&to_gpu, "bandwidth_gb_s", 5.0);
    near(&to_gpu, "link_gb_s", 10.0);
    near(&to_gpu, "link_percent", 50.0);
    assert_eq!(to_gpu.text("operation"), Some("host-to-device"));
    assert_eq!(to_gpu.text("host_memory"), Some("pinned"));
    assert!(to_gpu.get("latency_us").is_none(), "a large transfer must not report a latency");
    // 1 MiB in 103,800 ns is 10.1 GB/s, one percent above the link; the difference between two
    // clocks can explain that.
    assert!(fields(&gpu, "memory-transfer", &[("size", "1MiB")], 103_800.0).is_ok());
    assert!(fields(&gpu, "memory-transfer", &[("size", "1MiB")], 102_000.0).is_err());
    match fields(&gpu, "memory-transfer", &[("size", "1MiB")], 50_000.0) {
        Err(Failure::Failed(reason)) => {
            assert!(reason.why.contains("the bandwidth of the link, 10.2 GB/s"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let unknown = ScriptedDevice::new(Script::default());
    let fast = fields(&unknown, "memory-transfer", &[("size", "1MiB")], 50_000.0).unwrap();
    assert!(fast.get("link_percent").is_none(), "no share of the link if the link is unknown");
    assert!(
        fields(&unknown, "memory-transfer", &[("size", "1MiB")], 500.0).is_err(),
        "2 TB/s must be implausible"
    );
}

#[test]
fn within_the_gpu_bytes_are_read_and_written() {
    let axes = [("direction", "device-to-device"), ("size", "1MiB")];
    let within = fields(&gpu(), "memory-transfer", &axes, 1_048_576.0).unwrap();
    near(&within, "bandwidth_gb_s", 2.0);
    assert!(within.get("link_percent").is_none() && within.get("host_memory").is_none());
}

#[test]
fn small_transfers_and_single_launches_are_waited_for_one_by_one() {
    for (name, axes) in [
        ("memory-transfer", vec![("size", "4KiB")]),
        ("launch-latency", vec![("launch_mode", "single")]),
    ] {
        let gpu = gpu();
        let mut prepared =
            find(name).unwrap().prepare_with(&params(name, &axes), &gpu, &backends()).unwrap();
        let (before, time) = (gpu.counts().launches, prepared.sample(5).unwrap());
        assert_eq!(gpu.counts().launches - before, 5);
        near(&prepared.fields(time / 5.0).unwrap(), "latency_us", 1.0);
    }
}

#[test]
fn a_row_of_launches_is_counted_by_the_kernel() {
    for mode in ["back-to-back", "graph"] {
        let row = fields(
            &gpu(),
            "launch-latency",
            &[("launch_mode", mode), ("kernels", "100")],
            250_000.0,
        )
        .unwrap();
        near(&row, "latency_us", 2.5);
        near(&row, "kernels", 100.0);
        assert_eq!(row.text("operation"), Some(mode));
        assert!(
            row.get("init").is_none()
                && row.get("accuracy_error").is_none()
                && row.get("cache").is_none()
        );
    }
    assert!(
        fields(&gpu(), "launch-latency", &[("launch_mode", "graph"), ("kernels", "100")], 100.0)
            .is_err(),
        "1 ns per kernel must be implausible"
    );
}

#[test]
fn every_tier_is_measured_in_the_same_terms() {
    let gpu = gpu();
    for (tier, bytes) in [
        ("device", 2.0),
        ("host-to-device", 1.0),
        ("device-to-host", 1.0),
        ("bidirectional", 2.0),
        ("host", 2.0),
    ] {
        let found =
            fields(&gpu, "memory-tiers", &[("tier", tier), ("size", "1MiB")], 1_048_576.0).unwrap();
        near(&found, "bandwidth_gb_s", bytes);
        near(&found, "size_bytes", 1_048_576.0);
        assert_eq!(found.text("memory_tier"), Some(tier));
        let over_the_link = tier.contains("-to-") || tier == "bidirectional";
        assert_eq!(found.get("link_percent").is_some(), over_the_link, "{tier}");
        if over_the_link {
            near(&found, "link_percent", 10.0);
        }
    }
}

#[test]
fn occupancy_stands_beside_the_time_of_each_block_size() {
    for (block, percent) in [("64", 50.0), ("1024", 50.0), ("96", 46.875)] {
        let axes = [("operation", "triad"), ("block_size", block), ("size", "16KiB")];
        let found = fields(&gpu(), "occupancy", &axes, 12_288.0).unwrap();
        near(&found, "occupancy_percent", percent);
        near(&found, "block_size", block.parse().unwrap());
        near(&found, "bandwidth_gb_s", 4.0);
        near(&found, "registers", 32.0);
        assert_eq!(found.number("shared_bytes"), Some(0.0));
        // Any block size fills half of this GPU, so the largest is recommended, without a speedup.
        near(&found, "recommended_block_size", 1024.0);
        near(&found, "recommended_speedup", 1.0);
        assert!(
            found.get("sm_efficiency_percent").unwrap().is_null()
                && found.text("counters_note").is_some()
        );
    }
    let product =
        fields(&gpu(), "occupancy", &[("operation", "gemm"), ("size", "16KiB")], 524_288.0)
            .unwrap();
    near(&product, "gflops", 1.0);
    assert!(
        product.get("recommended_block_size").is_none(),
        "the block size of a product is fixed"
    );
}

#[test]
fn a_small_gpu_gets_smaller_transfers() {
    let mut info = gpu().info().clone();
    info.usable_memory_bytes = 100 << 20;
    for name in ["memory-transfer", "memory-tiers"] {
        let benchmark = find(name).unwrap();
        for breadth in [Breadth::Quick, Breadth::Standard, Breadth::Full] {
            let found = cases(benchmark, &staged(benchmark, &info), breadth, &[]).unwrap();
            assert!(found.iter().all(Result::is_ok), "{name}: every case fits");
            assert!(
                found.iter().flatten().any(|case| case.id.as_str().ends_with("/16MiB")),
                "{name}"
            );
        }
    }
}
