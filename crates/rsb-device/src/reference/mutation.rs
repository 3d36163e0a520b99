//! Deliberately wrong results, which verification must reject.
//!
//! Each mutation is a known kind of kernel defect: a part of a sum left out, a stale buffer, a
//! forgotten bias. The wrong result is produced by the device's own kernel with changed inputs, or
//! by changing the kernel's output, and then verified like any other.

use rsb_model::Dtype;

use super::{attended_row, fill, verify};
use crate::convert::{decode, encode};
use crate::device::{Buffer, Device, DeviceError, Options};
use crate::operation::{
    Attention, BufferSpec, Convolution, Elementwise, ElementwiseOp, Epilogue, Gather, Gemm,
    HostMemory, MemoryStream, Normalize, NormalizeOp, Operation, OutputWidth, PeakArithmetic,
    PointerChase, QuantizedProduct, Rearrange, Reduce, ReduceOp, Stores, StreamPattern, Transfer,
    TransferDirection, named,
};

rsb_model::named_enum! {
    /// A defect of a kernel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Mutation {
        /// Nothing was written.
        NotLaunched = "not-launched",
        /// The output is all zeros.
        Zeros = "zeros",
        /// The output was computed from different inputs.
        Stale = "stale",
        /// A twentieth of the terms of each sum is missing, at least one.
        MissingTerms = "missing-terms",
        /// One row is 5 % too large.
        WrongRow = "wrong-row",
        /// In an output of at most 4,096 elements, one element is off by a quarter of the largest
        /// value.
        WrongElement = "wrong-element",
        /// In an output of more than 4,096 elements, a tile of 16 by 16 elements is zero.
        WrongTile = "wrong-tile",
        /// In each group of eight elements, one repeats the previous element.
        RepeatedLane = "repeated-lane",
        /// Two inputs of equal size are swapped.
        SwappedOperands = "swapped-operands",
        /// The bias is not added.
        ForgottenBias = "forgotten-bias",
        /// The previous contents of the output are not added.
        ForgottenC = "forgotten-c",
        /// A factor or scale is replaced by one.
        ForgottenScale = "forgotten-scale",
        /// Each query of causal attention sees one position too many.
        MaskOffByOne = "mask-off-by-one",
    }
}

named!(Mutation, "mutation");

/// Outputs of at most this many elements are compared completely, so that a single wrong element
/// must be found.
const WHOLE: u64 = 4096;

/// Rows and columns of [`Mutation::WrongTile`].
const TILE: u64 = 16;

/// Verification results of an operation and its mutations.
#[derive(Debug, Clone, PartialEq)]
pub struct MutationReport {
    /// `accuracy_error` of the correct result.
    pub accuracy_error: f64,
    /// Largest accepted `accuracy_error`.
    pub accuracy_limit: f64,
    /// Mutations that apply to the operation and change its result.
    pub tried: Vec<Mutation>,
    /// Mutations whose result was accepted.
    pub survived: Vec<Mutation>,
}

/// Launches `operation` once on `device`, verifies it, and then verifies each mutation of it.
///
/// # Errors
/// If the device does not support the operation, or rejects the correct result.
pub fn survivors(
    device: &dyn Device,
    operation: &Operation,
    options: &Options,
    seed: u64,
) -> Result<MutationReport, DeviceError> {
    survivors_of(device, operation, options, seed, &Mutation::ALL)
}

