//! Verification of matrix products and convolutions: fixed samples of elements, and Freivalds'
//! check of the whole.

use rsb_model::random::Generator;

use super::{Check, ErrorMeter, Inputs, WHOLE};
use crate::device::DeviceError;
use crate::operation::{Convolution, Epilogue, Gemm, MatrixLayout};
use crate::reference::maths::{ConvolutionPoint, convolution_element, with_epilogue};
use crate::reference::parallel;

/// Rows and columns of the tiles in which kernels compute an output.
const TILE: u64 = 16;

/// Elements compared in each row of a large product.
const PER_ROW: u64 = 16;

/// Columns of the right operand that are held in memory at a time.
const COLUMNS_AT_ONCE: usize = 2048;

/// Elements compared in each channel of a large convolution.
const PER_CHANNEL: u64 = 4;

/// Limit of the terms computed for samples of a convolution: one second of one thread.
const TERMS: u64 = 1 << 25;

/// Number of random sign vectors by which the rows of a product are multiplied.
const PROJECTIONS: usize = 4;

/// Elements of a matrix to compare with sums in f64: all elements of a small matrix; in a large
/// one, [`PER_ROW`] or more in each row (all if there are fewer), and at least one in each tile.
pub(super) struct SampledElements {
    rows: u64,
    /// Sampled columns in ascending order, including the first and the last. Rows share them, so
    /// that each is generated once.
    columns: Vec<u64>,
    /// Number of adjacent rows that divide the sampled columns among themselves.
    sharing: u64,
}

impl SampledElements {
    pub(super) fn new(matrices: u64, rows: u64, columns: u64) -> Self {
        let whole = matrices.saturating_mul(rows).saturating_mul(columns) <= WHOLE;
        let width = if whole { 1 } else { (columns / PER_ROW).clamp(1, TILE) };
        let mut random = Generator::new(rows ^ columns << 32);
        let last = columns.saturating_sub(1);
        let mut sampled = Vec::new();
        for first in (0..columns).step_by(width as usize) {
            sampled.push(match first {
                0 => 0,
                first if first + width > last => last,
                first => first + random.below(width),
            });
        }
        let sharing = if whole { 1 } else { (sampled.len() as u64 / PER_ROW).max(1) };
        Self { rows, columns: sampled, sharing }
    }

    /// Returns the indices into `columns` of the elements to compare in `row`, in ascending order.
    fn of_row(&self, row: u64) -> impl Iterator<Item = usize> {
        // The last tile may have fewer rows, among which all columns are divided.
        let in_tile = TILE.min(self.rows - row / TILE * TILE);
        let sharing = self.sharing.min(in_tile);
        let (all, outer) = (self.columns.len(), row == 0 || row + 1 == self.rows);
        (0..all).filter(move |&place| {
            let corner = outer && (place == 0 || place + 1 == all);
            corner || (place as u64 + row / TILE) % sharing == row % TILE % sharing
        })
    }

    /// Returns the positions of the sampled elements in `matrices` consecutive matrices, in
    /// ascending order.
    fn positions(&self, matrices: u64, width: u64) -> Vec<u64> {
        let rows = (0..matrices).flat_map(|matrix| (0..self.rows).map(move |row| (matrix, row)));
        rows.flat_map(|(matrix, row)| {
            let first = (matrix * self.rows + row) * width;
            self.of_row(row)
                .filter_map(move |place| self.columns.get(place).map(|column| first + column))
        })
        .collect()
    }
}

/// Operands of a product of two matrices, and the final step for each element.
pub(super) trait Operands: Sync {
    /// Returns rows `rows` of the left matrix, in order.
    fn rows(&self, matrix: u64, rows: std::ops::Range<u64>) -> Vec<Vec<f64>>;

    /// Returns column `column` of the right matrix.
    fn column(&self, matrix: u64, column: u64) -> Vec<f64>;

    /// Returns the output element at `row` and `column`, from its sum of products.
    fn element(&self, matrix: u64, row: u64, column: u64, sum: f64) -> f64;
}

