//! Cost of launching a kernel: individually, back to back, and recorded as a graph.

use rsb_device::operation::{Launch, LaunchMode};
use rsb_device::{Device, DeviceInfo, Operation, Options};
use rsb_model::{Params, Reason};

use super::{axis, fixed_grid, grid, number};
use crate::axis::{AxisInfo, AxisKind};
use crate::benchmark::{Benchmark, BenchmarkInfo, Breadth, Failure, Grid, PrepareResult, RunsOn};
use crate::timed::{Pace, PreparedCase, Timed};

/// Launch latency of empty kernels.
pub(super) struct LaunchLatency;

/// Lower bound in nanoseconds on the time between launches on any device: the device must read a
/// packet and write its completion.
const SHORTEST_NS: f64 = 5.0;

/// Mode that waits for each launch.
const SINGLE: &str = "single";

const MODES: &[&str] = &[SINGLE, "back-to-back", "graph"];

const AXES: &[AxisInfo] = &[
    AxisInfo::value(
        "launch_mode",
        "single: one launch, then a wait; back-to-back: one call per kernel; graph: one call for \
         all",
        AxisKind::Choice(MODES),
    ),
    AxisInfo::with_default("kernels", "kernels per iteration", "1", AxisKind::Count),
];

impl Benchmark for LaunchLatency {
    fn info(&self) -> BenchmarkInfo {
        BenchmarkInfo {
            name: "launch-latency",
            about: "Cost of launching kernels: single, back to back, or as a graph",
            axes: AXES,
            runs_on: RunsOn::Gpus,
            ..BenchmarkInfo::DEFAULT
        }
    }

    fn grids(&self, breadth: Breadth, _: &DeviceInfo) -> Vec<Grid> {
        let in_a_row: &[&str] = match breadth {
            Breadth::Quick => &["100"],
            Breadth::Standard => &["10", "100", "1000"],
            Breadth::Full => &["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"],
        };
        vec![
            fixed_grid("launch_mode=single"),
            grid([axis("launch_mode", &["back-to-back", "graph"]), axis("kernels", in_a_row)]),
        ]
    }

    fn operation(&self, params: &Params) -> Result<Operation, Reason> {
        let kernels: u32 = number(params, "kernels")?;
        let mode = match params.text("launch_mode") {
            Some("graph") => LaunchMode::Graph,
            Some("single") if kernels > 1 => {
                return Err(Reason::new(
                    format!("{kernels} kernels in a single launch"),
                    "a single launch has one kernel",
                    "choose kernels=1, or another launch_mode",
                ));
            }
            _ => LaunchMode::Stream,
        };
        Ok(Operation::Launch(Launch { kernels, mode }))
    }

    fn prepare<'d>(&self, params: &Params, device: &'d dyn Device) -> PrepareResult<'d> {
        let operation = self.operation(params).map_err(Failure::Skipped)?;
        let kernels: u32 = number(params, "kernels").map_err(Failure::Skipped)?;
        let mode = params.text("launch_mode").unwrap_or("back-to-back").to_owned();
        let pace = if mode == SINGLE { Pace::Awaited } else { Pace::Streamed };
        let timed = Timed::prepare(device, operation, Options::default())?.with_pace(pace);
        Ok(PreparedCase::new_boxed(timed, move |timed, time_ns| {
            let each = time_ns / f64::from(kernels);
            if each < SHORTEST_NS {
                return Err(Failure::Failed(Reason::new(
                    "impossible result",
                    format!(
                        "{each:.2} ns per kernel is below the minimum of {SHORTEST_NS} ns for any \
                         device"
                    ),
                    "suspect the clock, or kernels that were never launched: run again; if it \
                     fails again, report this as a bug",
                )));
            }
            let mut fields = timed.common_fields();
            fields.set("operation", mode.clone());
            fields.set("kernels", kernels);
            fields.set("latency_us", each / 1e3);
            fields.set("time_us", time_ns / 1e3);
            if mode == SINGLE {
                fields.set("host_latency_us", timed.host_latency_ns()? / 1e3);
            }
            Ok(fields)
        }))
    }
}
