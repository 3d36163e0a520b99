//! The worker of framework cases: Python embedded, a case prepared in it, samples taken of it.
//!
//! It speaks `rsb_model::protocol` as any worker does. The workloads are in
//! `python/rusty_stack_bench/workloads`; their sources are part of this program, so that the two
//! always have the same version.

mod interpreter;
mod occupancy;
mod serve;
mod sources;

pub use serve::{Adjust, serve};
