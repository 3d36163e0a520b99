//! A tile of C in registers: the sums of a panel of A by a panel of B.

use super::unit::Unit;

/// Words of B that are asked for before they are needed.
const AHEAD: usize = 512;
/// The same of A, in steps.
const STEPS_AHEAD: usize = 32;

/// Asks for the cache line there, which need not be anybody's.
#[inline(always)]
pub(super) fn ask_for(at: *const u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing, and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A tile of C: its first word, words from row to row, and whether sums are added to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputTile {
    pub(super) ptr: *mut u32,
    pub(super) stride: usize,
    pub(super) accumulate: bool,
}

/// Sets a tile of C of `ROWS` rows and `VECTORS` vectors to `begin` plus the product of panels `a`
/// and `b`, or adds them to it if the tile accumulates.
///
/// # Safety
/// The panels hold `words` words in depth, `begin` has one for each column, C has the tile, and the
/// CPU has the unit.
#[inline(always)]
pub(super) unsafe fn tile<U: Unit, const ROWS: usize, const VECTORS: usize>(
    words: usize,
    mut a: *const u32,
    mut b: *const u32,
    begin: *const u32,
    output: OutputTile,
) {
    let OutputTile { ptr: c, stride, accumulate } = output;
    // SAFETY: all within the panels, by the promise of the caller.
    unsafe {
        let mut sums: [[U::Vector; VECTORS]; ROWS] =
            [std::array::from_fn(|v| U::load(begin.add(v * U::LANES))); ROWS];
        for row in 0..ROWS {
            ask_for(c.wrapping_add(row * stride));
            ask_for(c.wrapping_add(row * stride + VECTORS * U::LANES - 1));
        }
        for _ in 0..words {
            let columns: [U::Vector; VECTORS] =
                std::array::from_fn(|v| U::load(b.add(v * U::LANES)));
            ask_for(a.wrapping_add(STEPS_AHEAD * ROWS));
            for line in (0..VECTORS * U::LANES).step_by(16) {
                ask_for(b.wrapping_add(AHEAD + line));
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

/// What a tile begins with where A is 128 too much: −128 times the sum of each column of a panel of
/// B.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
pub(super) unsafe fn less_128_of_b<U: Unit, const VECTORS: usize>(
    words: usize,
    mut b: *const u32,
    begin: *mut u32,
) {
    let (each, none) = (0x8080_8080_u32, 0_u32);
    // SAFETY: as `tile`.
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
            U::store(begin.add(v * U::LANES), U::subtract(zero, sum));
        }
    }
}
