//! The worker of framework cases: Python embedded, a case prepared in it, samples taken of it.
//!
//! It speaks the words of `rsb_model::protocol` as any worker does. What is measured stands in
//! `python/rsb_workloads`; its sources are part of this program, so that the two are always of one
//! version.

mod interpreter;
mod occupancy;
mod serve;
mod sources;

pub use serve::{Adjust, serve};
