//! Verification of a pass. A small one is compared end to end with the reference. A large one is
//! verified stage by stage at samples that are computed again in f64 from the data on the device;
//! matrix products are also verified as a whole with Freivalds' check.

use rsb_device::operation::{
    Attention, Elementwise, Gather, Gemm, Normalize, QuantizedProduct, Rearrange,
};
use rsb_device::reference::{
    attended_row, chain_tolerance, elementwise, normalized_row, projection_limit,
    rearranged_element, tolerance,
};
use rsb_device::{Buffer, Operation, convert};
use rsb_model::random::Generator;
use rsb_model::{Dtype, Reason};

use super::block::Block;
use super::matrix::{Matrix, quantized_product};
use super::reference::{self, Weights};
use super::{Model, Pass, Stage};
use crate::accuracy::Accuracy;
use crate::benchmark::Failure;

/// Operations of a block whose results are rounded to its data type.
const ROUNDINGS_OF_A_BLOCK: u64 = 12;

/// Number of samples of a matrix product in addition to its corners; also the number of rows
/// sampled in other stages.
const SAMPLES: usize = 24;

/// Adjacent elements checked together.
const WINDOW: u64 = 1024;

/// Maximum matrices of a batch that are checked as a whole.
const WHOLE_MATRICES: u64 = 8;

/// Elements of a matrix read at once.
const ELEMENTS_AT_A_TIME: u64 = 1 << 20;

/// Runs the passes, compares every number of their results, and returns the error. The reference
/// has its own cache, which grows like that of the device.
pub(super) fn end_to_end(model: &mut Model<'_>) -> Result<Accuracy, Failure> {
    let shape = model.shape;
    let mut blocks =
        model.blocks.iter().map(|block| weights(model, block)).collect::<Result<Vec<_>, _>>()?;
    let mut error = Meter::default();
    model.check_passes(&mut |model, pass| {
        let mut state = match &model.words {
            Some(words) => reference::embed_words(
                shape,
                &all(model, &words.table)?,
                &indices(model, &pass.input)?,
            ),
            None => all(model, &pass.input)?,
        };
        for block in &mut blocks {
            state = reference::block(pass.shape, block, &state);
        }
        if let Some(words) = &model.words {
            state = reference::last_token_logits(
                shape,
                &norm(model, &words.norm)?,
                &matrix(model, &words.head)?,
                &state,
            );
        }
        error.all(&all(model, &pass.output)?, &state);
        Ok(())
    })?;
    // The hidden layer has the longest sums.
    let terms = shape.hidden();
    let limit = match shape.dtype {
        // Errors of all blocks accumulate.
        Dtype::F64 | Dtype::F32 => {
            2.0 * (8.0 + 2.0 * (terms as f64).sqrt()) * shape.layers as f64 * shape.dtype.epsilon()
        }
        narrow => chain_tolerance(narrow, ROUNDINGS_OF_A_BLOCK * shape.layers, terms),
    };
    error.judge("a small pass from end to end", limit)
}

#[inline(never)] // It runs once; its fifteen vectors need not lie in the caller's frame.
fn weights(model: &Model<'_>, block: &Block) -> Result<Weights, Failure> {
    let (matrix, norm) =
        (|weights: &Matrix| matrix(model, weights), |weights: &[Buffer]| norm(model, weights));
    let [query, key, value, out] = &block.attention;
    Ok(Weights {
        norms: [norm(&block.norms[0])?, norm(&block.norms[1])?],
        attention: [matrix(query)?, matrix(key)?, matrix(value)?, matrix(out)?],
        hidden: [matrix(&block.hidden[0])?, matrix(&block.hidden[1])?],
        gate: block.gate.as_ref().map(matrix).transpose()?,
        keys: all(model, &block.keys)?,
        values: all(model, &block.values)?,
    })
}

