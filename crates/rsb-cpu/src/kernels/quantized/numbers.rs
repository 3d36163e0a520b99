//! Dequantization of small integers, 32 at a time, in plain loops that vectorize.

use multiversion::target::target_cfg_f;
use rsb_model::Dtype;

use rsb_device::operation::QuantizedProduct;

/// Weights in a unit: processed at once, and all in one group.
pub(super) const UNIT: usize = QuantizedProduct::UNIT as usize;

/// Independent sums of a row; a unit has two vectors of this length.
const LANES: usize = UNIT / 2;

/// Rows of A multiplied by a weight after dequantizing it once.
const TOGETHER: usize = 4;

/// Storage of the integers of a unit.
trait Packed: Copy {
    /// Returns the integers of a unit as f32. For 4 bits, those at even positions come first;
    /// [`apart`] sorts the other operand in the same way. If `WIDE` is set, the caller must be
    /// compiled for AVX-512.
    fn numbers<const WIDE: bool>(&self) -> [[f32; LANES]; 2];
}

impl Packed for [u8; UNIT] {
    #[allow(clippy::inline_always)] // Or it would not be compiled with the vector instructions of its caller.
    #[inline(always)]
    fn numbers<const WIDE: bool>(&self) -> [[f32; LANES]; 2] {
        let (first, second) = self.split_at(LANES);
        [first, second].map(|half| {
            let mut numbers = [0.0; LANES];
            numbers.iter_mut().zip(half).for_each(|(to, byte)| *to = f32::from(byte.cast_signed()));
            numbers
        })
    }
}

impl Packed for [u8; LANES] {
    #[allow(clippy::inline_always)] // As above.
    #[inline(always)]
    fn numbers<const WIDE: bool>(&self) -> [[f32; LANES]; 2] {
        #[cfg(target_arch = "x86_64")]
        if WIDE {
            // SAFETY: a caller that sets `WIDE` is compiled for a CPU with AVX-512.
            return unsafe { x86::halves(self) };
        }
        let mut numbers = [[0.0; LANES]; 2];
        let [low, high] = &mut numbers;
        for ((low, high), byte) in low.iter_mut().zip(high).zip(self) {
            let both = i32::from(byte.cast_signed());
            *low = ((both << 28) >> 28) as f32;
            *high = (both >> 4) as f32;
        }
        numbers
    }
}

/// Sorts each unit: elements at even positions first, then those at odd positions.
pub(super) fn apart(numbers: &mut [f32]) {
    for unit in numbers.as_chunks_mut::<UNIT>().0 {
        let mixed = *unit;
        let (even, odd) = unit.split_at_mut(LANES);
        for ((even, odd), [first, second]) in even.iter_mut().zip(odd).zip(mixed.as_chunks::<2>().0)
        {
            (*even, *odd) = (*first, *second);
        }
    }
}

/// Multiplies each row of A by the rows of `weights` with their `scales`, and writes row-major
/// `sums` (rows of A × rows of weights). With 4-bit weights, A is in the order of [`apart`].
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
pub(super) fn rows(
    op: &QuantizedProduct,
    weights: &[u8],
    scales: &[f32],
    a: &[f32],
    sums: &mut [f32],
) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    const WIDE: bool = target_cfg_f!(target_feature = "avx512f");
    let (row_bytes, groups) = (op.row_bytes() as usize, op.groups() as usize);
    let rows = weights.chunks_exact(row_bytes).zip(scales.chunks_exact(groups));
    let (count, m) = (weights.len() / row_bytes, op.m as usize);
    for (column, (weights, scales)) in rows.enumerate() {
        let row = Row { units: op.group as usize / UNIT, weights, scales };
        let mut done = 0;
        while done < m {
            let a = a.chunks_exact(op.k as usize).skip(done);
            let to = sums.iter_mut().skip(done * count + column).step_by(count);
            done += match (m - done, op.weights) {
                (TOGETHER.., Dtype::I4) => row.times::<FUSED, WIDE, LANES, TOGETHER>(a, to),
                (TOGETHER.., _) => row.times::<FUSED, WIDE, UNIT, TOGETHER>(a, to),
                (_, Dtype::I4) => row.times::<FUSED, WIDE, LANES, 1>(a, to),
                _ => row.times::<FUSED, WIDE, UNIT, 1>(a, to),
            };
        }
    }
}

/// A row of weights.
#[derive(Clone, Copy)]
struct Row<'w> {
    /// Units per group.
    units: usize,
    weights: &'w [u8],
    scales: &'w [f32],
}