/// Compares samples of buffer `output`, which contains `matrices` products of `operands` with
/// `rows` rows and `columns` columns each.
pub(super) fn compare_product(
    check: &Check<'_>,
    output: usize,
    matrices: u64,
    rows: u64,
    columns: u64,
    operands: &impl Operands,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let samples = SampledElements::new(matrices, rows, columns);
    let wanted = samples.positions(matrices, columns);
    let tiles: Vec<u64> = (0..rows).step_by(TILE as usize).collect();
    let all: Vec<u64> = (0..matrices).collect();
    compare_at(check, output, &wanted, error, || {
        let mut elements = Vec::with_capacity(wanted.len());
        // Several small matrices are computed together, since a single one does not keep all
        // threads busy.
        let count = samples.columns.len();
        for group in all.chunks((COLUMNS_AT_ONCE / count.max(1)).max(1)) {
            let columns = pairs(group, &samples.columns);
            let right =
                parallel::each(&columns, |&(matrix, column)| operands.column(matrix, column));
            let of_tiles = parallel::each(&pairs(group, &tiles), |&(matrix, first)| {
                let right = right.get((matrix - group[0]) as usize * count..).unwrap_or_default();
                let left = operands.rows(matrix, first..(first + TILE).min(rows));
                let mut elements = Vec::new();
                for (row, left) in (first..).zip(&left) {
                    for place in samples.of_row(row) {
                        let (Some(right), Some(&column)) =
                            (right.get(place), samples.columns.get(place))
                        else {
                            continue;
                        };
                        elements.push(operands.element(matrix, row, column, dot(left, right)));
                    }
                }
                elements
            });
            elements.extend(of_tiles.into_iter().flatten());
        }
        elements
    })
}

/// Returns every pair of a matrix of `group` and one of `parts`.
fn pairs(group: &[u64], parts: &[u64]) -> Vec<(u64, u64)> {
    group.iter().flat_map(|&matrix| parts.iter().map(move |&part| (matrix, part))).collect()
}

/// Returns the dot product of two vectors, accumulated in eight parallel sums.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+fma",
    "x86_64+avx2+fma"
))]
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.into_iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum::<f64>()
}

pub(super) fn check_convolution(
    check: &Check<'_>,
    op: &Convolution,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let Some(size) = op.output_size() else {
        return Err(check.wrong("the kernel does not fit the input"));
    };
    let (input, weight) = (check.inputs.element(0), check.inputs.element(1));
    let wanted = convolution_samples(op.batch * op.out_channels, size.0 * size.1, op.terms());
    compare_at(check, 2, &wanted, error, || {
        parallel::each(&wanted, |&index| {
            convolution_element(op, &input, &weight, ConvolutionPoint::of(index, op, size))
        })
    })?;
    check_all_channels(check, op, size, error.scale)
}

