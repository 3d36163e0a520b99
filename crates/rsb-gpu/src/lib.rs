//! GPU backends for AMD (HIP) and NVIDIA (CUDA), which share kernels, planning, launching and
//! timing over one driver trait ([`common`]). Features select the backends of a build.

#[cfg(any(feature = "rocm", feature = "cuda"))]
pub mod common;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "rocm")]
pub mod hip;
