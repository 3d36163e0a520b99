//! NVIDIA's driver API (`libcuda`), NVRTC, cuBLAS, cuBLASLt and NVML, loaded at run time. Nothing
//! is linked: a missing library or function is an [`Unavailable`] value with what, why and cure.
//! Supports CUDA 11.4 to 13.
//!
//! The tables are defined here instead of taken from the crate cudarc: at version 0.19 its bindings
//! panic if a library or a function is missing, accept no path to a library, and read statuses into
//! enumerations that a newer driver's number would break.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

mod cublas;
pub mod cublaslt;
mod driver;
mod nccl;
pub mod nvml;
mod nvrtc;
pub mod search;

pub use cublas::{
    Cublas, compute, cublasHandle_t, cublasStatus_t, datatype, gemm_algo, operation, status,
};
pub use cublaslt::CublasLt;
pub use driver::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule,
    CUresult, CUstream, Cuda, EVENT_DEFAULT, MEM_ATTACH_GLOBAL, STREAM_NON_BLOCKING, attribute,
    error, func_attribute, stream_capture,
};
pub use nccl::nccl;
pub use nvrtc::{Nvrtc, nvrtcProgram, nvrtcResult, result};
pub use runtime_loading::{Loaded, MissingPart, Unavailable};

/// Defines the opaque types behind handles.
macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident = $opaque:ident;)*) => {$(
        #[doc(hidden)]
        #[repr(C)]
        pub struct $opaque { _private: [u8; 0] }
        $(#[$doc])*
        pub type $handle = *mut $opaque;
    )*};
}
use handles;
