//! Benchmarks that run on any device.
//!
//! A [`Benchmark`] names its axes and converts one point of them, a case, to an operation. It is
//! independent of backends: the device runs the operation, and the reference verifies the result.

mod accuracy;
mod axis;
mod benchmark;
mod benchmarks;
mod cases;
mod collective;
mod data_parallel;
mod device_group;
mod peer_copy;
mod plausibility;
mod profiler;
mod registered;
mod ring;
mod timed;
mod transformer;

pub use axis::{AxisInfo, AxisKind, IdForm};
pub use benchmark::{
    Benchmark, BenchmarkGroup, BenchmarkInfo, Breadth, Failure, Grid, Iterations, PrepareResult,
    Prepared, RunsOn,
};
pub use benchmarks::{all, sized_down};
pub use cases::{CaseOrReason, UsageError, cases, check_axes};
pub use registered::{NameTaken, all_benchmarks, find, register, registered_benchmarks};
