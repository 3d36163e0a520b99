//! The HIP runtime and hiprtc, loaded at run time. Nothing is linked: if a library or function is
//! missing, an [`Unavailable`] value with a description, a reason and a fix is returned. Supports
//! ROCm 5.2 to 7.2.
//!
//! The environment variable `RSB_HIP_LIBRARY` sets the library file, for tests and unusual
//! installations.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(unsafe_code, non_snake_case, non_camel_case_types)]

mod hip;
mod hiprtc;
mod kernel_files;
mod properties;
mod rccl;
pub mod search;

pub use hip::{
    EVENT_DEFAULT, HOST_MALLOC_DEFAULT, Hip, MEM_ATTACH_GLOBAL, STREAM_NON_BLOCKING, attribute,
    dim, error, func_attribute, hipError_t, hipEvent_t, hipFunction_t, hipGraph_t, hipGraphExec_t,
    hipModule_t, hipStream_t, memcpy, stream_capture,
};
pub use hiprtc::{Hiprtc, hiprtcProgram, hiprtcResult, result};
pub use kernel_files::KernelFiles;
pub use properties::{PropertiesR0000, PropertiesR0600, text};
pub use rccl::rccl;
pub use runtime_loading::{Loaded, MissingPart, Unavailable, function_table};
