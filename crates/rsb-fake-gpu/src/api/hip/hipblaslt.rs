//! hipBLASLt.

use std::ffi::{c_int, c_void};

use hipblaslt_sys::{ALGORITHM_WORDS, compute, datatype, descriptor, layout, operation, status};
use rsb_model::Dtype;

use super::super::lt::lt_functions;
use super::{handle, put, put_handle};
use crate::gpu::Vendor;
use crate::ops::gemm::Refusal;
use crate::ops::lt::{LtProduct, Numbers};
use crate::orders::Place;
use crate::product::library::Scalar;
use crate::state::{LtObject, State, with};

fn answer(call: impl FnOnce(&mut State) -> Result<(), Refusal>) -> c_int {
    match with(Vendor::Amd, call) {
        Ok(()) => status::SUCCESS,
        Err(Refusal::Handle) => status::NOT_INITIALIZED,
        Err(Refusal::Pointer | Refusal::Size | Refusal::Value) => status::INVALID_VALUE,
        Err(Refusal::Unsupported) => status::NOT_SUPPORTED,
        Err(Refusal::Execution) => status::EXECUTION_FAILED,
    }
}

static NUMBERS: Numbers = Numbers {
    name: "hipblaslt_gemm",
    transpose: operation::TRANSPOSE,
    description: [
        descriptor::TRANSPOSE_A,
        descriptor::TRANSPOSE_B,
        descriptor::EPILOGUE,
        descriptor::BIAS_POINTER,
        descriptor::BIAS_TYPE,
    ],
    fast: None,
    layout: [layout::BATCH_COUNT, layout::BATCH_STRIDE],
    words: ALGORITHM_WORDS,
    scalar: |code| {
        Ok(match code {
            datatype::F32 => Scalar::F32,
            datatype::F16 => Scalar::F16,
            datatype::BF16 => Scalar::Bf16,
            datatype::F8_E4M3 => Scalar::Fp8,
            datatype::F8_E4M3_FNUZ => Scalar::Fp8Fnuz,
            datatype::I8 => Scalar::I8,
            datatype::I32 => Scalar::I32,
            _ => return Err(Refusal::Unsupported),
        })
    },
    sums: |code, of| match (code, of) {
        (compute::F32_FAST_TF32, Scalar::F32) => Ok((Scalar::F32, Dtype::Tf32)),
        (compute::I32, Scalar::I8) => Ok((Scalar::I32, Dtype::I8)),
        (compute::F32, Scalar::I8 | Scalar::I32) => Err(Refusal::Unsupported),
        (compute::F32, _) => Ok((Scalar::F32, of.dtype())),
        _ => Err(Refusal::Unsupported),
    },
    is_strict: false,
};

lt_functions! {
    answer, &NUMBERS, |_: &mut State| Ok::<(), Refusal>(()),
    hipblasLtCreate hipblasLtDestroy hipblasLtMatmulDescCreate hipblasLtMatmulDescSetAttribute
    hipblasLtMatmulDescDestroy hipblasLtMatrixLayoutCreate hipblasLtMatrixLayoutSetAttribute
    hipblasLtMatrixLayoutDestroy hipblasLtMatmulPreferenceCreate hipblasLtMatmulPreferenceSetAttribute
    hipblasLtMatmulPreferenceDestroy hipblasLtMatmulAlgoGetHeuristic hipblasLtMatmul
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hipblasLtGetVersion(of: *mut c_void, version: *mut c_int) -> c_int {
    answer(|state| {
        state.blas(handle(of))?;
        // SAFETY: the C interface requires this output pointer to be null or valid for a write.
        unsafe { put(version, 100_000) }.map_err(|_| Refusal::Pointer)
    })
}
