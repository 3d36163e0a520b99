//! rocBLAS handles; products are in `gemm`.

mod gemm;

#[cfg(test)]
pub(crate) use gemm::rocblas_gemm_strided_batched_ex;

use std::ffi::{c_char, c_int};

use hip_runtime_sys::hipStream_t;
use rocblas_sys::{math_mode, pointer_mode, rocblas_handle, rocblas_status, status};

use super::{handle, put_handle};
use crate::gpu::Vendor;
use crate::ops::gemm::Refusal;
use crate::orders::Place;
use crate::state::{State, with};

fn answer(call: impl FnOnce(&mut State) -> Result<(), Refusal>) -> rocblas_status {
    match with(Vendor::Amd, call) {
        Ok(()) => status::SUCCESS,
        Err(Refusal::Handle) => status::INVALID_HANDLE,
        Err(Refusal::Pointer) => status::INVALID_POINTER,
        Err(Refusal::Size) => status::INVALID_SIZE,
        Err(Refusal::Unsupported) => status::NOT_IMPLEMENTED,
        Err(Refusal::Value | Refusal::Execution) => status::INTERNAL_ERROR,
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_create_handle(to: *mut rocblas_handle) -> rocblas_status {
    answer(|state| {
        state.abort_if_ordered(Place::Products, "rocblas_create_handle");
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(to, state.new_blas()?) }.map_err(|_| Refusal::Pointer)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_destroy_handle(of: rocblas_handle) -> rocblas_status {
    answer(|state| state.drop_blas(handle(of)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_set_stream(
    of: rocblas_handle,
    stream: hipStream_t,
) -> rocblas_status {
    answer(|state| state.send_products_to(handle(of), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_set_pointer_mode(
    of: rocblas_handle,
    mode: c_int,
) -> rocblas_status {
    answer(|state| {
        state.blas(handle(of))?.scalars_on_gpu = mode == pointer_mode::DEVICE;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn rocblas_set_math_mode(of: rocblas_handle, mode: c_int) -> rocblas_status {
    answer(|state| {
        state.blas(handle(of))?.is_xf32 = mode == math_mode::XF32;
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
