//! The check of matrix products and convolutions: fixed samples of elements, and Freivalds' check of the whole.

use rsb_model::random::Generator;

use super::{Check, ErrorMeter, tolerance};
use crate::convert::rounded_values;
use crate::device::DeviceError;
use crate::operation::{Convolution, Epilogue, Gemm};
use crate::reference::maths::{ConvolutionPoint, convolution_element, gemm_element, with_epilogue};
use crate::reference::parallel;

/// Terms that are worth computing in f64 for a sample: some milliseconds.
const TERMS: u64 = 1 << 20;

/// Positions to compare among `elements`: all when that is cheap, else both ends and others at random, from a fixed seed.
pub(super) fn positions(elements: u64, terms: u64) -> Vec<u64> {
    let count = (TERMS / terms.max(1)).clamp(64, 4096);
    if elements <= count {
        return (0..elements).collect();
    }
    let mut random = Generator::new(elements ^ terms);
    let mut all: Vec<u64> = (0..count - 2).map(|_| random.below(elements)).chain([0, elements - 1]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub(super) fn check_convolution(
    check: &Check<'_>,
    op: &Convolution,
    error: &mut ErrorMeter,
) -> Result<(), DeviceError> {
    let Some(size) = op.output_size() else {
        return Err(check.wrong("its kernel does not fit its input"));
    };
    let (input, weight) = (check.input(0), check.input(1));
    let wanted = positions(op.output_elements(), op.terms());
    let element = |&index: &u64| convolution_element(op, &input, &weight, ConvolutionPoint::of(index, op, size));
    compare_at(check, 2, &wanted, error, || parallel::each(&wanted, element))
}

pub(super) fn check_gemm(check: &Check<'_>, op: &Gemm, error: &mut ErrorMeter) -> Result<(), DeviceError> {
    // Without an epilogue, what stands for its bias is C and not looked at.
    let (a, b, bias, c) = (check.input(0), check.input(1), check.input(2), check.input(op.c_index()));
    let per_matrix = op.m * op.n;
    let mut wanted = positions(op.batch * per_matrix, op.k);
    // The corners of the first and of the last matrix: edges of tiles go wrong first.
    for first in [0, (op.batch - 1) * per_matrix] {
        wanted.extend([0, op.n - 1, per_matrix - op.n, per_matrix - 1].map(|corner| first + corner));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let element = |&index: &u64| with_epilogue(op.epilogue, gemm_element(op, &a, &b, &c, index), bias(index % op.n));
    compare_at(check, op.c_index(), &wanted, error, || parallel::each(&wanted, element))?;
    // GELU is not linear: of its products the sample alone is compared.
    let linear = if op.epilogue == Epilogue::Gelu { 0 } else { op.batch };
    (0..linear).try_for_each(|batch| freivalds(check, op, batch, error.scale))
}

/// Compares the elements at `wanted`, which is in order, and looks at every other one for NaN and infinity.
pub(super) fn compare_at(
    check: &Check<'_>,
    output: usize,
    wanted: &[u64],
    error: &mut ErrorMeter,
    expected: impl FnOnce() -> Vec<f64>,
) -> Result<(), DeviceError> {
    let right = check.expected("samples", wanted.len(), expected);
    let mut wanted = wanted.iter().copied().zip(right).peekable();
    check.each_chunk(output, |start, found| {
        error.not_finite |= found.iter().any(|value| !value.is_finite());
        while let Some((index, right)) = wanted.next_if(|&(index, _)| index < start + found.len() as u64) {
            error.compare(found.get((index - start) as usize).copied().unwrap_or(f64::NAN), right);
        }
        Ok(())
    })
}

/// Freivalds (1977): C·r must be alpha·A·(B·r) + beta·C₀·r for a random vector r of signs. An element that is wrong by
/// more than its row's share of rounding shows, wherever it is, at the cost of three matrix-vector products.
fn freivalds(check: &Check<'_>, op: &Gemm, batch: u64, scale: f64) -> Result<(), DeviceError> {
    let signs = signs(check, batch, op.n);
    let expected =
        check.expected(&format!("rows of matrix {batch}"), op.m as usize, || projected(check, op, batch, &signs));
    compare_rows(check, (op.c_index(), batch), &signs, &expected, scale)
}

/// The vector that columns of matrix `batch` are multiplied by.
pub(super) fn signs(check: &Check<'_>, batch: u64, columns: u64) -> Vec<f64> {
    let mut random = Generator::new(check.seed ^ batch);
    (0..columns).map(|_| if random.word() & 1 == 0 { 1.0 } else { -1.0 }).collect()
}

/// Whether each row of matrix `batch` of buffer `output`, multiplied by `signs`, is what is `expected` of it.
pub(super) fn compare_rows(
    check: &Check<'_>,
    (output, batch): (usize, u64),
    signs: &[f64],
    expected: &[f64],
    scale: f64,
) -> Result<(), DeviceError> {
    let columns = signs.len() as u64;
    let mut row = Vec::new();
    // The errors of a row's n elements add up with random signs; see `tolerance` for the rest.
    let limit = tolerance(check.operation) * scale * (columns as f64).sqrt();
    let first = batch * expected.len() as u64;
    for (index, expected) in (0..).zip(expected) {
        check.read_numbers(output, (first + index) * columns, signs.len(), &mut row)?;
        let found: f64 = row.iter().zip(signs).map(|(value, sign)| value * sign).sum();
        let difference = (found - expected).abs();
        if difference.is_nan() || difference > limit {
            let place = format!("row {index} of matrix {batch}");
            return Err(check.wrong(&format!("{place} is off by {difference:.1e} in Freivalds' check ({limit:.1e})")));
        }
    }
    Ok(())
}

/// alpha·A·(B·r) + beta·C₀·r, and bias·r for each row where there is one.
fn projected(check: &Check<'_>, op: &Gemm, batch: u64, signs: &[f64]) -> Vec<f64> {
    let b_signs = multiply(check, &Operand::of_b(op, batch), signs);
    let mut expected = multiply(check, &Operand::of_a(op, batch), &b_signs);
    for value in &mut expected {
        *value *= op.alpha;
    }
    if op.reads_c() {
        let old = multiply(check, &Operand::of_c(op, batch), signs);
        expected.iter_mut().zip(old).for_each(|(value, old)| *value += op.beta * old);
    }
    if op.epilogue == Epilogue::Bias {
        let bias = check.input(2);
        let each: f64 = (0..).zip(signs).map(|(column, sign)| bias(column) * sign).sum();
        for value in &mut expected {
            *value += each;
        }
    }
    expected
}

/// A matrix as it lies in memory, and which way it is used.
struct Operand {
    buffer: usize,
    first: u64,
    rows: u64,
    columns: u64,
    transposed: bool,
}

impl Operand {
    fn of_a(op: &Gemm, batch: u64) -> Self {
        let (rows, columns) = if op.transpose_a { (op.k, op.m) } else { (op.m, op.k) };
        Self { buffer: 0, first: batch * op.m * op.k, rows, columns, transposed: op.transpose_a }
    }

    fn of_b(op: &Gemm, batch: u64) -> Self {
        let (rows, columns) = if op.transpose_b { (op.n, op.k) } else { (op.k, op.n) };
        Self { buffer: 1, first: batch * op.stride_b(), rows, columns, transposed: op.transpose_b }
    }

    fn of_c(op: &Gemm, batch: u64) -> Self {
        Self { buffer: op.c_index(), first: batch * op.m * op.n, rows: op.m, columns: op.n, transposed: false }
    }
}

/// The operand, made again from its seed, times `vector`.
fn multiply(check: &Check<'_>, operand: &Operand, vector: &[f64]) -> Vec<f64> {
    let dtype = check.specs.get(operand.buffer).map_or(rsb_model::Dtype::F32, |spec| spec.dtype);
    let values = check.values(operand.buffer);
    let mut row = vec![0.0; operand.columns as usize];
    let mut result = vec![0.0; if operand.transposed { operand.columns } else { operand.rows } as usize];
    for index in 0..operand.rows {
        rounded_values(dtype, &values, operand.first + index * operand.columns, &mut row);
        if operand.transposed {
            let factor = vector.get(index as usize).copied().unwrap_or(f64::NAN);
            result.iter_mut().zip(&row).for_each(|(sum, value)| *sum += value * factor);
        } else if let Some(slot) = result.get_mut(index as usize) {
            *slot = row.iter().zip(vector).map(|(value, factor)| value * factor).sum();
        }
    }
    result
}
