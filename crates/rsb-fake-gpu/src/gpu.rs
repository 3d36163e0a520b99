//! GPU models, with values from data sheets, and the duration of work on each. A roofline with
//! fixed efficiencies determines the duration, so that the same work always takes the same time.

use rsb_model::Dtype;
use rsb_model::architecture::{Architecture, Engine};

use crate::launch::Work;

/// Vendor, which determines the interface to its GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// HIP.
    Amd,
    /// CUDA.
    Nvidia,
}

/// Limits of a compute unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Resident threads.
    pub(crate) threads: i32,
    /// Resident blocks.
    pub(crate) blocks: i32,
    /// Shared memory in bytes.
    pub(crate) shared_bytes: i32,
}

/// A GPU model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Model {
    /// Vendor of the GPU.
    pub(crate) vendor: Vendor,
    /// Architecture, such as `gfx90a` or `sm_90`.
    pub(crate) arch: &'static str,
    /// Suffix that a real runtime appends to the architecture name.
    pub(crate) features: &'static str,
    /// Compute units as reported by the runtime, which counts pairs of units from gfx10 on.
    pub(crate) units: u32,
    /// Compute units of the architecture table per unit in `units`.
    pub(crate) cus_per_unit: u32,
    /// Highest clock in MHz.
    pub(crate) mhz: u32,
    /// Memory clock in MHz.
    pub(crate) memory_mhz: u32,
    /// Memory transfers per clock.
    pub(crate) transfers: u32,
    /// Width of the memory bus in bits.
    pub(crate) bus_bits: u32,
    /// Size of the second-level cache in bytes.
    pub(crate) l2_bytes: u64,
    /// Threads in a wavefront.
    pub(crate) wavefront: u32,
    /// Limits of a compute unit.
    pub(crate) unit: Unit,
    /// Architecture number in the ELF header flags.
    pub(crate) machine: u32,
}

/// Memory of every emulated GPU: less than on a real one, since it is host memory.
pub(crate) const MEMORY_BYTES: u64 = 8 << 30;

const fn cdna(
    arch: &'static str,
    features: &'static str,
    [units, mhz]: [u32; 2],
    [memory_mhz, transfers, bus_bits]: [u32; 3],
    [l2_mib, machine]: [u32; 2],
) -> Model {
    let l2_bytes = (l2_mib as u64) << 20;
    Model {
        vendor: Vendor::Amd,
        arch,
        features,
        units,
        cus_per_unit: 1,
        mhz,
        memory_mhz,
        transfers,
        bus_bits,
        l2_bytes,
        wavefront: 64,
        unit: Unit { threads: 2048, blocks: 32, shared_bytes: 65_536 },
        machine,
    }
}

const fn rdna(
    arch: &'static str,
    [units, mhz]: [u32; 2],
    [memory_mhz, bus_bits]: [u32; 2],
    [l2_mib, machine]: [u32; 2],
) -> Model {
    let like = cdna(arch, "", [units, mhz], [memory_mhz, 16, bus_bits], [l2_mib, machine]);
    Model { cus_per_unit: 2, wavefront: 32, ..like }
}

const fn nvidia(
    arch: &'static str,
    [units, mhz]: [u32; 2],
    [memory_mhz, bus_bits]: [u32; 2],
    [l2_mib, number]: [u32; 2],
    [threads, blocks, shared_kib]: [i32; 3],
) -> Model {
    let like = cdna(arch, "", [units, mhz], [memory_mhz, 2, bus_bits], [l2_mib, number]);
    let unit = Unit { threads, blocks, shared_bytes: shared_kib << 10 };
    Model { vendor: Vendor::Nvidia, wavefront: 32, unit, ..like }
}

/// Values of MI50, MI100, MI210, MI300X, MI355X, RX 6900 XT, RX 7900 XTX, RX 9070 XT, T4, A100, RTX
/// 4090 and H100, in this order.
pub(crate) const MODELS: &[Model] = &[
    cdna("gfx906", ":sramecc+:xnack-", [60, 1725], [1000, 2, 4096], [4, 0x2f]),
    cdna("gfx908", ":sramecc+:xnack-", [120, 1502], [1200, 2, 4096], [8, 0x30]),
    cdna("gfx90a", ":sramecc+:xnack-", [104, 1700], [1600, 2, 4096], [8, 0x3f]),
    cdna("gfx942", ":sramecc+:xnack-", [304, 2100], [1300, 4, 8192], [4, 0x4c]),
    cdna("gfx950", ":sramecc+:xnack-", [256, 2400], [2000, 4, 8192], [4, 0x4f]),
    rdna("gfx1030", [40, 2250], [1000, 256], [4, 0x36]),
    rdna("gfx1100", [48, 2482], [1249, 384], [6, 0x41]),
    rdna("gfx1201", [32, 2970], [1258, 256], [8, 0x4e]),
    nvidia("sm_75", [40, 1590], [5001, 256], [4, 75], [1024, 16, 64]),
    nvidia("sm_80", [108, 1410], [1215, 5120], [40, 80], [2048, 32, 164]),
    nvidia("sm_89", [128, 2520], [10_501, 384], [72, 89], [1536, 24, 100]),
    nvidia("sm_90", [132, 1980], [2619, 5120], [50, 90], [2048, 32, 228]),
];

/// Returns the model for an architecture, if it can be emulated.
pub(crate) fn find(arch: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.arch == arch)
}

/// Returns the model of architecture `arch`, if it is from `vendor`. The error names the
/// environment variable `variable`, from which `arch` was read.
pub(crate) fn select_model(
    variable: &str,
    arch: &str,
    vendor: Vendor,
) -> Result<&'static Model, String> {
    find(arch).filter(|model| model.vendor == vendor).ok_or_else(|| {
        let known = MODELS.iter().filter(|model| model.vendor == vendor).map(|model| model.arch);
        format!("{variable}={arch} is not one of {}", known.collect::<Vec<_>>().join(", "))
    })
}