/// Reads all numbers of a matrix, dequantized if necessary.
fn matrix(model: &Model<'_>, matrix: &Matrix) -> Result<Vec<f64>, Failure> {
    let op = quantized_product(model.shape, 1, matrix.rows, matrix.columns);
    let (Some(op), Some(scales)) = (op, &matrix.scales) else { return all(model, &matrix.weights) };
    let rows = (0..op.n).map(|row| whole_numbers(model, &op, &matrix.weights, scales, row));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Reads row `row` of a quantized matrix and dequantizes it.
fn whole_numbers(
    model: &Model<'_>,
    op: &QuantizedProduct,
    weights: &Buffer,
    scales: &Buffer,
    row: u64,
) -> Result<Vec<f64>, Failure> {
    let mut bytes = vec![0; op.row_bytes() as usize];
    model.device.read(weights, row * op.row_bytes(), &mut bytes)?;
    let mut halves = vec![0; QuantizedProduct::SCALE.bytes(op.groups()) as usize];
    model.device.read(scales, row * halves.len() as u64, &mut halves)?;
    Ok(op.numbers(&bytes, &convert::decode(QuantizedProduct::SCALE, &halves)))
}

#[inline(never)]
fn all(model: &Model<'_>, buffer: &Buffer) -> Result<Vec<f64>, Failure> {
    numbers(model, buffer, 0, buffer.bytes() * 8 / model.shape.dtype.bits())
}

/// Reads the gain and, if present, the bias of a norm.
fn norm(model: &Model<'_>, weights: &[Buffer]) -> Result<[Vec<f64>; 2], Failure> {
    Ok([all_or_none(model, weights.first())?, all_or_none(model, weights.get(1))?])
}

fn all_or_none(model: &Model<'_>, buffer: Option<&Buffer>) -> Result<Vec<f64>, Failure> {
    buffer.map_or_else(|| Ok(Vec::new()), |buffer| all(model, buffer))
}

fn indices(model: &Model<'_>, buffer: &Buffer) -> Result<Vec<u64>, Failure> {
    let mut bytes = vec![0; buffer.bytes() as usize];
    model.device.read(buffer, 0, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|&index| u64::from_le_bytes(index)).collect())
}

/// Runs the passes, checks samples of each stage whose buffers are still intact, and returns the
/// largest error.
pub(super) fn stages(model: &mut Model<'_>) -> Result<Accuracy, Failure> {
    let mut worst = Accuracy::default();
    let mut is_first = true;
    model.check_passes(&mut |model, pass| {
        // Later passes use the same kernels, so only the first is checked completely.
        worst = worst.worst(check_stages(model, pass, std::mem::take(&mut is_first))?);
        Ok(())
    })?;
    Ok(worst)
}

/// Checks the stages whose buffers are still intact; `whole` also checks all elements of the matrix
/// products.
pub(super) fn check_stages(
    model: &Model<'_>,
    pass: &Pass<'_>,
    whole: bool,
) -> Result<Accuracy, Failure> {
    let mut worst = Accuracy::default();
    for stage in pass.retained_stages() {
        let check = Check { model, stage, whole, error: Meter::default() };
        let error = match &stage.operation {
            Operation::Gemm(op) => check.product(op)?,
            Operation::Quantized(op) => check.check_quantized(op)?,
            Operation::Normalize(op) => check.rows(op)?,
            Operation::Elementwise(op) => check.windows(op)?,
            Operation::Attention(op) => check.check_attention(op)?,
            Operation::Rearrange(op) => check.order(op)?,
            Operation::Gather(op) => check.check_gather(op)?,
            other => return Err(unexpected_operation_error(other)),
        };
        let what = format!("{} within a pass", stage.operation.name());
        worst = worst.worst(error.judge(&what, tolerance(&stage.operation, stage.sums_in))?);
    }
    Ok(worst)
}

/// Reads `count` elements of a buffer from `start`.
#[inline(never)] // Called in a dozen places.
fn numbers(
    model: &Model<'_>,
    buffer: &Buffer,
    start: u64,
    count: u64,
) -> Result<Vec<f64>, Failure> {
    let dtype = model.shape.dtype;
    let mut bytes = vec![0; dtype.bytes(count) as usize];
    model.device.read(buffer, dtype.bytes(start), &mut bytes)?;
    Ok(convert::decode(dtype, &bytes))
}

/// Maxima max|x − ref| and max|ref|.
#[derive(Default)]
struct Meter {
    difference: f64,
    scale: f64,
    /// Largest error of a row relative to the largest value of the same row.
    of_rows: f64,
    not_finite: bool,
}

impl Meter {
    fn all(&mut self, found: &[f64], expected: &[f64]) {
        self.not_finite |= found.len() != expected.len();
        for (found, expected) in found.iter().zip(expected) {
            self.not_finite |= !found.is_finite();
            self.difference = self.difference.max((found - expected).abs());
            self.scale = self.scale.max(expected.abs());
        }
    }

