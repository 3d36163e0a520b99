//! GEMM with few rows, as in a decoder that generates one token. B is read once without packing,
//! which would take longer than the product.

use std::ops::Range;

use crate::kernel::{GemmTask, MAX_SKINNY_ROWS, Scratch, padded_words, writes_sums};
use crate::micro_kernel::offset_compensation;
use crate::pack::{PackSource, Packing};
use crate::simd::{MAX_LANES, SimdUnit};

/// Minimum rows for which matrix tiles are faster than vectors. With fewer rows, reading B takes
/// longest.
pub(super) const MIN_ROWS_OF_TILES: usize = 5;
/// Columns that are summed at once if B is transposed.
const COLUMNS: usize = 4;
/// Same for a single row with one element per word, which needs less compute for each read.
const COLUMNS_OF_ONE: usize = 8;
/// Rows of B that are read together if B is not transposed, so that C is read and written once for
/// all of them. More would compete for the ways of one L1 set if rows are a power of two apart.
const DEPTH: usize = 8;

/// Computes the sums of a block of C with few rows, `R` rows at once, using unit `U`. A and B are
/// swapped, so with `OFFSET_A` the elements of B are offset by 128, which adds the same value to a
/// whole row of C.
///
/// # Safety
/// See [`blocked_gemm`](crate::blocked::blocked_gemm).
#[inline(always)]
pub(super) unsafe fn skinny_gemm<U, A, B, const R: usize, const OFFSET_A: bool>(
    task: &GemmTask<'_>,
    scratch: &mut Scratch,
) where
    U: SimdUnit,
    A: Packing,
    B: Packing<Element = A::Element>,
{
    let (rows, columns) = (&task.block.rows, &task.block.columns);
    let (a, mut b) = (task.a::<A::Element>(), task.b::<A::Element>());
    let words = a.depth.div_ceil(A::GROUP);
    let packed = scratch.a.as_mut_ptr().cast::<u32>();
    let own = (scratch.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if writes_sums(&task.op) { (task.c, task.stride) } else { own };
    let mut initial = [0; MAX_SKINNY_ROWS];
    // SAFETY: rows and columns are within the matrices; the scratch memory has room for the padded
    // rows; sums are within this block of C.
    unsafe {
        for (row, initial) in initial.iter_mut().enumerate().take(rows.len()) {
            let (to, at) =
                (packed.add(row * padded_words(words)), a.start.add((rows.start + row) * a.lane));
            for word in 0..words {
                let count = A::GROUP.min(a.depth - word * A::GROUP);
                *to.add(word) = B::word(at.add(word * A::GROUP * a.step), a.step, count);
            }
            to.add(words).write_bytes(0, padded_words(words) - words);
            if OFFSET_A {
                let mut lanes = [0; MAX_LANES];
                offset_compensation::<U, 1>(padded_words(words) / U::LANES, to, lanes.as_mut_ptr());
                *initial = total::<U>(lanes);
            }
        }
        b.start = b.start.add(columns.start * b.lane);
        let work = Work { a: packed, initial, b, words, c, stride };
        if b.step == 1 {
            along::<U, A, R>(&work, rows.len(), columns.len());
        } else {
            across::<U, A, R>(&work, rows.len(), columns.len());
        }
    }
}

/// Packed rows of A, their initial sums, B starting at the first column, and the output.
struct Work<E> {
    a: *const u32,
    initial: [u32; MAX_SKINNY_ROWS],
    b: PackSource<E>,
    /// Words per row of A without padding.
    words: usize,
    c: *mut u32,
    stride: usize,
}

impl<E> Work<E> {
    /// Returns the address of `word` in `row` of A.
    ///
    /// # Safety
    /// The row exists and has the word.
    #[inline(always)]
    unsafe fn a(&self, row: usize, word: usize) -> *const u32 {
        // SAFETY: guaranteed by the caller.
        unsafe { self.a.add(row * padded_words(self.words) + word) }
    }
}

/// Returns the sum of all lanes.
#[inline(always)]
fn total<U: SimdUnit>(mut lanes: [u32; MAX_LANES]) -> u32 {
    let mut half = U::LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = U::sum(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Computes the block for a transposed B: a vector holds words of one column, and its lanes are
/// summed at the end.
///
/// # Safety
/// See [`skinny_gemm`].
#[inline(always)]
unsafe fn along<U: SimdUnit, B: Packing, const R: usize>(
    work: &Work<B::Element>,
    rows: usize,
    columns: usize,
) {
    let whole = columns - columns % COLUMNS_OF_ONE;
    // SAFETY: guaranteed by the caller.
    unsafe {
        for column in (0..whole).step_by(COLUMNS_OF_ONE) {
            let mut row = 0;
            while row + R <= rows {
                for half in 0..COLUMNS_OF_ONE / COLUMNS {
                    dots::<U, B, R, COLUMNS>(work, row, column + half * COLUMNS);
                }
                row += R;
            }
            for row in row..rows {
                if B::GROUP == 1 {
                    dots::<U, B, 1, COLUMNS_OF_ONE>(work, row, column);
                } else {
                    for half in 0..COLUMNS_OF_ONE / COLUMNS {
                        dots::<U, B, 1, COLUMNS>(work, row, column + half * COLUMNS);
                    }
                }
            }
        }
        for column in whole..columns {
            for row in 0..rows {
                dots::<U, B, 1, 1>(work, row, column);
            }
        }
    }
}

/// Computes the sums of `R` rows and `C` columns starting at `row` and `column`.
///
/// # Safety
/// See [`skinny_gemm`]; the block has these rows and columns.
#[inline(always)]
unsafe fn dots<U: SimdUnit, B: Packing, const R: usize, const C: usize>(
    work: &Work<B::Element>,
    row: usize,
    column: usize,
) {
    let b = &work.b;
    let whole = b.depth / B::GROUP / U::LANES * U::LANES;
    let none = 0_u32;
    // SAFETY: the caller guarantees that the words and elements are within the rows of A and the
    // columns of B.
    unsafe {
        let zero = U::broadcast(&raw const none);
        let mut sums = [[zero; C]; R];
        for word in (0..whole).step_by(U::LANES) {
            let mut columns = [zero; C];
            for (index, vector) in columns.iter_mut().enumerate() {
                *vector = B::vector::<U>(b.start.add((column + index) * b.lane + word * B::GROUP));
            }
            add::<U, R, C>(&mut sums, work.a(row, word), padded_words(work.words), columns);
        }
        if whole < work.words {
            let mut columns = [zero; C];
            for (index, vector) in columns.iter_mut().enumerate() {
                let first = whole * B::GROUP;
                *vector =
                    last::<U, B>(b.start.add((column + index) * b.lane + first), b.depth - first);
            }
            add::<U, R, C>(&mut sums, work.a(row, whole), padded_words(work.words), columns);
        }
        for (index, sums) in sums.into_iter().enumerate() {
            let to = work.c.add((row + index) * work.stride + column);
            for (next, sum) in sums.into_iter().enumerate() {
                let mut lanes = [0; MAX_LANES];
                U::store(lanes.as_mut_ptr(), sum);
                *to.add(next) = U::sum(total::<U>(lanes), work.initial[row + index]);
            }
        }
    }
}

/// Adds the products of a vector of each row of A, `stride` words apart, and of each column of B.
/// This is not a closure, since a closure does not reliably inherit the target features of its
/// function.
///
/// # Safety
/// A has `R` rows, and the CPU has the unit.
#[inline(always)]
unsafe fn add<U: SimdUnit, const R: usize, const C: usize>(
    sums: &mut [[U::Vector; C]; R],
    a: *const u32,
    stride: usize,
    columns: [U::Vector; C],
) {
    for (index, sums) in sums.iter_mut().enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let a = U::load(a.add(index * stride));
            for (sum, column) in sums.iter_mut().zip(columns) {
                *sum = U::multiply_add(*sum, column, a);
            }
        }
    }
}

/// Returns a vector of the last `count` elements of a column, padded with zeros.
///
/// # Safety
/// The elements are valid to read, and the CPU has the unit.
#[inline(always)]
unsafe fn last<U: SimdUnit, B: Packing>(at: *const B::Element, count: usize) -> U::Vector {
    let mut words = [0; MAX_LANES];
    for (first, word) in (0..count).step_by(B::GROUP).zip(&mut words) {
        // SAFETY: guaranteed by the caller.
        *word = unsafe { B::word(at.add(first), 1, B::GROUP.min(count - first)) };
    }
    // SAFETY: the array is as long as the longest vector.
    unsafe { U::load(words.as_ptr()) }
}

/// Computes the block for a B that is not transposed: a vector holds one word of each column.
///
/// # Safety
/// See [`skinny_gemm`].
#[inline(always)]
unsafe fn across<U: SimdUnit, B: Packing, const R: usize>(
    work: &Work<B::Element>,
    rows: usize,
    columns: usize,
) {
    if rows == 1 && B::GROUP == 1 {
        // SAFETY: guaranteed by the caller.
        return unsafe { across_once::<U, B>(work, columns) };
    }
    let step = (DEPTH / B::GROUP).max(1);
    for first in (0..work.words).step_by(step) {
        let words = first..work.words.min(first + step);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut row = 0;
            while row + R <= rows {
                strip::<U, B, R>(work, row, &(0..columns), &words);
                row += R;
            }
            for row in row..rows {
                strip::<U, B, 1>(work, row, &(0..columns), &words);
            }
        }
    }
}