fn survivors_of(
    device: &dyn Device,
    operation: &Operation,
    options: &Options,
    seed: u64,
    mutations: &[Mutation],
) -> Result<MutationReport, DeviceError> {
    let specs = operation.buffers();
    let buffers: Vec<Buffer> =
        specs.iter().map(|spec| device.allocate(spec.bytes())).collect::<Result<_, _>>()?;
    let (Some(output), Some(&output_spec)) = (buffers.last(), specs.last()) else {
        return Ok(MutationReport {
            accuracy_error: 0.0,
            accuracy_limit: 0.0,
            tried: Vec::new(),
            survived: Vec::new(),
        });
    };
    let mut bench = MutationRunner {
        device,
        operation,
        options,
        seed,
        specs: &specs,
        buffers: &buffers,
        sums_in: None,
    };
    let correct = bench.launch_with(&mut |_| Ok(()))?;
    let accuracy_error = bench.verify()?;
    let accuracy_limit = super::tolerance(operation, bench.sums_in);
    let (mut tried, mut survived) = (Vec::new(), Vec::new());
    for &mutation in mutations {
        let Some(wrong) = bench.apply_mutation(mutation, output_spec, &correct)? else { continue };
        if wrong == correct {
            continue;
        }
        fill(device, operation, &buffers, seed)?;
        device.write(output, 0, &wrong)?;
        tried.push(mutation);
        if bench.verify().is_ok() {
            survived.push(mutation);
        }
    }
    Ok(MutationReport { accuracy_error, accuracy_limit, tried, survived })
}

/// Function that changes inputs on the device after they were filled.
type Change<'c> = &'c mut dyn FnMut(&MutationRunner<'_>) -> Result<(), DeviceError>;

struct MutationRunner<'b> {
    device: &'b dyn Device,
    operation: &'b Operation,
    options: &'b Options,
    seed: u64,
    specs: &'b [BufferSpec],
    buffers: &'b [Buffer],
    sums_in: Option<Dtype>,
}

