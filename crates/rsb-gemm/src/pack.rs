//! Packing of A and B into panels. A panel has a fixed number of *lanes* (rows of A or columns of
//! B), stored word by word in depth and padded with zeros.

use std::ops::Range;

use crate::simd::{MAX_LANES, SimdUnit, prefetch, widen_bits};

/// Packing of elements into 32-bit words.
///
/// # Safety
/// `word` reads `count` elements, 1 to `GROUP`, that are `stride` elements apart starting at `at`;
/// `next` reads `GROUP` contiguous elements.
pub(super) unsafe trait Packing {
    type Element: Copy;
    /// Elements per word.
    const GROUP: usize;

    /// Packs up to `GROUP` elements starting at `at`. Missing elements become zeros.
    unsafe fn word(at: *const Self::Element, stride: usize, count: usize) -> u32;
    /// Packs the next `GROUP` contiguous elements.
    unsafe fn next(at: *const Self::Element) -> u32;
    /// Returns a vector of words packed from contiguous elements. The CPU must have the unit.
    #[inline(always)]
    unsafe fn vector<U: SimdUnit>(at: *const Self::Element) -> U::Vector {
        let mut words = [0; MAX_LANES];
        for (lane, word) in words.iter_mut().take(U::LANES).enumerate() {
            // SAFETY: guaranteed by the caller.
            *word = unsafe { Self::next(at.add(lane * Self::GROUP)) };
        }
        // SAFETY: the array is as long as the longest vector.
        unsafe { U::load(words.as_ptr()) }
    }
    /// Writes one word for each of `WIDTH` adjacent lanes, whose elements are `step` apart in
    /// depth.
    ///
    /// # Safety
    /// All elements are valid to read, and `to` has room for `WIDTH` words.
    #[inline(always)]
    unsafe fn columns<const WIDTH: usize>(at: *const Self::Element, step: usize, to: *mut u32) {
        for lane in 0..WIDTH {
            // SAFETY: guaranteed by the caller.
            unsafe { *to.add(lane) = Self::word(at.add(lane), step, Self::GROUP) };
        }
    }
    /// Returns a vector of words of adjacent lanes, whose elements are `stride` apart in depth.
    #[inline(always)]
    unsafe fn vector_of_columns<U: SimdUnit>(at: *const Self::Element, stride: usize) -> U::Vector {
        let mut words = [0; MAX_LANES];
        for (lane, word) in words.iter_mut().take(U::LANES).enumerate() {
            // SAFETY: guaranteed by the caller.
            *word = unsafe { Self::word(at.add(lane), stride, Self::GROUP) };
        }
        // SAFETY: the array is as long as the longest vector.
        unsafe { U::load(words.as_ptr()) }
    }
}

macro_rules! packing {
    ($(#[$about:meta])* $name:ident, $element:ty, $group:literal, |$value:ident, $index:ident| $place:expr, |$word:ident| $finish:expr, |$at:ident| $next:expr $(, vector: $vector:ident)? $(, columns: $columns:ident)?) => {
        $(#[$about])*
        pub(super) struct $name;

        // SAFETY: `word` and `next` read only the elements that the trait allows.
        unsafe impl Packing for $name {
            type Element = $element;
            const GROUP: usize = $group;

            #[inline(always)]
            unsafe fn word(at: *const $element, stride: usize, count: usize) -> u32 {
                let mut $word = 0_u32;
                for index in 0..count.min($group) {
                    // SAFETY: one of the `count` elements that the caller guarantees.
                    let ($value, $index) = (unsafe { *at.add(index * stride) }, index as u32);
                    $word |= $place;
                }
                $finish
            }

            #[inline(always)]
            unsafe fn next($at: *const $element) -> u32 {
                // SAFETY: guaranteed by the caller.
                let $word = unsafe { $next };
                $finish
            }

            $(
                #[inline(always)]
                unsafe fn vector<U: SimdUnit>(at: *const $element) -> U::Vector {
                    // SAFETY: as above.
                    unsafe { U::$vector(at) }
                }
            )?

            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                unsafe fn columns<const WIDTH: usize>(at: *const $element, step: usize, to: *mut u32) {
                    // SAFETY: as above.
                    unsafe { $columns::<WIDTH>(at, step, to) }
                }
            )?
        }
    };
}

/// Returns four bytes as a little-endian word.
///
/// # Safety
/// The four bytes at `at` are valid to read.
#[inline(always)]
unsafe fn as_it_lies(at: *const u32) -> u32 {
    // SAFETY: guaranteed by the caller.
    u32::from_le(unsafe { at.read_unaligned() })
}

packing!(
    /// f32, unchanged.
    F32,
    u32,
    1,
    |element, index| element << index,
    |word| word,
    |at| *at,
    columns: columns_as_they_lie
);
packing!(
    /// bf16 widened to f32 (bf16 is the upper half of an f32).
    WidenBf16,
    u16,
    1,
    |element, index| u32::from(element) << (16 + index),
    |word| word,
    |at| u32::from(*at) << 16
);
packing!(
    /// f16 widened to f32.
    WidenF16,
    u16,
    1,
    |element, index| widen_bits(element) << index,
    |word| word,
    |at| widen_bits(*at),
    vector: of_f16
);
packing!(
    /// Pairs of 16-bit elements.
    Pairs,
    u16,
    2,
    |element, index| u32::from(element) << (16 * index),
    |word| word,
    |at| as_it_lies(at.cast()),
    columns: columns_of_pairs
);
packing!(
    /// Quads of i8.
    Quads,
    u8,
    4,
    |element, index| u32::from(element) << (8 * index),
    |word| word,
    |at| as_it_lies(at.cast()),
    columns: columns_of_quads
);
packing!(
    /// Quads of i8 offset by 128 to u8, since the instruction requires an unsigned A. The initial
    /// sums of a tile compensate for it: −128 times the sum of each column of B.
    OffsetQuads,
    u8,
    4,
    |element, index| u32::from(element) << (8 * index),
    |word| word ^ 0x8080_8080,
    |at| as_it_lies(at.cast())
);
packing!(
    /// Pairs of i8 widened to i16.
    PairsOfI8,
    u8,
    2,
    |element, index| u32::from(i16::from(element.cast_signed()).cast_unsigned()) << (16 * index),
    |word| word,
    |at| Self::word(at, 1, 2)
);

/// Copies one row of words, as [`Packing::columns`]. The compiler does not turn the word-by-word
/// loop into a copy.
///
/// # Safety
/// See [`Packing::columns`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn columns_as_they_lie<const WIDTH: usize>(at: *const u32, _step: usize, to: *mut u32) {
    // SAFETY: guaranteed by the caller.
    unsafe { to.copy_from_nonoverlapping(at, WIDTH) };
}

