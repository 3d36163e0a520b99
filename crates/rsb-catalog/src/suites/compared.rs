//! The suite `hardware-acceleration`: the same points on every backend of each GPU and on the CPU,
//! so that their results can be compared. Sizes are fixed and do not depend on the caches and
//! memory that a backend reports.

use rsb_device::DeviceInfo;
use rsb_model::DeviceType;
use rsb_workloads::Benchmark;

use crate::selection::CustomEntry;

/// Hardware for which an entry is useful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryHardware {
    /// All hardware. Small enough for drivers that run on a CPU.
    Every,
    /// GPUs only. Large enough to fill one.
    Gpus,
}

/// Benchmark, hardware, and comma-separated values of its axes.
type Entry = (&'static str, EntryHardware, &'static [(&'static str, &'static str)]);

const ENTRIES: &[Entry] = &[
    ("compute-peak", EntryHardware::Every, &[("dtype", "f32,f64")]),
    ("tensor-core", EntryHardware::Every, &[("dtype", "f16"), ("engine", "matrix")]),
    (
        "memory-bandwidth",
        EntryHardware::Every,
        &[("operation", "copy,triad"), ("dtype", "f32"), ("size", "64MiB")],
    ),
    (
        "memory-bandwidth",
        EntryHardware::Gpus,
        &[("operation", "copy,triad"), ("dtype", "f32"), ("size", "1GiB")],
    ),
    (
        "memory-transfer",
        EntryHardware::Every,
        &[("direction", "host-to-device,device-to-host"), ("size", "64MiB")],
    ),
    ("gemm", EntryHardware::Every, &[("dtype", "f32,f16"), ("shape", "256x256x256")]),
    ("gemm", EntryHardware::Gpus, &[("dtype", "f32,f16"), ("shape", "4096x4096x4096")]),
    (
        "tensor-ops",
        EntryHardware::Every,
        &[("operation", "gelu,sum,softmax"), ("dtype", "f32"), ("shape", "1024x1024")],
    ),
    (
        "convolution",
        EntryHardware::Every,
        &[("dtype", "f32"), ("shape", "1x32x28x28"), ("kernel", "32x3x3"), ("padding", "1")],
    ),
    ("launch-latency", EntryHardware::Every, &[("launch_mode", "single")]),
];

/// Returns the entries in the form of the suite `custom`.
pub fn entries() -> Vec<CustomEntry> {
    let mut entries = Vec::new();
    for (benchmark, _, points) in ENTRIES {
        let mut axes = Vec::new();
        for (name, values) in *points {
            axes.push(((*name).to_owned(), values.split(',').map(str::to_owned).collect()));
        }
        entries.push(CustomEntry { benchmark: (*benchmark).to_owned(), axes });
    }
    entries
}

/// Returns the names of the benchmarks of the suite, without duplicates.
pub(super) fn benchmarks() -> Vec<&'static str> {
    let mut names: Vec<&str> = ENTRIES.iter().map(|(name, ..)| *name).collect();
    names.dedup();
    names
}

/// Returns the values of all axes of entry `index` on `device`, so that a profile does not add
/// points. `None` if the entry is not useful for the device. The CPU backend uses all threads, as
/// drivers that run on the CPU do.
pub fn axes_on(
    index: usize,
    benchmark: &dyn Benchmark,
    device: &DeviceInfo,
    axes: Vec<(String, Vec<String>)>,
) -> Option<Vec<(String, Vec<String>)>> {
    let large = ENTRIES.get(index).is_some_and(|(_, on, _)| *on == EntryHardware::Gpus);
    if large && device.device_type == DeviceType::Cpu {
        return None;
    }
    let is_cpu = device.device.is_cpu();
    let mut all = axes;
    for axis in benchmark.axes() {
        let value = match axis.default {
            _ if all.iter().any(|(name, _)| name == axis.name) => continue,
            Some(_) if is_cpu && axis.name == THREADS => device.units.to_string(),
            Some(default) => default.to_owned(),
            None => continue,
        };
        all.push((axis.name.to_owned(), vec![value]));
    }
    Some(all)
}

/// Axis with the number of CPU threads.
const THREADS: &str = "threads";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_a_benchmark_with_these_axes() {
        for (entry, (name, on, _)) in entries().iter().zip(ENTRIES) {
            let benchmark = rsb_workloads::find(name).unwrap();
            let mut device = crate::backends::backends()[0].devices().unwrap()[0].clone();
            device.device = "vulkan:0".parse().unwrap();
            device.device_type = DeviceType::Gpu;
            device.usable_memory_bytes = 64 << 30;
            let points: usize = entry.axes.iter().map(|(_, values)| values.len()).product();
            let on_gpu = axes_on(0, benchmark, &device, entry.axes.clone()).unwrap();
            for breadth in [rsb_workloads::Breadth::Quick, rsb_workloads::Breadth::Full] {
                let cases = rsb_workloads::cases(benchmark, &device, breadth, &on_gpu).unwrap();
                assert_eq!(
                    cases.iter().filter(|case| case.is_ok()).count(),
                    points,
                    "{name}: {cases:?}"
                );
                assert_eq!(cases.len(), points, "{name}: a profile must not add cases");
            }
            device.device_type = DeviceType::Cpu;
            let index =
                ENTRIES.iter().position(|known| known.0 == *name && known.1 == *on).unwrap();
            assert_eq!(
                axes_on(index, benchmark, &device, Vec::new()).is_none(),
                *on == EntryHardware::Gpus,
                "{name}"
            );
        }
    }
}
