//! OpenCL and Vulkan: GPUs, and drivers that run on the CPU, through what a stock distribution
//! brings. Both share the plan of which portable kernels do an operation. A build has those of its
//! features.
//!
//! Kernels are in `kernels/opencl` and `kernels/vulkan`; `cargo xtask codegen` makes SPIR-V of the
//! latter.

#[cfg(any(feature = "opencl", feature = "vulkan"))]
mod caches;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(any(feature = "opencl", feature = "vulkan"))]
mod portable;
#[cfg(feature = "vulkan")]
pub mod vulkan;