impl MutationRunner<'_> {
    /// Returns the output of the operation on changed inputs.
    fn launch_with(&mut self, change: Change<'_>) -> Result<Vec<u8>, DeviceError> {
        fill(self.device, self.operation, self.buffers, self.seed)?;
        change(self)?;
        let mut kernel = self.device.prepare(self.operation, self.options, self.buffers)?;
        let mut stream = self.device.stream()?;
        kernel.launch()?;
        stream.synchronize()?;
        self.sums_in = kernel.sums_in();
        self.read(self.buffers.len() - 1)
    }

    fn verify(&self) -> Result<f64, DeviceError> {
        verify(self.device, self.operation, self.buffers, self.seed, self.sums_in)
    }

    fn read(&self, index: usize) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = vec![0; self.specs.get(index).map_or(0, |spec| spec.bytes() as usize)];
        if let Some(buffer) = self.buffers.get(index) {
            self.device.read(buffer, 0, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn numbers(&self, index: usize) -> Result<Vec<f64>, DeviceError> {
        let dtype = self.specs.get(index).map_or(Dtype::F32, |spec| spec.dtype);
        Ok(decode(dtype, &self.read(index)?))
    }

    /// Replaces each element of input `index` with the result of `to`, which receives its position
    /// and value.
    fn change(
        &self,
        index: usize,
        to: &mut dyn FnMut(usize, f64) -> f64,
    ) -> Result<(), DeviceError> {
        let (Some(buffer), Some(spec)) = (self.buffers.get(index), self.specs.get(index)) else {
            return Ok(());
        };
        let changed: Vec<f64> =
            (0..).zip(self.numbers(index)?).map(|(at, value)| to(at, value)).collect();
        self.device.write(buffer, 0, &encode(spec.dtype, &changed))
    }

    /// Runs `operation` instead of the runner's operation; both have the same buffers.
    fn instead(&mut self, operation: &Operation) -> Result<Vec<u8>, DeviceError> {
        fill(self.device, self.operation, self.buffers, self.seed)?;
        let mut kernel = self.device.prepare(operation, self.options, self.buffers)?;
        let mut stream = self.device.stream()?;
        kernel.launch()?;
        stream.synchronize()?;
        self.read(self.buffers.len() - 1)
    }

    /// Returns the output with `mutation` applied, or `None` if the mutation does not apply to the
    /// operation.
    fn apply_mutation(
        &mut self,
        mutation: Mutation,
        output: BufferSpec,
        correct: &[u8],
    ) -> Result<Option<Vec<u8>>, DeviceError> {
        let is_word =
            output.dtype == Dtype::I8 && output.elements == 8 && !is_elementwise(self.operation);
        let edited = |edit: &mut dyn FnMut(&mut Vec<f64>)| {
            let mut numbers = decode(output.dtype, correct);
            edit(&mut numbers);
            Some(encode(output.dtype, &numbers))
        };
        let largest = decode(output.dtype, correct).into_iter().map(f64::abs).fold(0.0, f64::max);
        Ok(match mutation {
            Mutation::NotLaunched => {
                fill(self.device, self.operation, self.buffers, self.seed)?;
                Some(self.read(self.buffers.len() - 1)?)
            }
            Mutation::Zeros => Some(vec![0; correct.len()]),
            Mutation::Stale => {
                self.seed ^= 1;
                let stale = self.launch_with(&mut |_| Ok(()));
                self.seed ^= 1;
                Some(stale?)
            }
            _ if is_word => None,
            Mutation::WrongRow => {
                let width = row_width(self.operation, output.elements) as usize;
                let row = output.elements as usize / width.max(1) / 2;
                // In types of less than 16 bits, a change of 5 % is less than one step.
                let factor = if output.dtype.bits() < 16 { 1.25 } else { 1.05 };
                edited(&mut |numbers| {
                    numbers.iter_mut().skip(row * width).take(width).for_each(|x| *x *= factor);
                })
            }
            Mutation::WrongElement if output.elements <= WHOLE => {
                let at = output.elements as usize * 5 / 7;
                edited(&mut |numbers| {
                    if let Some(x) = numbers.get_mut(at) {
                        let off =
                            (largest / 4.0).max(f64::from(u8::from(output.dtype.bits() < 16)));
                        *x += if *x > 0.0 { -off } else { off };
                    }
                })
            }
            Mutation::WrongTile if output.elements > WHOLE => {
                let width = row_width(self.operation, output.elements);
                let (top, left) =
                    (output.elements / width / 2 / TILE * TILE, width / 2 / TILE * TILE);
                edited(&mut |numbers| {
                    for (at, x) in (0_u64..).zip(numbers) {
                        if (top..top + TILE).contains(&(at / width))
                            && (left..left + TILE).contains(&(at % width))
                        {
                            *x = 0.0;
                        }
                    }
                })
            }
            Mutation::RepeatedLane => edited(&mut |numbers| {
                for at in (3..numbers.len()).step_by(8) {
                    numbers[at] = numbers[at - 1];
                }
            }),
            Mutation::MissingTerms => {
                let Some(Terms { input, count, term }) = terms(self.operation) else {
                    return Ok(None);
                };
                let first = count - count.div_ceil(20);
                Some(self.launch_with(&mut |bench| {
                    bench.change(input, &mut |at, value| {
                        if term(at as u64) >= first { 0.0 } else { value }
                    })
                })?)
            }
            Mutation::SwappedOperands => {
                let Some([first, second]) = swappable(self.operation, self.specs) else {
                    return Ok(None);
                };
                Some(self.launch_with(&mut |bench| {
                    let (a, b) = (bench.numbers(first)?, bench.numbers(second)?);
                    bench.change(first, &mut |at, _| b.get(at).copied().unwrap_or(0.0))?;
                    bench.change(second, &mut |at, _| a.get(at).copied().unwrap_or(0.0))
                })?)
            }
            Mutation::ForgottenBias => {
                let Some(input) = bias(self.operation) else { return Ok(None) };
                Some(self.launch_with(&mut |bench| bench.change(input, &mut |_, _| 0.0))?)
            }
            Mutation::ForgottenC => match self.operation {
                Operation::Gemm(op) if op.reads_c() => Some(
                    self.launch_with(&mut |bench| bench.change(op.c_index(), &mut |_, _| 0.0))?,
                ),
                _ => None,
            },
            Mutation::ForgottenScale => match self.operation {
                Operation::Gemm(op) if (op.alpha - 1.0).abs() > 1e-9 => {
                    Some(self.instead(&Operation::Gemm(Gemm { alpha: 1.0, ..*op }))?)
                }
                Operation::Quantized(_) => {
                    Some(self.launch_with(&mut |bench| bench.change(2, &mut |_, _| 1.0))?)
                }
                Operation::Normalize(op) if op.op != NormalizeOp::Softmax => {
                    Some(self.launch_with(&mut |bench| bench.change(1, &mut |_, _| 1.0))?)
                }
                _ => None,
            },
            Mutation::MaskOffByOne => match self.operation {
                Operation::Attention(op) if op.causal && op.queries > 1 => {
                    Some(self.seen_too_far(op)?)
                }
                _ => None,
            },
            Mutation::WrongElement | Mutation::WrongTile => None,
        })
    }

    /// Returns attention whose queries see one position too many, if there is one. Computed on the
    /// host, since no kernel here can produce it.
    fn seen_too_far(&self, op: &Attention) -> Result<Vec<u8>, DeviceError> {
        fill(self.device, self.operation, self.buffers, self.seed)?;
        let (queries, keys, values) = (self.numbers(0)?, self.numbers(1)?, self.numbers(2)?);
        let rows =
            (0..).zip(queries.chunks_exact(op.head_dim as usize)).flat_map(|(row, query)| {
                let mut seen = op.visible_elements(row);
                if op.reach(row) < op.positions {
                    seen.end += op.head_dim;
                }
                let seen = seen.start as usize..seen.end as usize;
                let keys = keys.get(seen.clone()).unwrap_or_default();
                let values = values.get(seen).unwrap_or_default();
                attended_row(query, keys, values)
            });
        Ok(encode(op.dtype, &rows.collect::<Vec<f64>>()))
    }
}

const fn is_elementwise(operation: &Operation) -> bool {
    matches!(operation, Operation::Elementwise(_))
}

/// Returns the number of elements of an output row, for [`Mutation::WrongRow`] and
/// [`Mutation::WrongTile`]. Rows of a convolution are its channels.
fn row_width(operation: &Operation, elements: u64) -> u64 {
    let width = match operation {
        Operation::Gemm(op) => op.n,
        Operation::Quantized(op) => op.n,
        Operation::Normalize(op) => op.columns,
        Operation::Attention(op) => op.head_dim,
        Operation::Convolution(op) => op.output_size().map_or(1, |(rows, columns)| rows * columns),
        Operation::Gather(op) => op.width,
        Operation::Rearrange(op) => op.width,
        _ => 64,
    };
    width.clamp(1, elements.max(1))
}

/// The terms that an operation sums, as elements of one of its inputs.
struct Terms {
    input: usize,
    count: u64,
    /// Returns the term that an element of the input belongs to.
    term: Box<dyn Fn(u64) -> u64>,
}

fn terms(operation: &Operation) -> Option<Terms> {
    let (input, count) = match *operation {
        Operation::Gemm(op) => (0, op.k),
        Operation::Quantized(op) => (0, op.k),
        Operation::Convolution(op) => (1, op.terms()),
        // The terms of attention's second product are the values.
        Operation::Attention(op) => (2, op.positions),
        Operation::Reduce(Reduce { op: ReduceOp::Sum | ReduceOp::Mean, elements, .. }) => {
            (0, elements)
        }
        _ => return None,
    };
    let term: Box<dyn Fn(u64) -> u64> = match *operation {
        Operation::Gemm(op) if op.transpose_a => Box::new(move |at| at / op.m % op.k),
        Operation::Convolution(op) => Box::new(move |at| at % op.terms()),
        Operation::Attention(op) => Box::new(move |at| at / op.head_dim % op.capacity),
        Operation::Reduce(_) => Box::new(|at| at),
        _ => Box::new(move |at| at % count),
    };
    Some(Terms { input, count, term })
}

/// Returns two inputs with the same type and size but different roles.
fn swappable(operation: &Operation, specs: &[BufferSpec]) -> Option<[usize; 2]> {
    let pair = match operation {
        Operation::Gemm(_) => [0, 1],
        Operation::Attention(_) => [1, 2],
        Operation::Stream(op) if op.pattern == StreamPattern::Triad => [0, 1],
        Operation::Normalize(op) if op.op == NormalizeOp::LayerNorm => [1, 2],
        _ => return None,
    };
    let [first, second] = pair.map(|index| specs.get(index));
    if first == second { Some(pair) } else { None }
}

fn bias(operation: &Operation) -> Option<usize> {
    match operation {
        Operation::Gemm(op) if op.epilogue != Epilogue::None => Some(2),
        Operation::Normalize(op) if op.op == NormalizeOp::LayerNorm => Some(2),
        _ => None,
    }
}

/// Returns small operations of every kind, in every type with a reference, that can be verified in
/// milliseconds. Some outputs are compared completely; larger ones are sampled.
pub fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
        for pattern in StreamPattern::ALL {
            all.push(Operation::Stream(MemoryStream {
                pattern,
                dtype,
                elements: 5003,
                stores: Stores::Temporal,
            }));
        }
        for op in ElementwiseOp::ALL {
            all.extend(
                [3001, 40_000]
                    .map(|elements| Operation::Elementwise(Elementwise { op, dtype, elements })),
            );
        }
        for op in ReduceOp::ALL {
            all.push(Operation::Reduce(Reduce { op, dtype, elements: 10_007 }));
        }
        for op in NormalizeOp::ALL {
            for (rows, columns) in [(7, 302), (64, 256)] {
                all.push(Operation::Normalize(Normalize { op, dtype, rows, columns }));
            }
        }
        for rotary in [false, true] {
            all.push(Operation::Rearrange(Rearrange {
                dtype,
                batch: 2,
                rows: 5,
                columns: 3,
                width: 8,
                capacity: 11,
                position: 4,
                rotary,
            }));
        }
        for (queries, heads) in [(24, 2), (64, 4)] {
            let (batch, kv_heads, head_dim) = (1, heads / 2, 32);
            let (positions, capacity, causal) = (queries, queries + 8, true);
            let attention = Attention {
                dtype,
                batch,
                heads,
                kv_heads,
                head_dim,
                queries,
                positions,
                capacity,
                causal,
            };
            all.extend(
                [true, false].map(|causal| Operation::Attention(Attention { causal, ..attention })),
            );
        }
        for (batch, out_channels, groups) in [(1, 8, 1), (2, 64, 2)] {
            all.push(Operation::Convolution(Convolution {
                dtype,
                batch,
                in_channels: 16,
                out_channels,
                height: 14,
                width: 16,
                kernel_height: 3,
                kernel_width: 3,
                stride: 1,
                padding: 1,
                dilation: 1,
                groups,
            }));
        }
        all.push(Operation::PeakArithmetic(PeakArithmetic {
            dtype,
            operations: 7 * PeakArithmetic::UNIT,
        }));
        for (weights, n) in [(Dtype::I8, 40), (Dtype::I4, 600)] {
            all.push(Operation::Quantized(QuantizedProduct {
                dtype,
                weights,
                m: 9,
                n,
                k: 256,
                group: 64,
            }));
        }
    }
    for &op in &[ElementwiseOp::Add, ElementwiseOp::Relu] {
        all.push(Operation::Elementwise(Elementwise { op, dtype: Dtype::I8, elements: 3001 }));
    }
    all.push(Operation::PointerChase(PointerChase {
        nodes: 512,
        line_bytes: 128,
        accesses: 8191,
        seed: 1,
    }));
    all.push(Operation::Gather(Gather { dtype: Dtype::F16, of: 40, rows: 100, width: 48 }));
    all.extend(TransferDirection::ALL.iter().map(|&direction| {
        Operation::Transfer(Transfer { direction, host_memory: HostMemory::Pinned, bytes: 40_000 })
    }));
    for dtype in
        [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8]
    {
        let alpha = if dtype == Dtype::I8 { 2.0 } else { 0.5 };
        // Some libraries support fp8 only with a transposed B.
        let transpose_b = dtype == Dtype::Fp8;
        for stored in [OutputWidth::Wide, OutputWidth::AsInputs] {
            all.push(Operation::Gemm(Gemm {
                transpose_b,
                stored,
                ..Gemm::new(dtype, 64, 64, 4096)
            }));
        }
        for (m, n, k) in [(40, 48, 1024), (96, 160, 320), (33, 1040, 64)] {
            let plain = Gemm { transpose_b, ..Gemm::new(dtype, m, n, k) };
            all.extend(
                [
                    plain,
                    Gemm { alpha, beta: alpha, ..plain },
                    Gemm { batch: 2, stored: OutputWidth::AsInputs, ..plain },
                    Gemm { epilogue: Epilogue::Bias, ..plain },
                    Gemm { epilogue: Epilogue::Gelu, stored: OutputWidth::AsInputs, ..plain },
                ]
                .map(Operation::Gemm),
            );
        }
    }
    // Sums of i8 do not fit in i8.
    all.retain(|operation| !matches!(operation, Operation::Gemm(op) if op.dtype == Dtype::I8 && op.is_narrowed()));
    all
}

