//! 16-bit floating point in memory, 32-bit in registers: blocks are widened, worked on and narrowed in the first cache.

use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

/// Elements that are widened at once.
pub(super) const BLOCK: usize = 1024;

/// Which of the two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sixteen {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
}

impl Sixteen {
    /// The f32 values of `from`; both are equally long.
    pub(crate) fn widen(self, from: &[u16], to: &mut [f32]) {
        match self {
            Self::F16 => widen_f16(from, to),
            Self::Bf16 => widen_bf16(from, to),
        }
    }

    /// `from` rounded to nearest even; both are equally long.
    pub(crate) fn narrow(self, from: &[f32], to: &mut [u16]) {
        match self {
            Self::F16 => narrow_f16(from, to),
            Self::Bf16 => narrow_bf16(from, to),
        }
    }
}

/// By the processor's own instructions where it has them, eight at a time.
fn widen_f16(from: &[u16], to: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c") {
        // SAFETY: AVX and F16C were just found.
        return unsafe { x86::widen(from, to) };
    }
    from.reinterpret_cast::<f16>().convert_to_f32_slice(to);
}

/// As [`widen_f16`].
fn narrow_f16(from: &[f32], to: &mut [u16]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("f16c") {
        // SAFETY: AVX and F16C were just found.
        return unsafe { x86::narrow(from, to) };
    }
    to.reinterpret_cast_mut::<f16>().convert_from_f32_slice(from);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm256_loadu_ps, _mm256_storeu_ps,
    };

    use half::f16;

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn widen(from: &[u16], to: &mut [f32]) {
        let ((from, rest), (to, rest_to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: both arrays are exactly as long as the vectors.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
        }
        for (from, to) in rest.iter().zip(rest_to) {
            *to = f16::from_bits(*from).to_f32();
        }
    }

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn narrow(from: &[f32], to: &mut [u16]) {
        let ((from, rest), (to, rest_to)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in from.iter().zip(to) {
            // SAFETY: both arrays are exactly as long as the vectors.
            unsafe {
                let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
                _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
            }
        }
        for (from, to) in rest.iter().zip(rest_to) {
            *to = f16::from_f32(*from).to_bits();
        }
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn widen_bf16(from: &[u16], to: &mut [f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = f32::from_bits(u32::from(from) << 16);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma", "x86_64+avx2+fma"))]
fn narrow_bf16(from: &[f32], to: &mut [u16]) {
    for (to, &from) in to.iter_mut().zip(from) {
        let bits = from.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        // Rounding could turn a NaN into infinity: keep it quiet instead.
        *to = if from.is_nan() { (bits >> 16) as u16 | 0x40 } else { rounded as u16 };
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn both_formats_agree_with_their_definition() {
        let mut values: Vec<f32> = (0..4096).map(|index| (index as f32 - 2048.0) * 0.037).collect();
        values.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 65504.0, 1e-7, 3.4e38]);
        let mut narrow = vec![0; values.len()];
        let mut wide = vec![0.0; values.len()];
        Sixteen::F16.narrow(&values, &mut narrow);
        assert!(values.iter().zip(&narrow).all(|(&value, &bits)| f16::from_f32(value).to_bits() == bits));
        Sixteen::F16.widen(&narrow, &mut wide);
        assert!(
            narrow.iter().zip(&wide).all(|(&bits, &value)| f16::from_bits(bits).to_f32().to_bits() == value.to_bits())
        );
        Sixteen::Bf16.narrow(&values, &mut narrow);
        assert!(values.iter().zip(&narrow).all(|(&value, &bits)| bf16::from_f32(value).to_bits() == bits));
        Sixteen::Bf16.widen(&narrow, &mut wide);
        assert!(
            narrow.iter().zip(&wide).all(|(&bits, &value)| bf16::from_bits(bits).to_f32().to_bits() == value.to_bits())
        );
        Sixteen::Bf16.narrow(&[f32::NAN], &mut narrow[..1]);
        assert!(bf16::from_bits(narrow[0]).is_nan());
    }
}
