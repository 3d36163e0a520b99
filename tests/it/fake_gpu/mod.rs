//! The real binary on a fake GPU for ROCm, and in `cuda` for CUDA: every workload, every fault. No
//! test needs a GPU, and all results are marked as simulated.

mod calls;
mod clock;
#[cfg(feature = "cuda")]
mod cuda;
mod faults;
mod libraries;
mod light_products;
mod list;
mod profiler;
mod sensors;
mod several_gpus;
mod suites;
pub mod support;
