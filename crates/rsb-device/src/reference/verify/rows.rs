//! The check of what is made row by row: softmax, norms, attention.

use super::{Check, ErrorMeter};
use crate::device::DeviceError;
use crate::operation::{Attention, Normalize};
use crate::reference::maths::{attended_row, normalized_row};
use crate::reference::parallel;

/// Normalized matrices of up to that many elements are compared whole.
const NORMALIZED: u64 = 1 << 24;

/// Multiply-adds that are worth computing in f64 for rows of attention: a tenth of a second.
const ATTENDED: u64 = 1 << 28;

/// Rows shorter than that may cancel to nothing, so their errors are relative to the largest of all rows.
const LONG_ROW: u64 = 16;

/// Rows that are computed together.
const BLOCK: usize = 64;

pub(super) fn normalized(check: &Check<'_>, op: &Normalize, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let inputs = &check.inputs;
    let input = |index, start| inputs.numbers(index, start..start + op.columns);
    let (gain, bias) = (input(1, 0), input(2, 0));
    let step = op.elements().div_ceil(NORMALIZED);
    compare(check, &Rows { count: op.rows, columns: op.columns, step }, error, &|row| {
        normalized_row(op.op, &input(0, row * op.columns), &gain, &bias)
    })
}

pub(super) fn attended(check: &Check<'_>, op: &Attention, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let (inputs, width) = (&check.inputs, op.head_dim);
    let of_a_row = 2 * width * op.positions;
    let step = op.rows().saturating_mul(of_a_row).div_ceil(ATTENDED);
    compare(check, &Rows { count: op.rows(), columns: width, step }, error, &|row| {
        let query = inputs.numbers(0, row * width..(row + 1) * width);
        attended_row(&query, &inputs.numbers(1, op.seen(row)), &inputs.numbers(2, op.seen(row)))
    })
}

/// Rows of an output, and how far apart those lie that are compared.
struct Rows {
    count: u64,
    columns: u64,
    step: u64,
}

/// Every element must be finite; each `step`th row and the last are compared with what is `expected` of them.
fn compare(
    check: &Check<'_>,
    rows: &Rows,
    error: &mut ErrorMeter,
    expected: &(dyn Fn(u64) -> Vec<f64> + Sync),
) -> Result<(), DeviceError> {
    let &Rows { count, columns, step } = rows;
    let output = check.output_index();
    let is_compared = |row: &u64| row.is_multiple_of(step.max(1)) || row + 1 == count;
    let compared: Vec<u64> = (0..count).filter(is_compared).collect();
    let mut found = Vec::new();
    for block in compared.chunks(BLOCK * parallel::threads()) {
        let expected = parallel::each(block, |&row| expected(row));
        for (&row, expected) in block.iter().zip(&expected) {
            check.read_numbers(output, row * columns, columns as usize, &mut found)?;
            error.compare_all(&found, expected);
            if columns >= LONG_ROW {
                error.end_group();
            }
        }
    }
    if step <= 1 {
        return Ok(());
    }
    check.each_chunk(output, |_, found| {
        error.look_at(found);
        Ok(())
    })
}
