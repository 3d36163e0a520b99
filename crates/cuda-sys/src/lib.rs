//! NVIDIA's driver API (`libcuda`), NVRTC, cuBLAS, cuBLASLt and NVML, loaded at run time. Nothing
//! is linked: if a library or function is missing, an [`Unavailable`] value with a description, a
//! reason and a fix is returned. Supports CUDA 11.4 to 13.
//!
//! The crate cudarc is not used. Its bindings (version 0.19) panic if a library or a function is
//! missing, do not accept a library path, and read statuses into enumerations, which is undefined
//! behavior if a newer driver returns an unknown number.
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
