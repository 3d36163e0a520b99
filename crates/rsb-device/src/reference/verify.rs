//! Inputs for a device, and verification of its results. Only verified results are timed.
//!
//! Inputs are regenerated from their seed instead of being stored. Cheap results are checked
//! element by element. For expensive ones (matrix products, convolutions, transcendental functions
//! on large buffers), every element must be finite and a fixed sample that includes the corners
//! must agree; a matrix product must also pass Freivalds' check as a whole.

mod bounds;
mod meter;
mod product;
mod quantized;
mod rows;

use std::ops::Range;

use rsb_model::random::mix64;
use rsb_model::{Dtype, Reason};

use bounds::ErrorBound;
pub use bounds::chain_tolerance;
use meter::{ErrorMeter, sum_and_largest};

use super::execute::checksum;
use super::maths::{elementwise, rearranged_element};
use super::shared;
use crate::convert::{decode_into, encode_values, is_known, round, rounded_values, value};
use crate::device::{Buffer, Device, DeviceError};
use crate::operation::{
    BufferSpec, ElementwiseOp, Gemm, Init, MatrixLayout, MemoryStream, Operation, PointerChase,
    Rearrange, Reduce, ReduceOp, Role, STREAM_SCALAR, StreamPattern,
};
use crate::random::{Distribution, Values, cycle};

/// Elements processed at a time: small enough to stay in a second-level cache.
const CHUNK: usize = 1 << 15;

/// Outputs of at most this many elements are compared completely.
const WHOLE: u64 = 4096;

/// Sampling interval for larger outputs of expensive functions: one element per interval is
/// compared.
const SAMPLED: usize = 16;

/// Value of every byte of an output before the first launch.
const UNWRITTEN: u8 = 0xff;

/// Returns the distribution of the inputs of `operation`. Inputs of sums are not negative, so that
/// the sum does not cancel and its relative error is meaningful.
pub const fn distribution(operation: &Operation) -> Distribution {
    match operation {
        Operation::Reduce(_) => Distribution::Unit,
        Operation::Gemm(Gemm { init: Init::Trigonometric, .. }) => Distribution::Trigonometric,
        Operation::Gemm(Gemm { init: Init::Constant, .. }) => Distribution::Constant,
        _ => Distribution::Signed,
    }
}

/// Returns the description of the inputs for the record: their [`distribution`], or how they are
/// otherwise generated.
pub const fn init(operation: &Operation) -> &'static str {
    match operation {
        Operation::PeakArithmetic(_) => "random sizes and signs, made in registers",
        Operation::Stream(op) if matches!(op.pattern, StreamPattern::Write) => {
            "none: nothing is read"
        }
        Operation::PointerChase(_) => "one random cycle through all lines",
        other => distribution(other).as_str(),
    }
}

/// Returns the largest accepted `accuracy_error` for a provider that accumulates short sums of
/// products in `sums_in`, if that is narrower than f32. docs/methods/README.md derives it.
pub fn tolerance(operation: &Operation, sums_in: Option<Dtype>) -> f64 {
    ErrorBound::new(operation, sums_in).total()
}

/// Returns the largest accepted difference between a row of the result of `operation`, multiplied
/// by random signs, and the same product of the reference (Freivalds' check). `row` is the row
/// found, `scale` the largest value of the reference.
pub fn projection_limit(
    operation: &Operation,
    sums_in: Option<Dtype>,
    row: &[f64],
    scale: f64,
) -> f64 {
    let length = product::dot(row, row).sqrt();
    ErrorBound::new(operation, sums_in).projection_limit(length, row.len() as u64, scale)
}

/// Returns whether results of `operation` in this type can be verified.
const fn has_reference(operation: &Operation, dtype: Dtype) -> bool {
    let of_halves = matches!(operation, Operation::Elementwise(_) | Operation::Reduce(_));
    is_known(dtype) && (of_halves || !matches!(dtype, Dtype::I4))
}

