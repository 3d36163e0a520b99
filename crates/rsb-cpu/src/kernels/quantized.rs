//! Products with quantized weights. With few rows, as for one token, each weight is read once,
//! dequantized in a register and multiplied with all rows. With many rows, panels of weights are
//! dequantized in a cache and multiplied by a regular GEMM.

use std::ops::Range;
use std::sync::Mutex;

use rsb_model::Dtype;

use super::gemm::{Product, plain_product};
use crate::kernel::{Bound, CpuKernel, format_of};
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use numbers::{UNIT, apart, panel, rows};
use rsb_device::convert::HalfFormat;
use rsb_device::device::DeviceError;
use rsb_device::operation::{Gemm, QuantizedProduct};
use rsb_gemm::convert;

mod numbers;

/// Maximum rows of A for multiplication in registers. Above this number, the `gemm` crate is
/// faster.
const FEW: u64 = 48;

/// Rows of weights whose scales are widened at once.
const BLOCK: usize = 32;

/// Rows of weights that are dequantized at once.
const PANEL: usize = 64;

/// Scratch memory of one thread.
#[derive(Default)]
struct Scratch {
    scales: Vec<f32>,
    /// Dequantized weights, for many rows of A.
    panel: Vec<f32>,
    /// Columns of C, row-major.
    sums: Vec<f32>,
}

/// Inputs of the kernel, shared by all threads.
struct Work {
    op: QuantizedProduct,
    format: Option<HalfFormat>,
    /// A in f32.
    a: Span,
    weights: Span,
    scales: Span,
    c: Span,
    /// Single-threaded pool: each panel is computed by one thread.
    alone: ThreadPool,
}

pub(super) fn kernel(op: QuantizedProduct, bound: Bound) -> Result<CpuKernel, DeviceError> {
    op.check()?;
    let format = format_of("products with quantized weights", op.dtype)?;
    let few = op.m <= FEW;
    let sorted = few && op.weights == Dtype::I4;
    let from = bound.span(0);
    // For all threads, A is widened once and sorted into the order of unpacked half bytes.
    let mut made =
        vec![0.0_f32; if format.is_some() || sorted { (op.m * op.k) as usize } else { 0 }];
    let a = if made.is_empty() { from } else { Span::of_slice(&mut made) };
    let (weights, scales, c) = (bound.span(1), bound.span(2), bound.span(3));
    let work = Work { op, format, a, weights, scales, c, alone: ThreadPool::new(1)? };
    let scratch: Vec<Mutex<Scratch>> =
        (0..bound.pool.threads()).map(|_| Mutex::default()).collect();
    Ok(CpuKernel::native(move || {
        let (pool, work): (&ThreadPool, &Work) = (&bound.pool, &work);
        if !made.is_empty() {
            let units = made.len() / UNIT;
            pool.each(|index| {
                let share = pool.share(index, units, 1);
                // SAFETY: `bound` keeps the buffer alive, and the closure the converted A; shares
                // are disjoint.
                unsafe { work.make(from, share.start * UNIT..share.end * UNIT, sorted) };
            });
        }
        pool.each(|index| {
            let share = pool.share(index, op.n as usize, PANEL);
            let Some(mut scratch) = scratch.get(index).and_then(|slot| slot.lock().ok()) else {
                return;
            };
            // SAFETY: `bound` keeps the buffers alive, C is distinct from the inputs, and shares of
            // its columns are disjoint.
            unsafe {
                if few {
                    work.few(share, &mut scratch);
                } else {
                    work.many(share, &mut scratch);
                }
            }
        });
    }))
}