/// Returns the label of `operation` in a table of mutations: its name and sizes.
pub fn label(operation: &Operation) -> String {
    let dtype = operation.dtype().map(|dtype| format!(" {dtype}")).unwrap_or_default();
    let sizes = match operation {
        Operation::Gemm(op) => {
            let output = if op.is_narrowed() { ", as inputs" } else { "" };
            let epilogue = if op.epilogue == Epilogue::None {
                String::new()
            } else {
                format!(", {}", op.epilogue)
            };
            let old = if op.reads_c() { ", beta" } else { "" };
            format!(" {}x{}x{}x{}{output}{epilogue}{old}", op.batch, op.m, op.n, op.k)
        }
        Operation::Quantized(op) => format!(" {} {}x{}x{}", op.weights, op.m, op.n, op.k),
        Operation::Attention(op) => {
            format!(" {}x{}{}", op.rows(), op.positions, if op.causal { ", causal" } else { "" })
        }
        Operation::Convolution(op) => format!(" {}x{}", op.batch, op.out_channels),
        other => format!(" {}", other.buffers().last().map_or(0, |spec| spec.elements)),
    };
    format!("{}{dtype}{sizes}", operation.name())
}

/// Results of one operation with one provider over several seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationReport {
    /// Name and sizes of the operation.
    pub label: String,
    /// Provider, if one was requested by name.
    pub provider: Option<String>,
    /// Largest `accuracy_error` of a correct result.
    pub largest_error: f64,
    /// Largest accepted `accuracy_error`.
    pub accuracy_limit: f64,
    /// Mutations tried.
    pub tried: Vec<Mutation>,
    /// Mutations that were accepted, each with its seed.
    pub survived: Vec<(Mutation, u64)>,
}