/// Interleaves two rows of 16-bit elements, as [`Packing::columns`]. The compiler does not
/// vectorize the generic loop.
///
/// # Safety
/// See [`Packing::columns`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn columns_of_pairs<const WIDTH: usize>(at: *const u16, step: usize, to: *mut u32) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi16, _mm_unpacklo_epi16,
    };
    let whole = WIDTH - WIDTH % 8;
    // SAFETY: guaranteed by the caller; every CPU of this architecture has SSE2.
    unsafe {
        for lane in (0..whole).step_by(8) {
            let [low, high] = [0, 1].map(|row| _mm_loadu_si128(at.add(lane + row * step).cast()));
            let to = to.add(lane).cast();
            _mm_storeu_si128(to, _mm_unpacklo_epi16(low, high));
            _mm_storeu_si128(to.add(1), _mm_unpackhi_epi16(low, high));
        }
        for lane in whole..WIDTH {
            *to.add(lane) = Pairs::word(at.add(lane), step, 2);
        }
    }
}

/// Interleaves four rows of bytes, as [`Packing::columns`].
///
/// # Safety
/// See [`Packing::columns`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn columns_of_quads<const WIDTH: usize>(at: *const u8, step: usize, to: *mut u32) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
        _mm_unpacklo_epi8, _mm_unpacklo_epi16,
    };
    let whole = WIDTH - WIDTH % 16;
    // SAFETY: as above.
    unsafe {
        for lane in (0..whole).step_by(16) {
            let [a, b, c, d] =
                [0, 1, 2, 3].map(|row| _mm_loadu_si128(at.add(lane + row * step).cast()));
            let [low, high] = [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)];
            let [next_low, next_high] = [_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)];
            let to = to.add(lane).cast();
            _mm_storeu_si128(to, _mm_unpacklo_epi16(low, next_low));
            _mm_storeu_si128(to.add(1), _mm_unpackhi_epi16(low, next_low));
            _mm_storeu_si128(to.add(2), _mm_unpacklo_epi16(high, next_high));
            _mm_storeu_si128(to.add(3), _mm_unpackhi_epi16(high, next_high));
        }
        for lane in whole..WIDTH {
            *to.add(lane) = Quads::word(at.add(lane), step, 4);
        }
    }
}

/// A matrix as a source of panels: lanes are rows of A or columns of B, and sums run along the
/// depth.
pub(super) struct PackSource<E> {
    pub(super) start: *const E,
    /// Elements between lanes.
    pub(super) lane: usize,
    /// Elements between steps in depth.
    pub(super) step: usize,
    /// Elements in depth.
    pub(super) depth: usize,
}

impl<E> Clone for PackSource<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for PackSource<E> {}

