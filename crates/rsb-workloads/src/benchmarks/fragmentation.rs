//! Memory held from the system but not in use, after blocks of many sizes were replaced at random for a while.

use rsb_device::operation::Churn;
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::{Fields, Params, Reason};

use super::{axis, grid};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{Benchmark, Breadth, Failure, Grid, Prepared};
use crate::timed::{PreparedCase, SEED, Timed};

/// Fragmentation after extended use.
pub(super) struct MemoryFragmentation;

const AXES: &[AxisInfo] = &[AxisInfo::value(
    "operation",
    "tensors (64 KiB to 4 MiB) or small-blocks (16 B to 16 KiB) replaced at random",
    AxisKind::Choice(&["tensors", "small-blocks"]),
)];

impl Benchmark for MemoryFragmentation {
    fn name(&self) -> &'static str {
        "memory-fragmentation"
    }

    fn about(&self) -> &'static str {
        "Memory held but not in use after extended use"
    }

    fn axes(&self) -> &'static [AxisInfo] {
        AXES
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let operations: &[&str] = if breadth == Breadth::Quick { &["tensors"] } else { &["tensors", "small-blocks"] };
        vec![grid([axis("operation", operations)])]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let churn = match params.text("operation") {
            Some("small-blocks") => {
                Churn { min_bytes: 16, max_bytes: 16 << 10, live_bytes: 16 << 20, replacements: 40_000, seed: SEED }
            }
            _ => Churn { min_bytes: 64 << 10, max_bytes: 4 << 20, live_bytes: 64 << 20, replacements: 400, seed: SEED },
        };
        Ok(Operation::Churn(churn))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> Result<Box<dyn Prepared + 'd>, Failure> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let kind = params.text("operation").unwrap_or_default().to_owned();
        let timed = Timed::prepare(device, operation, Options::default())?;
        Ok(PreparedCase::boxed(timed, move |timed, time_ns| {
            let found = timed.read(0)?;
            let [held, live] = found.as_slice() else { return Ok(Fields::new()) };
            // The system counts whole pages and what was in hand before: a little less may be held than is live.
            let unused = (held - live).max(0.0);
            let percent = if *held > 0.0 { 100.0 * unused / held } else { 0.0 };
            let mut fields = timed.common_fields().with("operation", kind.clone()).with("time_ms", time_ns / 1e6);
            fields.set("memory_fragmentation_percent", percent);
            fields.set("memory_used_mb", held / 1e6);
            Ok(fields)
        }))
    }
}