/// Fills every buffer that `operation` reads, from `seed`, and marks every element of the other
/// buffers as unwritten, so that a kernel that never ran does not pass with an earlier result.
/// Elements between the rows and matrices of a product are marked in all buffers.
///
/// # Errors
/// If a copy fails, or the type has no known representation in memory.
pub fn fill(
    device: &dyn Device,
    operation: &Operation,
    buffers: &[Buffer],
    seed: u64,
) -> Result<(), DeviceError> {
    if let Operation::PointerChase(chase) = operation {
        return fill_chase(device, chase, buffers);
    }
    let specs = operation.buffers();
    for (index, (spec, buffer)) in specs.iter().zip(buffers).enumerate() {
        if spec.role == Role::Output {
            mark_unwritten(device, buffer)?;
            continue;
        }
        if !has_reference(operation, spec.dtype) {
            return Err(unknown_type(spec.dtype));
        }
        if let (Operation::Gather(op), 1) = (operation, index) {
            let indices: Vec<u8> =
                (0..op.rows).flat_map(|row| op.index(seed, row).to_le_bytes()).collect();
            device.write(buffer, 0, &indices)?;
            continue;
        }
        let values = Values::new(seed, index, distribution(operation));
        let padded = operation.padded_layout(index);
        let mut bytes = Vec::new();
        for start in (0..spec.elements).step_by(CHUNK) {
            let count = (spec.elements - start).min(CHUNK as u64) as usize;
            encode_values(spec.dtype, &values, start, count, &mut bytes);
            if let Some(layout) = padded {
                poison_gaps(layout, spec.dtype, start, &mut bytes);
            }
            device.write(buffer, spec.dtype.bytes(start), &bytes)?;
        }
    }
    Ok(())
}

/// Marks the elements between rows and matrices as unwritten, so that a kernel that uses one gives
/// a wrong result. The first element in `bytes` is at position `start` of the buffer.
fn poison_gaps(layout: MatrixLayout, dtype: Dtype, start: u64, bytes: &mut [u8]) {
    for (at, element) in (start..).zip(bytes.chunks_exact_mut(dtype.bytes(1) as usize)) {
        if layout.is_padding(at) {
            element.fill(UNWRITTEN);
        }
    }
}

/// Marks every element of an output as unwritten: NaN in every floating-point type, -1 in integers.
///
/// # Errors
/// If a copy fails.
pub fn mark_unwritten(device: &dyn Device, buffer: &Buffer) -> Result<(), DeviceError> {
    let bytes = vec![UNWRITTEN; buffer.bytes().min(1 << 20) as usize];
    for start in (0..buffer.bytes()).step_by(1 << 20) {
        let count = (buffer.bytes() - start).min(1 << 20) as usize;
        device.write(buffer, start, bytes.get(..count).unwrap_or_default())?;
    }
    Ok(())
}

fn fill_chase(
    device: &dyn Device,
    chase: &PointerChase,
    buffers: &[Buffer],
) -> Result<(), DeviceError> {
    let [memory, position] = buffers else { return Err(wrong_buffers()) };
    let next = cycle(chase.nodes, chase.seed);
    let line = chase.line_bytes as usize;
    let lines_at_once = ((1 << 20) / line.max(8)).max(1);
    let mut bytes = vec![0; lines_at_once * line];
    for (part, nodes) in next.chunks(lines_at_once).enumerate() {
        for (node, slot) in nodes.iter().zip(bytes.chunks_exact_mut(line)) {
            let to = u64::from(*node) * chase.line_bytes;
            slot.iter_mut().zip(to.to_le_bytes()).for_each(|(slot, byte)| *slot = byte);
        }
        let used = bytes.get(..nodes.len() * line).unwrap_or_default();
        device.write(memory, (part * lines_at_once * line) as u64, used)?;
    }
    // The walk starts at position 0, and also ends there if the cycle has as many nodes as
    // accesses.
    device.write(position, 0, &0_u64.to_le_bytes())
}

