//! The CPU's units for products, each as what a tile of C needs of it: a vector of sums, and sums
//! plus products.
//!
//! Matrices come in *words* of 32 bits: one f32, two bf16, two i16 or four i8 that follow one
//! another in depth. A word of A goes to every lane, a vector of B has a word of each of its
//! columns.

/// Lanes of the widest unit.
pub(super) const MAX_LANES: usize = 16;

/// An instruction that multiplies words and adds the products to sums of 32 bits.
///
/// # Safety
/// Whoever calls a method runs on a CPU that has the unit's instructions, in a function that is
/// compiled for them, so that the method becomes a part of it. Pointers are valid for a vector
/// (`broadcast`: a word), however aligned.
pub(super) unsafe trait SimdUnit {
    /// Sums, or words of B.
    type Vector: Copy;
    /// Words in a vector.
    const LANES: usize;

    unsafe fn load(from: *const u32) -> Self::Vector;
    /// A vector of so many f16, each as an f32.
    #[inline(always)]
    unsafe fn of_f16(from: *const u16) -> Self::Vector {
        let mut words = [0; MAX_LANES];
        for (lane, word) in words.iter_mut().take(Self::LANES).enumerate() {
            // SAFETY: by the promise of the caller, here and below.
            *word = widen_bits(unsafe { *from.add(lane) });
        }
        // SAFETY: as many words as any vector has.
        unsafe { Self::load(words.as_ptr()) }
    }
    unsafe fn broadcast(from: *const u32) -> Self::Vector;
    unsafe fn store(to: *mut u32, vector: Self::Vector);
    unsafe fn multiply_add(sums: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn subtract(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The sum of two lanes.
    fn sum(a: u32, b: u32) -> u32;
}

/// An f16 as the bits of an f32, without a branch, so that a compiler makes vectors of it.
#[inline(always)]
pub(super) fn widen_bits(bits: u16) -> u32 {
    /// 2¹¹², by which the exponents of the two differ.
    const SCALE: f32 = f32::from_bits(0x7780_0000);
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let number = (f32::from_bits(magnitude) * SCALE).to_bits();
    let is_none = bits & 0x7c00 == 0x7c00;
    (if is_none { magnitude | 0x7f80_0000 } else { number }) | (u32::from(bits & 0x8000) << 16)
}

/// Asks for the cache line there, which need not be anybody's.
#[inline(always)]
pub(super) fn prefetch(at: *const u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: it reads nothing, and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The sum of two f32.
fn sum_f32(a: u32, b: u32) -> u32 {
    (f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// The sum of two whole numbers of 32 bits.
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

        // SAFETY: every method asks of its caller what the trait does, and nothing else.
        #[allow(clippy::cast_ptr_alignment)]
        unsafe impl SimdUnit for $name {
            type Vector = $vector;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const u32) -> $vector {
                let $from = from.cast();
                // SAFETY: by the promise of the caller, here and below.
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
                    // SAFETY: as above, on a CPU that converts f16.
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
        /// f32 in vectors of sixteen.
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
        /// Pairs of bf16, summed in f32.
        Bf16Avx512,
        __m512,
        16,
        |from| _mm512_loadu_ps(from),
        |word| _mm512_set1_ps(f32::from_bits(word.cast_unsigned())),
        |to, vector| _mm512_storeu_ps(to, vector),
        // SAFETY: vectors of the same size whose bits are numbers whatever they are.
        |sums, a, b| _mm512_dpbf16_ps(sums, transmute::<__m512, __m512bh>(a), transmute::<__m512, __m512bh>(b)),
        |a, b| _mm512_add_ps(a, b),
        |a, b| _mm512_sub_ps(a, b),
        sum_f32
    );
    unit!(
        /// Fours of u8 (A) and i8 (B), summed in 32 bits.
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
        /// f32 in vectors of eight.
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
        /// Fours of u8 (A) and i8 (B), where there is VNNI without AVX-512.
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
        /// Pairs of i16, summed in 32 bits.
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

/// Lanes of the plain units: as many as the compiler makes vectors of on any CPU.
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

        // SAFETY: any CPU has what these need.
        unsafe impl SimdUnit for $name {
            type Vector = [$number; PLAIN];
            const LANES: usize = PLAIN;

            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self::Vector {
                // SAFETY: by the promise of the caller, here and below.
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
    /// f32 as the compiler has it for any CPU.
    F32Plain,
    f32,
    |sum, a, b| *sum + a * b,
    |a, b| *a + b,
    |a, b| *a - b,
    sum_f32
);

/// Both halves of a word as the i16 that they are.
#[inline(always)]
fn halves(word: i32) -> [i32; 2] {
    [i32::from(word as i16), word >> 16]
}

plain_unit!(
    /// Pairs of i16 as the compiler has them for any CPU.
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
