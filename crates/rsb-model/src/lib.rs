//! The words everything else is said in: ids, units, metrics, samples, outcomes, runs, environments.
//!
//! **Invariant:** no input or output and no clock. Whatever time it is, somebody else says so.

pub mod case;
pub mod environment;
pub mod field;
pub mod fingerprint;
pub mod format;
pub mod ids;
pub mod outcome;
pub mod protocol;
pub mod record;
pub mod run;
pub mod samples;
pub mod shape;
pub mod unit;
pub mod verdict;

pub use case::{Case, ParamError, Params};
pub use environment::{Environment, MachineState};
pub use field::{Field, FieldRole, Fields};
pub use fingerprint::Fingerprint;
pub use ids::{BackendId, BenchmarkType, CaseId, DeviceRef, DeviceType, Dtype, RunId};
pub use jiff::Timestamp;
pub use outcome::{Outcome, Reason};
pub use record::{BenchmarkResult, ComparisonResult, ComponentBenchmarkResult, Statistics};
pub use run::Run;
pub use samples::Samples;
pub use unit::{Better, Unit};
pub use verdict::{ReasonCode, Verdict};