/// Computes [`across`] for a single row, reading B once from start to end.
///
/// # Safety
/// See [`skinny_gemm`].
#[inline(always)]
unsafe fn across_once<U: SimdUnit, B: Packing>(work: &Work<B::Element>, columns: usize) {
    let whole = columns - columns % U::LANES;
    // SAFETY: guaranteed by the caller.
    unsafe {
        for column in 0..columns {
            *work.c.add(column) = work.initial[0];
        }
        for word in 0..work.words {
            let (a, b) = (U::broadcast(work.a(0, word)), work.b.start.add(word * work.b.step));
            for column in (0..whole).step_by(U::LANES) {
                let c = work.c.add(column);
                U::store(c, U::multiply_add(U::load(c), B::vector::<U>(b.add(column)), a));
            }
        }
        if whole < columns {
            strip::<U, B, 1>(work, 0, &(whole..columns), &(0..work.words));
        }
    }
}

/// Adds the products of `words` of B to `R` rows of C, starting at `row`.
///
/// # Safety
/// See [`skinny_gemm`]; the block has these rows and words.
#[inline(always)]
unsafe fn strip<U: SimdUnit, B: Packing, const R: usize>(
    work: &Work<B::Element>,
    row: usize,
    columns: &Range<usize>,
    words: &Range<usize>,
) {
    let whole = columns.end - columns.len() % U::LANES;
    // SAFETY: guaranteed by the caller.
    unsafe {
        for column in (columns.start..whole).step_by(U::LANES) {
            let c = work.c.add(row * work.stride + column);
            sums::<U, B, R>(work, row, column, U::LANES, words, c, work.stride);
        }
        if whole < columns.end {
            let lanes = columns.end - whole;
            for row in row..row + R {
                let mut edge = [0_u32; MAX_LANES];
                let c = work.c.add(row * work.stride + whole);
                edge.as_mut_ptr().copy_from_nonoverlapping(c, lanes);
                sums::<U, B, 1>(work, row, whole, lanes, words, edge.as_mut_ptr(), MAX_LANES);
                c.copy_from_nonoverlapping(edge.as_ptr(), lanes);
            }
        }
    }
}

