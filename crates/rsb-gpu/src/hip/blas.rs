//! Matrix products by rocBLAS. A handle is created only in a worker process, after checking the
//! library's kernels: rocBLAS ends the process if it has none for the GPU.

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::io::Write as _;
use std::rc::Rc;

use rocblas_sys::{
    GEMM_ALGO_STANDARD, KERNELS, RocBlas, datatype, math_mode, operation, rocblas_handle,
    rocblas_status, status,
};
use rsb_model::{Dtype, Reason};

use crate::common::{BlasLibrary, BlasOffer, Core, Plan, Product, Side, lacking, unavailable};
use rsb_device::device::DeviceError;

/// rocBLAS with a handle for one GPU.
pub(super) struct Blas {
    api: RocBlas,
    handle: rocblas_handle,
    /// Current math mode of f32 products.
    mode: Cell<c_int>,
    core: Rc<Core>,
}

/// Capabilities of rocBLAS.
pub(super) const OFFER: BlasOffer = BlasOffer {
    name: "rocblas",
    dtypes: &[Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::I8],
    is_light: false,
    has_fast_accumulation: false,
};

/// Returns rocBLAS's constant for a data type of products. tf32, which rocBLAS calls xf32, is f32
/// in another math mode.
const fn number(dtype: Dtype) -> Option<c_int> {
    Some(match dtype {
        Dtype::F64 => datatype::F64_R,
        Dtype::F32 | Dtype::Tf32 => datatype::F32_R,
        Dtype::F16 => datatype::F16_R,
        Dtype::Bf16 => datatype::BF16_R,
        Dtype::I8 => datatype::I8_R,
        Dtype::I32 => datatype::I32_R,
        _ => return None,
    })
}

/// Location of the library's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernels {
    /// In separate files, which may lack kernels for the GPU.
    InFiles,
    /// In the library itself, as in that of a fake GPU.
    Inside,
}

impl Blas {
    /// Loads the library, checks that it has kernels for the GPU, and creates a handle.
    pub(super) fn open(core: &Rc<Core>, kernels: Kernels) -> Result<Rc<Self>, DeviceError> {
        let api = RocBlas::load().map_err(lacking)?;
        if kernels == Kernels::InFiles {
            let dirs = KERNELS.dirs(api.loaded().path());
            KERNELS
                .check(&core.arch, &dirs)
                .map_err(|missing| DeviceError::Unsupported(unavailable(missing)))?;
        }
        core.activate()?;
        let _ = writeln!(
            std::io::stderr(),
            "opening rocBLAS for {}; if the process ends here, it has no kernels for this GPU: \
             install a rocBLAS that does, or choose provider=native",
            core.arch
        );
        let mode = Cell::new(math_mode::DEFAULT);
        let mut blas = Self { api, handle: std::ptr::null_mut(), mode, core: Rc::clone(core) };
        let mut handle = std::ptr::null_mut();
        let create = blas.function(blas.api.rocblas_create_handle, "rocblas_create_handle")?;
        // SAFETY: the pointer refers to a live variable of this type.
        blas.check("rocblas_create_handle", unsafe { create(&raw mut handle) })?;
        blas.handle = handle;
        let set_stream = blas.function(blas.api.rocblas_set_stream, "rocblas_set_stream")?;
        // SAFETY: handle and stream are live; the stream outlives the handle, since `blas` keeps
        // its core.
        blas.check("rocblas_set_stream", unsafe { set_stream(handle, core.stream.cast()) })?;
        Ok(Rc::new(blas))
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, DeviceError> {
        function.ok_or_else(|| {
            lacking(hip_runtime_sys::Unavailable::symbol(name, self.api.loaded().path()))
        })
    }

    /// Sets whether the handle multiplies products of f32 in xf32. A library without math modes
    /// supports only f32.
    fn set_math_mode(&self, compute: Dtype) -> Result<(), DeviceError> {
        let mode = if compute == Dtype::Tf32 { math_mode::XF32 } else { math_mode::DEFAULT };
        if self.mode.get() == mode {
            return Ok(());
        }
        let set = self.function(self.api.rocblas_set_math_mode, "rocblas_set_math_mode")?;
        // SAFETY: the handle is live.
        self.check("rocblas_set_math_mode", unsafe { set(self.handle, mode) })?;
        self.mode.set(mode);
        Ok(())
    }

    fn check(&self, call: &str, code: rocblas_status) -> Result<(), DeviceError> {
        if code == status::SUCCESS {
            return Ok(());
        }
        Err(DeviceError::Failed(Reason::new(call, self.text(code), cure(code))))
    }

    fn text(&self, code: rocblas_status) -> String {
        // SAFETY: the function accepts any number and returns a static string or null.
        let text = self.api.rocblas_status_to_string.map(|function| unsafe { function(code) });
        match text.filter(|text| !text.is_null()) {
            // SAFETY: the string is static and null-terminated.
            Some(text) => format!("{} ({code})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
            None => format!("rocBLAS status {code}"),
        }
    }
}

const fn cure(code: rocblas_status) -> &'static str {
    match code {
        status::MEMORY_ERROR => {
            "choose a smaller size, or stop other programs that use the GPU's memory"
        }
        status::NOT_IMPLEMENTED => "choose another data type, or provider=native",
        _ => "choose provider=native; set ROCBLAS_LAYER=1 for details from rocBLAS",
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let _ = self.core.activate();
        if let Some(destroy) = self.api.rocblas_destroy_handle.filter(|_| !self.handle.is_null()) {
            // SAFETY: rocblas_create_handle created the handle, which is destroyed only here.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

impl BlasLibrary for Blas {
    unsafe fn multiply(&self, product: &Product, _plan: Option<&Plan>) -> Result<(), DeviceError> {
        self.set_math_mode(product.types.compute)?;
        let multiply = self.function(
            self.api.rocblas_gemm_strided_batched_ex,
            "rocblas_gemm_strided_batched_ex",
        )?;
        let (types, shape) = (product.types, product.shape);
        let input = number(types.input).ok_or_else(|| no_products_error(types.input))?;
        let output = number(types.output).ok_or_else(|| no_products_error(types.output))?;
        let compute = number(types.compute).ok_or_else(|| no_products_error(types.compute))?;
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
                c,
                output,
                shape.leading,
                c_stride,
                shape.batch,
                compute,
                GEMM_ALGO_STANDARD,
                0,
                0,
            )
        };
        if code == status::SUCCESS {
            return Ok(());
        }
        let reason = Reason::new("rocblas_gemm_strided_batched_ex", self.text(code), cure(code));
        if code == status::NOT_IMPLEMENTED {
            return Err(DeviceError::Unsupported(reason));
        }
        Err(DeviceError::Failed(reason))
    }
}

fn no_products_error(dtype: Dtype) -> DeviceError {
    let why = format!("it does not support products of {dtype} here");
    let cure = "choose another data type or provider=native";
    DeviceError::Unsupported(Reason::new("gemm by rocblas", why, cure))
}

const fn transposition(side: Side) -> c_int {
    if side.transposed { operation::TRANSPOSE } else { operation::NONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_types_are_rocblas_s() {
        let numbers =
            [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8, Dtype::I32].map(number);
        assert_eq!(numbers, [152, 151, 150, 168, 160, 162].map(Some));
        assert!(number(Dtype::Fp8).is_none() && !OFFER.dtypes.contains(&Dtype::Fp8));
    }
}
