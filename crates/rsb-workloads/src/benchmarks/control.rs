//! Control set: simple copies that show whether the machine is as fast as before. A gate checks
//! them before it attributes a change to the code.

use rsb_device::operation::{MemoryStream, Stores, StreamPattern};
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::{Dtype, Params, Reason};

use super::{bandwidth, beyond_caches, bytes, grid, last_level_cache, sizes};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{Benchmark, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult};
use crate::timed::{PreparedCase, Timed};

/// Copies in the nearest cache, the last one, and memory.
pub(super) struct ControlBenchmark;

const AXES: &[AxisInfo] = &[AxisInfo::value("size", "bytes per array", AxisKind::Bytes)];

/// Size that fits in every L1 cache.
const NEAREST: u64 = 8 << 10;

impl Benchmark for ControlBenchmark {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "control",
            about: "Control set: copies that let a gate distinguish machine and code changes",
            axes: AXES,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, _: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let last = (last_level_cache(device) / 8).next_power_of_two();
        vec![grid([sizes("size", &[NEAREST, last, beyond_caches(device)])])]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let elements = (bytes(params, "size")? / Dtype::F32.bytes(1)).max(1);
        Ok(Operation::Stream(MemoryStream {
            pattern: StreamPattern::Copy,
            dtype: Dtype::F32,
            elements,
            stores: Stores::Temporal,
        }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let timed = Timed::from_params(device, operation, params)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            bandwidth::fields(timed, time_ns, "temporal", size)
        }))
    }
}
