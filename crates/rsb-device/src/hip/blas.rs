//! Matrix products by rocBLAS. A handle is made in a worker only, and after a look at the library's kernels: rocBLAS
//! ends the process when it has none for the card.

use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::rc::Rc;

use rocblas_sys::{
    GEMM_ALGO_STANDARD, RocBlas, check_kernels, datatype, kernel_folders, operation, rocblas_handle, rocblas_status,
    status,
};
use rsb_model::{Dtype, Reason};

use super::core::Core;
use super::launch::allocation;
use super::runtime::unavailable;
use crate::device::{Buffer, DeviceError, Kernel};
use crate::operation::Gemm;

/// rocBLAS with a handle on one card.
pub(super) struct Blas {
    api: RocBlas,
    handle: rocblas_handle,
    core: Rc<Core>,
}

/// What rocBLAS is told of a product's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Types {
    input: c_int,
    output: c_int,
    compute: c_int,
}

/// bf16 is stored as f32, f16 is summed in f32, i8 in 32-bit whole numbers.
const fn types(dtype: Dtype) -> Option<Types> {
    let (input, output, compute) = match dtype {
        Dtype::F64 => (datatype::F64_R, datatype::F64_R, datatype::F64_R),
        Dtype::F32 => (datatype::F32_R, datatype::F32_R, datatype::F32_R),
        Dtype::F16 => (datatype::F16_R, datatype::F16_R, datatype::F32_R),
        Dtype::Bf16 => (datatype::BF16_R, datatype::F32_R, datatype::F32_R),
        Dtype::I8 => (datatype::I8_R, datatype::I32_R, datatype::I32_R),
        _ => return None,
    };
    Some(Types { input, output, compute })
}

/// Whether rocBLAS has products of `dtype` as an operation wants them.
pub(super) const fn has(dtype: Dtype) -> bool {
    types(dtype).is_some()
}

