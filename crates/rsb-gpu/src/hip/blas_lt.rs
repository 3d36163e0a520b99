//! Matrix products by hipBLASLt. The logic is in [`crate::common`]; this module has hipBLASLt's
//! functions and constants.

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

/// Capabilities of hipBLASLt.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "hipblaslt",
    dtypes: &[Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8],
    is_light: true,
    has_fast_accumulation: false,
};

/// Returns whether the units of `arch` read fp8 as FNUZ, in which the same bits mean half of the
/// number.
fn is_fnuz(arch: &str) -> bool {
    matches!(arch, "gfx940" | "gfx941" | "gfx942")
}

/// Returns hipBLASLt's constant for a data type in memory.
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

/// Returns hipBLASLt's constant for a data type in memory, with fp8 as FNUZ.
fn number_fnuz(dtype: Dtype) -> Option<c_int> {
    if dtype == Dtype::Fp8 { Some(datatype::F8_E4M3_FNUZ) } else { number(dtype) }
}

/// Returns hipBLASLt's constant for a compute type.
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
        status::NOT_INITIALIZED => ("the library is not initialized", false),
        status::ALLOC_FAILED => ("out of memory", false),
        status::INVALID_VALUE => ("invalid value", true),
        status::EXECUTION_FAILED => ("kernel execution failed", false),
        status::NOT_SUPPORTED => ("product not supported", true),
        status::ARCH_MISMATCH => ("not supported on this GPU", true),
        _ => ("internal error of the library", false),
    }
}

/// Loads the library and creates a handle.
pub(super) fn open(core: &Rc<Core>) -> Result<Rc<LtBlas>, DeviceError> {
    let api = HipblasLt::load().map_err(lacking)?;
    let path = api.loaded().path();
    // Without such directories, the library reports missing kernels itself.
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
        log: "choose another provider; set HIPBLASLT_LOG_LEVEL=2 for details from hipBLASLt",
    };
    let create = api.hipblasLtCreate.ok_or_else(|| lacks("hipblasLtCreate"))?;
    let get_version = api.hipblasLtGetVersion.ok_or_else(|| lacks("hipblasLtGetVersion"))?;
    let _ = writeln!(
        std::io::stderr(),
        "opening hipBLASLt for {}; if the process ends here, choose another provider",
        core.arch
    );
    // FNUZ halves each of the two factors, so the product must be multiplied by four.
    let blas = LtBlas::open(core, create, calls, numbers, if is_fnuz { 4.0 } else { 1.0 })?;
    let mut version: c_int = 0;
    // SAFETY: the handle is live, and the pointer refers to a live variable of this type.
    let code = unsafe { get_version(blas.handle(), &raw mut version) };
    if code != status::SUCCESS || version < OLDEST_VERSION {
        let why = format!(
            "version {version} at {} uses other data type codes than 0.6 and later",
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
