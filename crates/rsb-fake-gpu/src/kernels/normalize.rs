//! Normalizations along rows: softmax and norms.

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_softmax", 4, |launch| by_float!(launch, softmax)),
    twin("rsb_layer_norm", 7, |launch| by_float!(launch, layer_norm)),
    twin("rsb_rms_norm", 6, |launch| by_float!(launch, rms_norm)),
];

fn softmax<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (columns, all) = (launch.size(3).max(1), launch.size(2).saturating_mul(launch.size(3)));
    let x: &[T] = launch.input(0, all)?;
    let y: &mut [T] = launch.output(1, all)?;
    for (y, x) in y.chunks_mut(columns).zip(x.chunks(columns)) {
        let most = x.iter().map(|x| x.get()).fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = x.iter().map(|x| (x.get() - most).exp()).collect();
        let sum: f64 = powers.iter().sum();
        y.iter_mut().zip(powers).for_each(|(y, power)| *y = T::put(power / sum));
    }
    Ok(Work::vector(launch.dtype(), 5.0 * all as f64))
}

fn layer_norm<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (columns, all) = (launch.size(5).max(1), launch.size(4).saturating_mul(launch.size(5)));
    let epsilon = launch.number(6);
    let x: &[T] = launch.input(0, all)?;
    let (gain, bias): (&[T], &[T]) = (launch.input(1, columns)?, launch.input(2, columns)?);
    let y: &mut [T] = launch.output(3, all)?;
    for (y, x) in y.chunks_mut(columns).zip(x.chunks(columns)) {
        let count = x.len() as f64;
        let mean = x.iter().map(|x| x.get()).sum::<f64>() / count;
        let variance = x.iter().map(|x| (x.get() - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + epsilon).sqrt();
        for ((y, x), (gain, bias)) in y.iter_mut().zip(x).zip(gain.iter().zip(bias)) {
            *y = T::put((x.get() - mean) / deviation * gain.get() + bias.get());
        }
    }
    Ok(Work::vector(launch.dtype(), 7.0 * all as f64))
}

fn rms_norm<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let (columns, all) = (launch.size(4).max(1), launch.size(3).saturating_mul(launch.size(4)));
    let epsilon = launch.number(5);
    let (x, gain): (&[T], &[T]) = (launch.input(0, all)?, launch.input(1, columns)?);
    let y: &mut [T] = launch.output(2, all)?;
    for (y, x) in y.chunks_mut(columns).zip(x.chunks(columns)) {
        let squares: f64 = x.iter().map(|x| x.get().powi(2)).sum();
        let root = (squares / x.len() as f64 + epsilon).sqrt();
        for ((y, x), gain) in y.iter_mut().zip(x).zip(gain) {
            *y = T::put(x.get() / root * gain.get());
        }
    }
    Ok(Work::vector(launch.dtype(), 4.0 * all as f64))
}
