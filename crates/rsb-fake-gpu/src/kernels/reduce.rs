//! All elements to one. The rooms for partial results and the counter are left as they are: nobody may look at them.

use super::{Twin, twin};
use crate::element::{Element, by_float};
use crate::launch::{Broken, Launch, Work};

pub(super) const TWINS: &[Twin] = &[
    twin("rsb_sum", 6, |launch| by_float!(launch, sum)),
    twin("rsb_max", 6, |launch| by_float!(launch, largest)),
    twin("rsb_argmax", 6, |launch| by_float!(launch, position_of_largest)),
];

fn sum<T: Element>(launch: &mut Launch<'_>) -> Result<Work, Broken> {
    let count = launch.size(1);
    let total: f64 = launch.input::<T>(0, count)?.iter().map(|x| x.get()).sum();
    store(launch, total * launch.number(2))?;
    Ok(Work::vector(launch.dtype(), count as f64))
}

fn largest<T: Element>(launch: &mut Launch<'_>) -> Result<Work, Broken> {
    let count = launch.size(1);
    let most = launch.input::<T>(0, count)?.iter().map(|x| x.get()).fold(f64::NEG_INFINITY, f64::max);
    store(launch, most)?;
    Ok(Work::vector(launch.dtype(), count as f64))
}

/// Of equal ones the first.
fn position_of_largest<T: Element>(launch: &mut Launch<'_>) -> Result<Work, Broken> {
    let count = launch.size(1);
    let (mut most, mut found) = (f64::NEG_INFINITY, u64::MAX);
    for (at, x) in launch.input::<T>(0, count)?.iter().enumerate() {
        if x.get() > most {
            (most, found) = (x.get(), at as u64);
        }
    }
    launch.output::<u64>(5, 1)?.fill(found);
    Ok(Work::vector(launch.dtype(), count as f64))
}

/// The result is f64 where the elements are, else f32.
fn store(launch: &mut Launch<'_>, value: f64) -> Result<(), Broken> {
    if launch.dtype() == rsb_model::Dtype::F64 {
        launch.output::<f64>(5, 1)?.fill(value);
    } else {
        launch.output::<f32>(5, 1)?.fill(value as f32);
    }
    Ok(())
}
