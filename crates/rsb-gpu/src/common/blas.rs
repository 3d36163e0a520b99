//! Matrix products by a vendor's library, in terms common to both vendors' libraries. The libraries
//! are column-major, so a row-major matrix is passed as its transpose: they compute Cᵀ =
//! op(B)ᵀ·op(A)ᵀ, with A and B exchanged.

use std::ffi::c_void;
use std::rc::Rc;

use rsb_model::architecture::{Architecture, Engine};
use rsb_model::{Dtype, Reason};

use super::blas_lt::Plan;
use super::launch::allocation;
use rsb_device::device::{AlgorithmChoice, Buffer, DeviceError, Kernel, Options};
use rsb_device::operation::{Accumulation, Epilogue, Gemm};

/// Capabilities of a matrix product library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlasOffer {
    /// Name of the library: `rocblas`.
    pub(crate) name: &'static str,
    /// Types of products that the library supports, if the GPU supports them.
    pub(crate) dtypes: &'static [Dtype],
    /// Whether the library offers epilogues and a choice of algorithms (hipBLASLt, cuBLASLt).
    pub(crate) is_light: bool,
    /// Whether the library offers fp8 accumulation in the precision of the matrix unit.
    pub(crate) has_fast_accumulation: bool,
}

impl BlasOffer {
    /// Returns whether the library supports `op` on `arch` with `options`. tf32 and fp8 require
    /// matrix instructions, since the library would otherwise compute in another type. The newer
    /// libraries are assumed to support unknown GPUs.
    pub(super) fn has(&self, op: &Gemm, options: &Options, arch: &str) -> bool {
        let is_plain = op.epilogue == Epilogue::None && options.algorithms.is_none();
        let is_full = op.accumulation == Accumulation::Full;
        let has_sums = is_full || (self.has_fast_accumulation && op.dtype == Dtype::Fp8);
        self.dtypes.contains(&op.dtype)
            && has_sums
            && (self.is_light || is_plain)
            && (!matches!(op.dtype, Dtype::Tf32 | Dtype::Fp8) || self.has_unit(arch, op.dtype))
    }

    fn has_unit(&self, arch: &str, dtype: Dtype) -> bool {
        let Ok(known) = Architecture::find(arch) else { return self.is_light };
        known.per_clock_per_cu(dtype, Engine::Matrix).is_some()
    }
}

/// A library with a handle for one GPU.
pub(crate) trait BlasLibrary {
    /// Returns the factor that a product of `input` needs in addition to alpha if the GPU
    /// interprets the bits as another number.
    fn correction(&self, input: Dtype) -> f64 {
        let _ = input;
        1.0
    }

    /// Prepares a product, and selects the fastest of at most `algorithms` algorithms if the
    /// library offers several.
    ///
    /// # Safety
    /// As for [`BlasLibrary::multiply`].
    unsafe fn plan(
        &self,
        product: &Product,
        algorithms: Option<u32>,
    ) -> Result<Option<Plan>, DeviceError> {
        let _ = (product, algorithms);
        Ok(None)
    }

    /// Enqueues a product in the stream of the library's GPU, which the caller has made current.
    ///
    /// # Safety
    /// The matrices must be as large as the sizes require and stay valid until the stream has
    /// completed the product.
    unsafe fn multiply(&self, product: &Product, plan: Option<&Plan>) -> Result<(), DeviceError>;
}

/// Types of a product, as passed to a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types {
    /// Type of A and B.
    pub(crate) input: Dtype,
    /// Type of C.
    pub(crate) output: Dtype,
    /// Type in which products are multiplied and summed; tf32 is f32 with rounded inputs.
    pub(crate) compute: Dtype,
}

/// Returns the types of a product. f16, bf16 and fp8 accumulate in f32, i8 in 32-bit integers; i8
/// results cannot be stored as i8.
fn types(op: &Gemm) -> Option<Types> {
    let (input, compute) = match op.dtype {
        Dtype::F64 => (Dtype::F64, Dtype::F64),
        Dtype::F32 => (Dtype::F32, Dtype::F32),
        Dtype::Tf32 => (Dtype::F32, Dtype::Tf32),
        Dtype::F16 | Dtype::Bf16 => (op.dtype, Dtype::F32),
        Dtype::Fp8 if !op.is_narrowed() => (op.dtype, Dtype::F32),
        Dtype::I8 if !op.is_narrowed() => (Dtype::I8, Dtype::I32),
        _ => return None,
    };
    Some(Types { input, output: op.output_dtype(), compute })
}

/// One of the two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) transposed: bool,
    /// Elements from one column to the next, in the library's column-major view.
    pub(crate) leading: i32,
}

