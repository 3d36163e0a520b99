//! The check of products with weights of few bits: fixed samples of elements, and Freivalds' check of the whole.

use super::product::{compare_at, compare_rows, positions, signs};
use super::rows::numbers;
use super::{Check, ErrorMeter};
use crate::device::DeviceError;
use crate::operation::QuantizedProduct;

pub(super) fn check(check: &Check<'_>, op: &QuantizedProduct, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let a = |row: u64| numbers(check, 0, row * op.k..(row + 1) * op.k);
    let elements = op.m * op.n;
    let mut wanted = positions(elements, op.k);
    // Edges of tiles go wrong first.
    wanted.extend([0, op.n - 1, elements - op.n, elements - 1]);
    wanted.sort_unstable();
    wanted.dedup();
    let element = |&index: &u64| {
        let (row, column) = (index / op.n, index % op.n);
        dot(&a(row), &weights(check, op, column))
    };
    compare_at(check, 3, &wanted, error, || wanted.iter().map(element).collect())?;
    let signs = signs(check, 0, op.n);
    let expected = check.expected("rows", op.m as usize, || {
        let mut sums = vec![0.0; op.k as usize];
        for (column, sign) in (0..).zip(&signs) {
            sums.iter_mut().zip(weights(check, op, column)).for_each(|(sum, weight)| *sum += sign * weight);
        }
        (0..op.m).map(|row| dot(&a(row), &sums)).collect()
    });
    compare_rows(check, (3, 0), &signs, &expected, error.scale)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// What row `row` of the weights stands for.
fn weights(check: &Check<'_>, op: &QuantizedProduct, row: u64) -> Vec<f64> {
    let bytes = numbers(check, 1, row * op.row_bytes()..(row + 1) * op.row_bytes());
    let bytes: Vec<u8> = bytes.iter().map(|&number| (number as i8).cast_unsigned()).collect();
    op.numbers(&bytes, &numbers(check, 2, row * op.groups()..(row + 1) * op.groups()))
}