/// Computes [`strip`] for one vector of columns, of which `lanes` exist, with output rows `stride`
/// words apart at `c`.
///
/// # Safety
/// See [`skinny_gemm`]; the block has these rows and words, and each row at `c` has room for a
/// vector.
#[inline(always)]
unsafe fn sums<U: SimdUnit, B: Packing, const R: usize>(
    work: &Work<B::Element>,
    row: usize,
    column: usize,
    lanes: usize,
    words: &Range<usize>,
    c: *mut u32,
    stride: usize,
) {
    let b = &work.b;
    // SAFETY: the caller guarantees that words of A and elements of B are valid and that C has
    // these rows and columns.
    unsafe {
        let none = 0_u32;
        let mut sums = [U::broadcast(&raw const none); R];
        for (index, sum) in sums.iter_mut().enumerate() {
            *sum = match words.start {
                0 => U::broadcast(work.initial.as_ptr().add(row + index)),
                _ => U::load(c.add(index * stride)),
            };
        }
        for word in words.clone() {
            let at = b.start.add(column + word * B::GROUP * b.step);
            let left = b.depth - word * B::GROUP;
            let columns = if lanes < U::LANES || left < B::GROUP {
                edge::<U, B>(at, lanes, b.step, left.min(B::GROUP))
            } else if B::GROUP == 1 {
                B::vector::<U>(at)
            } else {
                B::vector_of_columns::<U>(at, b.step)
            };
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = U::multiply_add(*sum, columns, U::broadcast(work.a(row + index, word)));
            }
        }
        for (index, sum) in sums.into_iter().enumerate() {
            U::store(c.add(index * stride), sum);
        }
    }
}

/// Returns a vector of `lanes` columns with `count` elements per word, padded with zeros.
///
/// # Safety
/// The elements are valid to read, `step` elements apart from row to row, and the CPU has the unit.
#[inline(always)]
unsafe fn edge<U: SimdUnit, B: Packing>(
    at: *const B::Element,
    lanes: usize,
    step: usize,
    count: usize,
) -> U::Vector {
    let mut words = [0; MAX_LANES];
    for (lane, word) in words.iter_mut().take(lanes).enumerate() {
        // SAFETY: guaranteed by the caller.
        *word = unsafe { B::word(at.add(lane), step, count) };
    }
    // SAFETY: the array is as long as the longest vector.
    unsafe { U::load(words.as_ptr()) }
}
