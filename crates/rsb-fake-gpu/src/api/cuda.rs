//! The CUDA driver, NVRTC, cuBLAS and cuBLASLt.

pub(super) mod context;
pub(super) mod cublas;
pub(super) mod cublaslt;
pub(super) mod device;
pub(super) mod graph;
pub(super) mod memory;
pub(super) mod module;
pub(super) mod nvrtc;
pub(super) mod stream;

use cuda_sys::{CUdeviceptr, CUresult};

use super::{handle, put, put_handle, put_text, whole};
use crate::gpu::Vendor;
use crate::state::{State, with};
use crate::status::{self, Status};

/// CUDA version that the driver and all libraries report.
const VERSION: [std::ffi::c_int; 2] = [12, 8];

/// Handles a driver call that needs no context. Fails before `cuInit`.
fn answer(call: impl FnOnce(&mut State) -> Result<(), Status>) -> CUresult {
    let outcome = with(Vendor::Nvidia, |state| {
        if state.cuda_is_ready { call(state) } else { Err(status::NOT_INITIALIZED) }
    });
    match outcome {
        Ok(()) => status::SUCCESS,
        // Real drivers have no separate status for an invalid launch configuration.
        Err(status::INVALID_CONFIGURATION) => status::INVALID_VALUE,
        Err(other) => other,
    }
}

/// Handles a driver call that uses this thread's context.
fn in_context(call: impl FnOnce(&mut State) -> Result<(), Status>) -> CUresult {
    answer(|state| {
        state.enter_context()?;
        call(state)
    })
}

/// Converts a CUDA address to a host address, which the heap uses.
fn address(pointer: CUdeviceptr) -> usize {
    usize::try_from(pointer).unwrap_or(0)
}
