//! hipBLASLt and cuBLASLt: product descriptions, matrix layouts, and products with one of three
//! algorithms. The two libraries differ only in their constants, [`Numbers`].

use std::ffi::{c_int, c_void};

use rsb_model::Dtype;

use super::gemm::{Call, MatrixArgument, Refusal};
use crate::orders::Fault;
use crate::product::library::{Epilogue, Scalar};
use crate::state::{Description, Layout, LtObject, State};

/// Constants of hipBLASLt or cuBLASLt.
pub(crate) struct Numbers {
    /// Name of the library's products in injected faults.
    pub(crate) name: &'static str,
    /// Constant that selects transposition.
    pub(crate) transpose: c_int,
    /// Attributes of a product description: transposition of A and of B, epilogue, bias and bias
    /// type.
    pub(crate) description: [c_int; 5],
    /// One-byte attribute of a product description that selects fast fp8 accumulation, and the name
    /// of such products in injected faults. `None` if the library has no such attribute.
    pub(crate) fast: Option<(c_int, &'static str)>,
    /// Attributes of a matrix layout: number of matrices, and stride between them.
    pub(crate) layout: [c_int; 2],
    /// Size of an algorithm in 64-bit words.
    pub(crate) words: usize,
    /// Converts the library's constant for an element type.
    pub(crate) scalar: fn(c_int) -> Result<Scalar, Refusal>,
    /// Converts a compute type and an element type to the accumulation type, and to the type whose
    /// peak rate determines the duration.
    pub(crate) sums: fn(c_int, Scalar) -> Result<(Scalar, Dtype), Refusal>,
    /// Whether fp8 and i8 products require A to be transposed and B not to be.
    pub(crate) is_strict: bool,
}

/// Handles that define a product: the library handle, the product description, and the layouts of
/// A, B and C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LtProduct {
    pub(crate) handle: usize,
    pub(crate) description: usize,
    pub(crate) layouts: [usize; 3],
}

/// Number of algorithms offered for each product.
const ALGORITHMS: usize = 3;

/// Reads the value of an attribute.
///
/// # Safety
/// `value` must be null or point to `bytes` bytes.
unsafe fn read<T: Copy>(value: *const c_void, bytes: usize) -> Result<T, Refusal> {
    if value.is_null() || bytes != size_of::<T>() {
        return Err(Refusal::Value);
    }
    // SAFETY: the caller guarantees `bytes` readable bytes, which is the size of a `T`.
    Ok(unsafe { value.cast::<T>().read_unaligned() })
}

impl State {
    /// Creates a product description.
    pub(crate) fn new_description(&mut self, compute: c_int) -> usize {
        let (transposed, epilogue) = ([false; 2], Epilogue::None);
        self.lt.add(LtObject::Description(Description {
            compute,
            transposed,
            epilogue,
            bias: 0,
            is_fast: false,
        }))
    }

    /// Creates a matrix layout.
    pub(crate) fn new_layout(&mut self, dtype: c_int, sizes: [u64; 2], leading: i64) -> usize {
        self.lt.add(LtObject::Layout(Layout { dtype, leading, sizes, batch: 1, stride: 0 }))
    }

    /// Sets an attribute of a product description or a matrix layout. Attributes of a preference
    /// are accepted and ignored.
    ///
    /// # Safety
    /// `value` must be null or point to `bytes` bytes.
    pub(crate) unsafe fn set_lt(
        &mut self,
        numbers: &Numbers,
        object: usize,
        attribute: c_int,
        value: *const c_void,
        bytes: usize,
    ) -> Result<(), Refusal> {
        let [a, b, epilogue, bias, bias_type] = numbers.description;
        let [batch, stride] = numbers.layout;
        // SAFETY: guaranteed by the caller.
        let (number, long, byte) = unsafe {
            (read::<c_int>(value, bytes), read::<i64>(value, bytes), read::<i8>(value, bytes))
        };
        match self.lt.get(object).map_err(|_| Refusal::Handle)? {
            LtObject::Preference => long.map(drop),
            LtObject::Layout(layout) if attribute == batch => {
                number.map(|count| layout.batch = count)
            }
            LtObject::Layout(layout) if attribute == stride => {
                long.map(|stride| layout.stride = stride)
            }
            LtObject::Description(of) if attribute == a => {
                number.map(|how| of.transposed[0] = how == numbers.transpose)
            }
            LtObject::Description(of) if attribute == b => {
                number.map(|how| of.transposed[1] = how == numbers.transpose)
            }
            LtObject::Description(of) if attribute == bias => {
                long.map(|address| of.bias = usize::try_from(address).unwrap_or(0))
            }
            LtObject::Description(_) if attribute == bias_type => number.map(drop),
            LtObject::Description(of)
                if numbers.fast.is_some_and(|(fast, _)| attribute == fast) =>
            {
                byte.map(|byte| of.is_fast = byte != 0)
            }
            LtObject::Description(of) if attribute == epilogue => {
                of.epilogue = match number? {
                    1 => Epilogue::None,
                    4 => Epilogue::Bias,
                    36 => Epilogue::GeluBias,
                    _ => return Err(Refusal::Unsupported),
                };
                Ok(())
            }
            _ => Err(Refusal::Value),
        }
    }

