//! AMD's GPUs through HIP and NVIDIA's through CUDA: one set of kernels, one way to plan, launch
//! and time them, over one driver trait ([`common`]). A build has those of its features.

#[cfg(any(feature = "rocm", feature = "cuda"))]
pub mod common;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "rocm")]
pub mod hip;
