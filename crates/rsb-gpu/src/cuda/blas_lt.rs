//! Matrix products by cuBLASLt. What is done is in [`crate::common`]; here are its functions and
//! numbers, of which those of types and statuses are cuBLAS's.

use std::ffi::c_int;
use std::rc::Rc;

use cuda_sys::cublaslt::{ALGORITHM_WORDS, descriptor, layout};
use cuda_sys::search::CudaPaths;
use cuda_sys::{CublasLt, Unavailable, datatype, operation, status};
use rsb_model::Dtype;

use super::blas;
use crate::common::{BlasOffer, Core, LtBlas, LtNumbers, lacking, lt_calls};
use rsb_device::device::DeviceError;

/// What it can do.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "cublaslt",
    dtypes: &[Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8],
    is_light: true,
    has_fast_accumulation: true,
};

/// Its number of a type in memory.
fn number(dtype: Dtype) -> Option<c_int> {
    if dtype == Dtype::Fp8 { Some(datatype::F8_E4M3) } else { blas::number(dtype) }
}

fn status_text(code: c_int) -> (&'static str, bool) {
    match code {
        status::NOT_INITIALIZED => ("the library could not start", false),
        status::ALLOC_FAILED => ("memory is used up", false),
        status::INVALID_VALUE => ("a value is not acceptable", true),
        status::ARCH_MISMATCH => ("the GPU cannot do it", true),
        status::EXECUTION_FAILED => ("a kernel failed", false),
        status::NOT_SUPPORTED => ("there is no such product", true),
        _ => ("something inside the library failed", false),
    }
}

/// Loads the library that goes best with a driver for CUDA `major`, and makes a handle.
pub(super) fn open(core: &Rc<Core>, major: Option<u32>) -> Result<Rc<LtBlas>, DeviceError> {
    let api = CublasLt::load_from(&CudaPaths::here().up_to(major)).map_err(lacking)?;
    let lacks = |name: &str| lacking(Unavailable::symbol(name, api.loaded().path()));
    let calls = lt_calls!(
        api,
        lacks,
        destroy = cublasLtDestroy,
        describe = cublasLtMatmulDescCreate,
        set_description = cublasLtMatmulDescSetAttribute,
        drop_description = cublasLtMatmulDescDestroy,
        lay_out = cublasLtMatrixLayoutCreate,
        set_layout = cublasLtMatrixLayoutSetAttribute,
        drop_layout = cublasLtMatrixLayoutDestroy,
        prefer = cublasLtMatmulPreferenceCreate,
        set_preference = cublasLtMatmulPreferenceSetAttribute,
        drop_preference = cublasLtMatmulPreferenceDestroy,
        heuristic = cublasLtMatmulAlgoGetHeuristic,
        multiply = cublasLtMatmul,
    );
    let numbers = LtNumbers {
        name: OFFER.name,
        operations: [operation::NONE, operation::TRANSPOSE],
        description: [
            descriptor::TRANSPOSE_A,
            descriptor::TRANSPOSE_B,
            descriptor::EPILOGUE,
            descriptor::BIAS_POINTER,
            descriptor::BIAS_TYPE,
        ],
        fast_accumulation: Some(descriptor::FAST_ACCUMULATION),
        layout: [layout::BATCH_COUNT, layout::BATCH_STRIDE],
        algorithm_words: ALGORITHM_WORDS,
        datatype: number,
        compute: blas::mode,
        status: status_text,
        log: "choose another provider; cuBLASLt says more with CUBLASLT_LOG_LEVEL=2",
    };
    let create = api.cublasLtCreate.ok_or_else(|| lacks("cublasLtCreate"))?;
    Ok(Rc::new(LtBlas::open(core, create, calls, numbers, 1.0)?))
}