    /// Compares a row whose magnitude is independent of other rows. Short rows do not count for the
    /// per-row error, since their sums may cancel to zero.
    fn row(&mut self, found: &[f64], expected: &[f64]) {
        const LONG: usize = 16;
        let mut row = Self::default();
        row.all(found, expected);
        self.all(found, expected);
        if expected.len() >= LONG && row.difference > 0.0 {
            self.of_rows = self.of_rows.max(row.difference / row.scale);
        }
    }

    fn judge(&self, what: &str, limit: f64) -> Result<Accuracy, Failure> {
        let error = if self.difference == 0.0 { 0.0 } else { self.difference / self.scale };
        let error = error.max(self.of_rows);
        if !self.not_finite && error <= limit {
            return Ok(Accuracy { error, limit });
        }
        let why = if self.not_finite {
            "it contains NaN or infinity".to_owned()
        } else {
            format!("its error is {error:.1e} of the largest value, above the limit of {limit:.1e}")
        };
        Err(wrong_result(what, why))
    }
}

fn wrong_result(what: &str, why: String) -> Failure {
    Failure::Failed(Reason::new(
        format!("wrong result of {what}"),
        why,
        "measure gemm and tensor-ops to see which operation is wrong; suspect its library or the \
         driver",
    ))
}

/// Location of the matrices of one product C = alpha · A · B, with A and C in row-major order.
struct MatrixProduct {
    rows: u64,
    columns: u64,
    terms: u64,
    alpha: f64,
    /// First element of A.
    a: u64,
    /// Buffer of C, and its first element.
    c: (usize, u64),
}

/// A stage being checked.
struct Check<'m, 'd> {
    model: &'m Model<'d>,
    stage: &'m Stage,
    /// Whether matrix products are also checked as a whole.
    whole: bool,
    error: Meter,
}

impl Check<'_, '_> {
    fn read(&self, buffer: usize, start: u64, count: u64) -> Result<Vec<f64>, Failure> {
        let buffer = self
            .stage
            .buffers
            .get(buffer)
            .ok_or_else(|| unexpected_operation_error(&self.stage.operation))?;
        numbers(self.model, buffer, start, count)
    }

    fn product(mut self, op: &Gemm) -> Result<Meter, Failure> {
        let mut random = Generator::new(op.m ^ op.n << 20 ^ op.k << 40);
        let mut places =
            vec![(0, 0, 0), (op.batch - 1, op.m - 1, op.n - 1), (0, op.m - 1, 0), (0, 0, op.n - 1)];
        places.extend(
            (0..SAMPLES).map(|_| (random.below(op.batch), random.below(op.m), random.below(op.n))),
        );
        for (batch, row, column) in places {
            let a = self.read(0, (batch * op.m + row) * op.k, op.k)?;
            let b = if op.transpose_b {
                self.read(1, batch * op.stride_b() + column * op.k, op.k)?
            } else {
                // Columns are not contiguous, so the whole matrix, the values of one head, is read.
                let whole = self.read(1, batch * op.stride_b(), op.k * op.n)?;
                whole.into_iter().skip(column as usize).step_by(op.n as usize).collect()
            };
            let found = self.read(2, (batch * op.m + row) * op.n + column, 1)?;
            self.error.all(&found, &[op.alpha * dot(&a, &b)]);
        }
        let matrices = if self.whole { op.batch.min(WHOLE_MATRICES) } else { 0 };
        for index in 0..matrices {
            let batch = index * op.batch / matrices;
            let signs = random_signs(&mut random, op.n);
            let b = self.times_signs(op, batch, &signs)?;
            let (rows, columns, terms) = (op.m, op.n, op.k);
            let (a, c) = (batch * rows * terms, (2, batch * rows * columns));
            self.project(
                &MatrixProduct { rows, columns, terms, alpha: op.alpha, a, c },
                &signs,
                &b,
            )?;
        }
        Ok(self.error)
    }