/// Returns the positions to compare in `channels` channels of `points` elements, in ascending
/// order. If there are few, returns all of them. Otherwise returns both ends and random positions,
/// from a fixed seed, in each channel or in as many channels as [`TERMS`] allows.
fn convolution_samples(channels: u64, points: u64, terms: u64) -> Vec<u64> {
    let elements = channels.saturating_mul(points);
    if elements <= WHOLE || points <= PER_CHANNEL {
        return (0..elements).collect();
    }
    let step = (channels * PER_CHANNEL).saturating_mul(terms).div_ceil(TERMS);
    let mut random = Generator::new(elements ^ points << 32);
    let mut all = Vec::new();
    for channel in (0..channels).step_by(step as usize) {
        for _ in 0..PER_CHANNEL {
            all.push(channel * points + random.below(points));
        }
    }
    all.extend([0, elements - 1]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Checks all elements of a convolution at the cost of one channel per group. A convolution is
/// linear in its weights, so at every point of every image the sum of all output channels, each
/// with a random sign, must equal the convolution with the equally signed sum of their weights.
fn check_all_channels(
    check: &Check<'_>,
    op: &Convolution,
    size: (u64, u64),
    scale: f64,
) -> Result<(), DeviceError> {
    let (points, channels) = (size.0 * size.1, op.out_channels);
    let signs = signs(check, 0, channels);
    let expected = check.reference_values("points", (op.batch * points) as usize, || {
        signed_channels(&check.inputs, op, size, &signs)
    });
    let (mut sums, mut squares) = (vec![0.0; expected.len()], vec![0.0; expected.len()]);
    check.each_chunk(2, |start, found| {
        for (at, &found) in (start..).zip(found) {
            let (image, channel, point) =
                (at / points / channels, at / points % channels, at % points);
            let place = (image * points + point) as usize;
            let sign = signs.get(channel as usize).copied().unwrap_or(f64::NAN);
            if let (Some(sum), Some(square)) = (sums.get_mut(place), squares.get_mut(place)) {
                *sum += sign * found;
                *square += found * found;
            }
        }
        Ok(())
    })?;
    for (place, ((found, square), expected)) in (0..).zip(sums.iter().zip(&squares).zip(&expected))
    {
        let what =
            || format!("point {} of image {}, over all channels,", place % points, place / points);
        check.judge_projection(found - expected, square.sqrt(), channels, scale, what)?;
    }
    Ok(())
}

/// Returns the sum of the output channels, each with its sign, at every point of every image.
fn signed_channels(inputs: &Inputs, op: &Convolution, size: (u64, u64), signs: &[f64]) -> Vec<f64> {
    let (points, taps) = (size.0 * size.1, op.terms());
    let (channels, outputs) = (op.in_channels / op.groups, op.out_channels / op.groups);
    let mut weights = vec![0.0; (op.groups * taps) as usize];
    let mut row = vec![0.0; taps as usize];
    for (channel, sign) in (0..op.out_channels).zip(signs) {
        inputs.fill_rounded(1, channel * taps, &mut row);
        let group = (channel / outputs * taps) as usize;
        let to = weights.get_mut(group..group + row.len()).unwrap_or_default();
        to.iter_mut().zip(&row).for_each(|(sum, weight)| *sum += sign * weight);
    }
    // One output channel per group; its weights are the signed sum of the group's channels.
    let one = Convolution { batch: 1, in_channels: channels, out_channels: 1, groups: 1, ..*op };
    let plane = (channels * op.height * op.width) as usize;
    let parts: Vec<u64> = (0..op.batch * op.groups).collect();
    let of_parts = parallel::each(&parts, |&part| {
        let mut input = vec![0.0; plane];
        inputs.fill_rounded(0, part * plane as u64, &mut input);
        let group = (part % op.groups * taps) as usize;
        let weights = weights.get(group..).unwrap_or_default();
        let mut elements = Vec::with_capacity(points as usize);
        for index in 0..points {
            elements.push(convolution_element(
                &one,
                |i| number_at(&input, i),
                |i| number_at(weights, i),
                ConvolutionPoint::of(index, &one, size),
            ));
        }
        elements
    });
    let mut all = Vec::with_capacity((op.batch * points) as usize);
    for of_image in of_parts.chunks(op.groups as usize) {
        for point in 0..points as usize {
            all.push(of_image.iter().filter_map(|part| part.get(point)).sum::<f64>());
        }
    }
    all
}

fn number_at(numbers: &[f64], at: u64) -> f64 {
    numbers.get(at as usize).copied().unwrap_or(f64::NAN)
}

/// Operands of a [`Gemm`], regenerated from their seed.
struct GemmOperands<'c> {
    inputs: &'c Inputs,
    op: &'c Gemm,
}

impl Operands for GemmOperands<'_> {
    fn rows(&self, matrix: u64, rows: std::ops::Range<u64>) -> Vec<Vec<f64>> {
        lines(self.inputs, &Operand::of_a(self.op, matrix), rows)
    }

    fn column(&self, matrix: u64, column: u64) -> Vec<f64> {
        let operand = Operand::of_b(self.op, matrix);
        let across = Operand { transposed: !operand.transposed, ..operand };
        lines(self.inputs, &across, column..column + 1).pop().unwrap_or_default()
    }

    fn element(&self, matrix: u64, row: u64, column: u64, sum: f64) -> f64 {
        let op = self.op;
        let old = if op.reads_c() {
            let [_, _, c] = op.layouts();
            op.beta * self.inputs.element(op.c_index())(c.position(matrix, row, column))
        } else {
            0.0
        };
        let bias = if op.epilogue == Epilogue::None { 0.0 } else { self.inputs.element(2)(column) };
        with_epilogue(op.epilogue, op.alpha * sum + old, bias)
    }
}

/// Returns rows `rows` of `operand` after its transposition.
fn lines(inputs: &Inputs, operand: &Operand, rows: std::ops::Range<u64>) -> Vec<Vec<f64>> {
    let count = (rows.end - rows.start) as usize;
    let layout = operand.layout;
    if !operand.transposed {
        return rows
            .map(|row| {
                let mut line = vec![0.0; layout.columns as usize];
                inputs.fill_rounded(operand.buffer, operand.position(row, 0), &mut line);
                line
            })
            .collect();
    }
    // Adjacent rows are adjacent in memory.
    let mut lines = vec![Vec::with_capacity(layout.rows as usize); count];
    let mut across = vec![0.0; count];
    for index in 0..layout.rows {
        inputs.fill_rounded(operand.buffer, operand.position(index, rows.start), &mut across);
        lines.iter_mut().zip(&across).for_each(|(line, &value)| line.push(value));
    }
    lines
}

