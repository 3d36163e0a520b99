//! OpenCL and Vulkan backends for GPUs and for drivers that run on the CPU. Packages of stock
//! distributions suffice. Both backends use the same plans, which map operations to portable
//! kernels. Each backend is a crate feature.
//!
//! Kernel sources are in `kernels/opencl` and `kernels/vulkan`; `cargo xtask codegen` compiles the
//! Vulkan kernels to SPIR-V.

#[cfg(any(feature = "opencl", feature = "vulkan"))]
mod caches;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(any(feature = "opencl", feature = "vulkan"))]
mod portable;
#[cfg(feature = "vulkan")]
pub mod vulkan;