/// Runs all of [`operations`] on `device` with each of `providers` (`None` for the device's
/// choice). Verifies the results for each of `seeds`, and all mutations for the first `mutated`
/// seeds. Operations that the device does not support are skipped.
///
/// # Errors
/// If a correct result is rejected, or a launch or copy fails.
pub fn check_device(
    device: &dyn Device,
    providers: &[Option<&str>],
    seeds: std::ops::Range<u64>,
    mutated: u64,
) -> Result<Vec<OperationReport>, DeviceError> {
    let mut reports = Vec::new();
    for operation in operations() {
        for provider in providers {
            // Only matrix products have several providers.
            if provider.is_some() && !matches!(operation, Operation::Gemm(_)) {
                continue;
            }
            let options = Options { provider: provider.map(str::to_owned), ..Options::default() };
            match check_operation(device, &operation, &options, seeds.clone(), mutated) {
                Ok(report) => reports.push(report),
                Err(DeviceError::Unsupported(_)) => {}
                Err(DeviceError::Failed(mut reason)) => {
                    reason.what = format!("{} ({})", reason.what, label(&operation));
                    return Err(DeviceError::Failed(reason));
                }
            }
        }
    }
    Ok(reports)
}

fn check_operation(
    device: &dyn Device,
    operation: &Operation,
    options: &Options,
    seeds: std::ops::Range<u64>,
    mutated: u64,
) -> Result<OperationReport, DeviceError> {
    let mut report = OperationReport {
        label: label(operation),
        provider: options.provider.clone(),
        largest_error: 0.0,
        accuracy_limit: 0.0,
        tried: Vec::new(),
        survived: Vec::new(),
    };
    let first = seeds.start;
    for seed in seeds {
        let mutations = if seed - first < mutated { &Mutation::ALL[..] } else { &[] };
        let found = survivors_of(device, operation, options, seed, mutations)?;
        report.largest_error = report.largest_error.max(found.accuracy_error);
        report.accuracy_limit = found.accuracy_limit;
        for mutation in found.tried {
            if !report.tried.contains(&mutation) {
                report.tried.push(mutation);
            }
        }
        report.survived.extend(found.survived.into_iter().map(|mutation| (mutation, seed)));
    }
    Ok(report)
}