impl Work {
    /// Converts elements of A for the multiplication.
    ///
    /// # Safety
    /// The spans outlive the call, and nothing else accesses these elements of the result.
    unsafe fn make(&self, from: Span, elements: Range<usize>, sorted: bool) {
        // SAFETY: guaranteed by the caller.
        let to: &mut [f32] = unsafe { self.a.slice_mut(&elements) };
        match self.format {
            // SAFETY: guaranteed by the caller.
            None => to.copy_from_slice(unsafe { from.slice(&elements) }),
            // SAFETY: guaranteed by the caller.
            Some(format) => convert::widen(format, unsafe { from.slice(&elements) }, to),
        }
        if sorted {
            apart(to);
        }
    }

    /// Computes columns of C for few rows of A.
    ///
    /// # Safety
    /// The spans outlive the call, C overlaps nothing else, and nothing else accesses these columns
    /// of it.
    unsafe fn few(&self, columns: Range<usize>, scratch: &mut Scratch) {
        let (bytes, m) = (self.op.row_bytes() as usize, self.op.m as usize);
        // SAFETY: guaranteed by the caller.
        let a: &[f32] = unsafe { self.a.slice(&(0..m * self.op.k as usize)) };
        for first in columns.clone().step_by(BLOCK) {
            let block = first..columns.end.min(first + BLOCK);
            scratch.sums.resize(m * block.len(), 0.0);
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.widen_scales(&block, &mut scratch.scales);
                let weights: &[u8] = self.weights.slice(&(block.start * bytes..block.end * bytes));
                rows(&self.op, weights, &scratch.scales, a, &mut scratch.sums);
                self.put(&block, &scratch.sums);
            }
        }
    }

    /// Computes columns of C for many rows of A.
    ///
    /// # Safety
    /// As [`Work::few`].
    unsafe fn many(&self, columns: Range<usize>, scratch: &mut Scratch) {
        let (k, bytes) = (self.op.k as usize, self.op.row_bytes() as usize);
        for first in columns.clone().step_by(PANEL) {
            let block = first..columns.end.min(first + PANEL);
            scratch.panel.resize(block.len() * k, 0.0);
            scratch.sums.resize(self.op.m as usize * block.len(), 0.0);
            let product = Gemm::new(Dtype::F32, self.op.m, block.len() as u64, self.op.k);
            // SAFETY: guaranteed by the caller; the scratch memory belongs to this thread and has
            // the size of the product.
            unsafe {
                self.widen_scales(&block, &mut scratch.scales);
                let weights: &[u8] = self.weights.slice(&(block.start * bytes..block.end * bytes));
                panel(&self.op, weights, &scratch.scales, &mut scratch.panel);
                let (b, c) =
                    (Span::of_slice(&mut scratch.panel), Span::of_slice(&mut scratch.sums));
                let op = Gemm { transpose_b: true, ..product };
                plain_product(&Product { op, a: self.a, b, c }, &self.alone);
                self.put(&block, &scratch.sums);
            }
        }
    }

    /// Widens the scales of `rows` to f32.
    ///
    /// # Safety
    /// As [`Work::few`].
    unsafe fn widen_scales(&self, rows: &Range<usize>, scales: &mut Vec<f32>) {
        let groups = self.op.groups() as usize;
        scales.resize(rows.len() * groups, 0.0);
        // SAFETY: guaranteed by the caller.
        convert::widen(
            HalfFormat::F16,
            unsafe { self.scales.slice(&(rows.start * groups..rows.end * groups)) },
            scales,
        );
    }

    /// Writes columns of C from the row-major `sums`.
    ///
    /// # Safety
    /// As [`Work::few`].
    unsafe fn put(&self, columns: &Range<usize>, sums: &[f32]) {
        for (row, sums) in sums.chunks_exact(columns.len()).enumerate() {
            let first = row * self.op.n as usize;
            let elements = first + columns.start..first + columns.end;
            // SAFETY: guaranteed by the caller.
            unsafe {
                match self.format {
                    None => self.c.slice_mut(&elements).copy_from_slice(sums),
                    Some(format) => convert::narrow(format, sums, self.c.slice_mut(&elements)),
                }
            }
        }
    }
}