/// Verifies the result of one launch on the inputs that [`fill`] wrote with the same `seed`, and
/// returns the `accuracy_error`: max|x − ref| / max|ref|. `sums_in` is the result of
/// [`Kernel::sums_in`](crate::Kernel::sums_in).
///
/// # Errors
/// `Failed` if the result is wrong or not finite; the error of a copy that fails.
pub fn verify(
    device: &dyn Device,
    operation: &Operation,
    buffers: &[Buffer],
    seed: u64,
    sums_in: Option<Dtype>,
) -> Result<f64, DeviceError> {
    let inputs = Inputs { specs: operation.buffers(), distribution: distribution(operation), seed };
    let check =
        Check { device, operation, buffers, inputs, bound: ErrorBound::new(operation, sums_in) };
    if check.inputs.specs.len() != buffers.len() {
        return Err(wrong_buffers());
    }
    let mut error = ErrorMeter::new(check.bound);
    match operation {
        Operation::Stream(op) => check.stream(op, &mut error)?,
        Operation::PointerChase(op) => check.chase(op)?,
        Operation::Elementwise(op) => {
            let expensive = matches!(op.op, ElementwiseOp::Gelu | ElementwiseOp::Sigmoid);
            let is_whole = op.dtype.epsilon() == 0.0;
            check.map(&mut error, expensive, |x, y| {
                let right = elementwise(op.op, x, y);
                if is_whole { round(op.dtype, right) } else { right }
            })?;
        }
        Operation::Reduce(op) => check.reduce(*op, &mut error)?,
        Operation::Normalize(op) => rows::check_normalize(&check, op, &mut error)?,
        Operation::Attention(op) => rows::check_attention(&check, op, &mut error)?,
        Operation::Rearrange(op) => check.check_rearrange(*op, &mut error)?,
        Operation::Gather(op) => {
            let x = check.inputs.element(0);
            check.each_chunk(2, |start, found| {
                for (at, &found) in (start..).zip(found) {
                    error.compare(
                        found,
                        x(op.index(seed, at / op.width) * op.width + at % op.width),
                    );
                }
                Ok(())
            })?;
        }
        Operation::Convolution(op) => product::check_convolution(&check, op, &mut error)?,
        Operation::Gemm(op) => product::check_gemm(&check, op, &mut error)?,
        Operation::Quantized(op) => quantized::check(&check, op, &mut error)?,
        Operation::PeakArithmetic(_) => error.compare(check.first_number(0)?, 1.0),
        Operation::Allocate(_) | Operation::Launch(_) => {}
        Operation::Transfer(_) => check.check_copy(&mut error)?,
        Operation::Churn(op) => check.churn(op.final_live_bytes() as f64, &mut error)?,
    }
    check.judge(&error)
}

/// Inputs of an operation, regenerated from their seed.
struct Inputs {
    specs: Vec<BufferSpec>,
    distribution: Distribution,
    seed: u64,
}

impl Inputs {
    fn dtype(&self, index: usize) -> Dtype {
        self.specs.get(index).map_or(Dtype::F32, |spec| spec.dtype)
    }

    fn values(&self, index: usize) -> Values {
        Values::new(self.seed, index, self.distribution)
    }

    /// Returns a function that computes each element of input `index` as written.
    fn element(&self, index: usize) -> impl Fn(u64) -> f64 + use<> {
        let (dtype, values) = (self.dtype(index), self.values(index));
        move |at| value(dtype, &values, at)
    }

    /// Fills `out` with the elements of input `index` from `start` on, as written.
    fn fill_rounded(&self, index: usize, start: u64, out: &mut [f64]) {
        rounded_values(self.dtype(index), &self.values(index), start, out);
    }

    /// Returns elements of input `index` as written.
    fn numbers(&self, index: usize, elements: Range<u64>) -> Vec<f64> {
        let mut numbers = vec![0.0; (elements.end - elements.start) as usize];
        self.fill_rounded(index, elements.start, &mut numbers);
        numbers
    }
}

/// State of one verification.
struct Check<'a> {
    device: &'a dyn Device,
    operation: &'a Operation,
    buffers: &'a [Buffer],
    inputs: Inputs,
    bound: ErrorBound,
}

