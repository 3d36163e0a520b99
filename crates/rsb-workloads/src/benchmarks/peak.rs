//! Peak arithmetic rate of a device with multiply-adds in registers.

use rsb_device::operation::PeakArithmetic;
use rsb_device::{Device, DeviceInfo, Operation};
use rsb_model::unit::gigaflops;
use rsb_model::{Params, Reason};

use super::{axis, dtype, fixed_grid, grid, is_by_vendor, is_cpu, number, thread_counts};
use crate::axis::{AxisInfo, DTYPE, THREADS};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, Iterations, PrepareResult,
};
use crate::plausibility::{best_peak_note, check_core_rate, set_note};
use crate::timed::{PreparedCase, Timed};

/// Peak arithmetic rate benchmark.
pub(super) struct ComputePeak;

const AXES: &[AxisInfo] = &[DTYPE, THREADS];

impl Benchmark for ComputePeak {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "compute-peak",
            about: "Highest arithmetic rate: multiply-adds in registers",
            axes: AXES,
            group: Some(BenchmarkGroup::Compute),
            iterations: Iterations::Sustained,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, device: &DeviceInfo) -> Vec<Grid> {
        let mut grids = vec![fixed_grid("dtype=f32")];
        if breadth >= Breadth::Standard {
            grids.push(fixed_grid("dtype=f64"));
            if is_by_vendor(device) {
                grids.push(fixed_grid("dtype=f16"));
            }
            if is_cpu(device) {
                let types = &["f32", "f64", "bf16", "f16", "i8"];
                grids.push(grid([axis("dtype", types), ("threads", thread_counts(device))]));
            }
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let threads: u64 = number(params, "threads")?;
        let operations = PeakArithmetic::UNIT * 512 * threads;
        Ok(Operation::PeakArithmetic(PeakArithmetic { dtype: dtype(params)?, operations }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let threads = number(params, "threads").map_err(Failure::Skipped)?;
        let dtype = dtype(params).map_err(Failure::Skipped)?;
        // A GPU needs more operations than a CPU to be busy for a while.
        let operations = crate::plausibility::burst(device.info(), dtype, threads);
        let operation = Operation::PeakArithmetic(PeakArithmetic { dtype, operations });
        let timed = Timed::from_params(device, operation, params)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let rate = gigaflops(timed.operation.flops(), time_ns);
            check_core_rate(rate, timed)?;
            let fields = timed.common_fields().with("time_us", time_ns / 1e3);
            let mut fields = fields.with("gflops", rate).with("tflops", rate / 1e3);
            set_note(&mut fields, best_peak_note(timed.device.info(), dtype, rate).as_deref());
            Ok(fields)
        }))
    }
}
