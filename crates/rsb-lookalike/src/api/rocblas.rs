//! rocBLAS: its handles, and in `gemm` its products.

pub(crate) mod gemm;

use std::ffi::{c_char, c_int};

use hip_runtime_sys::hipStream_t;
use rocblas_sys::{pointer_mode, rocblas_handle, rocblas_status, status};

use super::{handle, put, put_text};
use crate::orders::Place;
use crate::state::{Blas, State, current, with};

const VERSION: &str = "4.4.0.rsb-lookalike";

fn answer(call: impl FnOnce(&mut State) -> Result<(), rocblas_status>) -> rocblas_status {
    with(call).err().unwrap_or(status::SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_initialize() {}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_create_handle(to: *mut rocblas_handle) -> rocblas_status {
    if with(|state| state.orders.as_ref().is_ok_and(|orders| orders.aborts(Place::Rocblas))) {
        eprintln!("rsb-lookalike: rocblas_create_handle ends the process, as ordered");
        std::process::abort();
    }
    answer(|state| {
        state.sound(current()).map_err(|_| status::INTERNAL_ERROR)?;
        let made = state.blas.add(Blas { card: current(), stream: 0, scalars_on_card: false });
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(to, made as rocblas_handle) }.map_err(|_| status::INVALID_POINTER)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_destroy_handle(of: rocblas_handle) -> rocblas_status {
    answer(|state| state.blas.remove(handle(of)).map(drop).map_err(|_| status::INVALID_HANDLE))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_set_stream(of: rocblas_handle, stream: hipStream_t) -> rocblas_status {
    answer(|state| {
        let card = state.stream(handle(stream)).map_err(|_| status::INVALID_HANDLE)?.card;
        let blas = state.blas.get(handle(of)).map_err(|_| status::INVALID_HANDLE)?;
        if blas.card != card {
            return Err(status::INVALID_HANDLE);
        }
        blas.stream = handle(stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_set_pointer_mode(of: rocblas_handle, mode: c_int) -> rocblas_status {
    answer(|state| {
        let blas = state.blas.get(handle(of)).map_err(|_| status::INVALID_HANDLE)?;
        blas.scalars_on_card = mode == pointer_mode::DEVICE;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_status_to_string(code: rocblas_status) -> *const c_char {
    let text = match code {
        status::SUCCESS => c"rocblas_status_success",
        status::INVALID_HANDLE => c"rocblas_status_invalid_handle",
        status::NOT_IMPLEMENTED => c"rocblas_status_not_implemented",
        status::INVALID_POINTER => c"rocblas_status_invalid_pointer",
        status::INVALID_SIZE => c"rocblas_status_invalid_size",
        status::MEMORY_ERROR => c"rocblas_status_memory_error",
        _ => c"rocblas_status_internal_error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_get_version_string_size(bytes: *mut usize) -> rocblas_status {
    // SAFETY: the caller gives room for one, or null.
    answer(|_| unsafe { put(bytes, VERSION.len() + 1) }.map_err(|_| status::INVALID_POINTER))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_get_version_string(text: *mut c_char, bytes: usize) -> rocblas_status {
    if bytes <= VERSION.len() {
        return status::INVALID_SIZE;
    }
    // SAFETY: the caller gives room for so many bytes, or null.
    answer(|_| unsafe { put_text(text, bytes, VERSION) }.map_err(|_| status::INVALID_POINTER))
}
