//! The worker of framework cases: embeds Python, prepares a case in it, and takes samples.
//!
//! It uses `rsb_model::protocol` like any worker. The workloads are in
//! `python/rusty_stack_bench/workloads`; their sources are part of this program, so that both
//! always have the same version.

mod interpreter;
mod occupancy;
mod serve;
mod sources;

pub use serve::{Adjust, serve};
