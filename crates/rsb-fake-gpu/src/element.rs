//! Conversion between array elements and f64. The emulation computes in f64 and rounds once, unlike
//! the real kernels.

use half::{bf16, f16};

/// An element type of a buffer.
pub(crate) trait Element: Copy + 'static {
    /// Returns the value of the element.
    fn get(self) -> f64;
    /// Returns the element nearest to `value`.
    fn put(value: f64) -> Self;
}

macro_rules! elements {
    ($($type:ty: |$element:ident| $get:expr, |$value:ident| $put:expr;)*) => {$(
        impl Element for $type {
            fn get(self) -> f64 {
                let $element = self;
                $get
            }
            fn put($value: f64) -> Self {
                $put
            }
        }
    )*};
}

elements! {
    f64: |x| x, |x| x;
    f32: |x| f64::from(x), |x| x as f32;
    // `bf16::from_f64` rounds values just above the midpoint of two neighbors as if they were at
    // the midpoint, so convert through f32.
    f16: |x| f64::from(f32::from(x)), |x| f16::from_f32(x as f32);
    bf16: |x| f64::from(f32::from(x)), |x| bf16::from_f32(x as f32);
    u8: |x| f64::from(x), |x| x as u8;
    // The casts to integers saturate.
    i8: |x| f64::from(x), |x| x as i8;
    i32: |x| f64::from(x), |x| x as i32;
    u32: |x| f64::from(x), |x| x as u32;
    u64: |x| x as f64, |x| x as u64;
}

/// 8-bit format with four exponent bits, of the Open Compute Project.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E4m3(u8);

/// 8-bit float in which the same bits encode half the value of [`E4m3`], and negative zero encodes
/// NaN.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E4m3Fnuz(u8);

impl Element for E4m3 {
    fn get(self) -> f64 {
        let (exponent, mantissa) = (i32::from(self.0 >> 3 & 15), f64::from(self.0 & 7));
        let size = match (exponent, self.0 & 7) {
            (15, 7) => f64::NAN,
            (0, _) => mantissa / 512.0,
            _ => (1.0 + mantissa / 8.0) * 2.0_f64.powi(exponent - 7),
        };
        if self.0 < 0x80 { size } else { -size }
    }

    fn put(value: f64) -> Self {
        let distance = |code: u8| (Self(code).get() - value.abs()).abs();
        let nearest = (0..0x7f).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
        Self(if value < 0.0 && nearest > 0 { nearest | 0x80 } else { nearest })
    }
}

impl Element for E4m3Fnuz {
    fn get(self) -> f64 {
        match self.0 {
            0x80 => f64::NAN,
            0x7f => 240.0,
            0xff => -240.0,
            code => E4m3(code).get() / 2.0,
        }
    }

    fn put(value: f64) -> Self {
        Self(E4m3::put(2.0 * value).0)
    }
}

/// Unpacks signed 4-bit integers, two per byte, low half first.
pub(crate) fn from_halves(bytes: &[u8]) -> Vec<f64> {
    bytes.iter().flat_map(|byte| [byte % 16, byte / 16]).map(number_of_half).collect()
}

fn number_of_half(half: u8) -> f64 {
    if half < 8 { f64::from(half) } else { f64::from(half) - 16.0 }
}

/// Packs numbers, whose count must be even, into signed 4-bit integers, with saturation.
pub(crate) fn to_halves(numbers: &[f64]) -> Vec<u8> {
    numbers
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&[low, high]| half_of_number(low) + 16 * half_of_number(high))
        .collect()
}

fn half_of_number(number: f64) -> u8 {
    (number.clamp(-8.0, 7.0) as i32).rem_euclid(16) as u8
}
