//! Cost of allocating and freeing a large tensor, compared with the cost of using it.
//!
//! On a CPU with glibc, 32 MiB separates two costs that differ by a factor of hundreds: a smaller
//! block is kept in a free list and reused, a larger one is requested from the kernel and returned
//! each time. Every suite includes both.

use rsb_device::operation::{Allocate, Touch};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::{Fields, Params, Reason};

use super::{bytes, grid, sizes};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn,
};
use crate::timed::{PreparedCase, Timed};

/// Allocation and release.
pub(super) struct MemoryAllocation;

const AXES: &[AxisInfo] = &[AxisInfo::value(
    "size",
    "bytes per allocation; glibc reuses freed blocks below 32 MiB and requests larger ones from \
     the kernel",
    AxisKind::Bytes,
)];

const MIB: u64 = 1 << 20;

impl Benchmark for MemoryAllocation {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-allocation",
            about: "Cost of allocating and freeing a large tensor",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            runs_on: RunsOn::Cpu,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let chosen: &[u64] = match breadth {
            Breadth::Quick => &[16 * MIB, 64 * MIB],
            Breadth::Standard => &[MIB, 16 * MIB, 64 * MIB, 256 * MIB],
            Breadth::Full => {
                &[MIB / 16, MIB / 4, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB]
            }
        };
        vec![grid([sizes("size", chosen)])]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        Ok(Operation::Allocate(Allocate { bytes: bytes(params, "size")?, touch: Touch::Untouched }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let timed = Timed::prepare(device, operation, Options::default())?;
        Ok(PreparedCase::new_boxed(timed, fields))
    }
}

fn fields(timed: &mut Timed<'_>, time_ns: f64) -> Result<Fields, Failure> {
    /// Maximum number of measurements that also write to the tensor. The fastest counts, since
    /// disturbances only add time.
    const USES: u32 = 5;
    /// Total time after which no more measurements are made; with large tensors, a single one is
    /// stable enough.
    const ENOUGH_NS: f64 = 2e7;
    let Operation::Allocate(op) = timed.operation.clone() else { return Ok(Fields::new()) };
    let used = Operation::Allocate(Allocate { touch: Touch::Written, ..op });
    let mut used = Timed::prepare(timed.device, used, timed.options.clone())?;
    let (mut used_ns, mut spent) = (f64::INFINITY, 0.0);
    for _ in 0..USES {
        let time = used.sample(1)?;
        used_ns = used_ns.min(time);
        spent += time;
        if spent > ENOUGH_NS {
            break;
        }
    }
    let mut fields =
        timed.common_fields().with("size_bytes", op.bytes).with("time_us", time_ns / 1e3);
    fields.set("allocation_overhead_percent", 100.0 * time_ns / used_ns);
    Ok(fields)
}