/// Returns the number of seeds for a slow test: the environment variable `RSB_SEEDS`, or 1000.
pub fn seeds_of_slow_test() -> u64 {
    std::env::var("RSB_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Lists the accepted mutations in `reports`, one per line.
pub fn list_survivors(reports: &[OperationReport]) -> Vec<String> {
    let lines = reports.iter().flat_map(|report| {
        let provider =
            report.provider.as_deref().map(|name| format!(" by {name}")).unwrap_or_default();
        report.survived.iter().map(move |(mutation, seed)| {
            format!("{}{provider}: {mutation}, seed {seed}", report.label)
        })
    });
    lines.collect()
}

/// Formats `reports` as a Markdown table: the largest error as a share of its limit, and the
/// numbers of mutations tried and accepted. Operations with the same name, type and provider share
/// a row.
pub fn table(reports: &[OperationReport]) -> String {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    struct Row {
        operations: usize,
        largest_error: f64,
        limit: f64,
        tried: usize,
        survived: usize,
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for report in reports {
        let provider = report.provider.as_deref().unwrap_or("-");
        let name = report.label.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let empty = Row { operations: 0, largest_error: 0.0, limit: 0.0, tried: 0, survived: 0 };
        let row = rows.entry(format!("{name} | {provider}")).or_insert(empty);
        row.operations += 1;
        row.tried += report.tried.len();
        row.survived += report.survived.len();
        if report.largest_error * row.limit >= row.largest_error * report.accuracy_limit {
            (row.largest_error, row.limit) = (report.largest_error, report.accuracy_limit);
        }
    }
    let mut table = String::from(
        "| operation | provider | shapes | largest error | limit | share of the limit | mutations \
         | accepted |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (name, Row { operations, largest_error, limit, tried, survived }) in rows {
        let share = if largest_error == 0.0 { 0.0 } else { 100.0 * largest_error / limit };
        let _ = writeln!(
            table,
            "| {name} | {operations} | {largest_error:.1e} | {limit:.1e} | {share:.0} % | {tried} \
             | {survived} |"
        );
    }
    table
}