    /// Returns the arguments of a product, with factors and addresses to be filled in.
    fn lt_call(&mut self, numbers: &Numbers, product: LtProduct) -> Result<Call, Refusal> {
        let LtProduct { handle, description, layouts: [a, b, c] } = product;
        let Ok(LtObject::Description(of)) = self.lt.get(description).copied() else {
            return Err(Refusal::Value);
        };
        let mut given = |layout, transposed| {
            let Ok(LtObject::Layout(layout)) = self.lt.get(layout).copied() else {
                return Err(Refusal::Value);
            };
            let leading = i32::try_from(layout.leading).map_err(|_| Refusal::Size)?;
            let scalar = (numbers.scalar)(layout.dtype)?;
            Ok((
                MatrixArgument { address: 0, scalar, leading, stride: layout.stride, transposed },
                layout,
            ))
        };
        let (a, a_layout) = given(a, of.transposed[0])?;
        let (b, b_layout) = given(b, of.transposed[1])?;
        let (c, c_layout) = given(c, false)?;
        let [m, k] = operand_sizes(&a_layout, a.transposed);
        let [k_of_b, n] = operand_sizes(&b_layout, b.transposed);
        if k != k_of_b || [m, n] != c_layout.sizes {
            return Err(Refusal::Value);
        }
        let is_narrow = matches!(a.scalar, Scalar::Fp8 | Scalar::Fp8Fnuz | Scalar::I8);
        if numbers.is_strict && is_narrow && [a.transposed, b.transposed] != [true, false] {
            return Err(Refusal::Unsupported);
        }
        let (sums, dtype) = (numbers.sums)(of.compute, a.scalar)?;
        let sizes = [m, n, k].map(|size| i32::try_from(size).unwrap_or(-1));
        let name = numbers.fast.filter(|_| of.is_fast).map_or(numbers.name, |(_, name)| name);
        let plain = Call::plain(name, handle, sums, [a, b, c]);
        Ok(Call {
            sizes,
            batch: c_layout.batch,
            dtype,
            epilogue: of.epilogue,
            bias: of.bias,
            ..plain
        })
    }

    /// Writes up to `wanted` algorithms for a product and returns their number. An algorithm
    /// contains its index and a hash of the product's sizes, so that using it for another product
    /// is detected.
    ///
    /// # Safety
    /// `results` must have space for `wanted` results.
    pub(crate) unsafe fn lt_algorithms(
        &mut self,
        numbers: &Numbers,
        product: LtProduct,
        wanted: usize,
        results: *mut u64,
    ) -> Result<c_int, Refusal> {
        let call = self.lt_call(numbers, product)?;
        let none =
            self.orders.as_ref().is_ok_and(|orders| orders.faults.contains(&Fault::NoAlgorithm));
        let count = if none { 0 } else { ALGORITHMS.min(wanted) };
        for index in 0..count {
            let mut result = vec![0_u64; numbers.words + 4];
            (result[0], result[1], result[numbers.words]) = (index as u64, mark(call.sizes), 1024);
            // SAFETY: the caller guarantees space for `wanted` results, and `index` is less than
            // `wanted`.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    result.as_ptr(),
                    results.add(index * result.len()),
                    result.len(),
                );
            };
        }
        Ok(c_int::try_from(count).unwrap_or(c_int::MAX))
    }

    /// Enqueues a product.
    ///
    /// # Safety
    /// The pointers to alpha and beta must be null, or point to values of the accumulation type.
    /// `algorithm` must be null or point to an algorithm of this library.
    pub(crate) unsafe fn lt_multiply(
        &mut self,
        numbers: &Numbers,
        product: LtProduct,
        factors: [*const c_void; 2],
        addresses: [usize; 3],
        algorithm: *const u64,
        stream: usize,
    ) -> Result<(), Refusal> {
        let mut call = self.lt_call(numbers, product)?;
        if algorithm.is_null() {
            return Err(Refusal::Pointer);
        }
        // SAFETY: the pointer is not null, and the caller guarantees that it points to an
        // algorithm, which has more than two words.
        let [place, of] = unsafe { [*algorithm, *algorithm.add(1)] };
        if of != mark(call.sizes) || place >= ALGORITHMS as u64 {
            return Err(Refusal::Value);
        }
        for (given, address) in call.matrices.iter_mut().zip(addresses) {
            given.address = address;
        }
        let call = Call { factors, algorithm: place + 1, stream: Some(stream), ..call };
        // SAFETY: guaranteed by the caller.
        unsafe { self.multiply(&call) }
    }
}

fn operand_sizes(layout: &Layout, transposed: bool) -> [u64; 2] {
    let [rows, columns] = layout.sizes;
    if transposed { [columns, rows] } else { [rows, columns] }
}

/// Returns a hash of the sizes, by which an algorithm identifies its product.
fn mark(sizes: [i32; 3]) -> u64 {
    sizes.iter().fold(7, |mark: u64, &size| {
        mark.wrapping_mul(1_000_003).wrapping_add(size.unsigned_abs().into())
    })
}