/// Sizes as passed to a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) rows: i32,
    pub(crate) columns: i32,
    pub(crate) depth: i32,
    pub(crate) batch: i32,
    /// First operand, which is B.
    pub(crate) first: Side,
    /// Second operand, which is A.
    pub(crate) second: Side,
    /// Elements from one column of C to the next.
    pub(crate) leading: i32,
}

fn shape(op: &Gemm) -> Option<Shape> {
    let m = i32::try_from(op.m).ok()?;
    let n = i32::try_from(op.n).ok()?;
    let k = i32::try_from(op.k).ok()?;
    let [a, b, c] = op.layouts().map(|layout| i32::try_from(layout.leading).ok());
    Some(Shape {
        rows: n,
        columns: m,
        depth: k,
        batch: i32::try_from(op.batch).ok()?,
        first: Side { transposed: op.transpose_b, leading: b? },
        second: Side { transposed: op.transpose_a, leading: a? },
        leading: c?,
    })
}

/// alpha and beta in the accumulation type.
enum Scalars {
    F64([f64; 2]),
    F32([f32; 2]),
    I32([i32; 2]),
}

impl Scalars {
    fn new(op: &Gemm, correction: f64) -> Self {
        match op.dtype {
            Dtype::F64 => Self::F64([op.alpha, op.beta]),
            Dtype::I8 => Self::I32([op.alpha as i32, op.beta as i32]),
            _ => Self::F32([(op.alpha * correction) as f32, op.beta as f32]),
        }
    }

    fn pointers(&self) -> [*const c_void; 2] {
        match self {
            Self::F64([alpha, beta]) => {
                [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()]
            }
            Self::F32([alpha, beta]) => {
                [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()]
            }
            Self::I32([alpha, beta]) => {
                [std::ptr::from_ref(alpha).cast(), std::ptr::from_ref(beta).cast()]
            }
        }
    }
}

/// Arguments of a product. Scalars are on the host, matrices on the GPU; strides are from one
/// matrix of a batch to the next.
pub(crate) struct Product {
    pub(crate) types: Types,
    pub(crate) shape: Shape,
    pub(crate) epilogue: Epilogue,
    pub(crate) accumulation: Accumulation,
    pub(crate) alpha: *const c_void,
    pub(crate) beta: *const c_void,
    /// Whether C is read.
    pub(crate) reads_c: bool,
    /// B, A and C.
    pub(crate) matrices: [*mut c_void; 3],
    pub(crate) strides: [i64; 3],
    /// Bias with one element for each row of C in the library's view; C itself if the epilogue has
    /// none.
    pub(crate) bias: *mut c_void,
}

/// A library product bound to its buffers.
pub(super) struct BlasKernel {
    library: Rc<dyn BlasLibrary>,
    name: &'static str,
    op: Gemm,
    types: Types,
    shape: Shape,
    scalars: Scalars,
    strides: [i64; 3],
    plan: Option<Plan>,
    buffers: Vec<Buffer>,
}

/// Returns the error for an `op` that a library does not support.
fn lacks(name: &str, op: &Gemm, why: String) -> DeviceError {
    let cure = "choose another size, data type or provider";
    DeviceError::Unsupported(Reason::new(format!("gemm of {} by {name}", op.dtype), why, cure))
}

/// Returns the error that explains why `offer` does not support `op` on `arch`.
pub(super) fn no_offer(offer: BlasOffer, op: &Gemm, arch: &str) -> DeviceError {
    let why = if !offer.dtypes.contains(&op.dtype) {
        format!("it does not support products of {} here", op.dtype)
    } else if offer.is_light || matches!(op.dtype, Dtype::Tf32 | Dtype::Fp8) {
        format!("this program knows no matrix instructions of {arch} for this data type")
    } else {
        "it supports neither epilogues nor a choice of algorithms; hipblaslt and cublaslt do"
            .to_owned()
    };
    lacks(offer.name, op, why)
}

/// Binds `op` to its buffers.
pub(super) fn kernel(
    library: Rc<dyn BlasLibrary>,
    name: &'static str,
    op: &Gemm,
    options: &Options,
    buffers: &[Buffer],
) -> Result<BlasKernel, DeviceError> {
    let types = types(op).ok_or_else(|| {
        lacks(name, op, format!("it cannot store the products as {}", op.output_dtype()))
    })?;
    let shape =
        shape(op).ok_or_else(|| lacks(name, op, "a size is above 2147483647".to_owned()))?;
    let [a, b, c] = op.layouts().map(|layout| i64::try_from(layout.stride).unwrap_or(i64::MAX));
    let strides = [b, a, c];
    let scalars = Scalars::new(op, library.correction(op.dtype));
    let buffers = buffers.to_vec();
    let mut kernel =
        BlasKernel { library, name, op: *op, types, shape, scalars, strides, plan: None, buffers };
    // SAFETY: the device checked that the buffers are as large as the operation requires, and
    // `kernel` keeps them alive.
    kernel.plan = unsafe { kernel.library.plan(&kernel.product()?, options.algorithms) }?;
    Ok(kernel)
}

