//! Every benchmark, and what they share.

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

use crate::benchmark::{Benchmark, Grid, unusable};
use crate::plausibility::times_of_last_cache;

/// Every benchmark of this crate, the control set first, then memory.
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

/// Axis `name` at each of `values`.
fn axis(name: &'static str, values: &[&str]) -> (&'static str, Vec<String>) {
    (name, values.iter().map(|&value| value.to_owned()).collect())
}

/// Axis `name` at each of `sizes`, in bytes.
fn sizes(name: &'static str, sizes: &[u64]) -> (&'static str, Vec<String>) {
    (name, sizes.iter().map(|&size| format_bytes(size)).collect())
}

/// A grid from its axes.
fn grid<const N: usize>(axes: [(&'static str, Vec<String>); N]) -> Grid {
    Vec::from(axes)
}

/// A grid from text such as `operation=copy,read dtype=f32`.
fn fixed_grid(text: &'static str) -> Grid {
    let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, values)| (name, values.split(',').map(str::to_owned).collect())).collect()
}

/// As [`fixed_grid`], at each of `of_size`, in bytes.
fn sized_grid(text: &'static str, of_size: &[u64]) -> Grid {
    let mut grid = fixed_grid(text);
    grid.push(sizes("size", of_size));
    grid
}

/// 2, 4, 8 … and all threads, where there is more than one; nothing on a GPU.
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

/// Whether it is reached through its vendor's own runtime: what the portable kernels lack is there.
const fn is_by_vendor(device: &DeviceInfo) -> bool {
    matches!(device.device.backend, BackendId::Rocm | BackendId::Cuda)
}

/// A size for GPUs, and a smaller one where software stands for a GPU (a driver for CPUs, a fake
/// GPU): there every byte is copied and checked by the CPU, and more of them say nothing. A case's
/// id and fields tell which.
fn by_kind(device: &DeviceInfo, gpu: u64, software: u64) -> u64 {
    if device.device_type == DeviceType::Gpu { gpu } else { software }
}

/// The largest cache. Where it is not known, more than other devices of its kind have: of GPUs that
/// is the 256 MiB of AMD's Instinct.
fn last_level_cache(device: &DeviceInfo) -> u64 {
    let unknown = if device.device_type == DeviceType::Gpu { 256 << 20 } else { 32 << 20 };
    device.last_level_cache_bytes().unwrap_or(unknown).max(1 << 20)
}

/// The last-level caches that all of its threads see together: each sees one.
fn last_level_caches(device: &DeviceInfo) -> u64 {
    let last = device.caches.iter().max_by_key(|cache| cache.size_bytes);
    let shared_by = last.and_then(|cache| cache.shared_by).filter(|&threads| threads > 0);
    last_level_cache(device)
        * shared_by.map_or(1, |threads| u64::from(device.units.div_ceil(threads).max(1)))
}

/// A buffer that no cache holds: at least twice the largest one, a round size, and affordable.
fn beyond_caches(device: &DeviceInfo) -> u64 {
    affordable(device, multiple_of_caches(2, last_level_cache(device), 1 << 30))
}

/// An array that is in memory but for a small part: four times `caches`, which STREAM demands, or
/// eight times a memory-side cache, and affordable.
fn stream_size(device: &DeviceInfo, caches: u64) -> u64 {
    affordable(device, wanted_stream_size(device, caches))
}

fn wanted_stream_size(device: &DeviceInfo, caches: u64) -> u64 {
    multiple_of_caches(times_of_last_cache(device), caches, 4 << 30)
}

fn multiple_of_caches(times: u64, caches: u64, most: u64) -> u64 {
    // No larger than needed: a power of two above twice 260 MiB, as many shared caches are, would
    // be twice that again.
    (times * caches).next_multiple_of(64 << 20).clamp(64 << 20, most)
}

/// As much as `wanted`, or as three such arrays leave room for.
fn affordable(device: &DeviceInfo, wanted: u64) -> u64 {
    let affordable = (device.usable_memory_bytes / 8).max(1 << 20);
    if wanted <= affordable { wanted } else { affordable.next_power_of_two() / 2 }
}

/// What is to be said when so little memory of `device` is free that some of `cases` are smaller
/// than they should be.
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
            "{} lets a benchmark take {} alone: arrays of {} are {}, which its caches may hold in \
             part; free memory for \
             figures that compare",
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
            format!("`{}` is not {N} sizes", params.text(name).unwrap_or_default()),
            "see the axes of the benchmark in `list`",
        )
    })
}

fn number<T: std::str::FromStr>(params: &Params, name: &str) -> Result<T, Reason> {
    params.get(name).map_err(|error| unusable(&error))
}

/// An axis that cases of older records lack.
fn newer<T: std::str::FromStr>(params: &Params, name: &str, default: T) -> Result<T, Reason> {
    if params.text(name).is_some() { number(params, name) } else { Ok(default) }
}

fn bytes(params: &Params, name: &str) -> Result<u64, Reason> {
    params.get_with(name, rsb_model::shape::parse_bytes).map_err(|error| unusable(&error))
}
