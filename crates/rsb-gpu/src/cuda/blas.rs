//! Matrix products by cuBLAS. f32 is multiplied at full precision; for tf32 the same matrices are
//! rounded by the matrix units, as the math mode of each product requests.

use std::ffi::{CStr, c_int};
use std::rc::Rc;

use cuda_sys::search::CudaPaths;
use cuda_sys::{
    Cublas, Unavailable, compute, cublasHandle_t, cublasStatus_t, datatype, gemm_algo, operation,
    status,
};
use rsb_model::{Dtype, Reason};

use crate::common::{BlasLibrary, BlasOffer, Core, Plan, Product, Side, lacking};
use rsb_device::device::DeviceError;

/// Capabilities of cuBLAS.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "cublas",
    dtypes: &[Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::I8],
    is_light: false,
    has_fast_accumulation: false,
};

/// cuBLAS with a handle for one GPU.
pub(super) struct Blas {
    api: Cublas,
    handle: cublasHandle_t,
    core: Rc<Core>,
}

/// Returns cuBLAS's constant for a data type in memory.
pub(super) const fn number(dtype: Dtype) -> Option<c_int> {
    Some(match dtype {
        Dtype::F64 => datatype::F64,
        Dtype::F32 => datatype::F32,
        Dtype::F16 => datatype::F16,
        Dtype::Bf16 => datatype::BF16,
        Dtype::I8 => datatype::I8,
        Dtype::I32 => datatype::I32,
        _ => return None,
    })
}

/// Returns the math mode in which cuBLAS computes in `dtype`.
pub(super) fn mode(dtype: Dtype) -> Option<c_int> {
    Some(match dtype {
        Dtype::F64 => compute::F64,
        Dtype::F32 => compute::F32,
        Dtype::Tf32 => compute::F32_FAST_TF32,
        Dtype::I32 => compute::I32,
        _ => return None,
    })
}

impl Blas {
    /// Loads the library that best matches a driver for CUDA `major`, and creates a handle.
    pub(super) fn open(core: &Rc<Core>, major: Option<u32>) -> Result<Rc<Self>, DeviceError> {
        let api = Cublas::load_from(&CudaPaths::here().up_to(major)).map_err(lacking)?;
        core.activate()?;
        let mut blas = Self { api, handle: std::ptr::null_mut(), core: Rc::clone(core) };
        let mut handle = std::ptr::null_mut();
        let create = blas.function(blas.api.cublasCreate_v2, "cublasCreate_v2")?;
        // SAFETY: the pointer refers to a live variable of this type; the GPU is current.
        blas.check("cublasCreate_v2", unsafe { create(&raw mut handle) })?;
        blas.handle = handle;
        let set_stream = blas.function(blas.api.cublasSetStream_v2, "cublasSetStream_v2")?;
        // SAFETY: handle and stream are live; the stream outlives the handle, since `blas` keeps
        // its core.
        blas.check("cublasSetStream_v2", unsafe { set_stream(handle, core.stream.cast()) })?;
        Ok(Rc::new(blas))
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, DeviceError> {
        function.ok_or_else(|| lacking(Unavailable::symbol(name, self.api.loaded().path())))
    }

    /// Converts a status to an error; unsupported products are distinguished from failures.
    fn check(&self, call: &str, code: cublasStatus_t) -> Result<(), DeviceError> {
        if code == status::SUCCESS {
            return Ok(());
        }
        let reason = Reason::new(call, self.text(code), cure(code));
        match code {
            status::NOT_SUPPORTED | status::ARCH_MISMATCH => Err(DeviceError::Unsupported(reason)),
            _ => Err(DeviceError::Failed(reason)),
        }
    }

    fn text(&self, code: cublasStatus_t) -> String {
        // SAFETY: the function accepts any number and returns a static string or null.
        let text = self.api.cublasGetStatusString.map(|function| unsafe { function(code) });
        match text.filter(|text| !text.is_null()) {
            // SAFETY: the string is static and null-terminated.
            Some(text) => format!("{} ({code})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
            None => format!("cuBLAS status {code}"),
        }
    }
}

const fn cure(code: cublasStatus_t) -> &'static str {
    match code {
        status::NOT_INITIALIZED => {
            "install a driver as new as this cuBLAS (nvidia-smi shows the CUDA version that the \
             driver supports), or a cuBLAS of that CUDA version"
        }
        status::ALLOC_FAILED => {
            "choose a smaller size, or stop other programs that use the GPU's memory"
        }
        status::NOT_SUPPORTED | status::ARCH_MISMATCH | status::INVALID_VALUE => {
            "choose another data type or sizes that are multiples of 16, or provider=native"
        }
        _ => "choose provider=native; set CUBLAS_LOGINFO_DBG=1 for details from cuBLAS",
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let _ = self.core.activate();
        if let Some(destroy) = self.api.cublasDestroy_v2.filter(|_| !self.handle.is_null()) {
            // SAFETY: cublasCreate_v2 created the handle, which is destroyed only here.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

impl BlasLibrary for Blas {
    unsafe fn multiply(&self, product: &Product, _plan: Option<&Plan>) -> Result<(), DeviceError> {
        let multiply =
            self.function(self.api.cublasGemmStridedBatchedEx, "cublasGemmStridedBatchedEx")?;
        let (types, shape) = (product.types, product.shape);
        let input = number(types.input).ok_or_else(|| no_products_error(types.input))?;
        let output = number(types.output).ok_or_else(|| no_products_error(types.output))?;
        let mode = mode(types.compute).ok_or_else(|| no_products_error(types.compute))?;
        let [first, second, c] = product.matrices;
        let [first_stride, second_stride, c_stride] = product.strides;
        // SAFETY: the handle is live, and the matrices are valid as the caller guarantees; alpha
        // and beta are on the host, the default location for a handle, in the accumulation type.
        let code = unsafe {
            multiply(
                self.handle,
                transposition(shape.first),
                transposition(shape.second),
                shape.rows,
                shape.columns,
                shape.depth,
                product.alpha,
                first,
                input,
                shape.first.leading,
                first_stride,
                second,
                input,
                shape.second.leading,
                second_stride,
                product.beta,
                c,
                output,
                shape.leading,
                c_stride,
                shape.batch,
                mode,
                gemm_algo::DEFAULT,
            )
        };
        // Some versions return this status for integer matrices whose rows are not multiples of
        // four.
        let is_whole = types.input == Dtype::I8;
        let code =
            if is_whole && code == status::INVALID_VALUE { status::NOT_SUPPORTED } else { code };
        self.check("cublasGemmStridedBatchedEx", code)
    }
}

fn no_products_error(dtype: Dtype) -> DeviceError {
    let why = format!("it does not support products of {dtype} here");
    let cure = "choose another data type or provider=native";
    DeviceError::Unsupported(Reason::new("gemm by cublas", why, cure))
}

const fn transposition(side: Side) -> c_int {
    if side.transposed { operation::TRANSPOSE } else { operation::NONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_types_and_modes_are_cublas_s() {
        let numbers =
            [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::I32].map(number);
        assert_eq!(numbers, [1, 0, 2, 14, 3, 10].map(Some));
        let modes = [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::I32].map(mode);
        assert_eq!(modes, [70, 68, 77, 72].map(Some));
        assert!(number(Dtype::Fp8).is_none() && !OFFER.dtypes.contains(&Dtype::Fp8));
    }
}
