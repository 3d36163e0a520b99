//! Benchmarks as their users see them: cases, runs on two devices, and everything that can go
//! wrong.
#![allow(clippy::unwrap_used)]

mod cases;
mod common;
mod faults;
mod gpus;
mod run;
