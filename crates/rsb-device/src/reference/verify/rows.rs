//! The check of softmax and of norms, row by row.

use super::{Check, ErrorMeter, SAMPLE};
use crate::convert::rounded_values;
use crate::device::DeviceError;
use crate::operation::Normalize;
use crate::reference::maths::normalized_row;

/// Every element must be finite; of large matrices, evenly spread rows are compared, the first and the last among them.
pub(super) fn check(check: &Check<'_>, op: &Normalize, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    let output = check.specs.len() - 1;
    let columns = op.columns as usize;
    let step = op.elements().div_ceil(SAMPLE).max(1);
    let row_of = |index: usize, start: u64| {
        let mut values = vec![0.0; columns];
        rounded_values(op.dtype, &check.values(index), start, &mut values);
        values
    };
    let rows: Vec<u64> = (0..op.rows).filter(|row| row.is_multiple_of(step) || row + 1 == op.rows).collect();
    let expected = check.expected("rows", rows.len() * columns, || {
        let (gain, bias) = (row_of(1, 0), row_of(2, 0));
        let of_row = |&row: &u64| normalized_row(op.op, &row_of(0, row * op.columns), &gain, &bias);
        rows.iter().flat_map(of_row).collect()
    });
    let mut found = Vec::new();
    for (&row, expected) in rows.iter().zip(expected.chunks_exact(columns.max(1))) {
        check.read_numbers(output, row * op.columns, columns, &mut found)?;
        for (&found, &expected) in found.iter().zip(expected) {
            error.compare(found, expected);
        }
    }
    check.each_chunk(output, |_, found| {
        error.not_finite |= found.iter().any(|value| !value.is_finite());
        Ok(())
    })
}
