//! The gate: judges runs against baselines, revisions and history, and builds the programs to
//! compare.
//!
//! **Invariant:** no command line, no terminal. Verdicts and their reasons are values.

mod build_place;
mod directories;
pub mod gate;
pub mod harness;
pub mod policy;
pub mod revisions;
pub mod suggest;

pub use directories::{Directories, PolicyPath};
