//! The check of what is made row by row: softmax, norms, attention.

use std::ops::Range;

use rsb_model::Dtype;

use super::{Check, ErrorMeter, SAMPLE};
use crate::convert::rounded_values;
use crate::device::DeviceError;
use crate::operation::{Attention, Normalize};
use crate::reference::maths::{attended_row, normalized_row};

/// Rows of attention that are compared: each is as dear as all keys and values of its head.
const ATTENDED: u64 = 256;

pub(super) fn normalized(check: &Check<'_>, op: &Normalize, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let input = |index, start| numbers(check, index, start..start + op.columns);
    compare(check, (op.rows, op.columns, op.elements().div_ceil(SAMPLE)), error, &|rows| {
        let (gain, bias) = (input(1, 0), input(2, 0));
        let of_row = |&row: &u64| normalized_row(op.op, &input(0, row * op.columns), &gain, &bias);
        rows.iter().flat_map(of_row).collect()
    })
}

pub(super) fn attended(check: &Check<'_>, op: &Attention, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let width = op.head_dim;
    compare(check, (op.rows(), width, op.rows().div_ceil(ATTENDED)), error, &|rows| {
        let of_row = |&row: &u64| {
            let query = numbers(check, 0, row * width..(row + 1) * width);
            attended_row(&query, &numbers(check, 1, op.seen(row)), &numbers(check, 2, op.seen(row)))
        };
        rows.iter().flat_map(of_row).collect()
    })
}

/// Elements of input `index` as they were written.
pub(super) fn numbers(check: &Check<'_>, index: usize, elements: Range<u64>) -> Vec<f64> {
    let dtype = check.specs.get(index).map_or(Dtype::F32, |spec| spec.dtype);
    let mut values = vec![0.0; (elements.end - elements.start) as usize];
    rounded_values(dtype, &check.values(index), elements.start, &mut values);
    values
}

/// Every element must be finite; of `rows` rows of so many columns, each `step`th and the last are compared with what is
/// `expected` of them.
fn compare(
    check: &Check<'_>,
    (rows, columns, step): (u64, u64, u64),
    error: &mut ErrorMeter,
    expected: &dyn Fn(&[u64]) -> Vec<f64>,
) -> Result<(), DeviceError> {
    let output = check.specs.len() - 1;
    let compared = |row: &u64| row.is_multiple_of(step.max(1)) || row + 1 == rows;
    let compared: Vec<u64> = (0..rows).filter(compared).collect();
    let columns = columns as usize;
    let expected = check.expected("rows", compared.len() * columns, || expected(&compared));
    let mut found = Vec::new();
    for (&row, expected) in compared.iter().zip(expected.chunks_exact(columns.max(1))) {
        check.read_numbers(output, row * columns as u64, columns, &mut found)?;
        for (&found, &expected) in found.iter().zip(expected) {
            error.compare(found, expected);
        }
    }
    check.each_chunk(output, |_, found| {
        error.not_finite |= found.iter().any(|value| !value.is_finite());
        Ok(())
    })
}
