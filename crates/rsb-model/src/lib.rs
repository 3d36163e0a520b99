//! Data model shared by all crates: ids, units, metrics, samples, outcomes, runs and environments.
//!
//! **Invariant:** this crate performs no I/O and reads no clock. Callers pass the current time in.

#[macro_use]
mod named;

pub mod architecture;
pub mod calendar;
pub mod case;
pub mod environment;
pub mod event;
pub mod factor;
pub mod field;
pub mod field_alias;
pub mod finding;
pub mod fingerprint;
pub mod format;
pub mod gpu;
pub mod gpu_sample;
pub mod ids;
pub mod json;
pub mod note;
pub mod outcome;
pub mod plan_selection;
pub mod protocol;
pub mod random;
pub mod record;
pub mod rocm;
pub mod run;
pub mod run_device;
pub mod samples;
pub mod shape;
pub mod shown;
pub mod suite;
pub mod telemetry;
pub mod unit;
pub mod verdict;

pub use architecture::Architecture;
pub use case::{Case, ParamError, Params};
pub use environment::{Environment, MachineState};
pub use event::{Event, Notice, NoticeLevel, RunStatus};
pub use factor::Factors;
pub use field::{Field, FieldRole, Fields};
pub use finding::Finding;
pub use fingerprint::Fingerprint;
pub use gpu_sample::GpuSample;
pub use ids::{
    BackendId, BenchmarkType, CaseDevice, CaseId, CaseParts, DeviceRef, DeviceType, Dtype, RunId,
};
pub use jiff::Timestamp;
pub use note::Note;
pub use outcome::{Obstacle, Outcome, Reason};
pub use plan_selection::PlanSelection;
pub use record::{BenchmarkResult, ComparisonResult, ComponentBenchmarkResult, Statistics};
pub use run::Run;
pub use run_device::RunDevice;
pub use samples::Samples;
pub use suite::{Profile, Suite};
pub use telemetry::GpuTelemetry;
pub use unit::{Better, Unit};
pub use verdict::{ReasonCode, Verdict};
