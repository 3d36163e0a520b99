//! hiprtc.

use std::ffi::{c_char, c_int};

use hip_runtime_sys::hiprtcProgram;

use super::super::compiler::compiler;
use super::{handle, put, put_handle, put_text};
use crate::gpu::Vendor;
use crate::ops::result;
use crate::orders::Place;
use crate::state::{State, with};

compiler! {
    Vendor::Amd, "HIPRTC", hiprtcProgram,
    version hiprtcVersion = [9, 0], text hiprtcGetErrorString, create hiprtcCreateProgram, compile hiprtcCompileProgram,
    log_size hiprtcGetProgramLogSize, log hiprtcGetProgramLog, code_size hiprtcGetCodeSize, code hiprtcGetCode,
    destroy hiprtcDestroyProgram
}
