//! Matrix products by a vendor's library: what is asked of it, in words that both libraries share. Both are
//! column-major: a row-major matrix is its transpose there, so that Cᵀ = op(B)ᵀ·op(A)ᵀ is asked for, which is A and B
//! exchanged.

use std::ffi::c_void;
use std::rc::Rc;

use rsb_model::{Dtype, Reason};

use super::launch::allocation;
use rsb_device::device::{Buffer, DeviceError, Kernel};
use rsb_device::operation::Gemm;

/// A library with a handle on one GPU.
pub(crate) trait BlasLibrary {
    /// What it is called: `rocblas`.
    fn name(&self) -> &'static str;

    /// Puts a product into the stream of its GPU, which the caller has made the current one.
    ///
    /// # Safety
    /// The matrices are as large as the sizes say and stay until the stream has passed the product.
    unsafe fn multiply(&self, product: &Product) -> Result<(), DeviceError>;
}

/// What a library is told of a product's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types {
    /// Of A and B.
    pub(crate) input: Dtype,
    /// Of C.
    pub(crate) output: Dtype,
    /// What is multiplied and summed in: tf32 is f32 with inputs rounded.
    pub(crate) compute: Dtype,
}

/// f16 and bf16 are summed in f32, i8 in whole numbers of 32 bits, which cannot be stored in 8.
fn types(op: &Gemm) -> Option<Types> {
    let (input, compute) = match op.dtype {
        Dtype::F64 => (Dtype::F64, Dtype::F64),
        Dtype::F32 => (Dtype::F32, Dtype::F32),
        Dtype::Tf32 => (Dtype::F32, Dtype::Tf32),
        Dtype::F16 | Dtype::Bf16 => (op.dtype, Dtype::F32),
        Dtype::I8 if !op.is_narrowed() => (Dtype::I8, Dtype::I32),
        _ => return None,
    };
    let output = if op.dtype == Dtype::Tf32 { Dtype::F32 } else { op.output_dtype() };
    Some(Types { input, output, compute })
}

/// One of the two matrices that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) transposed: bool,
    /// Elements from one column to the next, as the library sees it.
    pub(crate) leading: i32,
}

/// Sizes as a library takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) rows: i32,
    pub(crate) columns: i32,
    pub(crate) depth: i32,
    pub(crate) batch: i32,
    /// The first operand, which is B.
    pub(crate) first: Side,
    /// The second, which is A.
    pub(crate) second: Side,
}

fn shape(op: &Gemm) -> Option<Shape> {
    let size = |size: u64| i32::try_from(size).ok();
    let (m, n, k) = (size(op.m)?, size(op.n)?, size(op.k)?);
    let side =
        |transposed, plain: i32, other: i32| Side { transposed, leading: if transposed { other } else { plain } };
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

/// One product. Scalars are on the host, matrices on the GPU; strides are those from one matrix of a batch to the next.
pub(crate) struct Product {
    pub(crate) types: Types,
    pub(crate) shape: Shape,
    pub(crate) alpha: *const c_void,
    pub(crate) beta: *const c_void,
    /// B, A and C.
    pub(crate) matrices: [*mut c_void; 3],
    pub(crate) strides: [i64; 3],
}

/// A product by a library, bound.
pub(super) struct BlasKernel {
    library: Rc<dyn BlasLibrary>,
    types: Types,
    shape: Shape,
    scalars: Scalars,
    strides: [i64; 3],
    buffers: Vec<Buffer>,
}

/// Binds `op` to its buffers.
pub(super) fn kernel(library: Rc<dyn BlasLibrary>, op: &Gemm, buffers: &[Buffer]) -> Result<BlasKernel, DeviceError> {
    let unsupported = |why: String| {
        let what = format!("gemm by {}", library.name());
        DeviceError::Unsupported(Reason::new(what, why, "choose another size or provider=native"))
    };
    let types = types(op).ok_or_else(|| unsupported(format!("it has no products of {} here", op.dtype)))?;
    let shape = shape(op).ok_or_else(|| unsupported("a size is above 2147483647".to_owned()))?;
    for index in 0..3 {
        allocation(buffers.get(index))?;
    }
    let stride = |rows: u64, columns: u64| i64::try_from(rows.saturating_mul(columns)).unwrap_or(i64::MAX);
    let strides = [stride(op.k, op.n), stride(op.m, op.k), stride(op.m, op.n)];
    Ok(BlasKernel { library, types, shape, scalars: Scalars::new(op), strides, buffers: buffers.to_vec() })
}

impl Kernel for BlasKernel {
    fn launch(&mut self) -> Result<(), DeviceError> {
        let matrix = |index| allocation(self.buffers.get(index));
        matrix(0)?.core().activate()?;
        let [alpha, beta] = self.scalars.pointers();
        let product = Product {
            types: self.types,
            shape: self.shape,
            alpha,
            beta,
            matrices: [matrix(1)?.address(), matrix(0)?.address(), matrix(2)?.address()],
            strides: self.strides,
        };
        // SAFETY: the buffers are as large as the operation's sizes say, which the device checked, and `self` keeps them.
        unsafe { self.library.multiply(&product) }
    }

    fn provider(&self) -> String {
        self.library.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dtype::{Bf16, F16, F32, Fp8, I8, I32, Tf32};
    use rsb_device::operation::OutputWidth;

    #[test]
    fn row_major_products_are_asked_for_with_a_and_b_exchanged() {
        let side = |transposed, leading| Side { transposed, leading };
        let plain = shape(&Gemm::new(Dtype::F32, 2, 3, 5)).unwrap();
        assert_eq!((plain.rows, plain.columns, plain.depth), (3, 2, 5));
        assert_eq!((plain.first, plain.second), (side(false, 3), side(false, 5)));
        let both = Gemm { transpose_a: true, transpose_b: true, ..Gemm::new(Dtype::F32, 2, 3, 5) };
        let both = shape(&both).unwrap();
        assert_eq!((both.first, both.second), (side(true, 5), side(true, 2)));
        assert_eq!(shape(&Gemm::new(Dtype::F32, 1 << 31, 1, 1)), None);
    }

    #[test]
    fn narrow_types_are_summed_wider() {
        let types_of = |dtype, stored| {
            types(&Gemm { stored, ..Gemm::new(dtype, 2, 2, 2) }).map(|types| (types.input, types.output, types.compute))
        };
        for (dtype, stored, expected) in [
            (F16, OutputWidth::Wide, Some((F16, F16, F32))),
            (Bf16, OutputWidth::Wide, Some((Bf16, F32, F32))),
            (Bf16, OutputWidth::AsInputs, Some((Bf16, Bf16, F32))),
            (Tf32, OutputWidth::Wide, Some((F32, F32, Tf32))),
            (I8, OutputWidth::Wide, Some((I8, I32, I32))),
            (I8, OutputWidth::AsInputs, None),
            (Fp8, OutputWidth::Wide, None),
        ] {
            assert_eq!(types_of(dtype, stored), expected, "{dtype}");
        }
    }
}