/// Duration of an empty kernel in a stream, in nanoseconds.
const LAUNCH_NS: f64 = 5_000.0;
/// Duration of an empty kernel in a graph, in nanoseconds.
const GRAPH_NODE_NS: f64 = 1_500.0;
/// Duration of a copy of zero bytes, in nanoseconds.
const COPY_NS: f64 = 8_000.0;
/// Fraction of the peak memory bandwidth that kernels achieve.
const MEMORY_SHARE: f64 = 0.85;
/// Fraction of the peak arithmetic rate that kernels achieve.
const COMPUTE_SHARE: f64 = 0.75;
/// Bytes per clock that a compute unit reads from the second-level cache.
const L2_BYTES_PER_CLOCK: f64 = 32.0;
/// Latency of a dependent read in nanoseconds: from the second-level cache, and from memory.
const LATENCY_NS: [f64; 2] = [150.0, 450.0];

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchPath {
    /// By a separate call.
    Stream,
    /// As part of a graph.
    Graph,
}

/// Path of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Route {
    /// Over the bus, with pinned host memory.
    Pinned,
    /// Over the bus, with pageable host memory.
    Pageable,
    /// Within the GPU.
    Gpu,
    /// Between GPUs.
    Peer,
}

impl Model {
    /// Returns the peak memory bandwidth in GB/s, which equals bytes per nanosecond.
    pub(crate) fn peak_bandwidth(&self) -> f64 {
        f64::from(self.bus_bits) / 8.0 * f64::from(self.memory_mhz) * f64::from(self.transfers)
            / 1e3
    }

    /// Returns the peak rate of `dtype` in operations per nanosecond. Types that the GPU has no
    /// instructions for have the rate of f32.
    fn peak_rate(&self, engine: Engine, dtype: Dtype) -> f64 {
        let rate = Architecture::find(self.arch).ok().and_then(|known| {
            known
                .per_clock_per_cu(dtype, engine)
                .or_else(|| known.per_clock_per_cu(Dtype::F32, Engine::Vector))
        });
        f64::from(rate.unwrap_or(128))
            * f64::from(self.units * self.cus_per_unit)
            * f64::from(self.mhz)
            / 1e3
    }

    /// Returns the engine for products of `dtype`: the matrix units if they support the type.
    pub(crate) fn engine_of_products(&self, dtype: Dtype) -> Engine {
        let known = Architecture::find(self.arch).ok();
        let matrix = known.and_then(|known| known.per_clock_per_cu(dtype, Engine::Matrix));
        matrix.map_or(Engine::Vector, |_| Engine::Matrix)
    }

    /// Returns the duration of a kernel in nanoseconds, from its work and its traffic to memory and
    /// cache.
    pub(crate) fn kernel_ns(&self, work: &Work, traffic: Traffic, way: LaunchPath) -> f64 {
        let cache =
            L2_BYTES_PER_CLOCK * f64::from(self.units * self.cus_per_unit) * f64::from(self.mhz)
                / 1e3;
        let memory_ns = traffic.memory as f64 / (self.peak_bandwidth() * MEMORY_SHARE)
            + traffic.cache as f64 / cache;
        let compute_ns = work.flops / (self.peak_rate(work.engine, work.dtype) * COMPUTE_SHARE);
        let [near, far] = LATENCY_NS;
        let each = if work.reach <= self.l2_bytes { near } else { far };
        let start = if way == LaunchPath::Graph { GRAPH_NODE_NS } else { LAUNCH_NS };
        start + memory_ns.max(compute_ns).max(work.dependent_reads as f64 * each)
    }

    /// Returns the duration of a copy in nanoseconds.
    pub(crate) fn copy_ns(&self, bytes: u64, route: Route) -> f64 {
        let rate = match route {
            Route::Pinned => 28.0,
            Route::Pageable => 12.0,
            Route::Gpu => self.peak_bandwidth() * MEMORY_SHARE / 2.0,
            Route::Peer => 45.0,
        };
        COPY_NS + bytes as f64 / rate
    }
}

/// Bytes moved by a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    /// Bytes from and to memory.
    pub(crate) memory: u64,
    /// Bytes from and to the second-level cache.
    pub(crate) cache: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_model_is_faster_than_its_peaks() {
        for model in MODELS {
            let known = Architecture::find(model.arch).is_ok();
            assert!(known || model.vendor == Vendor::Nvidia, "{}", model.arch);
            let traffic = Traffic { memory: 1 << 30, cache: 0 };
            let ns = model.kernel_ns(&Work::NONE, traffic, LaunchPath::Stream);
            let rate = (1_u64 << 30) as f64 / ns;
            assert!(
                rate < model.peak_bandwidth() && rate > 0.8 * model.peak_bandwidth(),
                "{}: {rate}",
                model.arch
            );
            let work = Work {
                engine: model.engine_of_products(Dtype::F16),
                ..Work::vector(Dtype::F16, 1e13)
            };
            let rate = 1e13 / model.kernel_ns(&work, Traffic::default(), LaunchPath::Stream);
            let peak = model.peak_rate(work.engine, Dtype::F16);
            assert!(rate < peak && rate > 0.5 * peak, "{}: {rate} of {peak}", model.arch);
        }
        assert!((find("gfx90a").unwrap().peak_bandwidth() - 1638.4).abs() < 0.1);
        assert!((find("sm_90").unwrap().peak_bandwidth() - 3352.3).abs() < 0.1);
        assert!(find("gfx1999").is_none());
    }
}
