//! Conversion between numbers and the bytes of a data type.

mod eight;
mod sixteen;

use half::{bf16, f16};
use rsb_model::Dtype;

use crate::random::Values;
use eight::{from_e4m3, to_e4m3};
pub use sixteen::HalfFormat;

/// Returns the smallest number of `dtype` with the full precision of [`Dtype::epsilon`]; zero for
/// integers.
pub const fn smallest_normal(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::MIN_POSITIVE,
        Dtype::F32 | Dtype::Tf32 | Dtype::Bf16 => f32::MIN_POSITIVE as f64,
        Dtype::F16 | Dtype::Bf8 => 1.0 / 16384.0,
        Dtype::Fp8 => 1.0 / 64.0,
        Dtype::Fp6 | Dtype::Fp4 => 1.0,
        Dtype::I8 | Dtype::I4 | Dtype::I32 => 0.0,
    }
}

/// Returns whether [`encode`] and [`decode`] support the type; other types exist only in registers.
/// In memory, tf32 is f32; the matrix units round it when they read it.
pub const fn is_known(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4)
}

/// Returns the 16-bit format of `dtype`, if it is one.
const fn sixteen(dtype: Dtype) -> Option<HalfFormat> {
    match dtype {
        Dtype::F16 => Some(HalfFormat::F16),
        Dtype::Bf16 => Some(HalfFormat::Bf16),
        _ => None,
    }
}

/// Rounds `value` to the value that a buffer of `dtype` stores. For 16-bit types it is first
/// rounded to f32, since inputs are generated in f32.
pub fn round(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::F32 | Dtype::Tf32 => f64::from(value as f32),
        Dtype::F16 => f16::from_f32(value as f32).to_f64(),
        Dtype::Bf16 => bf16::from_f32(value as f32).to_f64(),
        Dtype::I8 => value.round().clamp(-128.0, 127.0),
        Dtype::I4 => value.round().clamp(-8.0, 7.0),
        Dtype::I32 => value.round().clamp(f64::from(i32::MIN), f64::from(i32::MAX)),
        Dtype::Fp8 => from_e4m3(to_e4m3(value as f32)),
        Dtype::F64 | Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4 => value,
    }
}

/// Converts an input between -1 and 1 to the value that a buffer of `dtype` stores. Integers are
/// scaled to the range of `i8`, 4-bit integers to their own range.
pub fn input(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::I8 | Dtype::I32 => (value * 127.0).round(),
        Dtype::I4 => (value * 7.0).round(),
        other => round(other, value),
    }
}

/// Encodes `values` as bytes of `dtype`. 4-bit values are packed two in a byte, the first in its
/// lower half. Returns nothing for an unsupported type.
pub fn encode(dtype: Dtype, values: &[f64]) -> Vec<u8> {
    let mut out = Vec::new();
    match dtype {
        Dtype::F64 => put(values, f64::to_le_bytes, &mut out),
        Dtype::F32 | Dtype::Tf32 => put(values, |value| (value as f32).to_le_bytes(), &mut out),
        Dtype::F16 => put(values, |value| f16::from_f32(value as f32).to_le_bytes(), &mut out),
        Dtype::Bf16 => put(values, |value| bf16::from_f32(value as f32).to_le_bytes(), &mut out),
        Dtype::I8 => put(values, |value| (round(dtype, value) as i8).to_le_bytes(), &mut out),
        Dtype::I32 => put(values, |value| (round(dtype, value) as i32).to_le_bytes(), &mut out),
        Dtype::Fp8 => put(values, |value| [to_e4m3(value as f32)], &mut out),
        Dtype::I4 => out.extend(
            values.chunks(2).map(|pair| half_byte(pair.first()) | half_byte(pair.get(1)) << 4),
        ),
        Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4 => {}
    }
    out
}

/// Returns a number in 4 bits; 0 for `None`.
fn half_byte(value: Option<&f64>) -> u8 {
    value.map_or(0, |&value| round(Dtype::I4, value) as i8 & 15).cast_unsigned()
}