impl Check<'_> {
    fn judge(&self, error: &ErrorMeter) -> Result<f64, DeviceError> {
        let (relative, unexplained) = (error.relative(), error.unexplained_error());
        let ErrorBound { rounding, sums, .. } = self.bound;
        if error.not_finite {
            return Err(self.wrong("it contains NaN or infinity"));
        }
        // The comparison also rejects NaN. The limit of `tolerance` need not be checked, since no
        // element exceeds the largest.
        if unexplained <= sums {
            return Ok(relative);
        }
        let why = if rounding == 0.0 {
            format!(
                "its error is {relative:.1e} of the largest value, above the limit of {sums:.1e}"
            )
        } else {
            format!(
                "the error of an element, less one rounding ({rounding:.1e}), is {unexplained:.1e} \
                 of the largest value, above the limit of {sums:.1e}"
            )
        };
        Err(self.wrong(&why))
    }

    fn wrong(&self, why: &str) -> DeviceError {
        let name = &self.device.info().name;
        DeviceError::Failed(Reason::new(
            format!("wrong result of {}", self.operation.name()),
            format!("on {name}, {why}"),
            "suspect the library, the driver or the hardware: try another provider, and test the \
             memory",
        ))
    }

    fn spec(&self, index: usize) -> Result<BufferSpec, DeviceError> {
        self.inputs.specs.get(index).copied().ok_or_else(wrong_buffers)
    }

    fn output_index(&self) -> usize {
        self.inputs.specs.len() - 1
    }

    fn buffer(&self, index: usize) -> Result<&Buffer, DeviceError> {
        self.buffers.get(index).ok_or_else(wrong_buffers)
    }

    /// Returns `count` reference numbers for this operation and seed, named by `what`. They are
    /// computed once per run.
    fn reference_values(
        &self,
        what: &str,
        count: usize,
        compute: impl FnOnce() -> Vec<f64>,
    ) -> Vec<f64> {
        shared::numbers(
            &format!("{:?} {} {what}", self.operation, self.inputs.seed),
            count,
            compute,
        )
    }

    fn read_word(&self, index: usize) -> Result<u64, DeviceError> {
        let mut bytes = [0; 8];
        self.device.read(self.buffer(index)?, 0, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn first_number(&self, index: usize) -> Result<f64, DeviceError> {
        let mut numbers = Vec::new();
        self.read_numbers(index, 0, 1, &mut numbers)?;
        Ok(numbers.first().copied().unwrap_or(f64::NAN))
    }

    fn read_numbers(
        &self,
        index: usize,
        start: u64,
        count: usize,
        out: &mut Vec<f64>,
    ) -> Result<(), DeviceError> {
        let dtype = self.spec(index)?.dtype;
        if !has_reference(self.operation, dtype) {
            return Err(unknown_type(dtype));
        }
        let buffer = self.buffer(index)?;
        let mut bytes = vec![0; dtype.bytes(count as u64) as usize];
        match self.operation.padded_layout(index) {
            Some(layout) => self.read_rows(buffer, layout, dtype, start, &mut bytes)?,
            None => self.device.read(buffer, dtype.bytes(start), &mut bytes)?,
        }
        decode_into(dtype, &bytes, out);
        out.truncate(count);
        Ok(())
    }

    /// Reads elements from `start` on into `bytes`. Elements between rows and matrices are neither
    /// counted nor read.
    fn read_rows(
        &self,
        buffer: &Buffer,
        layout: MatrixLayout,
        dtype: Dtype,
        start: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        let (mut at, mut rest) = (start, bytes);
        while !rest.is_empty() {
            let (row, column) = (at / layout.columns, at % layout.columns);
            let width = dtype.bytes(layout.columns - column) as usize;
            let (part, after) = rest.split_at_mut(width.min(rest.len()));
            let position = layout.position(row / layout.rows, row % layout.rows, column);
            self.device.read(buffer, dtype.bytes(position), part)?;
            at += layout.columns - column;
            rest = after;
        }
        Ok(())
    }

    /// Checks that a kernel wrote nothing between the rows and matrices of the output.
    fn check_gaps(&self) -> Result<(), DeviceError> {
        let index = self.output_index();
        let Some(layout) = self.operation.padded_layout(index) else { return Ok(()) };
        let BufferSpec { dtype, elements, .. } = self.spec(index)?;
        let mut bytes = Vec::new();
        for start in (0..elements).step_by(CHUNK) {
            bytes.resize(dtype.bytes((elements - start).min(CHUNK as u64)) as usize, 0);
            self.device.read(self.buffer(index)?, dtype.bytes(start), &mut bytes)?;
            for (at, element) in (start..).zip(bytes.chunks_exact(dtype.bytes(1) as usize)) {
                if layout.is_padding(at) && element.iter().any(|&byte| byte != UNWRITTEN) {
                    return Err(self.wrong(&format!(
                        "element {at} of the output, in a gap between rows or matrices, was \
                         overwritten"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Passes all of buffer `index` to `look`, chunk by chunk, without the elements between rows
    /// and matrices.
    fn each_chunk(
        &self,
        index: usize,
        mut look: impl FnMut(u64, &[f64]) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let mut elements = self.spec(index)?.elements;
        if let Some(layout) = self.operation.padded_layout(index) {
            elements = elements / layout.stride.max(1) * layout.rows * layout.columns;
        }
        let mut numbers = Vec::new();
        for start in (0..elements).step_by(CHUNK) {
            self.read_numbers(
                index,
                start,
                (elements - start).min(CHUNK as u64) as usize,
                &mut numbers,
            )?;
            look(start, &numbers)?;
        }
        Ok(())
    }

    /// Checks an element-wise output of two inputs, one input (passed as both arguments), its own
    /// previous contents, or no input. If `expected` is expensive, only one of every [`SAMPLED`]
    /// elements of a large output is checked.
    fn map(
        &self,
        error: &mut ErrorMeter,
        expensive: bool,
        expected: impl Fn(f64, f64) -> f64,
    ) -> Result<(), DeviceError> {
        let output = self.output_index();
        let step = if expensive && self.spec(output)?.elements > WHOLE { SAMPLED } else { 1 };
        let filled = self.inputs.specs.iter().take_while(|spec| spec.role != Role::Output).count();
        let mut inputs = vec![Vec::new(); filled];
        let (mut right, mut sampled, nothing) = (Vec::new(), Vec::new(), vec![0.0; CHUNK]);
        self.each_chunk(output, |start, found| {
            for (index, values) in inputs.iter_mut().enumerate() {
                values.resize(found.len(), 0.0);
                self.inputs.fill_rounded(index, start, values);
            }
            let (x, y) = match inputs.as_slice() {
                [] => (&nothing, &nothing),
                [x] => (x, x),
                [x, y, ..] => (x, y),
            };
            right.clear();
            if step == 1 {
                right.extend(x.iter().zip(y).take(found.len()).map(|(&x, &y)| expected(x, y)));
                error.compare_all(found, &right);
                return Ok(());
            }
            error.look_at(found);
            sampled.clear();
            for first in (0..found.len()).step_by(step) {
                // Varies the position in each block: kernels process several adjacent elements, any
                // of which may be wrong.
                let at = first + (mix64(start + first as u64) % step as u64) as usize;
                if let (Some(&found), Some(&x), Some(&y)) = (found.get(at), x.get(at), y.get(at)) {
                    sampled.push(found);
                    right.push(expected(x, y));
                }
            }
            error.compare_all(&sampled, &right);
            Ok(())
        })
    }

    /// Checks that the output equals the first input: compares bytes, and numbers only if bytes
    /// differ.
    fn check_copy(&self, error: &mut ErrorMeter) -> Result<(), DeviceError> {
        let (from, to) = (self.spec(0)?, self.output_index());
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for start in (0..from.elements).step_by(CHUNK) {
            let count = (from.elements - start).min(CHUNK as u64) as usize;
            encode_values(from.dtype, &self.inputs.values(0), start, count, &mut expected);
            found.resize(expected.len(), 0);
            self.device.read(self.buffer(to)?, from.dtype.bytes(start), &mut found)?;
            if found != expected {
                return self.map(error, false, |x, _| x);
            }
        }
        Ok(())
    }

    fn stream(&self, op: &MemoryStream, error: &mut ErrorMeter) -> Result<(), DeviceError> {
        match op.pattern {
            StreamPattern::Read => self.checksum(),
            StreamPattern::Write => self.map(error, false, |_, _| STREAM_SCALAR),
            StreamPattern::Copy => self.check_copy(error),
            StreamPattern::ReadWrite => self.map(error, false, |x, _| -x),
            StreamPattern::Triad => self.map(error, false, |x, y| x + STREAM_SCALAR * y),
        }
    }

    fn checksum(&self) -> Result<(), DeviceError> {
        let spec = self.spec(0)?;
        let (mut expected, mut bytes) = (0, Vec::new());
        for start in (0..spec.elements).step_by(CHUNK) {
            let count = (spec.elements - start).min(CHUNK as u64) as usize;
            encode_values(spec.dtype, &self.inputs.values(0), start, count, &mut bytes);
            expected ^= checksum(&bytes);
        }
        let found = self.read_word(1)?;
        if found == expected {
            return Ok(());
        }
        Err(self.wrong(&format!(
            "the exclusive-or of the values read is {found:#x}, not {expected:#x}"
        )))
    }

    /// Follows the cycle in device memory, since regenerating the cycle would take longer than
    /// everything else.
    fn chase(&self, op: &PointerChase) -> Result<(), DeviceError> {
        let (memory, mut expected) = (self.buffer(0)?, 0);
        for _ in 0..op.accesses {
            let mut next = [0; 8];
            self.device.read(memory, expected, &mut next)?;
            expected = u64::from_le_bytes(next);
        }
        let found = self.read_word(1)?;
        if found == expected {
            return Ok(());
        }
        Err(self.wrong(&format!(
            "after {} accesses the walk is at {found}, not at {expected}",
            op.accesses
        )))
    }

    fn reduce(&self, op: Reduce, error: &mut ErrorMeter) -> Result<(), DeviceError> {
        let values = self.inputs.values(0);
        let both = self.reference_values("sum and largest", 2, || {
            let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
            let mut chunk = Vec::new();
            for start in (0..op.elements).step_by(CHUNK) {
                chunk.resize((op.elements - start).min(CHUNK as u64) as usize, 0.0);
                rounded_values(op.dtype, &values, start, &mut chunk);
                let (part, largest_of_part) = sum_and_largest(&chunk);
                (sum, largest) = (sum + part, largest.max(largest_of_part));
            }
            vec![sum, largest]
        });
        let [sum, largest] = *both.as_slice() else { return Err(wrong_buffers()) };
        match op.op {
            ReduceOp::Sum => error.compare(self.first_number(1)?, sum),
            ReduceOp::Mean => error.compare(self.first_number(1)?, sum / op.elements as f64),
            ReduceOp::Max => error.compare(self.first_number(1)?, largest),
            ReduceOp::Argmax => {
                let at = self.read_word(1)?;
                if at >= op.elements {
                    return Err(self
                        .wrong(&format!("position {at} is outside the {} elements", op.elements)));
                }
                // If several elements are the largest, any of them is correct.
                error.compare(value(op.dtype, &values, at), largest);
            }
        }
        Ok(())
    }

    /// Checks that every element is in its place, and that elements outside the rows are unchanged.
    fn check_rearrange(&self, op: Rearrange, error: &mut ErrorMeter) -> Result<(), DeviceError> {
        let (new, angles, old) =
            (self.inputs.element(0), self.inputs.element(1), self.inputs.element(op.y_index()));
        self.each_chunk(op.y_index(), |start, found| {
            for (at, &found) in (start..).zip(found) {
                error.compare(
                    found,
                    rearranged_element(&op, &new, &angles, at).unwrap_or_else(|| old(at)),
                );
            }
            Ok(())
        })
    }

    /// Compares the live bytes, which are known exactly. The held bytes are only checked to be
    /// finite and not negative: since the system counts whole pages and memory held before is
    /// excluded, they may be lower than the live bytes.
    fn churn(&self, live: f64, error: &mut ErrorMeter) -> Result<(), DeviceError> {
        let mut found = Vec::new();
        self.read_numbers(0, 0, 2, &mut found)?;
        let [held, found] = found.as_slice() else { return Err(wrong_buffers()) };
        error.compare(*found, live);
        if held.is_finite() && *held >= 0.0 {
            return Ok(());
        }
        Err(self.wrong(&format!("the allocator reports {held} bytes held for {live} live bytes")))
    }
}

fn wrong_buffers() -> DeviceError {
    DeviceError::Failed(Reason::new(
        "buffers of an operation",
        "the buffers do not match the operation",
        "report this as a bug with the case id",
    ))
}

fn unknown_type(dtype: Dtype) -> DeviceError {
    DeviceError::Unsupported(Reason::new(
        format!("data type {dtype}"),
        "there is no reference implementation for it",
        "choose f64, f32, f16 or bf16",
    ))
}
