//! The catalog: what can be measured, and what of it is planned for a machine.
//!
//! **Invariant:** nothing is measured and nothing judged here. Cases, and the reason of each that
//! cannot run, are the result.

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