/// Replaces the contents of `out` with the bytes of `values`. Writes whole words, which is ten
/// times as fast as single bytes.
fn put<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N], out: &mut Vec<u8>) {
    out.resize(values.len() * N, 0);
    for (to, &value) in out.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *to = bytes(value);
    }
}

/// Decodes `bytes` of `dtype` and replaces the contents of `out`. 4-bit types yield an even number
/// of values.
pub fn decode_into(dtype: Dtype, bytes: &[u8], out: &mut Vec<f64>) {
    out.clear();
    match dtype {
        Dtype::F64 => out.extend(words(bytes).map(f64::from_le_bytes)),
        Dtype::F32 | Dtype::Tf32 => {
            out.extend(words(bytes).map(|word| f64::from(f32::from_le_bytes(word))));
        }
        Dtype::F16 | Dtype::Bf16 => {
            let bits: Vec<u16> = words(bytes).map(u16::from_le_bytes).collect();
            let mut wide = vec![0.0; bits.len()];
            if let Some(format) = sixteen(dtype) {
                format.widen(&bits, &mut wide);
            }
            out.extend(wide.into_iter().map(f64::from));
        }
        Dtype::I8 => out.extend(bytes.iter().map(|&byte| f64::from(byte.cast_signed()))),
        Dtype::I32 => out.extend(words(bytes).map(|word| f64::from(i32::from_le_bytes(word)))),
        Dtype::Fp8 => out.extend(bytes.iter().map(|&byte| from_e4m3(byte))),
        Dtype::I4 => out.extend(
            bytes
                .iter()
                .flat_map(|&byte| [byte << 4, byte])
                .map(|above| f64::from(above.cast_signed() >> 4)),
        ),
        Dtype::Bf8 | Dtype::Fp6 | Dtype::Fp4 => {}
    }
}

/// Decodes `bytes` of `dtype` into a new vector.
pub fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    let mut out = Vec::new();
    decode_into(dtype, bytes, &mut out);
    out
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// Replaces the contents of `out` with the bytes of `count` elements of `values` from `start` on.
pub fn encode_values(dtype: Dtype, values: &Values, start: u64, count: usize, out: &mut Vec<u8>) {
    if dtype == Dtype::F64 {
        let mut wide = vec![0.0; count];
        values.fill_f64(start, &mut wide);
        put(&wide, f64::to_le_bytes, out);
        return;
    }
    let mut narrow = vec![0.0; count];
    values.fill_f32(start, &mut narrow);
    match sixteen(dtype) {
        Some(format) => {
            let mut bits = vec![0; count];
            format.narrow(&narrow, &mut bits);
            put(&bits, u16::to_le_bytes, out);
        }
        None if dtype == Dtype::F32 => put(&narrow, f32::to_le_bytes, out),
        None => {
            let whole: Vec<f64> =
                narrow.iter().map(|&value| input(dtype, f64::from(value))).collect();
            *out = encode(dtype, &whole);
        }
    }
}

/// Fills `out` with the elements of `values` from `start` on, as a buffer of `dtype` stores them.
pub fn rounded_values(dtype: Dtype, values: &Values, start: u64, out: &mut [f64]) {
    if dtype == Dtype::F64 {
        values.fill_f64(start, out);
        return;
    }
    let mut narrow = [0.0; BLOCK];
    for (index, wide) in out.chunks_mut(BLOCK).enumerate() {
        let Some(narrow) = narrow.get_mut(..wide.len()) else { return };
        values.fill_f32(start + (index * BLOCK) as u64, narrow);
        match (sixteen(dtype), dtype) {
            (Some(format), _) => {
                let mut bits = [0; BLOCK];
                let Some(bits) = bits.get_mut(..narrow.len()) else { return };
                format.narrow(narrow, bits);
                format.widen(bits, narrow);
                to_wide(narrow, wide);
            }
            // Values generated as f32 need no rounding.
            (None, Dtype::F32 | Dtype::Tf32) => to_wide(narrow, wide),
            _ => wide
                .iter_mut()
                .zip(narrow)
                .for_each(|(to, value)| *to = input(dtype, f64::from(*value))),
        }
    }
}

