//! The two 16-bit floating-point formats, converted many numbers at a time.

use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

/// A 16-bit floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfFormat {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
}

impl HalfFormat {
    /// Converts `from` to f32. Both slices have the same length.
    #[inline]
    pub fn widen(self, from: &[u16], to: &mut [f32]) {
        match self {
            Self::F16 => from.reinterpret_cast::<f16>().convert_to_f32_slice(to),
            Self::Bf16 => widen_bf16(from, to),
        }
    }

    /// Rounds `from` to nearest even. Both slices have the same length.
    #[inline]
    pub fn narrow(self, from: &[f32], to: &mut [u16]) {
        match self {
            Self::F16 => to.reinterpret_cast_mut::<f16>().convert_from_f32_slice(from),
            Self::Bf16 => narrow_bf16(from, to),
        }
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn widen_bf16(from: &[u16], to: &mut [f32]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = f32::from_bits(u32::from(from) << 16);
    }
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn narrow_bf16(from: &[f32], to: &mut [u16]) {
    for (to, &from) in to.iter_mut().zip(from) {
        let bits = from.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        // Rounding could turn a NaN into infinity: return a quiet NaN instead.
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
        HalfFormat::F16.narrow(&values, &mut narrow);
        assert!(
            values
                .iter()
                .zip(&narrow)
                .all(|(&value, &bits)| f16::from_f32(value).to_bits() == bits)
        );
        HalfFormat::F16.widen(&narrow, &mut wide);
        assert!(
            narrow
                .iter()
                .zip(&wide)
                .all(|(&bits, &value)| f16::from_bits(bits).to_f32().to_bits() == value.to_bits())
        );
        HalfFormat::Bf16.narrow(&values, &mut narrow);
        assert!(
            values
                .iter()
                .zip(&narrow)
                .all(|(&value, &bits)| bf16::from_f32(value).to_bits() == bits)
        );
        HalfFormat::Bf16.widen(&narrow, &mut wide);
        assert!(
            narrow
                .iter()
                .zip(&wide)
                .all(|(&bits, &value)| bf16::from_bits(bits).to_f32().to_bits() == value.to_bits())
        );
        HalfFormat::Bf16.narrow(&[f32::NAN], &mut narrow[..1]);
        assert!(bf16::from_bits(narrow[0]).is_nan());
    }
}
