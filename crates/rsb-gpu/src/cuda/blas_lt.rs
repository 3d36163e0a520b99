//! Matrix products by cuBLASLt. The logic is in [`crate::common`]; this module has cuBLASLt's
//! functions and constants. Types and statuses are the same as in cuBLAS.

use std::ffi::c_int;
use std::rc::Rc;

use cuda_sys::cublaslt::{ALGORITHM_WORDS, descriptor, layout};
use cuda_sys::search::CudaPaths;
use cuda_sys::{CublasLt, Unavailable, datatype, operation, status};
use rsb_model::Dtype;

use super::blas;
use crate::common::{BlasOffer, Core, LtBlas, LtNumbers, lacking, lt_calls};
use rsb_device::device::DeviceError;

/// Capabilities of cuBLASLt.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "cublaslt",
    dtypes: &[Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8],
    is_light: true,
    has_fast_accumulation: true,
};

/// Returns cuBLASLt's constant for a data type in memory.
fn number(dtype: Dtype) -> Option<c_int> {
    if dtype == Dtype::Fp8 { Some(datatype::F8_E4M3) } else { blas::number(dtype) }
}

fn status_text(code: c_int) -> (&'static str, bool) {
    match code {
        status::NOT_INITIALIZED => ("the library is not initialized", false),
        status::ALLOC_FAILED => ("out of memory", false),
        status::INVALID_VALUE => ("invalid value", true),
        status::ARCH_MISMATCH => ("not supported on this GPU", true),
        status::EXECUTION_FAILED => ("kernel execution failed", false),
        status::NOT_SUPPORTED => ("product not supported", true),
        _ => ("internal error of the library", false),
    }
}

/// Loads the library that best matches a driver for CUDA `major`, and creates a handle.
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
        log: "choose another provider; set CUBLASLT_LOG_LEVEL=2 for details from cuBLASLt",
    };
    let create = api.cublasLtCreate.ok_or_else(|| lacks("cublasLtCreate"))?;
    Ok(Rc::new(LtBlas::open(core, create, calls, numbers, 1.0)?))
}