impl Blas {
    /// Loads the library, checks that it has kernels for the card, and makes a handle.
    pub(super) fn open(core: &Rc<Core>) -> Result<Rc<Self>, Reason> {
        let api = RocBlas::load().map_err(unavailable)?;
        if !core.runtime.is_lookalike() {
            let explicit =
                std::env::var_os("ROCBLAS_TENSILE_LIBPATH").filter(|path| !path.is_empty()).map(PathBuf::from);
            let folders = kernel_folders(api.loaded().path(), explicit.as_deref());
            check_kernels(&core.arch, &folders).map_err(unavailable)?;
        }
        core.activate()?;
        eprintln!(
            "opening rocBLAS for {}; should the process end here, it has no kernels for this card: install a rocBLAS \
             that has, or choose provider=native",
            core.arch
        );
        let mut blas = Self { api, handle: std::ptr::null_mut(), core: Rc::clone(core) };
        let mut handle = std::ptr::null_mut();
        let create = blas.function(blas.api.rocblas_create_handle, "rocblas_create_handle")?;
        // SAFETY: the pointer is to a live variable of this type.
        blas.check("rocblas_create_handle", unsafe { create(&raw mut handle) })?;
        blas.handle = handle;
        let set_stream = blas.function(blas.api.rocblas_set_stream, "rocblas_set_stream")?;
        // SAFETY: handle and stream are live; the stream outlives the handle, since `blas` keeps its core.
        blas.check("rocblas_set_stream", unsafe { set_stream(handle, core.stream) })?;
        Ok(Rc::new(blas))
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, Reason> {
        function.ok_or_else(|| unavailable(hip_runtime_sys::Unavailable::symbol(name, self.api.loaded().path())))
    }

    fn check(&self, call: &str, code: rocblas_status) -> Result<(), Reason> {
        if code == status::SUCCESS { Ok(()) } else { Err(Reason::new(call, self.text(code), cure(code))) }
    }

    fn text(&self, code: rocblas_status) -> String {
        // SAFETY: it takes any number and gives a static text or null.
        let text = self.api.rocblas_status_to_string.map(|function| unsafe { function(code) });
        match text.filter(|text| !text.is_null()) {
            // SAFETY: the text is static and ends with a zero.
            Some(text) => format!("{} ({code})", unsafe { CStr::from_ptr(text) }.to_string_lossy()),
            None => format!("rocBLAS status {code}"),
        }
    }
}

const fn cure(code: rocblas_status) -> &'static str {
    match code {
        status::MEMORY_ERROR => "choose a smaller size, or end what else uses the card's memory",
        status::NOT_IMPLEMENTED => "choose another data type, or provider=native",
        _ => "choose provider=native; rocBLAS says more with ROCBLAS_LAYER=1",
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let _ = self.core.activate();
        if let Some(destroy) = self.api.rocblas_destroy_handle.filter(|_| !self.handle.is_null()) {
            // SAFETY: it was made by rocblas_create_handle, and nobody else gives it back.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

/// Sizes as rocBLAS takes them. It is column-major: a row-major matrix is its transpose there, so that
/// Cᵀ = op(B)ᵀ·op(A)ᵀ is asked for, which is A and B exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    rows: i32,
    columns: i32,
    depth: i32,
    batch: i32,
    /// Of the first operand, which is B.
    first: (c_int, i32),
    /// Of the second, which is A.
    second: (c_int, i32),
}

fn shape(op: &Gemm) -> Option<Shape> {
    let size = |size: u64| i32::try_from(size).ok();
    let (m, n, k) = (size(op.m)?, size(op.n)?, size(op.k)?);
    let side = |transposed, plain: i32, other: i32| {
        if transposed { (operation::TRANSPOSE, other) } else { (operation::NONE, plain) }
    };
    Some(Shape {
        rows: n,
        columns: m,
        depth: k,
        batch: size(op.batch)?,
        first: side(op.transpose_b, n, k),
        second: side(op.transpose_a, k, m),
    })
}

/// alpha and beta in the type that sums are made in.
enum Scalars {
    F64([f64; 2]),
    F32([f32; 2]),
    I32([i32; 2]),
}

impl Scalars {
    fn new(op: &Gemm) -> Self {
        match op.dtype {
            Dtype::F64 => Self::F64([op.alpha, op.beta]),
            Dtype::I8 => Self::I32([op.alpha as i32, op.beta as i32]),
            _ => Self::F32([op.alpha as f32, op.beta as f32]),
        }
    }

    fn pointers(&self) -> [*const c_void; 2] {
        match self {
            Self::F64([alpha, beta]) => [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()],
            Self::F32([alpha, beta]) => [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()],
            Self::I32([alpha, beta]) => [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()],
        }
    }
}

/// A product by rocBLAS, bound.
pub(super) struct BlasKernel {
    blas: Rc<Blas>,
    op: Gemm,
    types: Types,
    shape: Shape,
    scalars: Scalars,
    buffers: Vec<Buffer>,
}

/// Binds `op` to its buffers.
pub(super) fn kernel(blas: Rc<Blas>, op: &Gemm, buffers: &[Buffer]) -> Result<BlasKernel, DeviceError> {
    let unsupported = |why: String| {
        DeviceError::Unsupported(Reason::new("gemm by rocblas", why, "choose another size or provider=native"))
    };
    let types = types(op.dtype).ok_or_else(|| unsupported(format!("it has no products of {} here", op.dtype)))?;
    let shape = shape(op).ok_or_else(|| unsupported("a size is above 2147483647".to_owned()))?;
    for index in 0..3 {
        allocation(buffers.get(index))?;
    }
    Ok(BlasKernel { blas, op: *op, types, shape, scalars: Scalars::new(op), buffers: buffers.to_vec() })
}

impl BlasKernel {
    fn start(&self) -> Result<rocblas_status, DeviceError> {
        let address = |index| Ok::<_, DeviceError>(allocation(self.buffers.get(index))?.address());
        let (a, b, c) = (address(0)?, address(1)?, address(2)?);
        let Self { blas, types, shape, op, .. } = self;
        let [alpha, beta] = self.scalars.pointers();
        let product = blas.function(blas.api.rocblas_gemm_strided_batched_ex, "rocblas_gemm_strided_batched_ex");
        let product = product.map_err(DeviceError::Unsupported)?;
        let stride = |rows: u64, columns: u64| i64::try_from(rows.saturating_mul(columns)).unwrap_or(i64::MAX);
        // SAFETY: the handle is live; the buffers are as large as the operation's sizes say, which the device checked;
        // alpha and beta are on the host, where a fresh handle looks for them, in the type that sums are made in.
        Ok(unsafe {
            product(
                blas.handle,
                shape.first.0,
                shape.second.0,
                shape.rows,
                shape.columns,
                shape.depth,
                alpha,
                b,
                types.input,
                shape.first.1,
                stride(op.k, op.n),
                a,
                types.input,
                shape.second.1,
                stride(op.m, op.k),
                beta,
                c,
                types.output,
                shape.rows,
                stride(op.m, op.n),
                c,
                types.output,
                shape.rows,
                stride(op.m, op.n),
                shape.batch,
                types.compute,
                GEMM_ALGO_STANDARD,
                0,
                0,
            )
        })
    }
}

impl Kernel for BlasKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        self.blas.core.activate()?;
        let code = self.start()?;
        let reason = |code| Reason::new("rocblas_gemm_strided_batched_ex", self.blas.text(code), cure(code));
        match code {
            status::SUCCESS => Ok(()),
            status::NOT_IMPLEMENTED => Err(DeviceError::Unsupported(reason(code))),
            _ => Err(DeviceError::Failed(reason(code))),
        }
    }

    fn provider(&self) -> String {
        "rocblas".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_major_products_are_asked_for_with_a_and_b_exchanged() {
        let plain = shape(&Gemm::new(Dtype::F32, 2, 3, 5)).unwrap();
        assert_eq!((plain.rows, plain.columns, plain.depth), (3, 2, 5));
        assert_eq!((plain.first, plain.second), ((operation::NONE, 3), (operation::NONE, 5)));
        let both = Gemm { transpose_a: true, transpose_b: true, ..Gemm::new(Dtype::F32, 2, 3, 5) };
        let both = shape(&both).unwrap();
        assert_eq!((both.first, both.second), ((operation::TRANSPOSE, 5), (operation::TRANSPOSE, 2)));
        assert_eq!(shape(&Gemm::new(Dtype::F32, 1 << 31, 1, 1)), None);
    }

    #[test]
    fn sixteen_bit_types_are_summed_in_f32() {
        assert_eq!(types(Dtype::F16), Some(Types { input: 150, output: 150, compute: 151 }));
        assert_eq!(types(Dtype::Bf16), Some(Types { input: 168, output: 151, compute: 151 }));
        assert_eq!(types(Dtype::I8), Some(Types { input: 160, output: 162, compute: 162 }));
        assert_eq!(types(Dtype::Fp8), None);
        assert!(has(Dtype::F64) && !has(Dtype::I4));
    }
}
