//! Shared test helpers: every benchmark at a size that takes no time.

use rsb_device::{Device, DeviceInfo, Registry};
use rsb_model::Case;
use rsb_workloads::{Benchmark, Breadth, RunsOn, all, cases};

/// Returns only the CPU backend, which is available in addition to a scripted device.
pub fn backends() -> Registry {
    Registry::new(vec![Box::new(rsb_cpu::CpuBackend)])
}

/// Returns axis values that make any case of this benchmark small.
pub fn small(name: &str) -> Vec<(String, Vec<String>)> {
    let values: &[(&str, &str)] = match name {
        "control" | "memory-bandwidth" | "memory-latency" | "cache-hit-rate"
        | "memory-transfer" | "memory-tiers" => &[("size", "4KiB")],
        "memory-allocation" => &[("size", "1MiB")],
        "occupancy" | "multi-gpu" | "all-reduce" => &[("size", "16KiB")],
        "precision" => &[("n", "16")],
        "inference" => &[("heads", "2x8"), ("sequence_length", "6")],
        "gemm" => &[("shape", "16x24x32")],
        "tensor-ops" => &[("shape", "8x64")],
        "convolution" => {
            &[("shape", "1x4x8x8"), ("kernel", "4x3x3"), ("groups", "1"), ("padding", "1")]
        }
        _ => &[],
    };
    values.iter().map(|(axis, value)| ((*axis).to_owned(), vec![(*value).to_owned()])).collect()
}

/// Returns small cases of `benchmark` that are possible on this device.
pub fn small_cases(benchmark: &dyn Benchmark, breadth: Breadth, info: &DeviceInfo) -> Vec<Case> {
    let found = cases(benchmark, info, breadth, &small(benchmark.name())).unwrap();
    found.into_iter().filter_map(Result::ok).collect()
}

/// Returns `info` with a GPU as the device if the benchmark runs only on GPUs.
pub fn staged(benchmark: &dyn Benchmark, info: &DeviceInfo) -> DeviceInfo {
    let mut info = info.clone();
    if matches!(benchmark.info().runs_on, RunsOn::Gpus | RunsOn::GpusAndHost(_)) {
        info.device = "rocm:0".parse().unwrap();
    }
    info
}

/// Returns every benchmark that runs on a device, excluding those that use the host's tools.
pub fn on_devices() -> impl Iterator<Item = &'static dyn Benchmark> {
    let elsewhere = |benchmark: &&dyn Benchmark| {
        // Benchmarks of host tools and `smi-metrics`, which needs a GPU's sensors, have separate
        // tests.
        matches!(benchmark.info().runs_on, RunsOn::Host(_)) || benchmark.name() == "smi-metrics"
    };
    all().iter().copied().filter(move |benchmark| !elsewhere(benchmark))
}

/// Returns the first small case of every benchmark that runs on a device.
pub fn one_of_each(device: &dyn Device) -> Vec<(&'static dyn Benchmark, Case)> {
    let first = |benchmark: &'static dyn Benchmark| {
        let info = staged(benchmark, device.info());
        (benchmark, small_cases(benchmark, Breadth::Quick, &info).swap_remove(0))
    };
    on_devices().map(first).collect()
}
