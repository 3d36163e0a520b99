//! A column-major matrix product of a vendor library.

use std::ffi::c_void;

use half::{bf16, f16};
use rsb_model::Dtype;

use super::{Matrix, Scale, Shape, multiply, multiply_whole};
use crate::element::{E4m3, E4m3Fnuz, Element};
use crate::launch::{KernelError, Launch, Work};

/// Element types of product libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    F64,
    F32,
    F16,
    Bf16,
    Fp8,
    Fp8Fnuz,
    I8,
    I32,
}

impl Scalar {
    /// Returns the type whose peak rate determines the duration of a product of such elements.
    pub(crate) fn dtype(self) -> Dtype {
        match self {
            Self::F64 => Dtype::F64,
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::Bf16,
            Self::Fp8 | Self::Fp8Fnuz => Dtype::Fp8,
            Self::I8 | Self::I32 => Dtype::I8,
        }
    }

    /// Returns the number at `pointer`; `None` if this is not an accumulation type.
    ///
    /// # Safety
    /// `pointer` must point to a value of this type.
    pub(crate) unsafe fn read(self, pointer: *const c_void) -> Option<f64> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Some(match self {
                Self::F64 => pointer.cast::<f64>().read_unaligned(),
                Self::F32 => f64::from(pointer.cast::<f32>().read_unaligned()),
                Self::I32 => f64::from(pointer.cast::<i32>().read_unaligned()),
                Self::F16 => pointer.cast::<f16>().read_unaligned().get(),
                Self::Bf16 | Self::Fp8 | Self::Fp8Fnuz | Self::I8 => return None,
            })
        }
    }
}

/// A batch of matrices: address, distance between columns, and distance between matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Operand {
    pub(crate) address: usize,
    pub(crate) leading: usize,
    pub(crate) stride: usize,
    pub(crate) transposed: bool,
}

impl Operand {
    /// Returns the number of elements from the first to the last element of `batch` matrices of
    /// `rows` × `columns`, as stored.
    fn elements(&self, rows: usize, columns: usize, batch: usize) -> usize {
        let last = self.leading.saturating_mul(columns.saturating_sub(1)).saturating_add(rows);
        self.stride.saturating_mul(batch.saturating_sub(1)).saturating_add(last)
    }
}

/// A product to compute, also used as a key. Factors are stored as the bits of an f64, so that keys
/// can be compared and hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Product {
    /// Name used in faults.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) c: Operand,
    pub(crate) batch: usize,
    /// Types of A and B, and of C.
    pub(crate) types: [Scalar; 2],
    /// Type whose peak rate determines the duration: tf32 for products that are stored as f32 but
    /// computed in tf32.
    pub(crate) dtype: Dtype,
    /// Alpha and beta.
    pub(crate) factors: [u64; 2],
    /// Epilogue of the product.
    pub(crate) epilogue: Epilogue,
    /// Address of the bias.
    pub(crate) bias: usize,
    /// Algorithm to use, counted from 1; 0 if the library has no choice of algorithms.
    pub(crate) algorithm: u64,
}

/// Operation that follows a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Epilogue {
    None,
    Bias,
    GeluBias,
}

impl Epilogue {
    fn of(self, x: f64, bias: f64) -> f64 {
        let x = x + bias;
        match self {
            Self::None | Self::Bias => x,
            Self::GeluBias => {
                0.5 * x
                    * (1.0
                        + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x))
                            .tanh())
            }
        }
    }
}

impl Product {
    /// Returns the addresses of A, B, C and the bias.
    pub(crate) fn addresses(&self) -> [u64; 4] {
        [self.a.address, self.b.address, self.c.address, self.bias].map(|address| address as u64)
    }

