//! Reductions to one element: blocks are reduced in f32 lanes, and block results are combined in
//! f64.

use std::ops::Range;
use std::sync::Mutex;

use rsb_model::Dtype;

use super::whole::{self, IntegerFormat};
use crate::kernel::{Bound, CpuKernel, no_kernel};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Reduce, ReduceOp};
use rsb_gemm::convert::{self, BLOCK};

/// Independent sums or maxima, enough vectors to hide the latency of an addition.
const LANES: usize = 64;

/// Storage format of the elements.
#[derive(Clone, Copy)]
enum ElementFormat {
    F32,
    Sixteen(HalfFormat),
    Whole(IntegerFormat),
}

/// Partial result for a range of the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial {
    pub(super) sum: f64,
    pub(super) largest: f32,
    pub(super) at: usize,
}

impl Partial {
    pub(super) const NONE: Self = Self { sum: 0.0, largest: f32::NEG_INFINITY, at: 0 };

    /// Combines two partial results. If maxima are equal, the first is kept; `other` comes later in
    /// memory.
    fn and(self, other: Self) -> Self {
        let sum = self.sum + other.sum;
        if other.largest > self.largest { Self { sum, ..other } } else { Self { sum, ..self } }
    }
}

pub(super) fn kernel(op: &Reduce, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let form = match (op.dtype, IntegerFormat::of(op.dtype)) {
        (_, Some(whole)) => ElementFormat::Whole(whole),
        (Dtype::F32, _) => ElementFormat::F32,
        (Dtype::F16, _) => ElementFormat::Sixteen(HalfFormat::F16),
        (Dtype::Bf16, _) => ElementFormat::Sixteen(HalfFormat::Bf16),
        (other, _) => return Err(no_kernel("reductions", other, "f32, f16, bf16, i8 and i4")),
    };
    let (kind, elements) = (op.op, op.elements as usize);
    let (input, output) = (bound.span(0), bound.span(1));
    let partials: Vec<Mutex<Partial>> =
        (0..bound.pool.threads()).map(|_| Mutex::new(Partial::NONE)).collect();
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            let share = pool.share(index, elements, BLOCK);
            // SAFETY: `bound` keeps the buffer alive, and nothing writes to it during a launch.
            let partial = unsafe { run(kind, form, input, &share) };
            if let Some(mut slot) = partials.get(index).and_then(|slot| slot.lock().ok()) {
                *slot = partial;
            }
        });
        let known = partials.iter().filter_map(|slot| slot.lock().ok().map(|slot| *slot));
        let total = known.fold(Partial::NONE, Partial::and);
        // SAFETY: the output is a separate buffer, kept by `bound`, and only this thread runs now.
        unsafe { write(kind, total, elements, output) };
    }))
}

/// Writes the result of the reduction.
///
/// # Safety
/// `output` has at least one element, and nothing else uses it.
unsafe fn write(kind: ReduceOp, total: Partial, elements: usize, output: Span) {
    let value = match kind {
        ReduceOp::Argmax => {
            // SAFETY: guaranteed by the caller; a position is one 64-bit word.
            unsafe { output.slice_mut::<u8>(&(0..8)) }
                .copy_from_slice(&(total.at as u64).to_le_bytes());
            return;
        }
        ReduceOp::Sum => total.sum as f32,
        ReduceOp::Mean => (total.sum / elements as f64) as f32,
        ReduceOp::Max => total.largest,
    };
    // SAFETY: guaranteed by the caller.
    unsafe { output.slice_mut::<f32>(&(0..1)) }.fill(value);
}

/// Reduces a share of the input.
///
/// # Safety
/// The input outlives the call, and nothing writes to it.
unsafe fn run(kind: ReduceOp, form: ElementFormat, input: Span, share: &Range<usize>) -> Partial {
    match form {
        // SAFETY: guaranteed by the caller.
        ElementFormat::Whole(form) => unsafe { whole::partial(kind, form, input, share) },
        ElementFormat::F32 => {
            // SAFETY: guaranteed by the caller.
            let x = unsafe { input.slice::<f32>(share) };
            fold(kind, share.start, x.chunks(BLOCK))
        }
        ElementFormat::Sixteen(format) => {
            // SAFETY: guaranteed by the caller.
            let x = unsafe { input.slice::<u16>(share) };
            let mut wide = [0.0; BLOCK];
            let mut total = Partial::NONE;
            for (block, x) in x.chunks(BLOCK).enumerate() {
                let Some(wide) = wide.get_mut(..x.len()) else { return total };
                convert::widen(format, x, wide);
                total = total.and(fold(kind, share.start + block * BLOCK, std::iter::once(&*wide)));
            }
            total
        }
    }
}

/// Reduces consecutive blocks starting at position `first`.
fn fold<'a>(kind: ReduceOp, first: usize, blocks: impl Iterator<Item = &'a [f32]>) -> Partial {
    let mut total = Partial::NONE;
    let mut best: &[f32] = &[];
    for (index, block) in blocks.enumerate() {
        match kind {
            ReduceOp::Sum | ReduceOp::Mean => total.sum += f64::from(sum(block)),
            ReduceOp::Max | ReduceOp::Argmax => {
                let largest = largest(block);
                if largest > total.largest {
                    total.largest = largest;
                    total.at = first + index * BLOCK;
                    best = block;
                }
            }
        }
    }
    // Only the block with the maximum is searched for its position.
    total.at += best.iter().position(|&value| value >= total.largest).unwrap_or(0);
    total
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn sum(block: &[f32]) -> f32 {
    let (chunks, rest) = block.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn largest(block: &[f32]) -> f32 {
    let (chunks, rest) = block.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(f32::NEG_INFINITY, |best, &value| if value > best { value } else { best })
}
