//! What the tests share: every benchmark at a size that takes no time.

use rsb_device::{Device, DeviceInfo};
use rsb_model::Case;
use rsb_workloads::{Benchmark, Breadth, all, cases};

/// Values that make any case of this benchmark small.
pub fn small(name: &str) -> Vec<(String, Vec<String>)> {
    let values: &[(&str, &str)] = match name {
        "memory-bandwidth" | "memory-latency" | "cache-hit-rate" => &[("size", "4KiB")],
        "memory-allocation" => &[("size", "1MiB")],
        "gemm" => &[("shape", "16x24x32")],
        "tensor-ops" => &[("shape", "8x64")],
        "convolution" => &[("shape", "1x4x8x8"), ("kernel", "4x3x3"), ("groups", "1"), ("padding", "1")],
        _ => &[],
    };
    values.iter().map(|(axis, value)| ((*axis).to_owned(), vec![(*value).to_owned()])).collect()
}

/// Small cases of `benchmark` that can be on this device.
pub fn small_cases(benchmark: &dyn Benchmark, breadth: Breadth, info: &DeviceInfo) -> Vec<Case> {
    let found = cases(benchmark, info, breadth, &small(benchmark.name())).unwrap();
    found.into_iter().filter_map(Result::ok).collect()
}

/// The first small case of every benchmark.
pub fn one_of_each(device: &dyn Device) -> Vec<(&'static dyn Benchmark, Case)> {
    let first = |benchmark: &&'static dyn Benchmark| {
        (*benchmark, small_cases(*benchmark, Breadth::Quick, device.info()).swap_remove(0))
    };
    all().iter().map(first).collect()
}
