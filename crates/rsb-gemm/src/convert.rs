//! Conversion between f16 or bf16 in memory and f32 in registers: blocks are widened, computed and
//! narrowed in L1.

use rsb_device::convert::HalfFormat;

/// Elements of a block that is converted at once.
pub const BLOCK: usize = 1024;

/// Widens `from`, in `format`, to f32 in `to`. Both have the same length.
#[inline]
pub fn widen(format: HalfFormat, from: &[u16], to: &mut [f32]) {
    match format {
        HalfFormat::F16 => widen_f16(from, to),
        HalfFormat::Bf16 => format.widen(from, to),
    }
}

/// Narrows `from` to `format` in `to`, rounding to nearest even. Both have the same length.
#[inline]
pub fn narrow(format: HalfFormat, from: &[f32], to: &mut [u16]) {
    match format {
        HalfFormat::F16 => narrow_f16(from, to),
        HalfFormat::Bf16 => format.narrow(from, to),
    }
}

/// Widens f16 with F16C instructions if available, eight at a time.
fn widen_f16(from: &[u16], to: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c") {
        // SAFETY: AVX and F16C were just found.
        return unsafe { x86::widen(from, to) };
    }
    HalfFormat::F16.widen(from, to);
}

/// Narrows to f16, as [`widen_f16`].
fn narrow_f16(from: &[f32], to: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c") {
        // SAFETY: AVX and F16C were just found.
        return unsafe { x86::narrow(from, to) };
    }
    HalfFormat::F16.narrow(from, to);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use half::f16;

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn widen(from: &[u16], to: &mut [f32]) {
        let ((from, rest), (to, rest_to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: both chunks have eight elements, as many as the vectors.
            unsafe {
                _mm256_storeu_ps(
                    to.as_mut_ptr(),
                    _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast())),
                );
            };
        }
        for (from, to) in rest.iter().zip(rest_to) {
            *to = f16::from_bits(*from).to_f32();
        }
    }

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn narrow(from: &[f32], to: &mut [u16]) {
        let ((from, rest), (to, rest_to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: both chunks have eight elements, as many as the vectors.
            unsafe {
                let halves =
                    _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
                _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
            }
        }
        for (from, to) in rest.iter().zip(rest_to) {
            *to = f16::from_f32(*from).to_bits();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_of_the_cpu_round_as_the_definition_does() {
        let mut values: Vec<f32> = (0..4096).map(|index| (index as f32 - 2048.0) * 0.037).collect();
        // Lengths that are not a multiple of the vector length.
        values.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 65504.0, 1e-7, 3.4e38]);
        for format in [HalfFormat::F16, HalfFormat::Bf16] {
            let (mut bits, mut expected) = (vec![0; values.len()], vec![0; values.len()]);
            narrow(format, &values, &mut bits);
            format.narrow(&values, &mut expected);
            assert_eq!(bits, expected, "{format:?}");
            let (mut wide, mut expected) =
                (vec![0.0_f32; values.len()], vec![0.0_f32; values.len()]);
            widen(format, &bits, &mut wide);
            format.widen(&bits, &mut expected);
            assert!(
                wide.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()),
                "{format:?}"
            );
        }
    }
}