impl Row<'_> {
    /// Writes the sums for the next `M` rows of A and returns `M`. `BYTES` is the size of a unit.
    #[allow(clippy::inline_always)] // As above.
    #[inline(always)]
    fn times<'a, const FUSED: bool, const WIDE: bool, const BYTES: usize, const M: usize>(
        self,
        a: impl Iterator<Item = &'a [f32]>,
        to: impl Iterator<Item = &'a mut f32>,
    ) -> usize
    where
        [u8; BYTES]: Packed,
    {
        let mut rows: [&[[f32; UNIT]]; M] = [&[]; M];
        rows.iter_mut().zip(a).for_each(|(row, a)| *row = a.as_chunks().0);
        let mut totals = [[0.0; LANES]; M];
        let units = self.weights.as_chunks::<BYTES>().0;
        for (group, (units, &scale)) in units.chunks(self.units).zip(self.scales).enumerate() {
            let first = group * self.units;
            let sums = group_sums::<FUSED, WIDE, BYTES, M>(
                units,
                rows.map(|row| row.get(first..).unwrap_or_default()),
            );
            for (totals, sums) in totals.iter_mut().zip(&sums) {
                for (total, &sum) in totals.iter_mut().zip(sums) {
                    *total = multiply_add::<FUSED>(scale, sum, *total);
                }
            }
        }
        to.zip(totals).take(M).for_each(|(to, totals)| *to = totals.iter().sum());
        M
    }
}

/// Returns the sums of a group of weights, lane by lane.
#[allow(clippy::inline_always)] // As above.
#[inline(always)]
fn group_sums<const FUSED: bool, const WIDE: bool, const BYTES: usize, const M: usize>(
    weights: &[[u8; BYTES]],
    a: [&[[f32; UNIT]]; M],
) -> [[f32; LANES]; M]
where
    [u8; BYTES]: Packed,
{
    let mut sums = [[0.0; LANES]; M];
    for (unit, weights) in weights.iter().enumerate() {
        let numbers = weights.numbers::<WIDE>();
        for (sums, a) in sums.iter_mut().zip(&a) {
            let Some(a) = a.get(unit) else { continue };
            add::<FUSED>(sums, &numbers, a);
        }
    }
    sums
}

/// Adds the products of a unit.
#[allow(clippy::inline_always)] // As above.
#[inline(always)]
fn add<const FUSED: bool>(
    sums: &mut [f32; LANES],
    [first, second]: &[[f32; LANES]; 2],
    a: &[f32; UNIT],
) {
    let (low, high) = a.split_at(LANES);
    for (((sum, &first), &second), (&low, &high)) in
        sums.iter_mut().zip(first).zip(second).zip(low.iter().zip(high))
    {
        *sum = multiply_add::<FUSED>(second, high, multiply_add::<FUSED>(first, low, *sum));
    }
}

/// Returns x · y + z, with one instruction if `FUSED`.
#[allow(clippy::inline_always)] // As above.
#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, y: f32, z: f32) -> f32 {
    if FUSED { x.mul_add(y, z) } else { x * y + z }
}

/// Dequantizes rows of weights, in their original order.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
pub(super) fn panel(op: &QuantizedProduct, weights: &[u8], scales: &[f32], numbers: &mut [f32]) {
    let (row_bytes, groups) = (op.row_bytes() as usize, op.groups() as usize);
    let rows = weights.chunks_exact(row_bytes).zip(scales.chunks_exact(groups));
    for ((weights, scales), numbers) in rows.zip(numbers.chunks_exact_mut(op.k as usize)) {
        let each = numbers
            .chunks_mut(op.group as usize)
            .zip(weights.chunks(op.weights.bytes(op.group) as usize));
        for ((numbers, weights), scale) in each.zip(scales) {
            if op.weights == Dtype::I8 {
                for (to, byte) in numbers.iter_mut().zip(weights) {
                    *to = f32::from(byte.cast_signed()) * scale;
                }
                continue;
            }
            for ([low, high], byte) in numbers.as_chunks_mut::<2>().0.iter_mut().zip(weights) {
                let both = i32::from(byte.cast_signed());
                *low = ((both << 28) >> 28) as f32 * scale;
                *high = (both >> 4) as f32 * scale;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm512_cvtepu8_epi32, _mm512_permutexvar_ps, _mm512_setr_ps,
        _mm512_srli_epi32, _mm512_storeu_ps,
    };

    use super::LANES;

    /// Returns both halves of each byte as f32, looked up in a register with all sixteen values.
    /// This takes two thirds of the instructions of a conversion.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) fn halves(bytes: &[u8; LANES]) -> [[f32; LANES]; 2] {
        let table = _mm512_setr_ps(
            0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0,
        );
        // SAFETY: sixteen bytes are a vector of 128 bits.
        let bytes = _mm512_cvtepu8_epi32(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
        // The instruction uses only the lowest four bits of an index.
        let halves =
            [bytes, _mm512_srli_epi32::<4>(bytes)].map(|index| _mm512_permutexvar_ps(index, table));
        let mut numbers = [[0.0; LANES]; 2];
        for (to, half) in numbers.iter_mut().zip(halves) {
            // SAFETY: sixteen numbers are a vector of 512 bits.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), half) };
        }
        numbers
    }
}
