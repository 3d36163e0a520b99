//! Matrix products of rocBLAS.

use std::ffi::{c_int, c_void};

use rocblas_sys::{
    datatype, operation, rocblas_handle, rocblas_int, rocblas_status, rocblas_stride,
};
use rsb_model::Dtype;

use super::super::handle;
use super::answer;
use crate::ops::gemm::{Call, MatrixArgument, Refusal};
use crate::product::library::Scalar;

fn scalar(code: c_int) -> Result<Scalar, Refusal> {
    Ok(match code {
        datatype::F64_R => Scalar::F64,
        datatype::F32_R => Scalar::F32,
        datatype::F16_R => Scalar::F16,
        datatype::BF16_R => Scalar::Bf16,
        datatype::I8_R => Scalar::I8,
        datatype::I32_R => Scalar::I32,
        _ => return Err(Refusal::Unsupported),
    })
}

/// A matrix as passed in the arguments.
#[derive(Clone, Copy)]
struct Matrix {
    pointer: *const c_void,
    dtype: c_int,
    leading: rocblas_int,
    stride: rocblas_stride,
}

impl Matrix {
    fn to_argument(self, how: c_int) -> Result<MatrixArgument, Refusal> {
        Ok(MatrixArgument {
            address: handle(self.pointer),
            scalar: scalar(self.dtype)?,
            leading: self.leading,
            stride: self.stride,
            transposed: parse_transpose(how)?,
        })
    }
}

/// Arguments of a product.
struct Arguments {
    of: rocblas_handle,
    operations: [c_int; 2],
    sizes: [rocblas_int; 3],
    factors: [*const c_void; 2],
    /// A, B, C and D.
    matrices: [Matrix; 4],
    batch: rocblas_int,
    compute_type: c_int,
}

impl Arguments {
    fn call(&self) -> Result<Call, Refusal> {
        let ([a, b, c, d], [how_a, how_b]) = (self.matrices, self.operations);
        let (a, b) = (a.to_argument(how_a)?, b.to_argument(how_b)?);
        let [c, d] = [c.to_argument(operation::NONE)?, d.to_argument(operation::NONE)?];
        // Only calls that the program makes are emulated; they pass the same matrix as C and D.
        if c != d {
            return Err(Refusal::Unsupported);
        }
        let plain =
            Call::plain("rocblas_gemm", handle(self.of), scalar(self.compute_type)?, [a, b, c]);
        Ok(Call { sizes: self.sizes, factors: self.factors, batch: self.batch, ..plain })
    }
}

/// Enqueues a product. Products of f32 use xf32 if the handle's math mode selects it.
unsafe fn multiply(arguments: &Arguments) -> rocblas_status {
    answer(|state| {
        let mut call = arguments.call()?;
        if call.dtype == Dtype::F32 && state.blas(call.handle)?.is_xf32 {
            call.dtype = Dtype::Tf32;
        }
        // SAFETY: the C interface requires `alpha` and `beta` to be null or point to values of the
        // accumulation type.
        unsafe { state.multiply(&call) }
    })
}

fn parse_transpose(code: c_int) -> Result<bool, Refusal> {
    match code {
        operation::NONE => Ok(false),
        operation::TRANSPOSE | operation::CONJUGATE_TRANSPOSE => Ok(true),
        _ => Err(Refusal::Value),
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_gemm_strided_batched_ex(
    of: rocblas_handle,
    operation_a: c_int,
    operation_b: c_int,
    m: rocblas_int,
    n: rocblas_int,
    k: rocblas_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: rocblas_int,
    stride_a: rocblas_stride,
    b: *const c_void,
    b_type: c_int,
    ldb: rocblas_int,
    stride_b: rocblas_stride,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: rocblas_int,
    stride_c: rocblas_stride,
    d: *mut c_void,
    d_type: c_int,
    ldd: rocblas_int,
    stride_d: rocblas_stride,
    batch: rocblas_int,
    compute_type: c_int,
    _algorithm: c_int,
    _solution: i32,
    _flags: u32,
) -> rocblas_status {
    let arguments = Arguments {
        of,
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        factors: [alpha, beta],
        matrices: [
            Matrix { pointer: a, dtype: a_type, leading: lda, stride: stride_a },
            Matrix { pointer: b, dtype: b_type, leading: ldb, stride: stride_b },
            Matrix { pointer: c, dtype: c_type, leading: ldc, stride: stride_c },
            Matrix { pointer: d, dtype: d_type, leading: ldd, stride: stride_d },
        ],
        batch,
        compute_type,
    };
    // SAFETY: guaranteed by the caller.
    unsafe { multiply(&arguments) }
}
