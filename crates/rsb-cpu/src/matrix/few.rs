//! Products of few rows, as in a decoder that makes one token: B is read once, as it lies, since packing it would take longer
//! than multiplying it.

use super::pack::{Packing, Source, pack};
use super::unit::{MOST_LANES, Unit};
use super::{Room, Task, is_direct};

/// Rows up to which B is not packed.
pub(super) const FEW: usize = 16;
/// Columns that are summed at once where sums go along the lanes.
const COLUMNS: usize = 4;
/// Rows of B that are read side by side where a row of B has a lane for each column: C is read and written once for as many.
const DEPTH: usize = 16;

/// Words of a row of A in the room, for `words` words: behind the end are zeros.
pub(super) fn padded(words: usize) -> usize {
    words.next_multiple_of(MOST_LANES)
}

/// The sums of a part of C of few rows by `U`, `R` rows at once. Where `FROM_128`, A is 128 too much.
///
/// # Safety
/// As [`super::way`]'s for many rows.
#[inline(always)]
pub(super) unsafe fn few<U, A, B, const R: usize, const FROM_128: bool>(task: &Task<'_>, room: &mut Room)
where
    U: Unit,
    A: Packing,
    B: Packing,
{
    let (rows, columns) = (&task.part.rows, &task.part.columns);
    let (a, mut b) = (task.a::<A::Element>(), task.b::<B::Element>());
    let words = a.depth.div_ceil(A::GROUP);
    let packed = room.a.as_mut_ptr().cast::<u32>();
    let own = (room.sums.as_mut_ptr().cast(), columns.len());
    let (c, stride) = if is_direct(&task.op) { (task.c, task.stride) } else { own };
    // SAFETY: rows and columns of the matrices; the room has so many padded rows; sums are within this part of C.
    unsafe {
        for row in 0..rows.len() {
            let to = packed.add(row * padded(words));
            pack::<A, 1>(a, (rows.start + row, 1), &(0..words), to);
            to.add(words).write_bytes(0, padded(words) - words);
        }
        b.start = b.start.add(columns.start * b.lane);
        let work = Work { a: packed, b, words, c, stride };
        let size = (rows.len(), columns.len());
        if b.step == 1 {
            along::<U, B, R, FROM_128>(&work, size);
        } else {
            across::<U, B, R, FROM_128>(&work, size);
        }
    }
}

/// Rows of A in words, B from the first column on, and where sums go.
struct Work<E> {
    a: *const u32,
    b: Source<E>,
    /// Words of a row of A that hold something.
    words: usize,
    c: *mut u32,
    stride: usize,
}

impl<E> Work<E> {
    /// # Safety
    /// There is such a row, and word `word` is in it.
    #[inline(always)]
    unsafe fn a(&self, row: usize, word: usize) -> *const u32 {
        // SAFETY: by the promise of the caller.
        unsafe { self.a.add(row * padded(self.words) + word) }
    }
}

/// Words of B: `lanes` of them that begin `lane` elements apart, of elements `step` apart, `count` in each; zeros behind.
///
/// # Safety
/// B has these elements, and the CPU has the unit.
#[inline(always)]
unsafe fn vector<U: Unit, B: Packing>(
    at: *const B::Element,
    (lane, lanes): (usize, usize),
    (step, count): (usize, usize),
) -> U::Vector {
    let mut words = [0; MOST_LANES];
    for (index, word) in words.iter_mut().take(lanes).enumerate() {
        // SAFETY: by the promise of the caller.
        *word = unsafe { B::word(at.add(index * lane), step, count) };
    }
    // SAFETY: as many words as any vector has.
    unsafe { U::load(words.as_ptr()) }
}

/// Columns of B that lie along their depth: a vector has words of one column, and its lanes are summed in the end.
///
/// # Safety
/// As [`few`].
#[inline(always)]
unsafe fn along<U: Unit, B: Packing, const R: usize, const FROM_128: bool>(
    work: &Work<B::Element>,
    (rows, columns): (usize, usize),
) {
    let whole = columns - columns % COLUMNS;
    // SAFETY: by the promise of the caller.
    unsafe {
        for column in (0..whole).step_by(COLUMNS) {
            let mut row = 0;
            while row + R <= rows {
                dots::<U, B, R, COLUMNS, FROM_128>(work, (row, column));
                row += R;
            }
            for row in row..rows {
                dots::<U, B, 1, COLUMNS, FROM_128>(work, (row, column));
            }
        }
        for column in whole..columns {
            for row in 0..rows {
                dots::<U, B, 1, 1, FROM_128>(work, (row, column));
            }
        }
    }
}

/// The sums of `R` rows and `C` columns from there on.
///
/// # Safety
/// As [`few`], with so many rows and columns.
#[inline(always)]
unsafe fn dots<U: Unit, B: Packing, const R: usize, const C: usize, const FROM_128: bool>(
    work: &Work<B::Element>,
    (row, column): (usize, usize),
) {
    let b = &work.b;
    let whole = b.depth / B::GROUP / U::LANES * U::LANES;
    let (none, each) = (0_u32, 0x8080_8080_u32);
    // SAFETY: words of the rows of A, and elements of the columns of B, by the promise of the caller.
    unsafe {
        let each = U::broadcast(&raw const each);
        let mut sums = [[U::broadcast(&raw const none); C]; R];
        let mut too_much = [U::broadcast(&raw const none); C];
        let mut add = |word: usize, columns: [U::Vector; C]| {
            if FROM_128 {
                for (sum, column) in too_much.iter_mut().zip(columns) {
                    *sum = U::multiply_add(*sum, each, column);
                }
            }
            for (index, sums) in sums.iter_mut().enumerate() {
                let a = U::load(work.a(row + index, word));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = U::multiply_add(*sum, a, column);
                }
            }
        };
        let at = |index: usize, word: usize| b.start.add((column + index) * b.lane + word * B::GROUP);
        for word in (0..whole).step_by(U::LANES) {
            let columns =
                std::array::from_fn(|index| vector::<U, B>(at(index, word), (B::GROUP, U::LANES), (1, B::GROUP)));
            add(word, columns);
        }
        if whole * B::GROUP < b.depth {
            let columns = std::array::from_fn(|index| {
                let mut words = [0; MOST_LANES];
                for (word, to) in (whole..work.words).zip(&mut words) {
                    *to = B::word(at(index, word), 1, B::GROUP.min(b.depth - word * B::GROUP));
                }
                U::load(words.as_ptr())
            });
            add(whole, columns);
        }
        for (index, sums) in sums.into_iter().enumerate() {
            for (next, (sum, too_much)) in sums.into_iter().zip(too_much).enumerate() {
                let sum = if FROM_128 { U::subtract(sum, too_much) } else { sum };
                *work.c.add((row + index) * work.stride + column + next) = total::<U>(sum);
            }
        }
    }
}