impl BlasKernel {
    /// Returns the arguments for the library, and makes its GPU current.
    fn product(&self) -> Result<Product, DeviceError> {
        let a = allocation(self.buffers.first())?;
        a.core().activate()?;
        let [alpha, beta] = self.scalars.pointers();
        let c = allocation(self.buffers.get(self.op.c_index()))?.address();
        let b = allocation(self.buffers.get(1))?.address();
        Ok(Product {
            types: self.types,
            shape: self.shape,
            epilogue: self.op.epilogue,
            accumulation: self.op.accumulation,
            alpha,
            beta,
            reads_c: self.op.reads_c(),
            matrices: [b, a.address(), c],
            strides: self.strides,
            bias: allocation(self.buffers.get(2))?.address(),
        })
    }
}

impl Kernel for BlasKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let product = self.product()?;
        // SAFETY: the device checked that the buffers are as large as the operation requires, and
        // `self` keeps them alive.
        unsafe { self.library.multiply(&product, self.plan.as_ref()) }
    }

    fn provider(&self) -> String {
        self.name.to_owned()
    }

    /// Returns the type of C if it has 16 bits: a library may split the sum over k and add the
    /// parts in that type (cuBLAS does by default).
    fn sums_in(&self) -> Option<Dtype> {
        let output = self.op.output_dtype();
        matches!(output, Dtype::F16 | Dtype::Bf16).then_some(output)
    }

    fn algorithm(&self) -> Option<AlgorithmChoice> {
        self.plan.as_ref().map(Plan::choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dtype::{Bf16, F16, F32, Fp8, I8, I32, Tf32};
    use rsb_device::operation::OutputWidth;

    #[test]
    fn row_major_products_are_asked_for_with_a_and_b_exchanged() {
        let plain = shape(&Gemm::new(Dtype::F32, 2, 3, 5)).unwrap();
        assert_eq!((plain.rows, plain.columns, plain.depth), (3, 2, 5));
        assert_eq!(plain.first, Side { transposed: false, leading: 3 });
        assert_eq!(plain.second, Side { transposed: false, leading: 5 });
        let both = Gemm { transpose_a: true, transpose_b: true, ..Gemm::new(Dtype::F32, 2, 3, 5) };
        let both = shape(&both).unwrap();
        assert_eq!(both.first, Side { transposed: true, leading: 5 });
        assert_eq!(both.second, Side { transposed: true, leading: 2 });
        let [ld_a, ld_b, ld_c] = [7, 9, 4].map(Some);
        let padded = Gemm { ld_a, ld_b, ld_c, ..Gemm::new(Dtype::F32, 2, 3, 5) };
        let padded = shape(&padded).unwrap();
        assert_eq!((padded.first.leading, padded.second.leading, padded.leading), (9, 7, 4));
        assert_eq!(shape(&Gemm::new(Dtype::F32, 1 << 31, 1, 1)), None);
    }

    #[test]
    fn fast_accumulation_is_offered_for_fp8_by_the_library_that_has_it() {
        for (has, dtype, accumulation, expected) in [
            (true, Fp8, Accumulation::Fast, true),
            (true, Fp8, Accumulation::Full, true),
            (true, F16, Accumulation::Fast, false),
            (false, Fp8, Accumulation::Fast, false),
            (false, Fp8, Accumulation::Full, true),
        ] {
            let op = Gemm { accumulation, ..Gemm::new(dtype, 16, 16, 16) };
            let offer = BlasOffer {
                name: "library",
                dtypes: &[F16, Fp8],
                is_light: true,
                has_fast_accumulation: has,
            };
            let found = offer.has(&op, &Options::default(), "sm_90");
            assert_eq!(found, expected, "{has} {dtype} {accumulation}");
        }
    }

    #[test]
    fn narrow_types_are_summed_wider() {
        for (dtype, stored, expected) in [
            (F16, OutputWidth::Wide, Some((F16, F16, F32))),
            (Bf16, OutputWidth::Wide, Some((Bf16, F32, F32))),
            (Bf16, OutputWidth::AsInputs, Some((Bf16, Bf16, F32))),
            (Tf32, OutputWidth::Wide, Some((F32, F32, Tf32))),
            (I8, OutputWidth::Wide, Some((I8, I32, I32))),
            (I8, OutputWidth::AsInputs, None),
            (Fp8, OutputWidth::Wide, Some((Fp8, Bf16, F32))),
            (Fp8, OutputWidth::AsInputs, None),
        ] {
            let found = types(&Gemm { stored, ..Gemm::new(dtype, 2, 2, 2) })
                .map(|types| (types.input, types.output, types.compute));
            assert_eq!(found, expected, "{dtype}");
        }
    }
}
