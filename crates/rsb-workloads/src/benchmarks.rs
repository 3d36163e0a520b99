//! All benchmarks of this crate, and shared helpers.

mod all_reduce;
mod allocation;
mod bandwidth;
mod cache_hits;
mod control;
mod convolution;
mod fragmentation;
mod gemm;
mod inference;
mod kernel_compilation;
mod latency;
mod launch_latency;
mod memory_tiers;
mod memory_transfer;
mod multi_gpu;
mod occupancy;
mod peak;
mod precision;
mod smi_metrics;
mod tensor_core;
mod tensor_ops;

use rsb_device::DeviceInfo;
use rsb_model::shape::{format_bytes, parse_shape, rounded_bytes};
use rsb_model::{BackendId, Case, CaseDevice, DeviceType, Dtype, Note, Params, Reason};

use crate::axis::AxisInfo;
use crate::benchmark::{Benchmark, Grid, unusable};
use crate::plausibility::times_of_last_cache;

/// Returns every benchmark of this crate: the control set, then memory, then the rest.
pub fn all() -> &'static [&'static dyn Benchmark] {
    &[
        &control::ControlBenchmark,
        &bandwidth::MemoryBandwidth,
        &latency::MemoryLatency,
        &memory_transfer::MemoryTransfer,
        &memory_tiers::MemoryTiers,
        &cache_hits::CacheHitRate,
        &allocation::MemoryAllocation,
        &fragmentation::MemoryFragmentation,
        &peak::ComputePeak,
        &tensor_core::TensorCore,
        &gemm::GemmBenchmark,
        &tensor_ops::TensorOps,
        &convolution::ConvolutionBenchmark,
        &precision::Precision,
        &inference::Inference,
        &multi_gpu::MultiGpu,
        &all_reduce::AllReduce,
        &smi_metrics::SmiMetrics,
        &launch_latency::LaunchLatency,
        &occupancy::OccupancyBenchmark,
        &kernel_compilation::KernelCompilation,
    ]
}

/// Returns an axis called `name` with `values`.
fn axis(name: &'static str, values: &[&str]) -> (&'static str, Vec<String>) {
    (name, values.iter().map(|&value| value.to_owned()).collect())
}

/// Returns an axis called `name` with `sizes` in bytes.
fn sizes(name: &'static str, sizes: &[u64]) -> (&'static str, Vec<String>) {
    (name, sizes.iter().map(|&size| format_bytes(size)).collect())
}

/// Returns `sizes` in bytes as the values of an axis in a text.
fn size_list(sizes: &[u64]) -> String {
    sizes.iter().map(|&size| format_bytes(size)).collect::<Vec<_>>().join(",")
}

/// Returns a grid of these axes.
fn grid<const N: usize>(axes: [(&'static str, Vec<String>); N]) -> Grid {
    Vec::from(axes)
}

/// Parses a grid such as `operation=copy,read dtype=f32`.
fn fixed_grid(text: &'static str) -> Grid {
    let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, values)| (name, values.split(',').map(str::to_owned).collect())).collect()
}

/// Parses a grid as [`fixed_grid`], from a text that is built at run time, over some of `axes`.
fn text_grid(axes: &[AxisInfo], text: &str) -> Grid {
    let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
    let name = |name: &str| axes.iter().map(|axis| axis.name).find(|known| *known == name);
    pairs
        .filter_map(|(axis, values)| {
            Some((name(axis)?, values.split(',').map(str::to_owned).collect()))
        })
        .collect()
}

/// Adds the [`thread_counts`] to a grid.
fn threaded(mut grid: Grid, device: &DeviceInfo) -> Grid {
    grid.push(("threads", thread_counts(device)));
    grid
}

/// Parses a grid as [`fixed_grid`] does, and adds a `size` axis with the sizes `of_size` in bytes.
fn sized_grid(text: &'static str, of_size: &[u64]) -> Grid {
    let mut grid = fixed_grid(text);
    grid.push(sizes("size", of_size));
    grid
}

/// Returns the thread counts 2, 4, 8 … and that of all threads; empty on a single thread or a GPU.
fn thread_counts(device: &DeviceInfo) -> Vec<String> {
    if !is_cpu(device) {
        return Vec::new();
    }
    let mut counts: Vec<u32> = std::iter::successors(Some(2_u32), |count| count.checked_mul(2))
        .take_while(|&count| count < device.units)
        .collect();
    if device.units > 1 {
        counts.push(device.units);
    }
    counts.iter().map(u32::to_string).collect()
}

fn is_cpu(device: &DeviceInfo) -> bool {
    device.device.is_cpu()
}

/// Returns whether the device uses its vendor's runtime, which has features that the portable
/// kernels lack.
const fn is_by_vendor(device: &DeviceInfo) -> bool {
    matches!(device.device.backend, BackendId::Rocm | BackendId::Cuda)
}

