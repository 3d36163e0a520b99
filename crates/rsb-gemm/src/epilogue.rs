//! GEMM epilogue: C ← α·sums + β·C, in the data type of C.

use rsb_device::convert::HalfFormat;
use rsb_device::operation::Gemm;
use rsb_model::Dtype;

use crate::convert::{self, BLOCK};
use crate::kernel::{Matrices, Scratch, writes_sums};
use crate::partition::OutputBlock;

/// Writes a block of C from the sums in `scratch`, unless the kernel already wrote to C.
///
/// # Safety
/// See [`PreparedGemm::compute`](crate::PreparedGemm::compute); no other thread works on the block.
pub(super) unsafe fn finish(
    op: &Gemm,
    matrices: &Matrices,
    block: &OutputBlock,
    scratch: &Scratch,
) {
    if writes_sums(op) {
        return;
    }
    let [_, _, layout] = op.layouts();
    let columns = block.columns.len();
    for (index, row) in block.rows.clone().enumerate() {
        let first = layout.position(block.batch as u64, row as u64, block.columns.start as u64);
        let first = first as usize;
        // SAFETY: the scratch memory holds this many sums, and all bit patterns are valid numbers;
        // this row is within C and belongs to this thread.
        unsafe {
            let sums = scratch.sums.as_ptr().cast::<u32>().add(index * columns);
            let (as_floats, as_integers) = (
                std::slice::from_raw_parts(sums.cast::<f32>(), columns),
                std::slice::from_raw_parts(sums.cast::<i32>(), columns),
            );
            match op.output_dtype() {
                Dtype::F32 => combine(op, row_of(matrices, first, columns), as_floats),
                Dtype::F16 => {
                    let c = row_of(matrices, first, columns);
                    combine_half(op, HalfFormat::F16, c, as_floats);
                }
                Dtype::Bf16 => {
                    let c = row_of(matrices, first, columns);
                    combine_half(op, HalfFormat::Bf16, c, as_floats);
                }
                _ => {
                    let c: &mut [i32] = row_of(matrices, first, columns);
                    for (c, sum) in c.iter_mut().zip(as_integers) {
                        let old = if op.reads_c() { op.beta * f64::from(*c) } else { 0.0 };
                        *c = (op.alpha * f64::from(*sum) + old) as i32;
                    }
                }
            }
        }
    }
}

/// Returns `columns` elements of C starting at element `first`.
///
/// # Safety
/// The elements are within C for `'a`, and no other reference to them exists.
unsafe fn row_of<'a, T>(matrices: &Matrices, first: usize, columns: usize) -> &'a mut [T] {
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts_mut(matrices.c.cast::<T>().add(first), columns) }
}

/// Computes C ← α·sums + β·C, without reading C if β is zero.
fn combine(op: &Gemm, c: &mut [f32], sums: &[f32]) {
    let (alpha, beta) = (op.alpha as f32, op.beta as f32);
    if op.reads_c() {
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = alpha * sum + beta * *c);
    } else {
        c.iter_mut().zip(sums).for_each(|(c, sum)| *c = alpha * sum);
    }
}

/// Computes [`combine`] for a 16-bit C.
fn combine_half(op: &Gemm, format: HalfFormat, c: &mut [u16], sums: &[f32]) {
    let mut wide = [0.0; BLOCK];
    for (c, sums) in c.chunks_mut(BLOCK).zip(sums.chunks(BLOCK)) {
        let wide = &mut wide[..c.len()];
        if op.reads_c() {
            convert::widen(format, c, wide);
        }
        combine(op, wide, sums);
        convert::narrow(format, wide, c);
    }
}
