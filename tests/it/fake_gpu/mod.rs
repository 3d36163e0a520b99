//! The real binary on a fake of ROCm, and in `cuda` of CUDA: every workload, every fault. Nothing
//! here needs a GPU, and what is measured says so.

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
