//! Fragmentation: memory that the process holds but does not use after replacing blocks of many
//! sizes at random.

use rsb_device::operation::Churn;
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::{Params, Reason};

use super::{axis, grid};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn,
};
use crate::timed::{PreparedCase, SEED, Timed};

/// Fragmentation after extended use.
pub(super) struct MemoryFragmentation;

const AXES: &[AxisInfo] = &[AxisInfo::value(
    "operation",
    "tensors (64 KiB to 4 MiB) or small-blocks (16 B to 16 KiB) replaced at random",
    AxisKind::Choice(&["tensors", "small-blocks"]),
)];

impl Benchmark for MemoryFragmentation {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "memory-fragmentation",
            about: "Memory held but not in use after extended use",
            axes: AXES,
            group: Some(BenchmarkGroup::Memory),
            runs_on: RunsOn::Cpu,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let operations: &[&str] =
            if breadth == Breadth::Quick { &["tensors"] } else { &["tensors", "small-blocks"] };
        vec![grid([axis("operation", operations)])]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let churn = match params.text("operation") {
            Some("small-blocks") => Churn {
                min_bytes: 16,
                max_bytes: 16 << 10,
                live_bytes: 16 << 20,
                replacements: 40_000,
                seed: SEED,
            },
            _ => Churn {
                min_bytes: 64 << 10,
                max_bytes: 4 << 20,
                live_bytes: 64 << 20,
                replacements: 400,
                seed: SEED,
            },
        };
        Ok(Operation::Churn(churn))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let kind = params.text("operation").unwrap_or_default().to_owned();
        let mut timed = Timed::prepare(device, operation, Options::default())?;
        let (held, live) = measure_churn(&mut timed)?;
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            // The system counts whole pages, and memory held before the churn is excluded, so the
            // held bytes may be slightly fewer than the live bytes.
            let percent = if held > 0.0 { 100.0 * (held - live).max(0.0) / held } else { 0.0 };
            let mut fields = timed
                .common_fields()
                .with("operation", kind.clone())
                .with("time_ms", time_ns / 1e6);
            fields.set("memory_fragmentation_percent", percent);
            fields.set("memory_used_mb", held / 1e6);
            Ok(fields)
        }))
    }
}

/// Returns the held and the live bytes after the verified churn and one additional churn. They are
/// read here and not after sampling, since the number of timed iterations differs between runs.
fn measure_churn(timed: &mut Timed<'_>) -> Result<(f64, f64), Failure> {
    timed.sample(1)?;
    let found = timed.read(0)?;
    let held = found.first().copied().unwrap_or(f64::NAN);
    let live = found.get(1).copied().unwrap_or(f64::NAN);
    Ok((held, live))
}