    /// Computes the product.
    pub(crate) fn compute(&self, launch: &mut Launch<'_>) -> Result<Work, KernelError> {
        use Scalar::{Bf16, F16, F32, F64, Fp8, Fp8Fnuz, I8, I32};
        match self.types {
            [F64, F64] => self.compute_as::<f64, f64>(launch, multiply),
            [F32, F32] => self.compute_as::<f32, f32>(launch, multiply),
            [F16, F16] => self.compute_as::<f16, f16>(launch, multiply),
            [F16, F32] => self.compute_as::<f16, f32>(launch, multiply),
            [Bf16, Bf16] => self.compute_as::<bf16, bf16>(launch, multiply),
            [Bf16, F32] => self.compute_as::<bf16, f32>(launch, multiply),
            [Fp8, Bf16] => self.compute_as::<E4m3, bf16>(launch, multiply),
            [Fp8Fnuz, Bf16] => self.compute_as::<E4m3Fnuz, bf16>(launch, multiply),
            [I8, I32] => self.compute_as::<i8, i32>(launch, multiply_whole),
            other => Err(KernelError(format!("there is no product of types {other:?}"))),
        }?;
        let Shape { m, n, k } = self.shape;
        let flops = 2.0 * m as f64 * n as f64 * k as f64 * self.batch as f64;
        // The first algorithm is deliberately not the fastest, so that tests can check the search.
        let dependent_reads =
            [40, 0, 80].get(self.algorithm.wrapping_sub(1) as usize).copied().unwrap_or(0);
        Ok(Work { dependent_reads, ..Work::vector(self.dtype, flops) })
    }

    /// Returns whether products of these types are emulated.
    pub(crate) fn is_known(&self) -> bool {
        use Scalar::{Bf16, F16, F32, F64, Fp8, Fp8Fnuz, I8, I32};
        let floating = [[F64, F64], [F32, F32], [F16, F32], [Bf16, F32], [F16, F16], [Bf16, Bf16]];
        let narrow = [[Fp8, Bf16], [Fp8Fnuz, Bf16]];
        floating.contains(&self.types)
            || narrow.contains(&self.types)
            || (self.types == [I8, I32] && self.epilogue == Epilogue::None)
    }

    /// Computes the product for element types A and C. A column-major matrix is the transpose of a
    /// row-major one, so this computes Cᵀ = Bᵀ·Aᵀ.
    fn compute_as<A: Element, C: Element>(
        &self,
        launch: &mut Launch<'_>,
        multiply: fn(Shape, Matrix<'_, A>, Matrix<'_, A>, &mut [C], Scale),
    ) -> Result<(), KernelError> {
        let Self { shape: Shape { m, n, k }, a, b, c, batch, factors, .. } = *self;
        let scale = Scale { alpha: f64::from_bits(factors[0]), beta: f64::from_bits(factors[1]) };
        let (a_rows, a_columns) = if a.transposed { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if b.transposed { (n, k) } else { (k, n) };
        let first: &[A] = launch.input(0, a.elements(a_rows, a_columns, batch))?;
        let second: &[A] = launch.input(1, b.elements(b_rows, b_columns, batch))?;
        let all = c.elements(m, n, batch);
        let result: &mut [C] =
            if scale.beta == 0.0 { launch.output(2, all)? } else { launch.in_out(2, all)? };
        let turned = Shape { m: n, n: m, k };
        let bias: &[C] = if self.epilogue == Epilogue::None { &[] } else { launch.input(3, m)? };
        for index in 0..batch {
            let first = first.get(index * a.stride..).unwrap_or_default();
            let second = second.get(index * b.stride..).unwrap_or_default();
            let result = result.get_mut(index * c.stride..).unwrap_or_default();
            let columns = result.chunks(c.leading.max(1)).take(n);
            let mut dense: Vec<C> =
                columns.flat_map(|column| column.iter().take(m).copied()).collect();
            let left = Matrix::with_leading(second, n, k, b.leading, b.transposed);
            let right = Matrix::with_leading(first, k, m, a.leading, a.transposed);
            if bias.is_empty() {
                multiply(turned, left, right, &mut dense, scale);
            } else {
                // Compute in f64, so that the result is rounded only once, after the epilogue.
                let mut wide: Vec<f64> = dense.iter().map(|c| c.get()).collect();
                super::multiply(turned, left, right, &mut wide, scale);
                for (at, (c, x)) in dense.iter_mut().zip(wide).enumerate() {
                    *c = C::put(self.epilogue.of(x, bias[at % m].get()));
                }
            }
            for (column, from) in result.chunks_mut(c.leading.max(1)).zip(dense.chunks(m.max(1))) {
                column.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }
}
