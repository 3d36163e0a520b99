//! The real binary on a software look-alike of ROCm, and in `cuda` of CUDA: every workload, every fault. Nothing here
//! needs a card, and what is measured says so.

mod clock;
#[cfg(feature = "cuda")]
mod cuda;
mod faults;
mod libraries;
mod list;
mod profiler;
mod sensors;
mod several_cards;
mod suites;
mod support;
