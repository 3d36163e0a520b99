//! Weight matrices: in the data type of the pass, or quantized integers with a scale per group.

use rsb_device::operation::{Gemm, OutputWidth, QuantizedProduct, pack_weights};
use rsb_device::{Buffer, Operation};
use rsb_model::Dtype;

use super::Shape;

/// Weights that share a scale, as in most quantized models.
pub(crate) const GROUP: u64 = 128;

/// A matrix with one row per output.
#[derive(Clone)]
pub(super) struct Matrix {
    pub(super) weights: Buffer,
    /// Scales of quantized weights in f16, for each group of each row.
    pub(super) scales: Option<Buffer>,
    pub(super) rows: u64,
    pub(super) columns: u64,
}

impl Matrix {
    /// Returns the operation y = x · matrixᵀ for `rows` rows of x and its buffers. The output has
    /// the input type of the next stage.
    pub(super) fn product<'b>(
        &'b self,
        shape: Shape,
        rows: u64,
        x: &'b Buffer,
        y: &'b Buffer,
    ) -> (Operation, Vec<&'b Buffer>) {
        let (m, n, k) = (rows, self.rows, self.columns);
        if let (Some(op), Some(scales)) = (quantized_product(shape, m, n, k), &self.scales) {
            return (Operation::Quantized(op), vec![x, &self.weights, scales, y]);
        }
        let op = Gemm {
            stored: OutputWidth::AsInputs,
            transpose_b: true,
            ..Gemm::new(shape.dtype, m, n, k)
        };
        (Operation::Gemm(op), vec![x, &self.weights, y])
    }
}

/// Returns the product of a pass with quantized weights, or `None` if the weights have the type of
/// the inputs.
pub(super) fn quantized_product(shape: Shape, m: u64, n: u64, k: u64) -> Option<QuantizedProduct> {
    Some(QuantizedProduct { dtype: shape.dtype, weights: shape.narrow?, m, n, k, group: GROUP })
}

/// Quantizes rows of `columns` numbers. Returns the packed bytes and the scale of each group, which
/// maps its largest magnitude to the largest integer of the type (symmetric quantization to the
/// nearest).
pub(super) fn quantize(weights: Dtype, columns: u64, numbers: &[f64]) -> (Vec<u8>, Vec<f64>) {
    let largest = if weights == Dtype::I4 { 7.0 } else { 127.0 };
    let (mut wholes, mut scales) = (Vec::with_capacity(numbers.len()), Vec::new());
    for row in numbers.chunks_exact(columns as usize) {
        for group in row.chunks(GROUP as usize) {
            let most = group.iter().fold(0.0_f64, |most, number| most.max(number.abs()));
            // The scale is rounded as it is stored. It would round to zero only if all numbers are
            // practically zero.
            let scale = rsb_device::convert::round(QuantizedProduct::SCALE, most / largest)
                .max(f64::MIN_POSITIVE);
            wholes.extend(
                group.iter().map(|number| (number / scale).round().clamp(-largest, largest) as i8),
            );
            scales.push(scale);
        }
    }
    (pack_weights(weights, &wholes), scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_at_most_half_a_step_off() {
        let columns = 160;
        let numbers: Vec<f64> =
            (0..2 * columns).map(|at| ((at * 37 % 101) as f64 - 50.0) / 64.0).collect();
        for (weights, steps) in [(Dtype::I8, 127.0), (Dtype::I4, 7.0)] {
            let (bytes, scales) = quantize(weights, columns, &numbers);
            let op = QuantizedProduct {
                dtype: Dtype::F32,
                weights,
                m: 1,
                n: 2,
                k: columns,
                group: GROUP,
            };
            assert_eq!(
                (bytes.len() as u64, scales.len() as u64),
                (2 * op.row_bytes(), 2 * op.groups())
            );
            let rows =
                bytes.chunks(op.row_bytes() as usize).zip(scales.chunks(op.groups() as usize));
            let found: Vec<f64> =
                rows.flat_map(|(bytes, scales)| op.numbers(bytes, scales)).collect();
            for (found, number) in found.iter().zip(&numbers) {
                // The largest value is 50/64, and a scale is rounded to eleven bits.
                assert!(
                    (found - number).abs() <= 50.0 / 64.0 / steps * 0.5 + 1e-3,
                    "{weights}: {found} for {number}"
                );
            }
        }
    }
}
