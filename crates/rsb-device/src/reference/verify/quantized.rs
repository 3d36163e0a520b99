//! Verification of products with low-bit weights: fixed samples of elements, and Freivalds' check
//! of the whole.

use std::ops::Range;

use super::product::{Operands, compare_product, compare_rows, dot, projections};
use super::{Check, ErrorMeter, Inputs};
use crate::device::DeviceError;
use crate::operation::QuantizedProduct;

/// Operands of a [`QuantizedProduct`], regenerated from their seed.
struct QuantizedOperands<'c> {
    inputs: &'c Inputs,
    op: &'c QuantizedProduct,
}

impl Operands for QuantizedOperands<'_> {
    fn rows(&self, _: u64, rows: Range<u64>) -> Vec<Vec<f64>> {
        rows.map(|row| self.inputs.numbers(0, row * self.op.k..(row + 1) * self.op.k)).collect()
    }

    fn column(&self, _: u64, column: u64) -> Vec<f64> {
        weights(self.inputs, self.op, column)
    }

    fn element(&self, _: u64, _: u64, _: u64, sum: f64) -> f64 {
        sum
    }
}

pub(super) fn check(
    check: &Check<'_>,
    op: &QuantizedProduct,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let inputs = &check.inputs;
    let operands = QuantizedOperands { inputs, op };
    compare_product(check, 3, 1, op.m, op.n, &operands, error)?;
    let vectors = projections(check, op.n);
    let expected = check.reference_values("rows", op.m as usize * vectors.len(), || {
        let mut sums = vec![vec![0.0; op.k as usize]; vectors.len()];
        for column in 0..op.n {
            let weights = weights(inputs, op, column);
            for (sums, signs) in sums.iter_mut().zip(&vectors) {
                let sign = signs.get(column as usize).copied().unwrap_or(f64::NAN);
                sums.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += sign * weight);
            }
        }
        let mut all = vec![Vec::with_capacity(op.m as usize); sums.len()];
        for row in 0..op.m {
            let row = inputs.numbers(0, row * op.k..(row + 1) * op.k);
            all.iter_mut().zip(&sums).for_each(|(all, sums)| all.push(dot(&row, sums)));
        }
        all.concat()
    });
    compare_rows(check, 3, 0, &vectors, &expected, error.scale)
}

/// Returns the dequantized row `row` of the weights.
fn weights(inputs: &Inputs, op: &QuantizedProduct, row: u64) -> Vec<f64> {
    let bytes = inputs.numbers(1, row * op.row_bytes()..(row + 1) * op.row_bytes());
    let bytes: Vec<u8> = bytes.iter().map(|&number| (number as i8).cast_unsigned()).collect();
    op.numbers(&bytes, &inputs.numbers(2, row * op.groups()..(row + 1) * op.groups()))
}