pub(super) fn check_gemm(
    check: &Check<'_>,
    op: &Gemm,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    check.check_gaps()?;
    compare_product(
        check,
        op.c_index(),
        op.batch,
        op.m,
        op.n,
        &GemmOperands { inputs: &check.inputs, op },
        error,
    )?;
    // GELU is not linear, so random projections are impossible. Some rows are compared completely
    // instead, which detects a wrong column.
    if op.epilogue == Epilogue::Gelu {
        return (0..op.batch).try_for_each(|batch| compare_whole_rows(check, op, batch, error));
    }
    (0..op.batch).try_for_each(|batch| freivalds(check, op, batch, error.scale))
}

/// Compares the first, the last and a middle row of matrix `batch`.
fn compare_whole_rows(
    check: &Check<'_>,
    op: &Gemm,
    batch: u64,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let mut rows = vec![0, op.m / 2, op.m - 1];
    rows.dedup();
    let inputs = &check.inputs;
    let expected = check.reference_values(
        &format!("whole rows of matrix {batch}"),
        rows.len() * op.n as usize,
        || {
            let left: Vec<Vec<f64>> = rows
                .iter()
                .flat_map(|&row| lines(inputs, &Operand::of_a(op, batch), row..row + 1))
                .collect();
            let operand = Operand::of_b(op, batch);
            let across = Operand { transposed: !operand.transposed, ..operand };
            let operands = GemmOperands { inputs, op };
            let sums = multiply(inputs, &across, &left);
            let elements = rows.iter().zip(&sums).flat_map(|(&row, sums)| {
                let operands = &operands;
                (0..).zip(sums).map(move |(column, &sum)| operands.element(batch, row, column, sum))
            });
            elements.collect()
        },
    );
    let mut found = Vec::new();
    for (row, expected) in rows.iter().zip(expected.chunks(op.n.max(1) as usize)) {
        check.read_numbers(op.c_index(), (batch * op.m + row) * op.n, op.n as usize, &mut found)?;
        error.compare_all(&found, expected);
    }
    Ok(())
}

/// Compares the elements at `wanted`, in ascending order, and checks all others for NaN and
/// infinity.
pub(super) fn compare_at(
    check: &Check<'_>,
    output: usize,
    wanted: &[u64],
    error: &mut ErrorMeter,
    expected: impl FnOnce() -> Vec<f64>,
) -> Result<(), DeviceError> {
    let right = check.reference_values("samples", wanted.len(), expected);
    let mut wanted = wanted.iter().copied().zip(right).peekable();
    check.each_chunk(output, |start, found| {
        error.not_finite |= found.iter().any(|value| !value.is_finite());
        while let Some((index, right)) =
            wanted.next_if(|&(index, _)| index < start + found.len() as u64)
        {
            error.compare(found.get((index - start) as usize).copied().unwrap_or(f64::NAN), right);
        }
        Ok(())
    })
}

/// Runs the check of Freivalds (1977): C·r must equal alpha·A·(B·r) + beta·C₀·r for a random vector
/// r of signs. Finds an element that is wrong by more than its row's share of rounding anywhere, at
/// the cost of three matrix-vector products.
fn freivalds(check: &Check<'_>, op: &Gemm, batch: u64, scale: f64) -> Result<(), DeviceError> {
    let vectors: Vec<Vec<f64>> = (0..PROJECTIONS as u64)
        .map(|index| signs(check, batch * PROJECTIONS as u64 + index, op.n))
        .collect();
    let expected = check.reference_values(
        &format!("rows of matrix {batch}"),
        op.m as usize * PROJECTIONS,
        || project_reference(&check.inputs, op, batch, &vectors).concat(),
    );
    compare_rows(check, op.c_index(), batch, &vectors, &expected, scale)
}

/// Returns sign vector `index`, by which columns are multiplied.
fn signs(check: &Check<'_>, index: u64, columns: u64) -> Vec<f64> {
    let mut random = Generator::new(check.inputs.seed ^ index);
    (0..columns).map(|_| if random.word() & 1 == 0 { 1.0 } else { -1.0 }).collect()
}

/// Returns the sign vectors for a single matrix of `columns` columns.
pub(super) fn projections(check: &Check<'_>, columns: u64) -> Vec<Vec<f64>> {
    (0..PROJECTIONS as u64).map(|index| signs(check, index, columns)).collect()
}

