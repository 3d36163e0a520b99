//! How a part of C is cut into blocks and tiles, for whatever multiplies them.

use std::marker::PhantomData;
use std::ops::Range;

use super::pack::{Packing, Source, pack};
use super::tile::{OutputTile, less_128_of_b, tile};
use super::unit::Unit;
use super::{Scratch, Task, is_direct};

/// Columns of a block of B: 8 MB.
pub(super) const COLUMNS: usize = 2048;

/// What multiplies a panel of A by a panel of B, and how both are packed for it.
///
/// # Safety
/// A panel of A is `ROWS` lanes of a multiple of `STEP` words, one of B `COLUMNS`, and nothing else
/// is read or written. Whoever calls a method runs on a CPU that has what it needs, in a function
/// that is compiled for it.
pub(super) unsafe trait Multiply {
    /// How elements of A become words.
    type A: Packing;
    /// The same of B.
    type B: Packing;
    /// Rows of a tile.
    const ROWS: usize;
    /// Columns of a tile.
    const COLUMNS: usize;
    /// Words in depth of a block: the more, the less often C is read and written again.
    const DEPTH: usize;
    /// Rows of a block of A, which with `DEPTH` words in each is in the second cache.
    const BLOCK: usize;
    /// Words that are multiplied at once.
    const STEP: usize;

    /// Packs `lanes` of A.
    ///
    /// # Safety
    /// As [`pack`].
    unsafe fn pack_a(
        source: Source<<Self::A as Packing>::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    );
    /// As `pack_a`, of B.
    ///
    /// # Safety
    /// As [`pack`].
    unsafe fn pack_b(
        source: Source<<Self::B as Packing>::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    );
    /// What the tiles of a panel of B begin with, a word for each column.
    ///
    /// # Safety
    /// The panel is of B, and there is room for as many words.
    #[inline(always)]
    unsafe fn begin(_words: usize, _panel: *const u32, _begin: *mut u32) {}
    /// Sets a tile of C to `begin` plus the product of panels `a` and `b`, or adds them to it if the
    /// tile accumulates.
    ///
    /// # Safety
    /// The panels hold `words` words in depth, and C has the tile.
    unsafe fn multiply(
        words: usize,
        a: *const u32,
        b: *const u32,
        begin: *const u32,
        output: OutputTile,
    );
}

/// Tiles of `R` rows and `V` vectors of `U`, which are `W` columns. Where `FROM_128`, A is 128 too
/// much.
pub(super) struct Vectors<
    U,
    A,
    B,
    const R: usize,
    const V: usize,
    const W: usize,
    const FROM_128: bool,
>(PhantomData<(U, A, B)>);

// SAFETY: what it reads and writes is as the trait says, by what `pack` and `tile` promise.
unsafe impl<U, A, B, const R: usize, const V: usize, const W: usize, const FROM_128: bool> Multiply
    for Vectors<U, A, B, R, V, W, FROM_128>
where
    U: Unit,
    A: Packing,
    B: Packing,
{
    type A = A;
    type B = B;
    const ROWS: usize = R;
    const COLUMNS: usize = W;
    /// Wide vectors: a panel of B is in the second cache, not in the first, and is asked for ahead,
    /// since it is read in a row. Narrow ones read A twice as often for as many products, and are
    /// faster with both in their caches.
    const DEPTH: usize = if U::LANES > 8 { 1024 } else { 512 };
    /// With `DEPTH` words in each, 2 MB; for narrow vectors 240 KiB.
    const BLOCK: usize = if U::LANES > 8 { 480 } else { 120 };
    const STEP: usize = 1;

    #[inline(always)]
    unsafe fn pack_a(
        source: Source<A::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: by the promise of the caller, here and below.
        unsafe { pack::<A, R>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn pack_b(
        source: Source<B::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { pack::<B, W>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn begin(words: usize, panel: *const u32, begin: *mut u32) {
        if FROM_128 {
            // SAFETY: as above.
            unsafe { less_128_of_b::<U, V>(words, panel, begin) };
        }
    }

    #[inline(always)]
    unsafe fn multiply(
        words: usize,
        a: *const u32,
        b: *const u32,
        begin: *const u32,
        output: OutputTile,
    ) {
        // SAFETY: as above.
        unsafe { tile::<U, R, V>(words, a, b, begin, output) };
    }
}

/// The sums of a part of C by `M`.
///
/// # Safety
/// As [`super::Ready::run`], on a CPU that has what `M` needs, in a function that is compiled for
/// it; the room is for this part.
#[inline(always)]
pub(super) unsafe fn block<M: Multiply>(task: &Task<'_>, room: &mut Scratch) {
    let (rows, columns) = (&task.part.rows, &task.part.columns);
    let (a, b) = (task.a::<<M::A as Packing>::Element>(), task.b::<<M::B as Packing>::Element>());
    let (packed_a, packed_b) =
        (room.a.as_mut_ptr().cast::<u32>(), room.b.as_mut_ptr().cast::<u32>());
    let begin = room.begin.as_mut_ptr().cast::<u32>();
    let own = (room.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if is_direct(&task.op) { (task.c, task.stride) } else { own };
    let all = a.depth.div_ceil(<M::A as Packing>::GROUP).next_multiple_of(M::STEP);
    for j in (0..columns.len()).step_by(COLUMNS) {
        let width = COLUMNS.min(columns.len() - j);
        for word in (0..all).step_by(M::DEPTH) {
            let words = word..all.min(word + M::DEPTH);
            // SAFETY: rows, columns and words of the matrices, in a room for as many; tiles within
            // this part of C.
            unsafe {
                let first = columns.start + j;
                M::pack_b(b, &(first..first + width), &words, packed_b);
                for i in (0..rows.len()).step_by(M::BLOCK) {
                    let height = M::BLOCK.min(rows.len() - i);
                    let first = rows.start + i;
                    M::pack_a(a, &(first..first + height), &words, packed_a);
                    for column in (0..width).step_by(M::COLUMNS) {
                        let panel = packed_b.add(column * words.len());
                        M::begin(words.len(), panel, begin);
                        for row in (0..height).step_by(M::ROWS) {
                            let panel_of_a = packed_a.add(row * words.len());
                            let to = c.add((i + row) * stride + j + column);
                            let tile_rows = M::ROWS.min(height - row);
                            let tile_columns = M::COLUMNS.min(width - column);
                            let is_whole = (tile_rows, tile_columns) == (M::ROWS, M::COLUMNS);
                            let edge = room.tile.as_mut_ptr().cast::<u32>();
                            let (ptr, step) =
                                if is_whole { (to, stride) } else { (edge, M::COLUMNS) };
                            if !is_whole {
                                copy(to, stride, edge, M::COLUMNS, tile_rows, tile_columns);
                            }
                            let output = OutputTile { ptr, stride: step, accumulate: word > 0 };
                            M::multiply(words.len(), panel_of_a, panel, begin, output);
                            if !is_whole {
                                copy(edge, M::COLUMNS, to, stride, tile_rows, tile_columns);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Copies `rows` by `columns` words. Rows begin `step` words apart at `from` and `stride` words
/// apart at `to`.
///
/// # Safety
/// Both places have them and do not overlap.
unsafe fn copy(
    from: *const u32,
    step: usize,
    to: *mut u32,
    stride: usize,
    rows: usize,
    columns: usize,
) {
    for row in 0..rows {
        // SAFETY: by the promise of the caller.
        unsafe { to.add(row * stride).copy_from_nonoverlapping(from.add(row * step), columns) };
    }
}
