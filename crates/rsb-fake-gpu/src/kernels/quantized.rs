//! Products with low-bit weights.

use half::f16;

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_quantized_rows", 9, |launch| by_float!(launch, quantized_product)),
    twin("rsb_quantized_tiled", 9, |launch| by_float!(launch, quantized_product)),
];

fn quantized_product<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let [m, n, k, group, bits] = [4, 5, 6, 7, 8].map(|index| launch.size(index).max(1));
    let (groups, row) = (k.div_ceil(group), k.saturating_mul(bits) / 8);
    let a: &[T] = launch.input(0, m.saturating_mul(k))?;
    let weights: &[u8] = launch.input(1, n.saturating_mul(row))?;
    let scales: &[f16] = launch.input(2, n.saturating_mul(groups))?;
    let c: &mut [T] = launch.output(3, m.saturating_mul(n))?;
    let rows = weights.chunks(row.max(1)).zip(scales.chunks(groups)).enumerate();
    for (column, (weights, scales)) in rows {
        let wholes = weights.iter().flat_map(|&byte| whole_numbers(byte, bits));
        let numbers: Vec<f64> = wholes
            .enumerate()
            .map(|(at, whole)| whole * scales.get(at / group).map_or(0.0, |scale| scale.get()))
            .collect();
        for (a, c) in a.chunks(k).zip(c.chunks_mut(n)) {
            let sum = a.iter().zip(&numbers).map(|(a, number)| a.get() * number).sum();
            if let Some(c) = c.get_mut(column) {
                *c = T::put(sum);
            }
        }
    }
    Ok(Work::vector(launch.dtype(), 2.0 * m as f64 * n as f64 * k as f64))
}

/// Returns the signed integers in a byte: one of 8 bits, or two of 4 bits, low half first.
fn whole_numbers(byte: u8, bits: usize) -> impl Iterator<Item = f64> {
    let all = if bits == 4 {
        [(byte << 4).cast_signed() >> 4, byte.cast_signed() >> 4]
    } else {
        [byte.cast_signed(); 2]
    };
    all.into_iter().take(8 / bits).map(f64::from)
}
