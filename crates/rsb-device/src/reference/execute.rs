//! Whole operations on buffers in memory, in f64, rounded once at the end.

use std::ops::Range;

use rsb_model::Dtype;

use super::maths::{
    ConvolutionPoint, attended_row, convolution_element, elementwise, gemm_element, normalized_row,
    rearranged_element, with_epilogue,
};
use crate::convert::{decode, encode, word};
use crate::operation::{
    MatrixLayout, MemoryStream, Normalize, Operation, PointerChase, Reduce, ReduceOp, StreamPattern,
};

/// Runs `operation` on `buffers`, whose order, types and sizes [`Operation::buffers`] defines. If
/// an input is missing or has an unsupported type, the buffers are unchanged.
pub fn execute(operation: &Operation, buffers: &mut [Vec<u8>]) {
    let specs = operation.buffers();
    let Some(result) = compute(operation, buffers) else { return };
    // The last buffer is the output of every operation.
    let index = buffers.len().saturating_sub(1);
    if let (Some(spec), Some(buffer)) = (specs.last(), buffers.last_mut()) {
        let bytes = match result {
            Result::Numbers(numbers) => encode(spec.dtype, &numbers),
            Result::Word(word) => word.to_le_bytes().to_vec(),
        };
        match operation.padded_layout(index) {
            Some(layout) => write_rows(layout, spec.dtype, &bytes, buffer),
            None => *buffer = bytes,
        }
    }
}

/// Writes the rows in `bytes` to `buffer`. Gaps between rows and matrices are not written.
fn write_rows(layout: MatrixLayout, dtype: Dtype, bytes: &[u8], buffer: &mut [u8]) {
    let width = dtype.bytes(layout.columns) as usize;
    for (index, row) in (0..).zip(bytes.chunks_exact(width.max(1))) {
        let position = layout.position(index / layout.rows, index % layout.rows, 0);
        let first = dtype.bytes(position) as usize;
        if let Some(to) = buffer.get_mut(first..first + width) {
            to.copy_from_slice(row);
        }
    }
}

enum Result {
    Numbers(Vec<f64>),
    Word(u64),
}

fn compute(operation: &Operation, buffers: &[Vec<u8>]) -> Option<Result> {
    let specs = operation.buffers();
    let number = |index: usize| -> Option<Vec<f64>> {
        let spec = specs.get(index)?;
        let mut numbers = decode(spec.dtype, buffers.get(index)?);
        // With an odd count, the last byte holds only one number.
        if spec.dtype.bits() < 8 {
            numbers.truncate(spec.elements as usize);
        }
        Some(numbers)
    };
    Some(match operation {
        Operation::Stream(op) => return stream(op, buffers, number),
        Operation::PointerChase(op) => {
            Result::Word(chase(op, buffers.first()?, word(buffers.get(1)?)?))
        }
        Operation::Elementwise(op) => {
            let x = number(0)?;
            let z = if op.op.inputs() == 2 { number(1)? } else { x.clone() };
            Result::Numbers(x.iter().zip(&z).map(|(&x, &z)| elementwise(op.op, x, z)).collect())
        }
        Operation::Reduce(op) => reduce(*op, &number(0)?),
        Operation::Normalize(op) => normalize(*op, &number(0)?, number(1), number(2)),
        Operation::Attention(op) => {
            let [queries, keys, values] = [number(0)?, number(1)?, number(2)?];
            let mut rows = Vec::with_capacity(queries.len());
            for (row, query) in (0..).zip(queries.chunks_exact(op.head_dim as usize)) {
                let keys = part(&keys, op.visible_elements(row));
                let values = part(&values, op.visible_elements(row));
                rows.extend(attended_row(query, keys, values));
            }
            Result::Numbers(rows)
        }
        Operation::Rearrange(op) => {
            let (x, angles, old) = (number(0)?, number(1)?, number(op.y_index())?);
            let mut new = old;
            for (at, element) in (0..).zip(&mut new) {
                let moved = rearranged_element(op, |at| value(&x, at), |at| value(&angles, at), at);
                *element = moved.unwrap_or(*element);
            }
            Result::Numbers(new)
        }
        Operation::Gather(op) => {
            let (x, indices) = (number(0)?, buffers.get(1)?);
            let mut rows = Vec::new();
            for index in indices.as_chunks::<8>().0 {
                let row =
                    x.chunks_exact(op.width as usize).nth(u64::from_le_bytes(*index) as usize);
                rows.extend_from_slice(row.unwrap_or_default());
            }
            Result::Numbers(rows)
        }
        Operation::Convolution(op) => {
            let size = op.output_size()?;
            let (input, weight) = (number(0)?, number(1)?);
            let mut elements = Vec::with_capacity(op.output_elements() as usize);
            for index in 0..op.output_elements() {
                let point = ConvolutionPoint::of(index, op, size);
                elements.push(convolution_element(
                    op,
                    |at| value(&input, at),
                    |at| value(&weight, at),
                    point,
                ));
            }
            Result::Numbers(elements)
        }
        Operation::Gemm(op) => {
            let (a, b, c) = (number(0)?, number(1)?, number(op.c_index())?);
            // Without an epilogue, buffer 2 is C and `bias` is not used.
            let bias = number(2)?;
            let mut elements = Vec::new();
            for index in 0..op.batch * op.m * op.n {
                let x = gemm_element(
                    op,
                    |at| value(&a, at),
                    |at| value(&b, at),
                    |at| value(&c, at),
                    index,
                );
                elements.push(with_epilogue(op.epilogue, x, value(&bias, index % op.n)));
            }
            Result::Numbers(elements)
        }
        Operation::Quantized(op) => {
            let (a, weights, scales) = (number(0)?, buffers.get(1)?, number(2)?);
            let rows = weights
                .chunks_exact(op.row_bytes() as usize)
                .zip(scales.chunks_exact(op.groups() as usize));
            let numbers: Vec<Vec<f64>> =
                rows.map(|(weights, scales)| op.numbers(weights, scales)).collect();
            let mut elements = Vec::new();
            for row in a.chunks_exact(op.k as usize) {
                for column in &numbers {
                    elements.push(row.iter().zip(column).map(|(a, w)| a * w).sum::<f64>());
                }
            }
            Result::Numbers(elements)
        }
        Operation::PeakArithmetic(_) => Result::Numbers(vec![1.0]),
        Operation::Churn(op) => Result::Numbers(vec![op.final_live_bytes() as f64; 2]),
        Operation::Transfer(_) => Result::Numbers(number(0)?),
        Operation::Allocate(_) | Operation::Launch(_) => return None,
    })
}

