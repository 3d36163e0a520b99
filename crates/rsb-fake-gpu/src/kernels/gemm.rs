//! Matrix products of this program's kernels, row-major.

use rsb_model::Dtype;
use rsb_model::architecture::Engine;

use super::{FakeKernel, twin};
use crate::launch::{KernelError, Launch, Work};
use crate::product::{Matrix, Scale, Shape, multiply, multiply_whole};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_gemm_naive", 12, gemm),
    twin("rsb_gemm_tiled", 12, gemm),
    twin("rsb_gemm_narrow", 12, narrow),
];

/// Sizes and factors, in the order of the parameters.
struct Parameters {
    shape: Shape,
    batch: usize,
    /// Distance between consecutive matrices B, in elements.
    stride_b: usize,
    transposed: [bool; 2],
    scale: Scale,
}

impl Parameters {
    fn of(launch: &Launch<'_>) -> Self {
        Self {
            shape: Shape { m: launch.size(3), n: launch.size(4), k: launch.size(5) },
            batch: launch.size(6),
            stride_b: launch.size(7),
            transposed: [launch.count(8) != 0, launch.count(9) != 0],
            scale: Scale { alpha: launch.number(10), beta: launch.number(11) },
        }
    }

    fn work(&self, dtype: Dtype) -> Work {
        let Shape { m, n, k } = self.shape;
        let flops = 2.0 * m as f64 * n as f64 * k as f64 * self.batch as f64;
        Work { engine: Engine::Vector, ..Work::vector(dtype, flops) }
    }
}

/// Computes products whose result has the type of the operands.
fn narrow(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let parameters = Parameters::of(launch);
    match launch.dtype() {
        Dtype::Bf16 => gemm_of_type::<half::bf16, half::bf16>(launch, &parameters, multiply)?,
        other => return Err(KernelError::no_type(other)),
    }
    Ok(parameters.work(launch.dtype()))
}

fn gemm(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let parameters = Parameters::of(launch);
    match launch.dtype() {
        Dtype::F64 => gemm_of_type::<f64, f64>(launch, &parameters, multiply)?,
        Dtype::F32 => gemm_of_type::<f32, f32>(launch, &parameters, multiply)?,
        Dtype::F16 => gemm_of_type::<half::f16, half::f16>(launch, &parameters, multiply)?,
        Dtype::Bf16 => gemm_of_type::<half::bf16, f32>(launch, &parameters, multiply)?,
        Dtype::I8 => gemm_of_type::<i8, i32>(launch, &parameters, multiply_whole)?,
        other => return Err(KernelError::no_type(other)),
    }
    Ok(parameters.work(launch.dtype()))
}

/// A function that multiplies two matrices.
type Multiply<A, C> = fn(Shape, Matrix<'_, A>, Matrix<'_, A>, &mut [C], Scale);

fn gemm_of_type<A: crate::element::Element, C: crate::element::Element>(
    launch: &mut Launch<'_>,
    parameters: &Parameters,
    multiply: Multiply<A, C>,
) -> Result<(), KernelError> {
    let Parameters { shape, batch, stride_b, transposed: [transpose_a, transpose_b], scale } =
        *parameters;
    let size_a = shape.m.saturating_mul(shape.k);
    let size_c = shape.m.saturating_mul(shape.n);
    let a: &[A] = launch.input(0, size_a.saturating_mul(batch))?;
    let b: &[A] = launch.input(1, stride_b.saturating_mul(batch))?;
    let all = size_c.saturating_mul(batch);
    let c: &mut [C] =
        if scale.beta == 0.0 { launch.output(2, all)? } else { launch.in_out(2, all)? };
    let each =
        a.chunks(size_a.max(1)).zip(b.chunks(stride_b.max(1))).zip(c.chunks_mut(size_c.max(1)));
    for ((a, b), c) in each {
        let a = Matrix::row_major(a, shape.m, shape.k, transpose_a);
        let b = Matrix::row_major(b, shape.k, shape.n, transpose_b);
        multiply(shape, a, b, c, scale);
    }
    Ok(())
}