/// Numbers generated at a time, to stay in the first-level cache.
const BLOCK: usize = 1 << 10;

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
fn to_wide(narrow: &[f32], wide: &mut [f64]) {
    wide.iter_mut().zip(narrow).for_each(|(to, &value)| *to = f64::from(value));
}

/// Returns the element of `values` at `position`, as a buffer of `dtype` stores it.
pub fn value(dtype: Dtype, values: &Values, position: u64) -> f64 {
    if dtype == Dtype::F64 {
        return values.wide(position);
    }
    let mut one = [0.0_f32];
    values.fill_f32(position, &mut one);
    input(dtype, f64::from(one[0]))
}

/// Reads a little-endian 64-bit word from the start of `bytes`.
pub fn word(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Distribution;

    #[test]
    fn numbers_survive_their_own_rounding() {
        for dtype in [
            Dtype::F64,
            Dtype::F32,
            Dtype::Tf32,
            Dtype::F16,
            Dtype::Bf16,
            Dtype::Fp8,
            Dtype::I8,
            Dtype::I32,
        ] {
            let rounded: Vec<f64> =
                [0.1, -0.7, 3.0, 100.25].iter().map(|&value| round(dtype, value)).collect();
            assert_eq!(decode(dtype, &encode(dtype, &rounded)), rounded, "{dtype}");
            assert!(is_known(dtype));
        }
    }

    #[test]
    fn what_is_written_is_what_the_reference_expects() {
        let values = Values::new(5, 2, Distribution::Signed);
        for dtype in [
            Dtype::F64,
            Dtype::F32,
            Dtype::Tf32,
            Dtype::F16,
            Dtype::Bf16,
            Dtype::Fp8,
            Dtype::I8,
            Dtype::I32,
        ] {
            let mut bytes = Vec::new();
            encode_values(dtype, &values, 77, 50, &mut bytes);
            let mut expected = vec![0.0; 50];
            rounded_values(dtype, &values, 77, &mut expected);
            assert_eq!(decode(dtype, &bytes), expected, "{dtype}");
            let one_by_one: Vec<f64> =
                (77..127).map(|position| value(dtype, &values, position)).collect();
            assert_eq!(expected, one_by_one, "{dtype}");
        }
    }

    /// A value slightly above the midpoint of two neighbors rounds up. (`bf16::from_f64` of the
    /// crate `half` 2.7 ignores the lower bits and treats the value as the midpoint.)
    #[test]
    fn just_above_the_middle_goes_up() {
        let above = 1.0 + 2.0_f64.powi(-8) + 2.0_f64.powi(-23);
        assert_eq!(round(Dtype::Bf16, above).to_bits(), (1.0 + 2.0_f64.powi(-7)).to_bits());
        let above = 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-23);
        assert_eq!(round(Dtype::F16, above).to_bits(), (1.0 + 2.0_f64.powi(-10)).to_bits());
    }

    #[test]
    fn many_inputs_are_the_same_by_either_way() {
        let values = Values::new(1, 0, Distribution::Signed);
        for dtype in [Dtype::F16, Dtype::Bf16] {
            let mut bytes = Vec::new();
            encode_values(dtype, &values, 0, 200_000, &mut bytes);
            let mut expected = vec![0.0; 200_000];
            rounded_values(dtype, &values, 0, &mut expected);
            assert_eq!(decode(dtype, &bytes), expected);
            assert!(
                (0..200_000).all(
                    |at| value(dtype, &values, at).to_bits() == expected[at as usize].to_bits()
                )
            );
        }
    }
}
