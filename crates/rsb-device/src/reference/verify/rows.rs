//! Verification of row-wise results: softmax, norms, attention.

use rsb_model::random::mix64;

use super::{CHUNK, Check, ErrorMeter};
use crate::device::DeviceError;
use crate::operation::{Attention, Normalize};
use crate::reference::maths::{attended_row, normalized_row};
use crate::reference::parallel;

/// Normalized matrices of at most this many elements are compared completely.
const NORMALIZED: u64 = 1 << 24;

/// Limit of the multiply-adds computed in f64 for rows of attention: a tenth of a second.
const ATTENDED: u64 = 1 << 28;

/// Errors of rows shorter than this are relative to the largest value of all rows, since the values
/// of a short row may cancel.
const LONG_ROW: u64 = 16;

/// Rows computed together.
const BLOCK: usize = 64;

pub(super) fn check_normalize(
    check: &Check<'_>,
    op: &Normalize,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let inputs = &check.inputs;
    let gain = inputs.numbers(1, 0..op.columns);
    let bias = inputs.numbers(2, 0..op.columns);
    let step = op.elements().div_ceil(NORMALIZED);
    compare(check, &Rows { count: op.rows, columns: op.columns, step }, error, &|row| {
        let first = row * op.columns;
        normalized_row(op.op, &inputs.numbers(0, first..first + op.columns), &gain, &bias)
    })
}

pub(super) fn check_attention(
    check: &Check<'_>,
    op: &Attention,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let (inputs, width) = (&check.inputs, op.head_dim);
    let of_a_row = 2 * width * op.positions;
    let step = op.rows().saturating_mul(of_a_row).div_ceil(ATTENDED);
    compare(check, &Rows { count: op.rows(), columns: width, step }, error, &|row| {
        let query = inputs.numbers(0, row * width..(row + 1) * width);
        attended_row(
            &query,
            &inputs.numbers(1, op.visible_elements(row)),
            &inputs.numbers(2, op.visible_elements(row)),
        )
    })
}

/// Rows of an output, of which one in every `step` is compared.
struct Rows {
    count: u64,
    columns: u64,
    step: u64,
}

impl Rows {
    /// Returns the first row, the last row, and one of every `step` rows. Its position in the
    /// interval varies, since kernel tiles repeat at powers of two.
    fn sampled_rows(&self) -> Vec<u64> {
        let step = self.step.max(1);
        let mut rows: Vec<u64> = (0..self.count)
            .step_by(step as usize)
            .map(|first| (first + mix64(first) % step).min(self.count - 1))
            .collect();
        rows.extend([0, self.count.saturating_sub(1)].into_iter().filter(|&row| row < self.count));
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// Requires every element to be finite, and compares sampled rows with `expected`.
fn compare(
    check: &Check<'_>,
    rows: &Rows,
    error: &mut ErrorMeter,
    expected: &(dyn Fn(u64) -> Vec<f64> + Sync),
) -> Result<(), DeviceError> {
    let (output, columns) = (check.output_index(), rows.columns);
    let compared = rows.sampled_rows();
    let together = (parallel::threads() * BLOCK).max(CHUNK / columns.max(1) as usize);
    let mut found = Vec::new();
    for block in compared.chunks(together) {
        let expected = parallel::each(block, |&row| expected(row));
        // If no row is skipped, the whole block is read at once.
        let at_once = if rows.step <= 1 { block.len() } else { 1 };
        for (stretch, expected) in block.chunks(at_once).zip(expected.chunks(at_once)) {
            let Some(&first) = stretch.first() else { continue };
            check.read_numbers(
                output,
                first * columns,
                stretch.len() * columns as usize,
                &mut found,
            )?;
            for (found, expected) in found.chunks(columns.max(1) as usize).zip(expected) {
                error.compare_all(found, expected);
                if columns >= LONG_ROW {
                    error.end_group();
                }
            }
        }
    }
    if rows.step <= 1 {
        return Ok(());
    }
    check.each_chunk(output, |_, found| {
        error.look_at(found);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_at_another_place_of_each_block() {
        let compared = Rows { count: 1 << 16, columns: 64, step: 64 }.sampled_rows();
        assert!((1024..=1026).contains(&compared.len()) && compared.is_sorted());
        assert!(compared.contains(&0) && compared.contains(&65_535));
        let places: std::collections::BTreeSet<u64> = compared.iter().map(|row| row % 64).collect();
        assert!(places.len() > 60, "{places:?}");
        assert_eq!(Rows { count: 5, columns: 1, step: 0 }.sampled_rows(), [0, 1, 2, 3, 4]);
        assert!(Rows { count: 0, columns: 1, step: 1 }.sampled_rows().is_empty());
    }
}
