//! Softmax, layer norm and RMS norm, one row at a time: a row is read from memory once and stays in
//! L1 or L2.

use std::ops::Range;
use std::sync::Mutex;

use multiversion::target::target_cfg_f;

use super::maths::exp;
use crate::kernel::{Bound, CpuKernel, format_of};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{LAYER_NORM_EPSILON, Normalize, NormalizeOp};
use rsb_gemm::convert;

/// Independent sums of a row.
const LANES: usize = 32;

/// Buffers in which one thread widens its data. Not used for f32.
struct Scratch {
    x: Vec<f32>,
    y: Vec<f32>,
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// Inputs of the kernel, shared by all threads.
#[derive(Clone, Copy)]
struct Work {
    op: NormalizeOp,
    columns: usize,
    x: Span,
    gain: Span,
    bias: Span,
    y: Span,
}

pub(super) fn kernel(op: &Normalize, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let format = format_of("softmax and norms", op.dtype)?;
    let (rows, columns, inputs) = (op.rows as usize, op.columns as usize, op.op.inputs());
    let input = |index| if index < inputs { bound.span(index) } else { Span::EMPTY };
    let work = Work {
        op: op.op,
        columns,
        x: bound.span(0),
        gain: input(1),
        bias: input(2),
        y: bound.span(inputs),
    };
    let row = || vec![0.0; columns];
    let scratch: Vec<Mutex<Scratch>> = (0..bound.pool.threads())
        .map(|_| Mutex::new(Scratch { x: row(), y: row(), gain: row(), bias: row() }))
        .collect();
    Ok(CpuKernel::native(move || {
        let pool: &ThreadPool = &bound.pool;
        pool.each(|index| {
            let share = pool.share(index, rows, 1);
            let Some(mut scratch) = scratch.get(index).and_then(|slot| slot.lock().ok()) else {
                return;
            };
            // SAFETY: `bound` keeps the buffers alive, the output is distinct from the inputs, and
            // shares are disjoint.
            unsafe {
                match format {
                    None => run(&work, &share),
                    Some(format) => run_sixteen(&work, format, &share, &mut scratch),
                }
            }
        });
    }))
}

/// Normalizes rows of f32.
///
/// # Safety
/// The spans outlive the call, the output overlaps no input, and nothing else accesses these rows
/// of it.
unsafe fn run(work: &Work, rows: &Range<usize>) {
    let elements = rows.start * work.columns..rows.end * work.columns;
    // SAFETY: guaranteed by the caller.
    let (x, y) = unsafe { (work.x.slice::<f32>(&elements), work.y.slice_mut::<f32>(&elements)) };
    // SAFETY: guaranteed by the caller.
    let (gain, bias): (&[f32], &[f32]) =
        unsafe { (work.gain.slice(&(0..work.columns)), work.bias.slice(&(0..work.columns))) };
    for (x, y) in x.chunks_exact(work.columns).zip(y.chunks_exact_mut(work.columns)) {
        row(work.op, x, gain, bias, y);
    }
}

/// Normalizes rows of 16-bit elements.
///
/// # Safety
/// As [`run`].
unsafe fn run_sixteen(work: &Work, format: HalfFormat, rows: &Range<usize>, scratch: &mut Scratch) {
    let elements = rows.start * work.columns..rows.end * work.columns;
    // SAFETY: guaranteed by the caller.
    let (x, y) = unsafe { (work.x.slice::<u16>(&elements), work.y.slice_mut::<u16>(&elements)) };
    for (from, to) in [(work.gain, &mut scratch.gain), (work.bias, &mut scratch.bias)] {
        // SAFETY: guaranteed by the caller.
        let from: &[u16] = unsafe { from.slice(&(0..work.columns)) };
        // Stays empty if the operation has no such input.
        to.resize(from.len(), 0.0);
        convert::widen(format, from, to);
    }
    for (x, y) in x.chunks_exact(work.columns).zip(y.chunks_exact_mut(work.columns)) {
        convert::widen(format, x, &mut scratch.x);
        row(work.op, &scratch.x, &scratch.gain, &scratch.bias, &mut scratch.y);
        convert::narrow(format, &scratch.y, y);
    }
}

fn row(op: NormalizeOp, x: &[f32], gain: &[f32], bias: &[f32], y: &mut [f32]) {
    match op {
        NormalizeOp::Softmax => softmax(x, y),
        NormalizeOp::LayerNorm => layer_norm(x, gain, bias, y),
        NormalizeOp::RmsNorm => rms_norm(x, gain, y),
    }
}

/// Folds x in independent lanes.
// Inlined so that it is compiled with the vector instructions of its caller.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) fn lanes(x: &[f32], f: impl Fn(f32, f32) -> f32, start: f32) -> [f32; LANES] {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = f(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = f(*lane, value);
    }
    lanes
}

/// Returns the larger value; unlike `f32::max`, this is a single instruction.
#[allow(clippy::inline_always)] // As `lanes`.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn softmax(x: &[f32], y: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let largest = lanes(x, larger, f32::NEG_INFINITY).into_iter().fold(f32::NEG_INFINITY, larger);
    for (y, &x) in y.iter_mut().zip(x) {
        *y = exp::<FUSED>(x - largest);
    }
    let total: f32 = lanes(y, |sum, power| sum + power, 0.0).iter().sum();
    let scale = 1.0 / total;
    for y in y {
        *y *= scale;
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn layer_norm(x: &[f32], gain: &[f32], bias: &[f32], y: &mut [f32]) {
    let count = x.len() as f32;
    let mean = lanes(x, |sum, value| sum + value, 0.0).iter().sum::<f32>() / count;
    let square = |sum: f32, value: f32| sum + (value - mean) * (value - mean);
    let variance = lanes(x, square, 0.0).iter().sum::<f32>() / count;
    let scale = 1.0 / (variance + LAYER_NORM_EPSILON as f32).sqrt();
    for (((y, &x), &gain), &bias) in y.iter_mut().zip(x).zip(gain).zip(bias) {
        *y = (x - mean) * scale * gain + bias;
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn rms_norm(x: &[f32], gain: &[f32], y: &mut [f32]) {
    let squares: f32 = lanes(x, |sum, value| sum + value * value, 0.0).iter().sum();
    let scale = 1.0 / (squares / x.len() as f32 + LAYER_NORM_EPSILON as f32).sqrt();
    for ((y, &x), &gain) in y.iter_mut().zip(x).zip(gain) {
        *y = x * scale * gain;
    }
}
