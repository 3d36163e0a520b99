//! Hit rate of reads in the L1 data cache, from hardware counters if the system permits reading
//! them.

use rsb_device::operation::{Gemm, MemoryStream, PointerChase, Stores, StreamPattern};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::{Dtype, Fields, Params, Reason};

use super::{axis, bytes, grid, sized_grid, sizes};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn,
};
use crate::timed::{PreparedCase, SEED, Timed};

/// L1 data cache hit rate.
pub(super) struct CacheHitRate;

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "operation",
        "gemm (blocked), triad (in order) or pointer-chase (at random)",
        AxisKind::Choice(&["gemm", "triad", "pointer-chase"]),
    ),
    AxisInfo::value("size", "bytes of one matrix, one array, or the walk", AxisKind::Bytes),
];

impl Benchmark for CacheHitRate {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "cache-hit-rate",
            about: "Hit rate of the first-level data cache, from hardware counters",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            runs_on: RunsOn::Cpu,
            needs_counters: true,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let mut grids = vec![sized_grid("operation=gemm", &[1 << 20])];
        if breadth >= Breadth::Standard {
            grids.push(sized_grid("operation=triad,pointer-chase", &[16 << 10, 4 << 20]));
        }
        if breadth == Breadth::Full {
            let all = axis("operation", &["gemm", "triad", "pointer-chase"]);
            grids.push(grid([
                all,
                sizes("size", &[8 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20]),
            ]));
        }
        grids
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let size = bytes(params, "size")?;
        if size < 128 {
            return Err(Reason::new(
                format!("{size} bytes"),
                "the size is less than two cache lines",
                "choose at least 128B",
            ));
        }
        Ok(match params.text("operation") {
            Some("triad") => Operation::Stream(MemoryStream {
                pattern: StreamPattern::Triad,
                dtype: Dtype::F32,
                elements: size / 4,
                stores: Stores::Temporal,
            }),
            Some("pointer-chase") => Operation::PointerChase(PointerChase {
                nodes: size / 64,
                line_bytes: 64,
                accesses: 1 << 13,
                seed: SEED,
            }),
            _ => {
                let side = (size / 4).isqrt();
                Operation::Gemm(Gemm::new(Dtype::F32, side, side, side))
            }
        })
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        // Without counters the case is skipped.
        drop(device.counters().map_err(Failure::Skipped)?);
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let size = bytes(params, "size").map_err(Failure::Skipped)?;
        let timed = Timed::prepare(device, operation, Options::default())?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| fields(timed, time_ns, size)))
    }
}

fn fields(timed: &mut Timed<'_>, time_ns: f64, size: u64) -> Result<Fields, Failure> {
    /// Minimum counted time, so that starting and stopping the counters is negligible.
    const COUNTED_NS: f64 = 5e6;
    let launches = (COUNTED_NS / time_ns).ceil().clamp(1.0, 1e6) as u64;
    let mut counters = timed.device.counters().map_err(Failure::Skipped)?;
    counters.start()?;
    timed.sample(launches)?;
    let counts = counters.stop()?;
    drop(counters);
    let hits = counts.reads.saturating_sub(counts.misses) as f64;
    let mut fields = timed.common_fields().with("size_bytes", size).with("time_us", time_ns / 1e3);
    fields.set("cache_hit_percent", 100.0 * hits / counts.reads.max(1) as f64);
    fields.set("cache_references", counts.reads);
    Ok(fields)
}
