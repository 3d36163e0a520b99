//! End-to-end tests of benchmarks: cases, runs on two devices, and all kinds of failures.
#![allow(clippy::unwrap_used)]

mod cases;
mod common;
mod faults;
mod gpus;
mod run;
