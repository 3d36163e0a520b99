//! Fused attention: a block of scores stays in a cache and is overwritten by the next. Each row
//! keeps the running maximum of its scores and the sum of exponentials; a larger score rescales the
//! previous sums (online softmax).

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use multiversion::target::target_cfg_f;
use rsb_model::Dtype;

use super::gemm::{Product, plain_product};
use super::maths::exp;
use super::normalize::{lanes, larger};
use crate::kernel::{Bound, CpuKernel, format_of};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Attention, Gemm};
use rsb_gemm::convert;

/// Queries, from heads that share keys, that a thread processes at once.
const QUERIES: usize = 64;

/// Positions whose scores are in memory at once.
const POSITIONS: usize = 128;

/// Scratch memory of one thread. `wide` is not used for f32.
#[derive(Default)]
struct Scratch {
    wide: [Vec<f32>; 3],
    scores: Vec<f32>,
    sums: Vec<f32>,
}

/// Softmax state of a row.
#[derive(Clone, Copy)]
struct Row {
    largest: f32,
    total: f32,
}

/// Inputs of the kernel, shared by all threads.
struct Work {
    op: Attention,
    format: Option<HalfFormat>,
    inputs: [Span; 3],
    y: Span,
    /// Single-threaded pool: each block of products is computed by one thread.
    alone: ThreadPool,
}

pub(super) fn kernel(op: Attention, bound: Bound) -> Result<CpuKernel, DeviceError> {
    op.check()?;
    let format = format_of("attention", op.dtype)?;
    let inputs = [0, 1, 2].map(|index| bound.span(index));
    let work = Work { op, format, inputs, y: bound.span(3), alone: ThreadPool::new(1)? };
    let blocks = (op.rows_of_keys() as usize).div_ceil(QUERIES);
    let items = (op.batch * op.kv_heads) as usize * blocks;
    let scratch: Vec<Mutex<Scratch>> =
        (0..bound.pool.threads()).map(|_| Mutex::default()).collect();
    Ok(CpuKernel::native(move || {
        // With a mask, the work per block differs, and static shares would not finish at the same
        // time.
        let next = AtomicUsize::new(0);
        let (pool, work): (&ThreadPool, &Work) = (&bound.pool, &work);
        pool.each(|index| {
            let Some(mut scratch) = scratch.get(index).and_then(|slot| slot.lock().ok()) else {
                return;
            };
            loop {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= items {
                    return;
                }
                // SAFETY: `bound` keeps the buffers alive, the output is distinct from the inputs,
                // and each item belongs to one thread.
                unsafe { work.block(item / blocks, item % blocks * QUERIES, &mut scratch) };
            }
        });
    }))
}

impl Work {
    /// Computes rows of `y` for key head `head`, starting at its row `first`.
    ///
    /// # Safety
    /// The spans outlive the call, the output overlaps no input, and nothing else accesses these
    /// rows of it.
    unsafe fn block(&self, head: usize, first: usize, scratch: &mut Scratch) {
        let (op, width) = (&self.op, self.op.head_dim as usize);
        let of_head = op.rows_of_keys() as usize;
        let rows = head * of_head + first..head * of_head + of_head.min(first + QUERIES);
        let reach = |row: usize| op.reach(row as u64) as usize;
        let Scratch { wide: [wide_queries, wide_keys, wide_values], scores, sums } = scratch;
        let most = rows.clone().map(reach).max().unwrap_or(0);
        let mut states = [Row { largest: f32::MIN, total: 0.0 }; QUERIES];
        sums.clear();
        sums.resize(rows.len() * width, 0.0);
        // SAFETY: guaranteed by the caller.
        let queries =
            unsafe { self.numbers(0, rows.start * width..rows.end * width, wide_queries) };
        for start in (0..most).step_by(POSITIONS) {
            let count = POSITIONS.min(most - start);
            let first = head * op.capacity as usize + start;
            let cached = first * width..(first + count) * width;
            scores.resize(rows.len() * count, 0.0);
            let alpha = 1.0 / (width as f64).sqrt();
            let of_scores = Gemm { transpose_b: true, alpha, ..product(rows.len(), count, width) };
            let of_values = Gemm { beta: 1.0, ..product(rows.len(), width, count) };
            // SAFETY: guaranteed by the caller; the scratch memory belongs to this thread and has
            // the size of the products.
            unsafe {
                let keys = self.numbers(1, cached.clone(), wide_keys);
                self.multiply(of_scores, [queries, keys, Span::of_slice(scores)]);
                let each = rows.clone().zip(&mut states);
                for ((row, state), (scores, sums)) in
                    each.zip(scores.chunks_exact_mut(count).zip(sums.chunks_exact_mut(width)))
                {
                    let seen = reach(row).saturating_sub(start).min(count);
                    fold(scores, seen, state, sums);
                }
                let values = self.numbers(2, cached, wide_values);
                self.multiply(of_values, [Span::of_slice(scores), values, Span::of_slice(sums)]);
            }
        }
        for (sums, state) in sums.chunks_exact_mut(width).zip(&states) {
            for sum in sums.iter_mut() {
                *sum /= state.total;
            }
        }
        let elements = rows.start * width..rows.end * width;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.format {
                None => self.y.slice_mut(&elements).copy_from_slice(sums),
                Some(format) => convert::narrow(format, sums, self.y.slice_mut(&elements)),
            }
        }
    }

    /// Returns elements of an input as f32: in place, or widened.
    ///
    /// # Safety
    /// As [`Work::block`].
    unsafe fn numbers(&self, input: usize, elements: Range<usize>, wide: &mut Vec<f32>) -> Span {
        let input = self.inputs.get(input).copied().unwrap_or(Span::EMPTY);
        let Some(format) = self.format else { return input.from::<f32>(elements.start) };
        wide.resize(elements.len(), 0.0);
        // SAFETY: guaranteed by the caller.
        convert::widen(format, unsafe { input.slice(&elements) }, wide);
        Span::of_slice(wide)
    }

    /// Computes one product on this thread.
    ///
    /// # Safety
    /// The spans have the sizes of the product, and nothing else uses C.
    unsafe fn multiply(&self, op: Gemm, [a, b, c]: [Span; 3]) {
        // SAFETY: guaranteed by the caller.
        unsafe { plain_product(&Product { op, a, b, c }, &self.alone) };
    }
}

fn product(m: usize, n: usize, k: usize) -> Gemm {
    Gemm::new(Dtype::F32, m as u64, n as u64, k as u64)
}

/// Replaces the first `seen` scores by their exponentials and the remaining ones by zeros, and
/// rescales `sums` to the new maximum.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn fold(scores: &mut [f32], seen: usize, state: &mut Row, sums: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let (scores, hidden) = scores.split_at_mut(seen);
    hidden.fill(0.0);
    let largest = lanes(scores, larger, state.largest).into_iter().fold(state.largest, larger);
    for score in &mut *scores {
        *score = exp::<FUSED>(*score - largest);
    }
    let factor = exp::<FUSED>(state.largest - largest);
    let total: f32 = lanes(scores, |sum, power| sum + power, 0.0).iter().sum();
    *state = Row { largest, total: state.total * factor + total };
    for sum in sums {
        *sum *= factor;
    }
}
