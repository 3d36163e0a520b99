//! cuBLASLt.

use std::ffi::{c_int, c_void};

use cuda_sys::cublaslt::{ALGORITHM_WORDS, descriptor, layout};
use cuda_sys::{compute, datatype, operation};
use rsb_model::Dtype;

use super::super::lt::lt_functions;
use super::cublas::{answer, scalar, sums};
use super::{handle, put, put_handle};
use crate::ops::gemm::Refusal;
use crate::ops::lt::{LtProduct, Numbers};
use crate::orders::Place;
use crate::product::library::Scalar;
use crate::state::{LtObject, State};

static NUMBERS: Numbers = Numbers {
    name: "cublaslt_gemm",
    transpose: operation::TRANSPOSE,
    description: [
        descriptor::TRANSPOSE_A,
        descriptor::TRANSPOSE_B,
        descriptor::EPILOGUE,
        descriptor::BIAS_POINTER,
        descriptor::BIAS_TYPE,
    ],
    fast: Some((descriptor::FAST_ACCUMULATION, "cublaslt_gemm_fast")),
    layout: [layout::BATCH_COUNT, layout::BATCH_STRIDE],
    words: ALGORITHM_WORDS,
    scalar: |code| if code == datatype::F8_E4M3 { Ok(Scalar::Fp8) } else { scalar(code) },
    sums: |code, of| match (code, of) {
        (compute::F32, Scalar::Fp8) => Ok((Scalar::F32, Dtype::Fp8)),
        _ => sums(code, of),
    },
    is_strict: true,
};

lt_functions! {
    answer, &NUMBERS, |state: &mut State| state.enter_context().map_err(|_| Refusal::Handle),
    cublasLtCreate cublasLtDestroy cublasLtMatmulDescCreate cublasLtMatmulDescSetAttribute
    cublasLtMatmulDescDestroy cublasLtMatrixLayoutCreate cublasLtMatrixLayoutSetAttribute
    cublasLtMatrixLayoutDestroy cublasLtMatmulPreferenceCreate cublasLtMatmulPreferenceSetAttribute
    cublasLtMatmulPreferenceDestroy cublasLtMatmulAlgoGetHeuristic cublasLtMatmul
}
