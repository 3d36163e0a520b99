//! Microkernels: each multiplies a panel of A by a panel of B into a tile of C held in registers.

use std::marker::PhantomData;
use std::ops::Range;

use crate::pack::{PackSource, Packing, pack};
use crate::simd::{SimdUnit, prefetch};

/// Columns of a block of B. With KC = 1024 words per column, a block takes 8 MB.
pub(super) const NC: usize = 2048;

/// Prefetch distance in B, in words.
const PREFETCH_B_WORDS: usize = 512;
/// Prefetch distance in A, in steps of depth.
const PREFETCH_A_STEPS: usize = 32;

/// A tile of C: its first word, the words between rows, and whether sums are added to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputTile {
    pub(super) ptr: *mut u32,
    pub(super) stride: usize,
    pub(super) accumulate: bool,
}

/// A microkernel: packs panels and multiplies a panel of A (`MR` × depth) by a panel of B (depth ×
/// `NR`).
///
/// # Safety
/// Panels of A have `MR` lanes, panels of B `NR`, both a multiple of `STEP` words deep; nothing
/// else is read or written. Callers run on a CPU with the required instructions, in a function
/// compiled with them.
pub(super) unsafe trait MicroKernel {
    /// Packing of elements of A into words.
    type A: Packing;
    /// Packing of elements of B into words.
    type B: Packing;
    /// Rows of a tile.
    const MR: usize;
    /// Columns of a tile.
    const NR: usize;
    /// Depth of a block in words. A larger value reads and writes C less often.
    const KC: usize;
    /// Rows of a block of A, which fits in L2 with `KC` words per row.
    const MC: usize;
    /// Depth is padded to a multiple of this number of words.
    const STEP: usize;

    /// Packs `lanes` of A.
    ///
    /// # Safety
    /// As [`pack`].
    unsafe fn pack_a(
        source: PackSource<<Self::A as Packing>::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    );
    /// Packs `lanes` of B.
    ///
    /// # Safety
    /// As [`pack`].
    unsafe fn pack_b(
        source: PackSource<<Self::B as Packing>::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    );
    /// Writes the initial sums for the tiles of a panel of B, one word per column.
    ///
    /// # Safety
    /// `panel` is a panel of B of `words` words in depth, and `initial` has room for `NR` words.
    #[inline(always)]
    unsafe fn initial_sums(_words: usize, _panel: *const u32, _initial: *mut u32) {}
    /// Sets a tile of C to `initial` plus the product of panels `a` and `b`, or adds both to it if
    /// the tile accumulates.
    ///
    /// # Safety
    /// The panels are `words` words deep, and the tile is within C or a buffer.
    unsafe fn multiply(
        words: usize,
        a: *const u32,
        b: *const u32,
        initial: *const u32,
        output: OutputTile,
    );
}

/// Microkernel for tiles of `R` rows and `V` vectors of `U`, `W` columns in total. With `OFFSET_A`,
/// packed elements of A are offset by 128.
pub(super) struct VectorMicroKernel<
    U,
    A,
    B,
    const R: usize,
    const V: usize,
    const W: usize,
    const OFFSET_A: bool,
>(PhantomData<(U, A, B)>);

// SAFETY: the kernel reads and writes only the memory that `pack` and `multiply_panels` document,
// as the trait requires.
unsafe impl<U, A, B, const R: usize, const V: usize, const W: usize, const OFFSET_A: bool>
    MicroKernel for VectorMicroKernel<U, A, B, R, V, W, OFFSET_A>