/// The sum of the lanes.
///
/// # Safety
/// The CPU has the unit.
#[inline(always)]
unsafe fn total<U: Unit>(vector: U::Vector) -> u32 {
    let mut lanes = [0; MOST_LANES];
    // SAFETY: room for any vector.
    unsafe { U::store(lanes.as_mut_ptr(), vector) };
    let mut half = U::LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = U::sum(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Rows of B that lie along the columns: a vector has a word of each of its columns.
///
/// # Safety
/// As [`few`].
#[inline(always)]
unsafe fn across<U: Unit, B: Packing, const R: usize, const FROM_128: bool>(
    work: &Work<B::Element>,
    (rows, columns): (usize, usize),
) {
    let step = (DEPTH / B::GROUP).max(1);
    for word in (0..work.words).step_by(step) {
        let words = (word, step.min(work.words - word));
        // SAFETY: by the promise of the caller.
        unsafe {
            let mut row = 0;
            while row + R <= rows {
                strip::<U, B, R, FROM_128>(work, (row, columns), words);
                row += R;
            }
            for row in row..rows {
                strip::<U, B, 1, FROM_128>(work, (row, columns), words);
            }
        }
    }
}

/// Adds what `words` words of B from `first` on give to `R` rows of C.
///
/// # Safety
/// As [`few`], with so many rows and words.
#[inline(always)]
unsafe fn strip<U: Unit, B: Packing, const R: usize, const FROM_128: bool>(
    work: &Work<B::Element>,
    (row, columns): (usize, usize),
    (first, words): (usize, usize),
) {
    let whole = columns - columns % U::LANES;
    let last = first + words - 1;
    let left = work.b.depth - last * B::GROUP;
    // Words that lack elements are the last alone.
    let full = if left < B::GROUP { words - 1 } else { words };
    let (none, each) = (0_u32, 0x8080_8080_u32);
    // SAFETY: words of A and elements of B; C has these rows and columns, by the promise of the caller.
    unsafe {
        let (zero, each) = (U::broadcast(&raw const none), U::broadcast(&raw const each));
        let sums_of = |column: usize, lanes: usize, mut sums: [U::Vector; R]| {
            let mut too_much = zero;
            let mut add = |word: usize, count: usize| {
                let at = work.b.start.add(column + word * B::GROUP * work.b.step);
                let b = vector::<U, B>(at, (1, lanes), (work.b.step, count));
                if FROM_128 {
                    too_much = U::multiply_add(too_much, each, b);
                }
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = U::multiply_add(*sum, U::broadcast(work.a(row + index, word)), b);
                }
            };
            for word in first..first + full {
                add(word, B::GROUP);
            }
            if full < words {
                add(last, left);
            }
            if FROM_128 { sums.map(|sum| U::subtract(sum, too_much)) } else { sums }
        };
        let c = |index: usize, column: usize| work.c.add((row + index) * work.stride + column);
        for column in (0..whole).step_by(U::LANES) {
            let old = std::array::from_fn(|index| if first > 0 { U::load(c(index, column)) } else { zero });
            for (index, sum) in sums_of(column, U::LANES, old).into_iter().enumerate() {
                U::store(c(index, column), sum);
            }
        }
        if whole < columns {
            let lanes = columns - whole;
            let old = std::array::from_fn(|index| {
                let mut words = [0; MOST_LANES];
                if first > 0 {
                    words.as_mut_ptr().copy_from_nonoverlapping(c(index, whole), lanes);
                }
                U::load(words.as_ptr())
            });
            for (index, sum) in sums_of(whole, lanes, old).into_iter().enumerate() {
                let mut words = [0; MOST_LANES];
                U::store(words.as_mut_ptr(), sum);
                c(index, whole).copy_from_nonoverlapping(words.as_ptr(), lanes);
            }
        }
    }
}
