//! Matrix products, column by column as rocBLAS has them.

use std::ffi::{c_int, c_void};

use rocblas_sys::{datatype, operation, rocblas_handle, rocblas_int, rocblas_status, rocblas_stride, status};
use rsb_model::Dtype;

use super::answer;
use crate::api::handle;
use crate::element::Element;
use crate::launch::{Broken, Launch, Work};
use crate::product::{Matrix, Scale, Shape, multiply, multiply_whole};
use crate::state::State;
use crate::task::Task;

/// One operand: where it is, the distance between its columns, and between matrices of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Operand {
    address: usize,
    leading: usize,
    stride: usize,
    transposed: bool,
}

impl Operand {
    /// Elements from the first of a batch of `rows` by `columns` (as stored) to the last.
    fn elements(&self, rows: usize, columns: usize, batch: usize) -> usize {
        let last = self.leading.saturating_mul(columns.saturating_sub(1)).saturating_add(rows);
        self.stride.saturating_mul(batch.saturating_sub(1)).saturating_add(last)
    }
}

/// A product that was asked for. Factors are kept as bits, so that equal products are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Product {
    shape: Shape,
    a: Operand,
    b: Operand,
    c: Operand,
    batch: usize,
    types: [c_int; 2],
    factors: [u64; 2],
}

impl Product {
    /// Where its operands are.
    pub(crate) fn addresses(&self) -> [u64; 3] {
        [self.a.address, self.b.address, self.c.address].map(|address| address as u64)
    }

    /// Computes it.
    pub(crate) fn compute(&self, launch: &mut Launch<'_>) -> Result<Work, Broken> {
        use half::{bf16, f16};
        let dtype = match self.types {
            [datatype::F64_R, datatype::F64_R] => self.typed::<f64, f64>(launch, multiply).map(|()| Dtype::F64),
            [datatype::F32_R, datatype::F32_R] => self.typed::<f32, f32>(launch, multiply).map(|()| Dtype::F32),
            [datatype::F16_R, datatype::F16_R] => self.typed::<f16, f16>(launch, multiply).map(|()| Dtype::F16),
            [datatype::F16_R, datatype::F32_R] => self.typed::<f16, f32>(launch, multiply).map(|()| Dtype::F16),
            [datatype::BF16_R, datatype::BF16_R] => self.typed::<bf16, bf16>(launch, multiply).map(|()| Dtype::Bf16),
            [datatype::BF16_R, datatype::F32_R] => self.typed::<bf16, f32>(launch, multiply).map(|()| Dtype::Bf16),
            [datatype::I8_R, datatype::I32_R] => self.typed::<i8, i32>(launch, multiply_whole).map(|()| Dtype::I8),
            other => Err(Broken(format!("there is no product of types {other:?}"))),
        }?;
        let Shape { m, n, k } = self.shape;
        let flops = 2.0 * m as f64 * n as f64 * k as f64 * self.batch as f64;
        Ok(Work::vector(dtype, flops))
    }

    /// Whether there is a product of these types.
    fn is_known(&self) -> bool {
        matches!(
            self.types,
            [datatype::F64_R, datatype::F64_R]
                | [datatype::F32_R | datatype::F16_R | datatype::BF16_R, datatype::F32_R]
                | [datatype::F16_R, datatype::F16_R]
                | [datatype::BF16_R, datatype::BF16_R]
                | [datatype::I8_R, datatype::I32_R]
        )
    }

    /// Column by column is the transpose of row by row: Cᵀ = Bᵀ·Aᵀ.
    fn typed<A: Element, C: Element>(
        &self,
        launch: &mut Launch<'_>,
        multiply: fn(Shape, Matrix<'_, A>, Matrix<'_, A>, &mut [C], Scale),
    ) -> Result<(), Broken> {
        let Self { shape: Shape { m, n, k }, a, b, c, batch, factors, .. } = *self;
        let scale = Scale { alpha: f64::from_bits(factors[0]), beta: f64::from_bits(factors[1]) };
        let (a_rows, a_columns) = if a.transposed { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if b.transposed { (n, k) } else { (k, n) };
        let first: &[A] = launch.input(0, a.elements(a_rows, a_columns, batch))?;
        let second: &[A] = launch.input(1, b.elements(b_rows, b_columns, batch))?;
        let all = c.elements(m, n, batch);
        let result: &mut [C] = if scale.beta == 0.0 { launch.output(2, all)? } else { launch.in_out(2, all)? };
        let turned = Shape { m: n, n: m, k };
        for index in 0..batch {
            let first = first.get(index * a.stride..).unwrap_or_default();
            let second = second.get(index * b.stride..).unwrap_or_default();
            let result = result.get_mut(index * c.stride..).and_then(|rest| rest.get_mut(..m * n)).unwrap_or_default();
            let left = Matrix::with_leading(second, n, k, b.leading, b.transposed);
            let right = Matrix::with_leading(first, k, m, a.leading, a.transposed);
            multiply(turned, left, right, result, scale);
        }
        Ok(())
    }
}

/// A factor in the type that sums are made in.
///
/// # Safety
/// `pointer` must point to one.
unsafe fn factor(pointer: *const c_void, compute_type: c_int) -> Option<f64> {
    // SAFETY: by the promise of the caller.
    unsafe {
        Some(match compute_type {
            datatype::F64_R => pointer.cast::<f64>().read_unaligned(),
            datatype::F32_R => f64::from(pointer.cast::<f32>().read_unaligned()),
            datatype::I32_R => f64::from(pointer.cast::<i32>().read_unaligned()),
            datatype::F16_R => pointer.cast::<half::f16>().read_unaligned().get(),
            _ => return None,
        })
    }
}

fn size(value: rocblas_int) -> Result<usize, rocblas_status> {
    usize::try_from(value).map_err(|_| status::INVALID_SIZE)
}

/// A matrix as a caller gives it.
#[derive(Clone, Copy)]
struct Given {
    pointer: *const c_void,
    dtype: c_int,
    leading: rocblas_int,
    stride: rocblas_stride,
}

impl Given {
    fn operand(self, how: c_int) -> Result<Operand, rocblas_status> {
        let transposed = match how {
            operation::NONE => false,
            operation::TRANSPOSE | operation::CONJUGATE_TRANSPOSE => true,
            _ => return Err(status::INTERNAL_ERROR),
        };
        let stride = usize::try_from(self.stride).map_err(|_| status::INVALID_SIZE)?;
        let address = handle(self.pointer.cast_mut());
        Ok(Operand { address, leading: size(self.leading)?, stride, transposed })
    }

