//! cuBLAS handles and matrix products.

use std::ffi::{c_char, c_int, c_void};

use cuda_sys::{CUstream, compute, cublasHandle_t, cublasStatus_t, datatype, operation, status};
use rsb_model::Dtype;

use super::{handle, put_handle};
use crate::gpu::Vendor;
use crate::ops::gemm::{Call, MatrixArgument, Refusal};
use crate::orders::Place;
use crate::product::library::Scalar;
use crate::state::{State, with};

pub(super) fn answer(call: impl FnOnce(&mut State) -> Result<(), Refusal>) -> cublasStatus_t {
    match with(Vendor::Nvidia, call) {
        Ok(()) => status::SUCCESS,
        Err(Refusal::Handle) => status::NOT_INITIALIZED,
        Err(Refusal::Pointer | Refusal::Size | Refusal::Value) => status::INVALID_VALUE,
        Err(Refusal::Unsupported) => status::NOT_SUPPORTED,
        Err(Refusal::Execution) => status::EXECUTION_FAILED,
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasCreate_v2(to: *mut cublasHandle_t) -> cublasStatus_t {
    answer(|state| {
        state.abort_if_ordered(Place::Products, "cublasCreate_v2");
        // Initializing the library requires a current context.
        state.enter_context().map_err(|_| Refusal::Handle)?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put_handle(to, state.new_blas()?) }.map_err(|_| Refusal::Pointer)
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasDestroy_v2(of: cublasHandle_t) -> cublasStatus_t {
    answer(|state| state.drop_blas(handle(of)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasSetStream_v2(
    of: cublasHandle_t,
    stream: CUstream,
) -> cublasStatus_t {
    answer(|state| state.send_products_to(handle(of), handle(stream)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn cublasGetStatusString(code: cublasStatus_t) -> *const c_char {
    let text = match code {
        status::SUCCESS => c"success",
        status::NOT_INITIALIZED => c"the library was not initialized",
        status::ALLOC_FAILED => c"the resource allocation failed",
        status::INVALID_VALUE => c"an unsupported value or parameter was passed to the function",
        status::ARCH_MISMATCH => {
            c"the function requires an architectural feature absent from the device"
        }
        status::EXECUTION_FAILED => c"the function failed to launch on the GPU",
        status::NOT_SUPPORTED => c"the requested functionality is not supported",
        _ => c"an internal operation failed",
    };
    text.as_ptr()
}

pub(super) fn scalar(code: c_int) -> Result<Scalar, Refusal> {
    Ok(match code {
        datatype::F64 => Scalar::F64,
        datatype::F32 => Scalar::F32,
        datatype::F16 => Scalar::F16,
        datatype::BF16 => Scalar::Bf16,
        datatype::I8 => Scalar::I8,
        datatype::I32 => Scalar::I32,
        _ => return Err(Refusal::Unsupported),
    })
}

/// Returns the type of sums and factors, and the type whose peak rate determines the duration.
/// Fails if cuBLAS does not support the combination.
pub(super) fn sums(code: c_int, of: Scalar) -> Result<(Scalar, Dtype), Refusal> {
    match (code, of) {
        (compute::F64, Scalar::F64) => Ok((Scalar::F64, of.dtype())),
        (compute::F32, Scalar::F32 | Scalar::F16 | Scalar::Bf16) => Ok((Scalar::F32, of.dtype())),
        (compute::F32_FAST_TF32, Scalar::F32) => Ok((Scalar::F32, Dtype::Tf32)),
        (compute::I32, Scalar::I8) => Ok((Scalar::I32, of.dtype())),
        _ => Err(Refusal::Unsupported),
    }
}

fn parse_transpose(code: c_int) -> Result<bool, Refusal> {
    match code {
        operation::NONE => Ok(false),
        operation::TRANSPOSE => Ok(true),
        _ => Err(Refusal::Value),
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGemmStridedBatchedEx(
    of: cublasHandle_t,
    operation_a: c_int,
    operation_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    a_leading: c_int,
    a_stride: i64,
    b: *const c_void,
    b_type: c_int,
    b_leading: c_int,
    b_stride: i64,
    beta: *const c_void,
    c: *mut c_void,
    c_type: c_int,
    c_leading: c_int,
    c_stride: i64,
    batch: c_int,
    compute: c_int,
    _algorithm: c_int,
) -> cublasStatus_t {
    answer(|state| {
        let a = matrix_argument(handle(a), a_type, a_leading, a_stride, operation_a)?;
        let b = matrix_argument(handle(b), b_type, b_leading, b_stride, operation_b)?;
        let c = matrix_argument(handle(c), c_type, c_leading, c_stride, operation::NONE)?;
        let (sums, dtype) = sums(compute, a.scalar)?;
        let plain = Call::plain("cublas_gemm", handle(of), sums, [a, b, c]);
        let call = Call { sizes: [m, n, k], factors: [alpha, beta], batch, dtype, ..plain };
        // SAFETY: the C interface requires `alpha` and `beta` to be null or point to values of the
        // accumulation type.
        unsafe { state.multiply(&call) }
    })
}

fn matrix_argument(
    address: usize,
    dtype: c_int,
    leading: c_int,
    stride: i64,
    operation: c_int,
) -> Result<MatrixArgument, Refusal> {
    Ok(MatrixArgument {
        address,
        scalar: scalar(dtype)?,
        leading,
        stride,
        transposed: parse_transpose(operation)?,
    })
}
