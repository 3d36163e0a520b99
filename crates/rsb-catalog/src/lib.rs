//! Catalog of all benchmarks, and the planning of their cases for a machine.
//!
//! **Invariant:** this crate measures and judges nothing. It returns cases, and a reason for each
//! case that cannot run.

pub mod backends;
pub mod custom;
pub mod entry_file;
pub mod factors;
pub mod frameworks;
pub mod installation;
pub mod model_cases;
pub mod models;
pub mod plan;
pub mod selection;
pub mod suites;
pub mod sweep;
