//! Element-wise functions, as defined mathematically and without the approximations of the GPU
//! kernels.

use rsb_model::Dtype;

use super::{FakeKernel, twin};
use crate::element::{Element, from_halves, to_halves};
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_add", 4, |launch| match launch.dtype() {
        Dtype::I8 => add::<i8>(launch),
        Dtype::I4 => halves(launch, 2, |x, z| x + z),
        _ => by_float!(launch, add),
    }),
    twin("rsb_multiply", 4, |launch| by_float!(launch, multiply)),
    twin("rsb_relu", 3, |launch| match launch.dtype() {
        Dtype::I8 => relu::<i8>(launch),
        Dtype::I4 => halves(launch, 1, |x, _| x.max(0.0)),
        _ => by_float!(launch, relu),
    }),
    twin("rsb_gelu", 3, |launch| by_float!(launch, gelu)),
    twin("rsb_sigmoid", 3, |launch| by_float!(launch, sigmoid)),
];

fn one<T: Element>(
    launch: &mut Launch<'_>,
    flops: f64,
    f: impl Fn(f64) -> f64,
) -> Result<Work, KernelError> {
    let count = launch.size(2);
    let x: &[T] = launch.input(0, count)?;
    for (y, x) in launch.output::<T>(1, count)?.iter_mut().zip(x) {
        *y = T::put(f(x.get()));
    }
    Ok(Work::vector(launch.dtype(), flops * count as f64))
}

fn two<T: Element>(
    launch: &mut Launch<'_>,
    f: impl Fn(f64, f64) -> f64,
) -> Result<Work, KernelError> {
    let count = launch.size(3);
    let (x, z): (&[T], &[T]) = (launch.input(0, count)?, launch.input(1, count)?);
    for (y, (x, z)) in launch.output::<T>(2, count)?.iter_mut().zip(x.iter().zip(z)) {
        *y = T::put(f(x.get(), z.get()));
    }
    Ok(Work::vector(launch.dtype(), count as f64))
}

/// Applies `f` to packed 4-bit integers of one or two inputs.
fn halves(
    launch: &mut Launch<'_>,
    inputs: usize,
    f: impl Fn(f64, f64) -> f64,
) -> Result<Work, KernelError> {
    let count = launch.size(inputs + 1);
    let x = from_halves(launch.input::<u8>(0, count.div_ceil(2))?);
    let z = from_halves(launch.input::<u8>(inputs - 1, count.div_ceil(2))?);
    let y: Vec<f64> = x.iter().zip(z).map(|(&x, z)| f(x, z)).collect();
    launch.output::<u8>(inputs, count.div_ceil(2))?.copy_from_slice(&to_halves(&y));
    Ok(Work::vector(launch.dtype(), count as f64))
}

fn add<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    two::<T>(launch, |x, z| x + z)
}

fn multiply<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    two::<T>(launch, |x, z| x * z)
}

fn relu<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    one::<T>(launch, 1.0, |x| x.max(0.0))
}

fn sigmoid<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    one::<T>(launch, 4.0, |x| (1.0 + (-x).exp()).recip())
}

/// Computes ½x (1 + tanh(√(2/π) (x + 0.044715 x³))).
fn gelu<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let root = (2.0 / std::f64::consts::PI).sqrt();
    one::<T>(launch, 8.0, |x| 0.5 * x * (1.0 + (root * (x + 0.044_715 * x.powi(3))).tanh()))
}
