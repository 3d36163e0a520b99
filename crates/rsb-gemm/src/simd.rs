//! Vector units of the CPU, with the operations that a tile of C needs: vectors of sums, and
//! multiply-add.
//!
//! Matrices are read in *words* of 32 bits: one f32, two bf16, two i16 or four i8 that are
//! consecutive in depth. A word of A is broadcast to every lane; a vector of B has one word per
//! column.

/// Lanes of the widest unit.
pub(super) const MAX_LANES: usize = 16;

/// A vector unit that multiplies words and adds the products to 32-bit sums.
///
/// # Safety
/// Callers run on a CPU with the instructions of the unit, in a function compiled with them, so
/// that the method is inlined. Pointers are valid for a vector (`broadcast`: a word), at any
/// alignment.
pub(super) unsafe trait SimdUnit {
    /// Vector of sums, or of words of B.
    type Vector: Copy;
    /// Words per vector.
    const LANES: usize;

    unsafe fn load(from: *const u32) -> Self::Vector;
    /// Returns a vector of f16 elements widened to f32.
    #[inline(always)]
    unsafe fn of_f16(from: *const u16) -> Self::Vector {
        let mut words = [0; MAX_LANES];
        for (lane, word) in words.iter_mut().take(Self::LANES).enumerate() {
            // SAFETY: guaranteed by the caller, here and below.
            *word = widen_bits(unsafe { *from.add(lane) });
        }
        // SAFETY: the array is as long as the longest vector.
        unsafe { Self::load(words.as_ptr()) }
    }
    unsafe fn broadcast(from: *const u32) -> Self::Vector;
    unsafe fn store(to: *mut u32, vector: Self::Vector);
    unsafe fn multiply_add(sums: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn subtract(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the sum of two lanes.
    fn sum(a: u32, b: u32) -> u32;
}

/// Returns the bits of an f16 widened to f32. Branch-free, so that the compiler vectorizes it.
#[inline(always)]
pub(super) fn widen_bits(bits: u16) -> u32 {
    /// 2¹¹², the ratio of the exponent biases of f32 and f16.
    const SCALE: f32 = f32::from_bits(0x7780_0000);
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let number = (f32::from_bits(magnitude) * SCALE).to_bits();
    let is_none = bits & 0x7c00 == 0x7c00;
    (if is_none { magnitude | 0x7f80_0000 } else { number }) | (u32::from(bits & 0x8000) << 16)
}

/// Prefetches the cache line at `at`, which need not be a valid address.
#[inline(always)]
pub(super) fn prefetch(at: *const u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Returns the sum of two f32, given and returned as bits.
fn sum_f32(a: u32, b: u32) -> u32 {
    (f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// Returns the wrapping sum of two 32-bit integers.
fn sum_i32(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

macro_rules! unit {
    (
        $(#[$about:meta])* $name:ident, $vector:ty, $lanes:literal,
        |$from:ident| $load:expr,
        |$word:ident| $broadcast:expr,
        |$to:ident, $stored:ident| $store:expr,
        |$sums:ident, $a:ident, $b:ident| $multiply_add:expr,
        |$c:ident, $d:ident| $add:expr,
        |$e:ident, $f:ident| $subtract:expr,
        $sum:path
        $(, |$halves:ident| $of_f16:expr)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        // SAFETY: every method has the same requirements as the trait.
        #[allow(clippy::cast_ptr_alignment)]
        unsafe impl SimdUnit for $name {
            type Vector = $vector;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const u32) -> $vector {
                let $from = from.cast();
                // SAFETY: guaranteed by the caller, here and below.
                unsafe { $load }
            }
            #[inline(always)]
            unsafe fn broadcast(from: *const u32) -> $vector {
                // SAFETY: as above.
                unsafe {
                    let $word = from.cast::<i32>().read_unaligned();
                    $broadcast
                }
            }
            #[inline(always)]
            unsafe fn store(to: *mut u32, $stored: $vector) {
                let $to = to.cast();
                // SAFETY: as above.
                unsafe { $store }
            }
            #[inline(always)]
            unsafe fn multiply_add($sums: $vector, $a: $vector, $b: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $multiply_add }
            }
            #[inline(always)]
            unsafe fn add($c: $vector, $d: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $add }
            }
            #[inline(always)]
            unsafe fn subtract($e: $vector, $f: $vector) -> $vector {
                // SAFETY: as above.
                unsafe { $subtract }
            }
            #[inline(always)]
            fn sum(a: u32, b: u32) -> u32 {
                $sum(a, b)
            }
            $(
                #[inline(always)]
                unsafe fn of_f16(from: *const u16) -> $vector {
                    let $halves = from.cast();
                    // SAFETY: as above, on a CPU with F16C or AVX-512.
                    unsafe { $of_f16 }
                }
            )?
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m256i, __m512, __m512bh, __m512i, _mm_loadu_si128, _mm256_add_epi32,
        _mm256_add_ps, _mm256_cvtph_ps, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps, _mm256_loadu_ps,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32, _mm256_set1_ps, _mm256_storeu_ps,
        _mm256_storeu_si256, _mm256_sub_epi32, _mm256_sub_ps, _mm512_add_epi32, _mm512_add_ps,
        _mm512_cvtph_ps, _mm512_dpbf16_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps,
        _mm512_loadu_epi32, _mm512_loadu_ps, _mm512_set1_epi32, _mm512_set1_ps,
        _mm512_storeu_epi32, _mm512_storeu_ps, _mm512_sub_epi32, _mm512_sub_ps,
    };
    use std::mem::transmute;

    use super::{SimdUnit, sum_f32, sum_i32};

    unit!(
        /// f32 in vectors of 16.
        F32Avx512,
        __m512,
        16,
        |from| _mm512_loadu_ps(from),
        |word| _mm512_set1_ps(f32::from_bits(word.cast_unsigned())),
        |to, vector| _mm512_storeu_ps(to, vector),
        |sums, a, b| _mm512_fmadd_ps(a, b, sums),
        |a, b| _mm512_add_ps(a, b),
        |a, b| _mm512_sub_ps(a, b),
        sum_f32,
        |from| _mm512_cvtph_ps(_mm256_loadu_si256(from))
    );
    unit!(
        /// Pairs of bf16, accumulated in f32.
        Bf16Avx512,
        __m512,
        16,
        |from| _mm512_loadu_ps(from),
        |word| _mm512_set1_ps(f32::from_bits(word.cast_unsigned())),
        |to, vector| _mm512_storeu_ps(to, vector),
        // SAFETY: the vectors have the same size, and all bit patterns are valid.
        |sums, a, b| _mm512_dpbf16_ps(sums, transmute::<__m512, __m512bh>(a), transmute::<__m512, __m512bh>(b)),
        |a, b| _mm512_add_ps(a, b),
        |a, b| _mm512_sub_ps(a, b),
        sum_f32
    );
    unit!(
        /// Quads of u8 (A) and i8 (B), accumulated in 32 bits.
        Vnni512,
        __m512i,
        16,
        |from| _mm512_loadu_epi32(from),
        |word| _mm512_set1_epi32(word),
        |to, vector| _mm512_storeu_epi32(to, vector),
        |sums, a, b| _mm512_dpbusd_epi32(sums, a, b),
        |a, b| _mm512_add_epi32(a, b),
        |a, b| _mm512_sub_epi32(a, b),
        sum_i32
    );
    unit!(
        /// f32 in vectors of 8.
        F32Fma,
        __m256,
        8,
        |from| _mm256_loadu_ps(from),
        |word| _mm256_set1_ps(f32::from_bits(word.cast_unsigned())),
        |to, vector| _mm256_storeu_ps(to, vector),
        |sums, a, b| _mm256_fmadd_ps(a, b, sums),
        |a, b| _mm256_add_ps(a, b),
        |a, b| _mm256_sub_ps(a, b),
        sum_f32,
        |from| _mm256_cvtph_ps(_mm_loadu_si128(from))
    );
    unit!(
        /// Quads of u8 (A) and i8 (B), for CPUs with AVX-VNNI.
        VnniAvx,
        __m256i,
        8,
        |from| _mm256_loadu_si256(from),
        |word| _mm256_set1_epi32(word),
        |to, vector| _mm256_storeu_si256(to, vector),
        |sums, a, b| _mm256_dpbusd_avx_epi32(sums, a, b),
        |a, b| _mm256_add_epi32(a, b),
        |a, b| _mm256_sub_epi32(a, b),
        sum_i32
    );
    unit!(
        /// Pairs of i16, accumulated in 32 bits.
        PairsAvx2,
        __m256i,
        8,
        |from| _mm256_loadu_si256(from),
        |word| _mm256_set1_epi32(word),
        |to, vector| _mm256_storeu_si256(to, vector),
        |sums, a, b| _mm256_add_epi32(sums, _mm256_madd_epi16(a, b)),
        |a, b| _mm256_add_epi32(a, b),
        |a, b| _mm256_sub_epi32(a, b),
        sum_i32
    );
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Bf16Avx512, F32Avx512, F32Fma, PairsAvx2, Vnni512, VnniAvx};

/// Lanes of the portable units, which the compiler can vectorize on any CPU.
const PLAIN: usize = 8;

macro_rules! plain_unit {
    (
        $(#[$about:meta])* $name:ident, $number:ty,
        |$sum:ident, $a:ident, $b:ident| $multiply_add:expr,
        |$c:ident, $d:ident| $add:expr,
        |$e:ident, $f:ident| $subtract:expr,
        $join:path
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name;

        // SAFETY: needs no special instructions.
        unsafe impl SimdUnit for $name {
            type Vector = [$number; PLAIN];
            const LANES: usize = PLAIN;

            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self::Vector {
                // SAFETY: guaranteed by the caller, here and below.
                unsafe { from.cast::<Self::Vector>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn broadcast(from: *const u32) -> Self::Vector {
                // SAFETY: as above.
                [unsafe { from.cast::<$number>().read_unaligned() }; PLAIN]
            }
            #[inline(always)]
            unsafe fn store(to: *mut u32, vector: Self::Vector) {
                // SAFETY: as above.
                unsafe { to.cast::<Self::Vector>().write_unaligned(vector) }
            }
            #[inline(always)]
            unsafe fn multiply_add(mut sums: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                for (($sum, $a), $b) in sums.iter_mut().zip(a).zip(b) {
                    *$sum = $multiply_add;
                }
                sums
            }
            #[inline(always)]
            unsafe fn add(mut left: Self::Vector, right: Self::Vector) -> Self::Vector {
                for ($c, $d) in left.iter_mut().zip(right) {
                    *$c = $add;
                }
                left
            }
            #[inline(always)]
            unsafe fn subtract(mut left: Self::Vector, right: Self::Vector) -> Self::Vector {
                for ($e, $f) in left.iter_mut().zip(right) {
                    *$e = $subtract;
                }
                left
            }
            #[inline(always)]
            fn sum(a: u32, b: u32) -> u32 {
                $join(a, b)
            }
        }
    };
}

plain_unit!(
    /// Portable f32, vectorized by the compiler.
    F32Plain,
    f32,
    |sum, a, b| *sum + a * b,
    |a, b| *a + b,
    |a, b| *a - b,
    sum_f32
);

/// Returns both halves of a word as sign-extended i16.
#[inline(always)]
fn halves(word: i32) -> [i32; 2] {
    [i32::from(word as i16), word >> 16]
}

plain_unit!(
    /// Portable pairs of i16, vectorized by the compiler.
    PairsPlain,
    i32,
    |sum, a, b| {
        let ([a, c], [b, d]) = (halves(a), halves(b));
        sum.wrapping_add(a * b).wrapping_add(c * d)
    },
    |a, b| a.wrapping_add(b),
    |a, b| a.wrapping_sub(b),
    sum_i32
);

#[cfg(test)]
mod tests {
    use half::f16;

    use super::widen_bits;

    #[test]
    fn every_f16_is_the_f32_that_it_is() {
        for bits in 0..=u16::MAX {
            let (ours, right) = (f32::from_bits(widen_bits(bits)), f16::from_bits(bits).to_f32());
            assert!(
                ours.to_bits() == right.to_bits() || (ours.is_nan() && right.is_nan()),
                "{bits:#x}"
            );
        }
    }
}
