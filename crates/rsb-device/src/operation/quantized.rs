//! Products with low-bit weights, as in quantized language models.

use rsb_model::{Dtype, Reason};
use serde::{Deserialize, Serialize};

use super::tensor::product;
use super::{BufferSpec, Role};
use crate::error::DeviceError;

/// C = A · Wᵀ, row-major: A is m×k, C m×n, both of one type. W is n×k signed integers, each
/// multiplied by the scale of its group of adjacent weights in a row. Sums are accumulated in at
/// least f32. The scales are f16, n × groups per row.
///
/// 4-bit weights are packed two in a byte, the earlier one in the lower half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantizedProduct {
    /// Type of an element of A and of C.
    pub dtype: Dtype,
    /// Type of a weight: i8 or i4.
    pub weights: Dtype,
    /// Rows of A and of C.
    pub m: u64,
    /// Rows of W, columns of C.
    pub n: u64,
    /// Length of the sums: a multiple of [`QuantizedProduct::UNIT`].
    pub k: u64,
    /// Weights per scale: a multiple of [`QuantizedProduct::UNIT`]. The last group of a row may be
    /// shorter.
    pub group: u64,
}

impl QuantizedProduct {
    /// Number of weights that kernels load at once.
    pub const UNIT: u64 = 32;

    /// Type of a scale.
    pub const SCALE: Dtype = Dtype::F16;

    /// Returns the number of scales of a row of W.
    pub const fn groups(&self) -> u64 {
        self.k.div_ceil(if self.group == 0 { 1 } else { self.group })
    }

    /// Returns the bytes of a row of W. Saturates if no device has that much memory.
    pub const fn row_bytes(&self) -> u64 {
        BufferSpec::new(Role::Input, self.weights, self.k).bytes()
    }

    /// Returns the bytes of W and its scales. Saturates if no device has that much memory.
    pub fn weight_bytes(&self) -> u64 {
        let scales = BufferSpec::new(Role::Input, Self::SCALE, self.groups()).bytes();
        product(&[self.n, self.row_bytes().saturating_add(scales)])
    }

    /// Checks that a kernel supports the types and sizes.
    ///
    /// # Errors
    /// `Unsupported`, with the reason.
    pub fn check(&self) -> Result<(), DeviceError> {
        if !matches!(self.weights, Dtype::I8 | Dtype::I4) {
            return Err(DeviceError::Unsupported(Reason::new(
                format!("weights of {}", self.weights),
                "quantized weights must be integers",
                "choose i8 or i4",
            )));
        }
        if [self.m, self.n, self.k, self.group].contains(&0) {
            return Err(DeviceError::Unsupported(Reason::new(
                "a product without elements",
                "a size is zero",
                "choose sizes above zero",
            )));
        }
        if self.k.is_multiple_of(Self::UNIT) && self.group.is_multiple_of(Self::UNIT) {
            return Ok(());
        }
        Err(DeviceError::Unsupported(Reason::new(
            format!("{} weights of {} in groups of {}", self.k, self.weights, self.group),
            "weights are read in vectors of 32, so rows and groups must be multiples of 32",
            "choose a width that is a multiple of 32, such as heads of 64 or 128",
        )))
    }

    pub(super) fn buffers(&self) -> Vec<BufferSpec> {
        vec![
            BufferSpec::new(Role::Input, self.dtype, product(&[self.m, self.k])),
            BufferSpec::new(Role::Input, Dtype::I8, product(&[self.n, self.row_bytes()])),
            BufferSpec::new(Role::Input, Self::SCALE, product(&[self.n, self.groups()])),
            BufferSpec::new(Role::Output, self.dtype, product(&[self.m, self.n])),
        ]
    }

    /// Returns the number of operations of the product, excluding the conversion of the weights.
    pub(super) fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Returns the integer value of weight `at` of a row. `byte` returns the bytes of the row.
    pub fn weight(&self, byte: impl Fn(u64) -> u8, at: u64) -> f64 {
        let whole = if self.weights == Dtype::I4 {
            let byte = byte(at / 2);
            let above = if at.is_multiple_of(2) { byte << 4 } else { byte };
            above.cast_signed() >> 4
        } else {
            byte(at).cast_signed()
        };
        f64::from(whole)
    }

    /// Dequantizes a row of W.
    pub fn numbers(&self, weights: &[u8], scales: &[f64]) -> Vec<f64> {
        let mut numbers = Vec::with_capacity(self.k as usize);
        for at in 0..self.k {
            let weight = self.weight(|at| weights.get(at as usize).copied().unwrap_or(0), at);
            let scale = scales.get((at / self.group) as usize).copied().unwrap_or(f64::NAN);
            numbers.push(weight * scale);
        }
        numbers
    }
}

/// Packs integers, which must fit in the type `weights` and have an even count, into bytes.
pub fn pack_weights(weights: Dtype, numbers: &[i8]) -> Vec<u8> {
    if weights == Dtype::I4 {
        return numbers
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[low, high]| (low & 15).cast_unsigned() | (high << 4).cast_unsigned())
            .collect();
    }
    numbers.iter().map(|number| number.cast_unsigned()).collect()
}
