//! Mutated inputs for every reader of files, streams and keys.
//!
//! `cargo xtask fuzz` builds this crate with coverage counters, starts a process for each target
//! and CPU, and keeps inputs that reach new code. A reader violates its promise if it panics, uses
//! more than [`limits::CPU_TIME`] of CPU time, or allocates more than
//! [`limits::bytes_allowed`].

pub mod corpus;
pub mod coverage;
pub mod json;
pub mod limits;
pub mod mutate;
pub mod session;
pub mod target;
mod words;
