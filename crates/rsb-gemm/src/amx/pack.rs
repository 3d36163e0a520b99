//! Packing for AMX: A as row-major tiles, B word by word in depth, as the AMX instructions require.

use std::arch::x86_64::{
    _mm512_loadu_epi32, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_epi32,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use std::ops::Range;

use super::{PANEL, SIDE};
use crate::kernel::CacheLine;
use crate::pack::{PackSource, Packing, pack};

/// One step in depth of a panel.
struct Step<E> {
    /// First element.
    at: *const E,
    lanes: usize,
    /// First word.
    word: usize,
    /// Whether all lanes and elements exist.
    is_whole: bool,
    /// Offset in the packed panels, in words.
    place: usize,
}

/// Returns each step of each panel of `lanes`.
fn steps<P: Packing>(
    source: PackSource<P::Element>,
    lanes: &Range<usize>,
    words: &Range<usize>,
) -> impl Iterator<Item = Step<P::Element>> {
    let (first, count) = (lanes.start, lanes.len());
    let filled = (source.depth / P::GROUP).clamp(words.start, words.end);
    let whole = filled - (filled - words.start) % SIDE;
    let words = words.clone();
    (0..count).step_by(PANEL).flat_map(move |panel| {
        let (lanes, words) = (PANEL.min(count - panel), words.clone());
        words.clone().step_by(SIDE).map(move |word| Step {
            at: source
                .start
                .wrapping_add((first + panel) * source.lane + word * P::GROUP * source.step),
            lanes,
            word,
            is_whole: lanes == PANEL && word < whole,
            place: panel * words.len() + (word - words.start) * PANEL,
        })
    })
}

/// Packs rows `lanes` of A into panels of 32: two row-major tiles for each step in depth.
///
/// # Safety
/// See [`pack`]. Words are whole steps, and the CPU has AVX-512, in a function compiled with it.
#[inline(always)]
pub(super) unsafe fn pack_tiles<P: Packing>(
    source: PackSource<P::Element>,
    lanes: &Range<usize>,
    words: &Range<usize>,
    to: *mut u32,
) {
    for Step { at, lanes, word, is_whole, place } in steps::<P>(source, lanes, words) {
        // SAFETY: the caller guarantees that lanes and words are within the matrix and that `to`
        // has room for whole panels.
        unsafe {
            if is_whole {
                step_of_tiles::<P>(at, source.lane, source.step, to.add(place));
            } else {
                edge_of_tiles::<P>(at, source, lanes, word, to.add(place));
            }
        }
    }
}

/// Packs one step of a panel in which all lanes and elements exist.
///
/// # Safety
/// See [`pack_tiles`].
#[inline(always)]
unsafe fn step_of_tiles<P: Packing>(at: *const P::Element, lane: usize, step: usize, to: *mut u32) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if step == 1 {
            for row in 0..PANEL {
                to.add(row * SIDE)
                    .cast::<u8>()
                    .copy_from_nonoverlapping(at.add(row * lane).cast(), 4 * SIDE);
            }
            return;
        }
        // Lanes are adjacent in memory: pack words across lanes first, then transpose.
        let mut across = [CacheLine([0; SIDE]); 2 * SIDE];
        let words = across.as_mut_ptr().cast::<u32>();
        for word in 0..SIDE {
            P::columns::<PANEL>(at.add(word * P::GROUP * step), step, words.add(word * PANEL));
        }
        for half in 0..2 {
            transpose_square(
                words.add(half * SIDE).cast(),
                4 * PANEL,
                to.add(half * SIDE * SIDE),
                SIDE,
            );
        }
    }
}

