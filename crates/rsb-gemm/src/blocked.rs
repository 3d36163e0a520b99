//! Loops around a microkernel: blocks of C, packed panels of A and B, tiles.

use crate::kernel::{GemmTask, Scratch, writes_sums};
use crate::micro_kernel::{MicroKernel, NC, OutputTile};
use crate::pack::Packing;

/// Computes the sums of a block of C with microkernel `M`.
///
/// # Safety
/// See [`PreparedGemm::compute`](crate::PreparedGemm::compute). In addition, the CPU has the
/// features that `M` needs, the calling function is compiled with them, and the scratch memory was
/// allocated for this block.
#[inline(always)]
pub(super) unsafe fn blocked_gemm<M: MicroKernel>(task: &GemmTask<'_>, scratch: &mut Scratch) {
    let (rows, columns) = (&task.block.rows, &task.block.columns);
    let (a, b) = (task.a::<<M::A as Packing>::Element>(), task.b::<<M::B as Packing>::Element>());
    let (packed_a, packed_b) =
        (scratch.a.as_mut_ptr().cast::<u32>(), scratch.b.as_mut_ptr().cast::<u32>());
    let initial = scratch.initial.as_mut_ptr().cast::<u32>();
    let own = (scratch.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if writes_sums(&task.op) { (task.c, task.stride) } else { own };
    let all = a.depth.div_ceil(<M::A as Packing>::GROUP).next_multiple_of(M::STEP);
    for j in (0..columns.len()).step_by(NC) {
        let width = NC.min(columns.len() - j);
        for word in (0..all).step_by(M::KC) {
            let words = word..all.min(word + M::KC);
            // SAFETY: rows, columns and words are within the matrices, the scratch memory is large
            // enough for them, and tiles are within this block of C.
            unsafe {
                let first = columns.start + j;
                M::pack_b(b, &(first..first + width), &words, packed_b);
                for i in (0..rows.len()).step_by(M::MC) {
                    let height = M::MC.min(rows.len() - i);
                    let first = rows.start + i;
                    M::pack_a(a, &(first..first + height), &words, packed_a);
                    for column in (0..width).step_by(M::NR) {
                        let panel_of_b = packed_b.add(column * words.len());
                        M::initial_sums(words.len(), panel_of_b, initial);
                        for row in (0..height).step_by(M::MR) {
                            let panel_of_a = packed_a.add(row * words.len());
                            let to = c.add((i + row) * stride + j + column);
                            let tile_rows = M::MR.min(height - row);
                            let tile_columns = M::NR.min(width - column);
                            let is_whole = (tile_rows, tile_columns) == (M::MR, M::NR);
                            let edge = scratch.tile.as_mut_ptr().cast::<u32>();
                            let (ptr, step) = if is_whole { (to, stride) } else { (edge, M::NR) };
                            if !is_whole {
                                copy_tile(to, stride, edge, M::NR, tile_rows, tile_columns);
                            }
                            let output = OutputTile { ptr, stride: step, accumulate: word > 0 };
                            M::multiply(words.len(), panel_of_a, panel_of_b, initial, output);
                            if !is_whole {
                                copy_tile(edge, M::NR, to, stride, tile_rows, tile_columns);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Copies a tile of `rows` × `columns` words. Rows are `step` words apart at `from` and `stride`
/// words apart at `to`.
///
/// # Safety
/// Both regions are valid and do not overlap.
unsafe fn copy_tile(
    from: *const u32,
    step: usize,
    to: *mut u32,
    stride: usize,
    rows: usize,
    columns: usize,
) {
    for row in 0..rows {
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(row * stride).copy_from_nonoverlapping(from.add(row * step), columns) };
    }
}
