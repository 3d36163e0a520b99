//! Attention of queries to keys and values.

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work, by_float};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_attention", 12, |launch| by_float!(launch, attention)),
    twin("rsb_attention_row", 12, |launch| by_float!(launch, attention)),
];

fn attention<T: Element>(launch: &mut Launch<'_>) -> Result<Work, KernelError> {
    let [heads, group, queries, positions, capacity, width] =
        [4, 5, 6, 7, 8, 9].map(|index| launch.size(index).max(1));
    let (causal, scale) = (launch.count(10) != 0, launch.number(11));
    let all = [heads, group, queries].into_iter().fold(width, usize::saturating_mul);
    let cache = [heads, capacity].into_iter().fold(width, usize::saturating_mul);
    let q: &[T] = launch.input(0, all)?;
    let (k, v): (&[T], &[T]) = (launch.input(1, cache)?, launch.input(2, cache)?);
    let y: &mut [T] = launch.output(3, all)?;
    let mut pairs = 0.0;
    for (row, (query, y)) in q.chunks(width).zip(y.chunks_mut(width)).enumerate() {
        let reach = if causal {
            (positions + row % queries + 1).saturating_sub(queries)
        } else {
            positions
        };
        let first = row / (group * queries) * capacity;
        let mut scores = Vec::new();
        for key in k.chunks(width).skip(first).take(reach) {
            let product = query.iter().zip(key).map(|(q, k)| q.get() * k.get()).sum::<f64>();
            scores.push(scale * product);
        }
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f64 = powers.iter().sum();
        for (at, y) in y.iter_mut().enumerate() {
            let values = v.chunks(width).skip(first).take(reach).filter_map(|value| value.get(at));
            let sum: f64 = values.zip(&powers).map(|(value, power)| value.get() * power).sum();
            *y = T::put(sum / total);
        }
        pairs += reach as f64;
    }
    Ok(Work::vector(launch.dtype(), 4.0 * pairs * width as f64))
}