/// Transposes a square of 16 × 16 words. Rows are `row` bytes apart in `from` and `stride` words
/// apart in `to`.
///
/// # Safety
/// Both squares are valid and do not overlap, and the CPU has AVX-512, in a function compiled with
/// it.
#[inline(always)]
pub(super) unsafe fn transpose_square(from: *const u8, row: usize, to: *mut u32, stride: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut rows = [_mm512_setzero_si512(); SIDE];
        for (at, to) in rows.iter_mut().enumerate() {
            *to = _mm512_loadu_epi32(from.add(at * row).cast());
        }
        // Each step doubles the number of adjacent words from one column: two, four, eight, then
        // all 16 rows.
        let mut twos = rows;
        for at in 0..SIDE / 2 {
            let (a, b) = (rows[2 * at], rows[2 * at + 1]);
            (twos[2 * at], twos[2 * at + 1]) =
                (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        }
        let mut fours = twos;
        for at in 0..SIDE / 4 {
            for part in 0..2 {
                let (a, b) = (twos[4 * at + part], twos[4 * at + 2 + part]);
                fours[4 * at + 2 * part] = _mm512_unpacklo_epi64(a, b);
                fours[4 * at + 2 * part + 1] = _mm512_unpackhi_epi64(a, b);
            }
        }
        // For each group of four rows, row `4 i + c` now contains columns c, 4 + c, 8 + c and 12 +
        // c, one per quarter.
        for column in 0..4 {
            let [a, b, c, d] = [0, 4, 8, 12].map(|first| fours[first + column]);
            let (even, odd) =
                (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
            let (next_even, next_odd) =
                (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
            let row = |row: usize| to.add((row + column) * stride).cast();
            _mm512_storeu_epi32(row(0), _mm512_shuffle_i32x4::<0x88>(even, next_even));
            _mm512_storeu_epi32(row(8), _mm512_shuffle_i32x4::<0xdd>(even, next_even));
            _mm512_storeu_epi32(row(4), _mm512_shuffle_i32x4::<0x88>(odd, next_odd));
            _mm512_storeu_epi32(row(12), _mm512_shuffle_i32x4::<0xdd>(odd, next_odd));
        }
    }
}

/// Packs columns `lanes` of B, or rows of A used in their place, into panels of 32, word by word in
/// depth.
///
/// # Safety
/// See [`pack_tiles`].
#[inline(always)]
pub(super) unsafe fn pack_words<P: Packing>(
    source: PackSource<P::Element>,
    lanes: &Range<usize>,
    words: &Range<usize>,
    to: *mut u32,
) {
    if source.step != 1 {
        // SAFETY: guaranteed by the caller, here and below.
        return unsafe { pack::<P, PANEL>(source, lanes, words, to) };
    }
    for Step { at, lanes, word, is_whole, place } in steps::<P>(source, lanes, words) {
        let mut edge = [CacheLine([0; SIDE]); PANEL];
        // SAFETY: lanes and words are within the matrix, and `to` has room for whole panels.
        unsafe {
            let (from, row) = if is_whole {
                (at.cast::<u8>(), source.lane * size_of::<P::Element>())
            } else {
                edge_of_tiles::<P>(at, source, lanes, word, edge.as_mut_ptr().cast());
                (edge.as_ptr().cast(), size_of::<CacheLine>())
            };
            for half in 0..2 {
                transpose_square(
                    from.add(half * SIDE * row),
                    row,
                    to.add(place + half * SIDE),
                    PANEL,
                );
            }
        }
    }
}

/// Packs one step of a panel of `lanes` lanes. Missing lanes and elements become zeros.
///
/// # Safety
/// See [`pack_tiles`].
pub(super) unsafe fn edge_of_tiles<P: Packing>(
    at: *const P::Element,
    source: PackSource<P::Element>,
    lanes: usize,
    word: usize,
    to: *mut u32,
) {
    for row in 0..PANEL {
        for next in 0..SIDE {
            let count = P::GROUP.min(source.depth.saturating_sub((word + next) * P::GROUP));
            let at = at.wrapping_add(row * source.lane + next * P::GROUP * source.step);
            // SAFETY: see `pack_tiles`; missing elements are not read.
            unsafe {
                *to.add(row * SIDE + next) =
                    if row < lanes { P::word(at, source.step, count) } else { 0 };
            }
        }
    }
}
