//! f16 GEMM with AVX-512 FP16, which accumulates in f16. After at most 32 products the partial sums
//! are added to f32 sums.

use std::arch::x86_64::{
    __m512h, __m512i, _mm512_add_ps, _mm512_castph_si512, _mm512_castsi512_ph,
    _mm512_cvtepi32_epi16, _mm512_cvtph_ps, _mm512_fmadd_ph, _mm512_loadu_epi32, _mm512_loadu_ps,
    _mm512_set1_epi32, _mm512_setzero_ph, _mm512_srli_epi32, _mm512_storeu_ps,
};
use std::ops::Range;

use crate::micro_kernel::{MicroKernel, OutputTile};
use crate::pack::{PackSource, Pairs, pack};

/// Rows of a tile.
const MR: usize = 6;
/// Vectors of 16 columns per tile.
const VECTORS: usize = 4;
/// Columns of a tile.
const NR: usize = 16 * VECTORS;
/// Words accumulated in f16 before the sum is added in f32. Each half of a word has its own sum of
/// this many products.
const WORDS: usize = 32;

/// Microkernel for tiles of six rows and four vectors of 16 pairs.
pub(super) struct Fp16Avx512;

// SAFETY: the kernel reads panels in the layout of `pack` and writes only to the tile of C.
unsafe impl MicroKernel for Fp16Avx512 {
    type A = Pairs;
    type B = Pairs;
    const MR: usize = MR;
    const NR: usize = NR;
    const KC: usize = 1024;
    const MC: usize = 480;
    const STEP: usize = 1;

    #[inline(always)]
    unsafe fn pack_a(
        source: PackSource<u16>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: guaranteed by the caller, here and below.
        unsafe { pack::<Pairs, MR>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn pack_b(
        source: PackSource<u16>,
        lanes: &Range<usize>,
        words: &Range<usize>,
        to: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { pack::<Pairs, NR>(source, lanes, words, to) };
    }

    #[inline(always)]
    unsafe fn multiply(
        words: usize,
        a: *const u32,
        b: *const u32,
        _initial: *const u32,
        output: OutputTile,
    ) {
        for first in (0..words).step_by(WORDS) {
            let count = WORDS.min(words - first);
            // SAFETY: as above.
            unsafe {
                let sums = sums(count, a.add(first * MR), b.add(first * NR));
                for (row, sums) in sums.into_iter().enumerate() {
                    for (vector, sum) in sums.into_iter().enumerate() {
                        let to = output.ptr.add(row * output.stride + 16 * vector).cast::<f32>();
                        let halves = _mm512_castph_si512(sum);
                        let sum =
                            _mm512_add_ps(wide(halves), wide(_mm512_srli_epi32::<16>(halves)));
                        let begins = first == 0 && !output.accumulate;
                        _mm512_storeu_ps(
                            to,
                            if begins { sum } else { _mm512_add_ps(_mm512_loadu_ps(to), sum) },
                        );
                    }
                }
            }
        }
    }
}

/// Returns the lower halves of words, widened to f32.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn wide(words: __m512i) -> std::arch::x86_64::__m512 {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)) }
}

/// Returns the f16 sums over `words` words of two panels.
///
/// # Safety
/// See [`MicroKernel::multiply`].
#[inline(always)]
unsafe fn sums(words: usize, mut a: *const u32, mut b: *const u32) -> [[__m512h; VECTORS]; MR] {
    // SAFETY: all reads are within the panels, as the caller guarantees.
    unsafe {
        let mut sums = [[_mm512_setzero_ph(); VECTORS]; MR];
        for _ in 0..words {
            let mut columns = [_mm512_setzero_ph(); VECTORS];
            for (vector, column) in columns.iter_mut().enumerate() {
                *column = _mm512_castsi512_ph(_mm512_loadu_epi32(b.add(16 * vector).cast()));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let word = _mm512_castsi512_ph(_mm512_set1_epi32(a.add(row).read().cast_signed()));
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_fmadd_ph(word, column, *sum);
                }
            }
            a = a.add(MR);
            b = b.add(NR);
        }
        sums
    }
}
