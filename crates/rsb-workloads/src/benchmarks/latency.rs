//! Memory latency: the time of one read if the next cannot start before it ends.

use rsb_device::operation::PointerChase;
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::{BackendId, Fields, Params, Reason};

use super::{axis, beyond_caches, bytes, grid, is_cpu, last_level_cache, sized_grid, sizes};
use crate::axis::{AxisInfo, AxisKind, NUMA};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult,
};
use crate::plausibility::{SHORTEST_LATENCY_NS, lies_in};
use crate::timed::{PreparedCase, SEED, Timed};

/// Random walk over cache lines.
pub(super) struct MemoryLatency;

const AXES: &[AxisInfo] = &[
    AxisInfo::value("size", "bytes that the walk covers", AxisKind::Bytes),
    NUMA,
    AxisInfo::with_default(
        "path",
        "read path of a GPU: vector, as in most kernels; scalar, through AMD's scalar data cache",
        "vector",
        AxisKind::Choice(&["vector", SCALAR]),
    ),
];

/// Path through the scalar data cache.
const SCALAR: &str = "scalar";

/// Bytes between nodes: a cache line of every supported CPU and GPU.
const LINE: u64 = 64;

/// Reads per iteration: enough that the launch is negligible, and a millisecond at most.
const ACCESSES: u64 = 8191;

impl Benchmark for MemoryLatency {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-latency",
            about: "Time of one dependent read, from the nearest cache to memory",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let (cache, memory) = (last_level_cache(device), beyond_caches(device) * 2);
        // Larger than L2, but a part of the last-level cache that is small enough not to be evicted
        // by other programs.
        let middle = (cache / 16).next_power_of_two().max(2 << 20);
        let chosen = match breadth {
            Breadth::Quick => vec![16 << 10, middle, memory],
            Breadth::Standard => vec![16 << 10, 256 << 10, 1 << 20, middle, 4 * middle, memory],
            Breadth::Full => std::iter::successors(Some(4 << 10), |size: &u64| size.checked_mul(2))
                .take_while(|&size| size <= memory)
                .collect(),
        };
        let mut grids = vec![grid([sizes("size", &chosen)])];
        if breadth >= Breadth::Standard && device.device.backend == BackendId::Rocm {
            grids.push(grid([sizes("size", &chosen), axis("path", &[SCALAR])]));
        }
        if breadth == Breadth::Full && is_cpu(device) {
            grids.push(sized_grid("numa=near,far", &[memory]));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let nodes = bytes(params, "size")? / LINE;
        if !(2..=u64::from(u32::MAX)).contains(&nodes) {
            return Err(Reason::new(
                format!("a walk over {nodes} cache lines"),
                "a walk needs at least two cache lines, and fewer than 2³²",
                "choose a size between 128 bytes and 256 GiB",
            ));
        }
        Ok(Operation::PointerChase(PointerChase {
            nodes,
            line_bytes: LINE,
            accesses: ACCESSES,
            seed: SEED,
        }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        let by_scalar = params.text("path") == Some(SCALAR);
        let params =
            if by_scalar { params.clone().with("provider", SCALAR) } else { params.clone() };
        let timed = Timed::from_params(device, operation, &params)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| fields(timed, time_ns, size)))
    }
}

/// Returns the fields of a walk over `size` bytes whose reads take `time_ns` in total.
pub(super) fn fields(timed: &Timed<'_>, time_ns: f64, size: u64) -> Result<Fields, Failure> {
    let latency = time_ns / ACCESSES as f64;
    if latency < SHORTEST_LATENCY_NS {
        return Err(Failure::Failed(Reason::new(
            "impossible result",
            format!(
                "{latency:.2} ns per read is below the minimum of {SHORTEST_LATENCY_NS:.2} ns for \
                 any cache"
            ),
            "suspect the clock: run again; if it fails again, report this as a bug",
        )));
    }
    let mut fields = timed.common_fields().with("size_bytes", size);
    // No runtime reports the size of a scalar cache.
    if timed.options.provider.as_deref() != Some(SCALAR) {
        lies_in(timed, &mut fields);
    }
    Ok(fields.with("latency_ns", latency).with("time_us", time_ns / 1e3))
}