    /// Returns B·r of matrix `batch` for a vector r of signs.
    fn times_signs(&self, op: &Gemm, batch: u64, signs: &[f64]) -> Result<Vec<f64>, Failure> {
        let (rows, columns) = if op.transpose_b { (op.n, op.k) } else { (op.k, op.n) };
        let mut sums = vec![0.0; if op.transpose_b { op.k as usize } else { 0 }];
        let mut signs_of_rows = signs.iter();
        for_each_row(
            rows,
            columns,
            |first, count| self.read(1, batch * op.stride_b() + first, count),
            |_, row| {
                if op.transpose_b {
                    add_scaled(&mut sums, row, signs_of_rows.next().copied().unwrap_or(f64::NAN));
                } else {
                    sums.push(dot(row, signs));
                }
                Ok(())
            },
        )?;
        Ok(sums)
    }

    /// Applies Freivalds' check (1977): each row of C times a vector r of random signs must equal
    /// that row of A times B·r. This detects any element that is wrong by more than its row's share
    /// of rounding.
    fn project(&self, product: &MatrixProduct, signs: &[f64], b: &[f64]) -> Result<(), Failure> {
        let (rows, columns, terms) = (product.rows, product.columns, product.terms);
        let mut expected = Vec::with_capacity(rows as usize);
        for_each_row(
            rows,
            terms,
            |first, count| self.read(0, product.a + first, count),
            |_, row| {
                expected.push(product.alpha * dot(row, b));
                Ok(())
            },
        )?;
        let (output, c) = product.c;
        let operation = &self.stage.operation;
        for_each_row(
            rows,
            columns,
            |first, count| self.read(output, c + first, count),
            |index, row| {
                let limit = projection_limit(operation, self.stage.sums_in, row, self.error.scale);
                let difference = dot(row, signs) - expected.get(index).copied().unwrap_or(f64::NAN);
                // Written so that NaN is rejected, too.
                if difference.abs() <= limit {
                    return Ok(());
                }
                let what = format!("{} within a pass", operation.name());
                let why = format!(
                    "row {index} is off by {difference:.1e} in Freivalds' check (limit {limit:.1e})"
                );
                Err(wrong_result(&what, why))
            },
        )
    }

    fn check_quantized(mut self, op: &QuantizedProduct) -> Result<Meter, Failure> {
        let [_, weights, scales, _] = self.stage.buffers.as_slice() else {
            return Err(unexpected_operation_error(&self.stage.operation));
        };
        let mut random = Generator::new(op.m ^ op.n << 20 ^ op.k << 40);
        let mut places = vec![(0, 0), (op.m - 1, op.n - 1), (op.m - 1, 0), (0, op.n - 1)];
        places.extend((0..SAMPLES).map(|_| (random.below(op.m), random.below(op.n))));
        for (row, column) in places {
            let a = self.read(0, row * op.k, op.k)?;
            let numbers = whole_numbers(self.model, op, weights, scales, column)?;
            self.error.all(&self.read(3, row * op.n + column, 1)?, &[dot(&a, &numbers)]);
        }
        if self.whole {
            let signs = random_signs(&mut random, op.n);
            let mut b = vec![0.0; op.k as usize];
            for (row, &sign) in (0..).zip(&signs) {
                add_scaled(&mut b, &whole_numbers(self.model, op, weights, scales, row)?, sign);
            }
            let (rows, columns, terms) = (op.m, op.n, op.k);
            self.project(
                &MatrixProduct { rows, columns, terms, alpha: 1.0, a: 0, c: (3, 0) },
                &signs,
                &b,
            )?;
        }
        Ok(self.error)
    }

    fn rows(mut self, op: &Normalize) -> Result<Meter, Failure> {
        let inputs = op.op.inputs();
        let weights =
            |index| if index < inputs { self.read(index, 0, op.columns) } else { Ok(Vec::new()) };
        let (gain, bias) = (weights(1)?, weights(2)?);
        for row in [0, op.rows / 2, op.rows - 1] {
            let x = self.read(0, row * op.columns, op.columns)?;
            let found = self.read(inputs, row * op.columns, op.columns)?;
            self.error.row(&found, &normalized_row(op.op, &x, &gain, &bias));
        }
        Ok(self.error)
    }

    fn check_attention(mut self, op: &Attention) -> Result<Meter, Failure> {
        let mut random = Generator::new(op.rows());
        let rows =
            (0..SAMPLES).map(|_| random.below(op.rows())).chain([0, op.queries - 1, op.rows() - 1]);
        for row in rows {
            let query = self.read(0, row * op.head_dim, op.head_dim)?;
            let seen = op.visible_elements(row);
            let keys = self.read(1, seen.start, seen.end - seen.start)?;
            let values = self.read(2, seen.start, seen.end - seen.start)?;
            let expected = attended_row(&query, &keys, &values);
            self.error.row(&self.read(3, row * op.head_dim, op.head_dim)?, &expected);
        }
        Ok(self.error)
    }