/// Compares each row of matrix `batch` of buffer `output`, multiplied by each of `vectors`, with
/// `expected`: all rows for the first vector, then all for the next.
pub(super) fn compare_rows(
    check: &Check<'_>,
    output: usize,
    batch: u64,
    vectors: &[Vec<f64>],
    expected: &[f64],
    scale: f64,
) -> Result<(), DeviceError> {
    let columns = vectors.first().map_or(0, Vec::len);
    let rows = expected.len() / vectors.len().max(1);
    let mut row = Vec::new();
    for index in 0..rows {
        let start = (batch * rows as u64 + index as u64) * columns as u64;
        check.read_numbers(output, start, columns, &mut row)?;
        let length = dot(&row, &row).sqrt();
        for (vector, expected) in vectors.iter().zip(expected.chunks(rows.max(1))) {
            let expected = expected.get(index).copied().unwrap_or(f64::NAN);
            check.judge_projection(
                dot(&row, vector) - expected,
                length,
                columns as u64,
                scale,
                || format!("row {index} of matrix {batch}"),
            )?;
        }
    }
    Ok(())
}

impl Check<'_> {
    /// Checks the difference of two sums of `terms` elements with random signs. `length` is the
    /// Euclidean norm of the elements of the result, whose errors add up with random signs.
    fn judge_projection(
        &self,
        difference: f64,
        length: f64,
        terms: u64,
        scale: f64,
        what: impl FnOnce() -> String,
    ) -> Result<(), DeviceError> {
        let limit = self.bound.projection_limit(length, terms, scale);
        let difference = difference.abs();
        if difference <= limit {
            return Ok(());
        }
        Err(self.wrong(&format!(
            "{} is off by {difference:.1e} in Freivalds' check (limit {limit:.1e})",
            what()
        )))
    }
}

/// Returns alpha·A·(B·r) + beta·C₀·r for each r of `vectors`, plus bias·r in each row if the
/// product has a bias.
fn project_reference(
    inputs: &Inputs,
    op: &Gemm,
    batch: u64,
    vectors: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let b_signs = multiply(inputs, &Operand::of_b(op, batch), vectors);
    let mut all = multiply(inputs, &Operand::of_a(op, batch), &b_signs);
    for value in all.iter_mut().flatten() {
        *value *= op.alpha;
    }
    if op.reads_c() {
        let old = multiply(inputs, &Operand::of_c(op, batch), vectors);
        all.iter_mut()
            .flatten()
            .zip(old.iter().flatten())
            .for_each(|(value, old)| *value += op.beta * old);
    }
    if op.epilogue == Epilogue::Bias {
        let mut bias = vec![0.0; op.n as usize];
        inputs.fill_rounded(2, 0, &mut bias);
        for (expected, signs) in all.iter_mut().zip(vectors) {
            let each = dot(&bias, signs);
            for value in expected {
                *value += each;
            }
        }
    }
    all
}

/// A matrix as stored in memory, and whether it is transposed in use.
struct Operand {
    buffer: usize,
    matrix: u64,
    layout: MatrixLayout,
    transposed: bool,
}

impl Operand {
    fn of_a(op: &Gemm, matrix: u64) -> Self {
        let [layout, _, _] = op.layouts();
        Self { buffer: 0, matrix, layout, transposed: op.transpose_a }
    }

    fn of_b(op: &Gemm, matrix: u64) -> Self {
        let [_, layout, _] = op.layouts();
        Self { buffer: 1, matrix, layout, transposed: op.transpose_b }
    }

    fn of_c(op: &Gemm, matrix: u64) -> Self {
        let [_, _, layout] = op.layouts();
        Self { buffer: op.c_index(), matrix, layout, transposed: false }
    }

    /// Returns the position in the buffer of the element at `row` and `column`, as stored.
    fn position(&self, row: u64, column: u64) -> u64 {
        self.layout.position(self.matrix, row, column)
    }
}

/// Multiplies the operand, regenerated from its seed, by each of `vectors`.
fn multiply(inputs: &Inputs, operand: &Operand, vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let MatrixLayout { rows, columns, .. } = operand.layout;
    let mut row = vec![0.0; columns as usize];
    let length = if operand.transposed { columns } else { rows } as usize;
    let mut results = vec![vec![0.0; length]; vectors.len()];
    for index in 0..rows {
        inputs.fill_rounded(operand.buffer, operand.position(index, 0), &mut row);
        for (result, vector) in results.iter_mut().zip(vectors) {
            if operand.transposed {
                let factor = vector.get(index as usize).copied().unwrap_or(f64::NAN);
                result.iter_mut().zip(&row).for_each(|(sum, value)| *sum += value * factor);
            } else if let Some(slot) = result.get_mut(index as usize) {
                *slot = dot(&row, vector);
            }
        }
    }
    results
}
