//! Matrix products by hipBLASLt. What is done is in [`crate::common`]; here are its functions and
//! numbers.

use std::ffi::c_int;
use std::io::Write as _;
use std::rc::Rc;

use hip_runtime_sys::Unavailable;
use hipblaslt_sys::{
    ALGORITHM_WORDS, HipblasLt, KERNELS, OLDEST_VERSION, compute, datatype, descriptor, layout,
    operation, status,
};
use rsb_model::{Dtype, Reason};

use crate::common::{BlasOffer, Core, LtBlas, LtNumbers, lacking, lt_calls, unavailable};
use rsb_device::device::DeviceError;

/// What it can do.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "hipblaslt",
    dtypes: &[Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8],
    is_light: true,
    has_fast_accumulation: false,
};

/// Whether the units of `arch` read fp8 as FNUZ: our bits are half of the number there.
fn is_fnuz(arch: &str) -> bool {
    matches!(arch, "gfx940" | "gfx941" | "gfx942")
}

/// hipBLASLt's number of a type in memory.
fn number(dtype: Dtype) -> Option<c_int> {
    Some(match dtype {
        Dtype::F32 | Dtype::Tf32 => datatype::F32,
        Dtype::F16 => datatype::F16,
        Dtype::Bf16 => datatype::BF16,
        Dtype::Fp8 => datatype::F8_E4M3,
        Dtype::I8 => datatype::I8,
        Dtype::I32 => datatype::I32,
        _ => return None,
    })
}

/// The same where fp8 is FNUZ.
fn number_fnuz(dtype: Dtype) -> Option<c_int> {
    if dtype == Dtype::Fp8 { Some(datatype::F8_E4M3_FNUZ) } else { number(dtype) }
}

/// Its number of what is computed in.
fn mode(dtype: Dtype) -> Option<c_int> {
    Some(match dtype {
        Dtype::F32 => compute::F32,
        Dtype::Tf32 => compute::F32_FAST_TF32,
        Dtype::I32 => compute::I32,
        _ => return None,
    })
}

fn status_text(code: c_int) -> (&'static str, bool) {
    match code {
        status::NOT_INITIALIZED => ("the library could not start", false),
        status::ALLOC_FAILED => ("memory is used up", false),
        status::INVALID_VALUE => ("a value is not acceptable", true),
        status::EXECUTION_FAILED => ("a kernel failed", false),
        status::NOT_SUPPORTED => ("there is no such product", true),
        status::ARCH_MISMATCH => ("the GPU cannot do it", true),
        _ => ("something inside the library failed", false),
    }
}

/// Loads the library and makes a handle.
pub(super) fn open(core: &Rc<Core>) -> Result<Rc<LtBlas>, DeviceError> {
    let api = HipblasLt::load().map_err(lacking)?;
    let path = api.loaded().path();
    // Where it keeps them in another way, it says itself what it lacks.
    let dirs = KERNELS.dirs(path);
    if !dirs.is_empty() {
        KERNELS
            .check(&core.arch, &dirs)
            .map_err(|missing| DeviceError::Unsupported(unavailable(missing)))?;
    }
    let lacks = |name: &str| lacking(Unavailable::symbol(name, path));
    let calls = lt_calls!(
        api,
        lacks,
        destroy = hipblasLtDestroy,
        describe = hipblasLtMatmulDescCreate,
        set_description = hipblasLtMatmulDescSetAttribute,
        drop_description = hipblasLtMatmulDescDestroy,
        lay_out = hipblasLtMatrixLayoutCreate,
        set_layout = hipblasLtMatrixLayoutSetAttribute,
        drop_layout = hipblasLtMatrixLayoutDestroy,
        prefer = hipblasLtMatmulPreferenceCreate,
        set_preference = hipblasLtMatmulPreferenceSetAttribute,
        drop_preference = hipblasLtMatmulPreferenceDestroy,
        heuristic = hipblasLtMatmulAlgoGetHeuristic,
        multiply = hipblasLtMatmul,
    );
    let is_fnuz = is_fnuz(&core.arch);
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
        fast_accumulation: None,
        layout: [layout::BATCH_COUNT, layout::BATCH_STRIDE],
        algorithm_words: ALGORITHM_WORDS,
        datatype: if is_fnuz { number_fnuz } else { number },
        compute: mode,
        status: status_text,
        log: "choose another provider; hipBLASLt says more with HIPBLASLT_LOG_LEVEL=2",
    };
    let create = api.hipblasLtCreate.ok_or_else(|| lacks("hipblasLtCreate"))?;
    let get_version = api.hipblasLtGetVersion.ok_or_else(|| lacks("hipblasLtGetVersion"))?;
    let _ = writeln!(
        std::io::stderr(),
        "opening hipBLASLt for {}; should the process end here, choose another provider",
        core.arch
    );
    // Half of each of two factors is a quarter of their product.
    let blas = LtBlas::open(core, create, calls, numbers, if is_fnuz { 4.0 } else { 1.0 })?;
    let mut version: c_int = 0;
    // SAFETY: the handle is live, and the pointer is to a live variable of this type.
    let code = unsafe { get_version(blas.handle(), &raw mut version) };
    if code != status::SUCCESS || version < OLDEST_VERSION {
        let why = format!(
            "version {version} at {} has other numbers for its types than 0.6 and later",
            path.display()
        );
        return Err(DeviceError::Unsupported(Reason::new(
            "hipBLASLt",
            why,
            "install ROCm 6.0 or later",
        )));
    }
    Ok(Rc::new(blas))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp8_is_what_the_units_read() {
        let type_on =
            |arch| if is_fnuz(arch) { number_fnuz(Dtype::Fp8) } else { number(Dtype::Fp8) };
        assert_eq!(["gfx942", "gfx950", "gfx1201"].map(type_on), [Some(1000), Some(28), Some(28)]);
        assert_eq!(
            (number_fnuz(Dtype::Bf16), number(Dtype::F64), mode(Dtype::F16)),
            (Some(14), None, None)
        );
    }
}