fn part(values: &[f64], range: Range<u64>) -> &[f64] {
    values.get(range.start as usize..range.end as usize).unwrap_or_default()
}

fn value(values: &[f64], at: u64) -> f64 {
    values.get(at as usize).copied().unwrap_or(f64::NAN)
}

fn stream(
    op: &MemoryStream,
    buffers: &[Vec<u8>],
    number: impl Fn(usize) -> Option<Vec<f64>>,
) -> Option<Result> {
    let scalar = crate::operation::STREAM_SCALAR;
    Some(match op.pattern {
        StreamPattern::Read => Result::Word(checksum(buffers.first()?)),
        StreamPattern::Write => Result::Numbers(vec![scalar; op.elements as usize]),
        StreamPattern::Copy => Result::Numbers(number(0)?),
        StreamPattern::ReadWrite => Result::Numbers(number(0)?.iter().map(|a| -a).collect()),
        StreamPattern::Triad => Result::Numbers(
            number(0)?.iter().zip(&number(1)?).map(|(a, b)| a + scalar * b).collect(),
        ),
    })
}

/// Returns the exclusive-or of all words, the last one padded with zeros.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    words.iter().fold(u64::from_le_bytes(last), |sum, &word| sum ^ u64::from_le_bytes(word))
}

fn chase(op: &PointerChase, cycle: &[u8], start: u64) -> u64 {
    (0..op.accesses)
        .fold(start, |at, _| cycle.get(at as usize..).and_then(word).unwrap_or(u64::MAX))
}

fn reduce(op: Reduce, x: &[f64]) -> Result {
    match op.op {
        ReduceOp::Sum => Result::Numbers(vec![x.iter().sum()]),
        ReduceOp::Mean => Result::Numbers(vec![x.iter().sum::<f64>() / x.len() as f64]),
        ReduceOp::Max => Result::Numbers(vec![largest(x)]),
        ReduceOp::Argmax => {
            let largest = largest(x);
            Result::Word(
                x.iter().position(|&value| value >= largest).map_or(u64::MAX, |at| at as u64),
            )
        }
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn normalize(op: Normalize, x: &[f64], gain: Option<Vec<f64>>, bias: Option<Vec<f64>>) -> Result {
    let rows = x.chunks_exact(op.columns.max(1) as usize);
    let (gain, bias) = (gain.unwrap_or_default(), bias.unwrap_or_default());
    Result::Numbers(rows.flat_map(|row| normalized_row(op.op, row, &gain, &bias)).collect())
}
