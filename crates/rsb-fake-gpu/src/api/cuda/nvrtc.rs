//! NVRTC, which needs neither a device nor the driver.

use std::ffi::{c_char, c_int};

use cuda_sys::nvrtcProgram;

use super::super::compiler::compiler;
use super::{VERSION, handle, put, put_handle, put_text};
use crate::gpu::{MODELS, Vendor};
use crate::ops::result;
use crate::orders::Place;
use crate::state::{State, with};

compiler! {
    Vendor::Nvidia, "NVRTC", nvrtcProgram,
    version nvrtcVersion = VERSION, text nvrtcGetErrorString, create nvrtcCreateProgram, compile nvrtcCompileProgram,
    log_size nvrtcGetProgramLogSize, log nvrtcGetProgramLog, code_size nvrtcGetCUBINSize, code nvrtcGetCUBIN,
    destroy nvrtcDestroyProgram
}

/// Returns the compute capabilities that the compiler supports: 90 for `sm_90`.
fn architectures() -> impl Iterator<Item = c_int> {
    MODELS
        .iter()
        .filter(|model| model.vendor == Vendor::Nvidia)
        .map(|model| model.machine.cast_signed())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
    let found = c_int::try_from(architectures().count()).unwrap_or(0);
    // SAFETY: the C interface requires this output pointer to be null or valid for a write.
    answer(|_| unsafe { put(count, found) }.map_err(|_| result::INVALID_INPUT))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn nvrtcGetSupportedArchs(to: *mut c_int) -> c_int {
    if to.is_null() {
        return result::INVALID_INPUT;
    }
    answer(|_| {
        for (at, arch) in architectures().enumerate() {
            // SAFETY: the caller provides space for as many numbers as reported.
            unsafe { to.add(at).write(arch) };
        }
        Ok(())
    })
}