/// Returns `gpu` for a GPU, otherwise the smaller size `software`: if software emulates a GPU (a
/// driver for CPUs, a simulated GPU), the CPU copies and checks every byte, and larger sizes add no
/// information. A case's ID and fields contain the size.
fn by_kind(device: &DeviceInfo, gpu: u64, software: u64) -> u64 {
    if device.device_type == DeviceType::Gpu { gpu } else { software }
}

/// Returns the size of the largest cache. If unknown, assumes 256 MiB for GPUs, as on AMD Instinct,
/// and 32 MiB otherwise.
fn last_level_cache(device: &DeviceInfo) -> u64 {
    let unknown = if device.device_type == DeviceType::Gpu { 256 << 20 } else { 32 << 20 };
    device.last_level_cache_bytes().unwrap_or(unknown).max(1 << 20)
}

/// Returns the total size of the last-level caches available to all threads.
fn last_level_caches(device: &DeviceInfo) -> u64 {
    let last = device.caches.iter().max_by_key(|cache| cache.size_bytes);
    let shared_by = last.and_then(|cache| cache.shared_by).filter(|&threads| threads > 0);
    last_level_cache(device)
        * shared_by.map_or(1, |threads| u64::from(device.units.div_ceil(threads).max(1)))
}

/// Returns a round size of at least twice the largest cache, limited by the memory.
fn beyond_caches(device: &DeviceInfo) -> u64 {
    affordable(device, multiple_of_caches(2, last_level_cache(device), 1 << 30))
}

/// Returns the size of an array that is mostly in memory: four times `caches`, as STREAM requires,
/// or eight times a memory-side cache, limited by the memory.
fn stream_size(device: &DeviceInfo, caches: u64) -> u64 {
    affordable(device, wanted_stream_size(device, caches))
}

fn wanted_stream_size(device: &DeviceInfo, caches: u64) -> u64 {
    multiple_of_caches(times_of_last_cache(device), caches, 4 << 30)
}

fn multiple_of_caches(times: u64, caches: u64, most: u64) -> u64 {
    // Rounded up as little as possible. A power of two above twice 260 MiB, a common size of shared
    // caches, would be twice as large again.
    (times * caches).next_multiple_of(64 << 20).clamp(64 << 20, most)
}

/// Returns `wanted`, or, if that is too large, a size of which three arrays fit in memory with a
/// margin.
fn affordable(device: &DeviceInfo, wanted: u64) -> u64 {
    let affordable = (device.usable_memory_bytes / 8).max(1 << 20);
    if wanted <= affordable { wanted } else { affordable.next_power_of_two() / 2 }
}

/// Returns a note if `device` has so little free memory that the sizes of some of `cases` were
/// reduced.
pub fn sized_down(device: &DeviceInfo, cases: &[Case]) -> Option<Note> {
    let here = CaseDevice::Device(device.device);
    let is_affected = |case: &Case| {
        case.device == here
            && all()
                .iter()
                .any(|known| known.name() == case.benchmark && known.info().is_sized_by_caches)
    };
    if !cases.iter().any(is_affected) {
        return None;
    }
    let wanted = wanted_stream_size(device, last_level_cache(device));
    let found = affordable(device, wanted);
    (found < wanted).then(|| {
        let text = format!(
            "{} has only {} for a benchmark: arrays of {} are reduced to {}, which its caches may \
             hold in part; free memory for comparable values",
            device.device,
            rounded_bytes(device.usable_memory_bytes),
            format_bytes(wanted),
            format_bytes(found)
        );
        Note::SizedDown { device: device.device, text }
    })
}

fn dtype(params: &Params) -> Result<Dtype, Reason> {
    params.get("dtype").map_err(|error| unusable(&error))
}

fn shape<const N: usize>(params: &Params, name: &str) -> Result<[u64; N], Reason> {
    let sizes = params.get_with(name, parse_shape).map_err(|error| unusable(&error))?;
    sizes.try_into().map_err(|_| {
        Reason::new(
            "parameters of the case",
            format!("`{}` does not have {N} sizes", params.text(name).unwrap_or_default()),
            "run `list -v` to see the axes of the benchmark",
        )
    })
}

fn number<T: std::str::FromStr>(params: &Params, name: &str) -> Result<T, Reason> {
    params.get(name).map_err(|error| unusable(&error))
}

/// Returns the value of an axis, or `default` for cases of older records that lack the axis.
fn newer<T: std::str::FromStr>(params: &Params, name: &str, default: T) -> Result<T, Reason> {
    if params.text(name).is_some() { number(params, name) } else { Ok(default) }
}

fn bytes(params: &Params, name: &str) -> Result<u64, Reason> {
    params.get_with(name, rsb_model::shape::parse_bytes).map_err(|error| unusable(&error))
}