    /// Whether the two are one and the same.
    fn is(self, other: Self) -> bool {
        let [one, two] = [self, other].map(|given| (given.pointer, given.dtype, given.leading, given.stride));
        one == two
    }
}

/// A call of either function.
struct Call {
    of: rocblas_handle,
    operations: [c_int; 2],
    sizes: [rocblas_int; 3],
    factors: [*const c_void; 2],
    /// A, B, C and D.
    matrices: [Given; 4],
    batch: rocblas_int,
    compute_type: c_int,
}

impl Call {
    /// Hands the product over.
    ///
    /// # Safety
    /// The factors must be null or point to one each, in the type that sums are made in.
    unsafe fn hand_over(&self, state: &mut State) -> Result<(), rocblas_status> {
        let blas = *state.blas.get(handle(self.of)).map_err(|_| status::INVALID_HANDLE)?;
        let ([alpha, beta], [a, b, c, d]) = (self.factors, self.matrices);
        if self.matrices.iter().any(|given| given.pointer.is_null()) || alpha.is_null() || beta.is_null() {
            return Err(status::INVALID_POINTER);
        }
        let [m, n, k] = self.sizes;
        // Only what the program asks for is imitated: D is C, without gaps between its columns, factors on the host.
        if !c.is(d) || c.leading != m || a.dtype != b.dtype || blas.scalars_on_card {
            return Err(status::NOT_IMPLEMENTED);
        }
        // SAFETY: by the promise of the caller; neither is null.
        let factors = unsafe { [factor(alpha, self.compute_type), factor(beta, self.compute_type)] };
        let [Some(alpha), Some(beta)] = factors else { return Err(status::NOT_IMPLEMENTED) };
        let product = Product {
            shape: Shape { m: size(m)?, n: size(n)?, k: size(k)? },
            a: a.operand(self.operations[0])?,
            b: b.operand(self.operations[1])?,
            c: c.operand(operation::NONE)?,
            batch: size(self.batch)?,
            types: [a.dtype, c.dtype],
            factors: [alpha.to_bits(), beta.to_bits()],
        };
        if !product.is_known() {
            return Err(status::NOT_IMPLEMENTED);
        }
        state.hand_over(blas.stream, Task::Product(product)).map_err(|_| status::INTERNAL_ERROR)
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_gemm_strided_batched_ex(
    of: rocblas_handle,
    operation_a: c_int,
    operation_b: c_int,
    m: rocblas_int,
    n: rocblas_int,
    k: rocblas_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: rocblas_int,
    stride_a: rocblas_stride,
    b: *const c_void,
    b_type: c_int,
    ldb: rocblas_int,
    stride_b: rocblas_stride,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: rocblas_int,
    stride_c: rocblas_stride,
    d: *mut c_void,
    d_type: c_int,
    ldd: rocblas_int,
    stride_d: rocblas_stride,
    batch: rocblas_int,
    compute_type: c_int,
    _algorithm: c_int,
    _solution: i32,
    _flags: u32,
) -> rocblas_status {
    let given = |pointer, dtype, leading, stride| Given { pointer, dtype, leading, stride };
    let call = Call {
        of,
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        factors: [alpha, beta],
        matrices: [
            given(a, a_type, lda, stride_a),
            given(b, b_type, ldb, stride_b),
            given(c, c_type, ldc, stride_c),
            given(d, d_type, ldd, stride_d),
        ],
        batch,
        compute_type,
    };
    // SAFETY: the caller gives factors in the type that sums are made in.
    answer(|state| unsafe { call.hand_over(state) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn rocblas_gemm_ex(
    of: rocblas_handle,
    operation_a: c_int,
    operation_b: c_int,
    m: rocblas_int,
    n: rocblas_int,
    k: rocblas_int,
    alpha: *const c_void,
    a: *const c_void,
    a_type: c_int,
    lda: rocblas_int,
    b: *const c_void,
    b_type: c_int,
    ldb: rocblas_int,
    beta: *const c_void,
    c: *const c_void,
    c_type: c_int,
    ldc: rocblas_int,
    d: *mut c_void,
    d_type: c_int,
    ldd: rocblas_int,
    compute_type: c_int,
    _algorithm: c_int,
    _solution: i32,
    _flags: u32,
) -> rocblas_status {
    // A batch of one, whose distances do not matter.
    let given = |pointer, dtype, leading| Given { pointer, dtype, leading, stride: 0 };
    let call = Call {
        of,
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        factors: [alpha, beta],
        matrices: [given(a, a_type, lda), given(b, b_type, ldb), given(c, c_type, ldc), given(d, d_type, ldd)],
        batch: 1,
        compute_type,
    };
    // SAFETY: the caller gives factors in the type that sums are made in.
    answer(|state| unsafe { call.hand_over(state) })
}
