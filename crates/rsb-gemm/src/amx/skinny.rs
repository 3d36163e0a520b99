//! AMX GEMM with few rows and a transposed B: B is read once, without packing. Columns of B are
//! used as the rows of A, so each tile of C is computed transposed.

use super::pack::{edge_of_tiles, pack_words, transpose_square};
use super::{AmxUnit, PANEL, SIDE, TileRows};
use crate::kernel::{CacheLine, GemmTask, Scratch, writes_sums};
use crate::micro_kernel::OutputTile;
use crate::pack::Packing;

/// Computes the sums of a block of C with few rows, using `U`.
///
/// # Safety
/// See [`blocked_gemm`](crate::blocked::blocked_gemm); B is transposed, and the scratch memory has
/// room for whole panels of A.
#[inline(always)]
pub(in super::super) unsafe fn skinny_gemm<U>(task: &GemmTask<'_>, scratch: &mut Scratch)
where
    U: AmxUnit<B = <U as super::MicroKernel>::A>,
{
    let (rows, columns) = (&task.block.rows, &task.block.columns);
    let (a, b) = (task.a::<<U::A as Packing>::Element>(), task.b::<<U::A as Packing>::Element>());
    let group = <U::A as Packing>::GROUP;
    let words = a.depth.div_ceil(group).next_multiple_of(SIDE);
    // Words of whole steps whose elements all exist.
    let whole = a.depth / group / SIDE * SIDE;
    let row = b.lane * size_of::<<U::A as Packing>::Element>();
    let (packed, tile) =
        (scratch.a.as_mut_ptr().cast::<u32>(), scratch.tile.as_mut_ptr().cast::<u32>());
    let own = (scratch.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if writes_sums(&task.op) { (task.c, task.stride) } else { own };
    // SAFETY: the caller guarantees that rows and columns are within the matrices; the tile and its
    // sums are in the scratch memory.
    unsafe {
        pack_words::<U::A>(a, rows, &(0..words), packed);
        for column in (0..columns.len()).step_by(PANEL) {
            let lanes = PANEL.min(columns.len() - column);
            let at = b.start.wrapping_add((columns.start + column) * b.lane);
            let read = if lanes == PANEL { whole } else { 0 };
            for first in (0..rows.len()).step_by(PANEL) {
                let a = packed.add(first * words);
                if read > 0 {
                    let begin = at.cast::<u8>();
                    let rows = TileRows {
                        first: begin,
                        second: begin.add(SIDE * row),
                        row,
                        step: 4 * SIDE,
                    };
                    let output = OutputTile { ptr: tile, stride: PANEL, accumulate: false };
                    U::tile(read, rows, a, output);
                }
                for word in (read..words).step_by(SIDE) {
                    let mut edge = [CacheLine([0; SIDE]); PANEL];
                    let step = edge.as_mut_ptr().cast::<u32>();
                    edge_of_tiles::<U::A>(at.wrapping_add(word * group), b, lanes, word, step);
                    let output = OutputTile { ptr: tile, stride: PANEL, accumulate: word > 0 };
                    U::multiply(SIDE, step, a.add(word * PANEL), step, output);
                }
                let height = PANEL.min(rows.len() - first);
                store(tile, height, lanes, c.add(first * stride + column), stride);
            }
        }
    }
}

/// Writes `rows` × `columns` of a tile, which holds them transposed, to C.
///
/// # Safety
/// The tile is complete, C has these rows `stride` words apart, and the CPU has AVX-512.
#[inline(always)]
unsafe fn store(tile: *const u32, rows: usize, columns: usize, c: *mut u32, stride: usize) {
    let mut turned = [CacheLine([0; SIDE]); SIDE];
    for row in (0..rows).step_by(SIDE) {
        for column in (0..columns).step_by(SIDE) {
            // SAFETY: the caller guarantees a complete tile and that the rows and columns exist in
            // C.
            unsafe {
                let quarter = tile.add(column * PANEL + row).cast();
                transpose_square(quarter, 4 * PANEL, turned.as_mut_ptr().cast(), SIDE);
                for (next, line) in turned.iter().enumerate().take(rows - row) {
                    let to = c.add((row + next) * stride + column);
                    to.copy_from_nonoverlapping(line.0.as_ptr(), SIDE.min(columns - column));
                }
            }
        }
    }
}