/// Packs `words` of `lanes` into panels of `WIDTH` lanes at `to`.
///
/// # Safety
/// The matrix has these lanes, and `to` has room for whole panels. Nothing else uses either during
/// the call.
#[inline(always)]
pub(super) unsafe fn pack<P: Packing, const WIDTH: usize>(
    source: PackSource<P::Element>,
    lanes: &Range<usize>,
    words: &Range<usize>,
    to: *mut u32,
) {
    // Words with all of their elements, and panels with all of their lanes. Partial words may
    // follow.
    let mut whole = words.start..(source.depth / P::GROUP).clamp(words.start, words.end);
    let panels = lanes.len() / WIDTH;
    // SAFETY: the caller guarantees that lanes and words are within the matrix, and that `to` has
    // room for whole panels.
    unsafe {
        let start = source.start.add(lanes.start * source.lane);
        let place =
            |panel: usize, word: usize| to.add((panel * words.len() + word - words.start) * WIDTH);
        if source.step == 1 {
            whole.end -= whole.len() % LINE;
            for panel in 0..panels {
                let start = start.add(panel * WIDTH * source.lane);
                for word in whole.clone().step_by(LINE) {
                    transpose::<P, WIDTH>(
                        start.add(word * P::GROUP),
                        source.lane,
                        place(panel, word),
                    );
                }
            }
        } else {
            // Packs row after row across all panels. Going down one panel would access rows a power
            // of two apart, which evict each other from the cache.
            for word in whole.clone() {
                let start = start.add(word * P::GROUP * source.step);
                for panel in 0..panels {
                    let (at, to) = (start.add(panel * WIDTH), place(panel, word));
                    for element in
                        (0..WIDTH).step_by(LINE * size_of::<u32>() / size_of::<P::Element>())
                    {
                        prefetch(at.wrapping_add(P::GROUP * source.step + element).cast());
                    }
                    for lane in (0..WIDTH).step_by(LINE) {
                        prefetch(to.wrapping_add(2 * WIDTH + lane));
                    }
                    P::columns::<WIDTH>(at, source.step, to);
                }
            }
        }
        for panel in 0..panels {
            edge::<P, WIDTH>(
                source,
                start.add(panel * WIDTH * source.lane),
                WIDTH,
                whole.end..words.end,
                place(panel, whole.end),
            );
        }
        if panels * WIDTH < lanes.len() {
            let last = start.add(panels * WIDTH * source.lane);
            let left = lanes.len() - panels * WIDTH;
            edge::<P, WIDTH>(source, last, left, words.clone(), place(panels, words.start));
        }
    }
}

/// Words per cache line.
const LINE: usize = 16;
/// Lanes that are transposed together. More would compete for the ways of one L1 set if lanes are a
/// power of two apart.
const LANES: usize = 8;

/// Packs `LINE` words of a panel whose lanes are contiguous along the depth and `lane` elements
/// apart.
///
/// # Safety
/// See [`pack`].
#[inline(always)]
unsafe fn transpose<P: Packing, const WIDTH: usize>(
    start: *const P::Element,
    lane: usize,
    to: *mut u32,
) {
    let mut first = 0;
    while first < WIDTH {
        let lanes = LANES.min(WIDTH - first);
        if size_of::<P::Element>() == size_of::<u32>() {
            for word in 0..LINE {
                for index in first..first + lanes {
                    // SAFETY: the caller guarantees that the words are within the lane and the
                    // panel.
                    unsafe {
                        *to.add(word * WIDTH + index) =
                            P::next(start.add(index * lane + word * P::GROUP));
                    };
                }
            }
            first += LANES;
            continue;
        }
        let mut lines = [[0; LINE]; LANES];
        for (index, line) in lines.iter_mut().take(lanes).enumerate() {
            for (word, to) in line.iter_mut().enumerate() {
                // SAFETY: the caller guarantees that the words are within the lane.
                *to = unsafe { P::next(start.add((first + index) * lane + word * P::GROUP)) };
            }
        }
        for word in 0..LINE {
            for (index, line) in lines.iter().take(lanes).enumerate() {
                // SAFETY: the words are within the panel.
                unsafe { *to.add(word * WIDTH + first + index) = line[word] };
            }
        }
        first += LANES;
    }
}

/// Packs one panel of `lanes` lanes starting at `start`. Missing lanes and elements become zeros.
///
/// # Safety
/// See [`pack`].
unsafe fn edge<P: Packing, const WIDTH: usize>(
    source: PackSource<P::Element>,
    start: *const P::Element,
    lanes: usize,
    words: Range<usize>,
    to: *mut u32,
) {
    for (index, word) in words.enumerate() {
        let first = word * P::GROUP;
        let count = P::GROUP.min(source.depth.saturating_sub(first));
        for lane in 0..WIDTH {
            let at = start.wrapping_add(first * source.step + lane * source.lane);
            // SAFETY: see `pack`; missing elements are not read.
            unsafe {
                *to.add(index * WIDTH + lane) =
                    if lane < lanes { P::word(at, source.step, count) } else { 0 }
            };
        }
    }
}
