//! Reductions to one element. The workspace and the counter parameters are ignored, since their
//! contents are not part of the result.

use rsb_model::Dtype;

use super::{FakeKernel, twin};
use crate::element::{Element, from_halves};
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_sum", 6, |launch| {
        let total: f64 = numbers(launch)?.iter().sum();
        store(launch, total * launch.number(2))
    }),
    twin("rsb_max", 6, |launch| {
        let most = numbers(launch)?.into_iter().fold(f64::NEG_INFINITY, f64::max);
        store(launch, most)
    }),
    twin("rsb_argmax", 6, position_of_largest),
];

/// Returns the input elements as f64.
fn numbers(launch: &mut Launch<'_>) -> Result<Vec<f64>, KernelError> {
    match launch.dtype() {
        Dtype::I8 => elements::<i8>(launch),
        Dtype::I4 => {
            let count = launch.size(1);
            let mut all = from_halves(launch.input::<u8>(0, count.div_ceil(2))?);
            all.truncate(count);
            Ok(all)
        }
        _ => by_float!(launch, elements),
    }
}

fn elements<T: Element>(launch: &mut Launch<'_>) -> Result<Vec<f64>, KernelError> {
    let count = launch.size(1);
    Ok(launch.input::<T>(0, count)?.iter().map(|x| x.get()).collect())
}

/// Stores the index of the largest element; the first one if several are equal.
fn position_of_largest(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (mut most, mut found) = (f64::NEG_INFINITY, u64::MAX);
    for (at, x) in (0..).zip(numbers(launch)?) {
        if x > most {
            (most, found) = (x, at);
        }
    }
    launch.output::<u64>(5, 1)?.fill(found);
    Ok(Work::vector(launch.dtype(), launch.size(1) as f64))
}

/// Stores the result, as f64 for f64 elements, otherwise as f32.
fn store(launch: &mut Launch<'_>, value: f64) -> Result<Work, KernelError> {
    if launch.dtype() == Dtype::F64 {
        launch.output::<f64>(5, 1)?.fill(value);
    } else {
        launch.output::<f32>(5, 1)?.fill(value as f32);
    }
    Ok(Work::vector(launch.dtype(), launch.size(1) as f64))
}