    fn windows(mut self, op: &Elementwise) -> Result<Meter, Failure> {
        let count = op.elements.min(WINDOW);
        for start in [0, (op.elements - count) / 2, op.elements - count] {
            let x = self.read(0, start, count)?;
            let z = if op.op.inputs() == 2 { self.read(1, start, count)? } else { x.clone() };
            let found = self.read(op.op.inputs(), start, count)?;
            let expected: Vec<f64> =
                x.iter().zip(&z).map(|(&x, &z)| elementwise(op.op, x, z)).collect();
            self.error.all(&found, &expected);
        }
        Ok(self.error)
    }

    fn check_gather(mut self, op: &Gather) -> Result<Meter, Failure> {
        let indices =
            self.stage.buffers.get(1).map(|buffer| indices(self.model, buffer)).transpose()?;
        let step = op.rows.div_ceil(SAMPLES as u64).max(1);
        for (row, index) in (0_u64..).zip(indices.unwrap_or_default()) {
            if !row.is_multiple_of(step) && row + 1 != op.rows {
                continue;
            }
            let expected = self.read(0, index * op.width, op.width)?;
            self.error.all(&self.read(2, row * op.width, op.width)?, &expected);
        }
        Ok(self.error)
    }

    fn order(mut self, op: &Rearrange) -> Result<Meter, Failure> {
        let mut random = Generator::new(op.elements());
        let places = (0..SAMPLES)
            .map(|_| (random.below(op.batch), random.below(op.rows), random.below(op.columns)));
        let mut places: Vec<_> = places.collect();
        places.extend([(0, 0, 0), (op.batch - 1, op.rows - 1, op.columns - 1)]);
        for (batch, row, column) in places {
            let from = (batch * op.rows + row) * op.columns + column;
            let to = (batch * op.columns + column) * op.capacity + op.position + row;
            let x = self.read(0, from * op.width, op.width)?;
            let found = self.read(op.y_index(), to * op.width, op.width)?;
            let angles =
                if op.rotary { self.read(1, row * op.width, op.width)? } else { Vec::new() };
            // Verifies the row as an operation of its own, with a single row.
            let alone =
                Rearrange { batch: 1, rows: 1, columns: 1, capacity: 1, position: 0, ..*op };
            let of =
                |numbers: &[f64], at: u64| numbers.get(at as usize).copied().unwrap_or(f64::NAN);
            let element =
                |at| rearranged_element(&alone, |at| of(&x, at), |at| of(&angles, at), at);
            let expected: Vec<f64> =
                (0..op.width).map(|at| element(at).unwrap_or(f64::NAN)).collect();
            self.error.all(&found, &expected);
        }
        Ok(self.error)
    }
}

/// Calls `look` with the index and the elements of each row of a matrix. `read` returns a number of
/// elements, the second argument, from the position in the first.
fn for_each_row(
    rows: u64,
    columns: u64,
    read: impl Fn(u64, u64) -> Result<Vec<f64>, Failure>,
    mut look: impl FnMut(usize, &[f64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let at_a_time = (ELEMENTS_AT_A_TIME / columns.max(1)).max(1);
    for first in (0..rows).step_by(at_a_time as usize) {
        let count = at_a_time.min(rows - first);
        let elements = read(first * columns, count * columns)?;
        for (index, row) in (first as usize..).zip(elements.chunks_exact(columns.max(1) as usize)) {
            look(index, row)?;
        }
    }
    Ok(())
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn add_scaled(sums: &mut [f64], row: &[f64], factor: f64) {
    for (sum, number) in sums.iter_mut().zip(row) {
        *sum += factor * number;
    }
}

fn random_signs(random: &mut Generator, count: u64) -> Vec<f64> {
    (0..count).map(|_| if random.word() & 1 == 0 { 1.0 } else { -1.0 }).collect()
}

fn unexpected_operation_error(operation: &Operation) -> Failure {
    Failure::Failed(Reason::new(
        format!("{} within a pass", operation.name()),
        "it is not part of a pass, or one of its buffers is missing",
        "report this as a bug with the case id",
    ))
}