where
    U: SimdUnit,
    A: Packing,
    B: Packing,
{
    type A = A;
    type B = B;
    const MR: usize = R;
    const NR: usize = W;
    /// With wide vectors, a panel of B is in L2 instead of L1 and is prefetched, since it is read
    /// in order. Narrow vectors read A twice as often for the same number of products and are
    /// faster if both panels are in their caches.
    const KC: usize = if U::LANES > 8 { 1024 } else { 512 };
    /// 2 MB with `KC` words per row; 240 KiB for narrow vectors.
    const MC: usize = if U::LANES > 8 { 480 } else { 120 };
    const STEP: usize = 1;

    #[inline(always)]
    unsafe fn pack_a(
        source: PackSource<A::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: guaranteed by the caller, here and below.
        unsafe { pack::<A, R>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn pack_b(
        source: PackSource<B::Element>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { pack::<B, W>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn initial_sums(words: usize, panel: *const u32, initial: *mut u32) {
        if OFFSET_A {
            // SAFETY: as above.
            unsafe { offset_compensation::<U, V>(words, panel, initial) };
        }
    }

    #[inline(always)]
    unsafe fn multiply(
        words: usize,
        a: *const u32,
        b: *const u32,
        initial: *const u32,
        output: OutputTile,
    ) {
        // SAFETY: as above.
        unsafe { multiply_panels::<U, R, V>(words, a, b, initial, output) };
    }
}

/// Sets a tile of C of `ROWS` rows and `VECTORS` vectors to `initial` plus the product of panels
/// `a` and `b`, or adds both to it if the tile accumulates.
///
/// # Safety
/// The panels are `words` words deep, `initial` has one word per column, the tile is within C, and
/// the CPU has the unit.
#[inline(always)]
unsafe fn multiply_panels<U: SimdUnit, const ROWS: usize, const VECTORS: usize>(
    words: usize,
    mut a: *const u32,
    mut b: *const u32,
    initial: *const u32,
    output: OutputTile,
) {
    let OutputTile { ptr: c, stride, accumulate } = output;
    // SAFETY: all accesses are within the panels and the tile, as the caller guarantees.
    unsafe {
        let mut sums: [[U::Vector; VECTORS]; ROWS] =
            [std::array::from_fn(|v| U::load(initial.add(v * U::LANES))); ROWS];
        for row in 0..ROWS {
            prefetch(c.wrapping_add(row * stride));
            prefetch(c.wrapping_add(row * stride + VECTORS * U::LANES - 1));
        }
        for _ in 0..words {
            let columns: [U::Vector; VECTORS] =
                std::array::from_fn(|v| U::load(b.add(v * U::LANES)));
            prefetch(a.wrapping_add(PREFETCH_A_STEPS * ROWS));
            for line in (0..VECTORS * U::LANES).step_by(16) {
                prefetch(b.wrapping_add(PREFETCH_B_WORDS + line));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let word = U::broadcast(a.add(row));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = U::multiply_add(*sum, word, column);
                }
            }
            a = a.add(ROWS);
            b = b.add(VECTORS * U::LANES);
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let to = c.add(row * stride + v * U::LANES);
                let sum = if accumulate { U::add(U::load(to), sum) } else { sum };
                U::store(to, sum);
            }
        }
    }
}

/// Writes −128 times the sum of each column of a panel of B: the initial sums of a tile whose A is
/// offset by 128.
///
/// # Safety
/// See [`multiply_panels`].
#[inline(always)]
pub(super) unsafe fn offset_compensation<U: SimdUnit, const VECTORS: usize>(
    words: usize,
    mut b: *const u32,
    initial: *mut u32,
) {
    let (each, none) = (0x8080_8080_u32, 0_u32);
    // SAFETY: as `multiply_panels`.
    unsafe {
        let (each, zero) = (U::broadcast(&raw const each), U::broadcast(&raw const none));
        let mut sums = [zero; VECTORS];
        for _ in 0..words {
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = U::multiply_add(*sum, each, U::load(b.add(v * U::LANES)));
            }
            b = b.add(VECTORS * U::LANES);
        }
        for (v, sum) in sums.into_iter().enumerate() {
            U::store(initial.add(v * U::LANES), U::subtract(zero, sum));
        }
    }
}
