use proptest::prelude::*;
use rsb_model::Dtype;

use super::*;
use crate::convert::{decode, encode};
use crate::operation::{
    Attention, Convolution, Elementwise, ElementwiseOp, Epilogue, Gather, Gemm, Init, Normalize,
    NormalizeOp, Operation, OutputWidth, QuantizedProduct, Rearrange, Reduce, ReduceOp,
    pack_weights,
};
use crate::scripted::{Fault, Script, ScriptedDevice};
use crate::{Buffer, Device, DeviceError, Options};

/// Runs `operation` on f64 numbers and returns the numbers of its last buffer.
fn done(operation: &Operation, inputs: &[&[f64]]) -> Vec<f64> {
    let specs = operation.buffers();
    let mut buffers: Vec<Vec<u8>> =
        specs.iter().map(|spec| vec![0; spec.bytes() as usize]).collect();
    for ((buffer, spec), input) in buffers.iter_mut().zip(&specs).zip(inputs) {
        *buffer = encode(spec.dtype, input);
    }
    execute(operation, &mut buffers);
    decode(specs.last().unwrap().dtype, buffers.last().unwrap())
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}

#[test]
fn small_products_by_hand() {
    let gemm = Gemm { alpha: 2.0, beta: 10.0, ..Gemm::new(Dtype::F64, 2, 2, 3) };
    let (a, b, c) =
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]);
    // A·B = [4 5; 10 11].
    near(&done(&Operation::Gemm(gemm), &[&a, &b, &c]), &[18.0, 20.0, 20.0, 22.0]);
    let (at, bt) = ([1.0, 4.0, 2.0, 5.0, 3.0, 6.0], [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    let both = Gemm { transpose_a: true, transpose_b: true, ..gemm };
    near(&done(&Operation::Gemm(both), &[&at, &bt, &c]), &[18.0, 20.0, 20.0, 22.0]);
    let biased = Gemm { epilogue: Epilogue::Bias, ..gemm };
    near(&done(&Operation::Gemm(biased), &[&a, &b, &[-18.0, 2.0], &c]), &[0.0, 22.0, 2.0, 24.0]);
    let gelu = Gemm { epilogue: Epilogue::Gelu, ..gemm };
    near(&done(&Operation::Gemm(gelu), &[&a, &b, &[-18.0, -30.0], &c])[..2], &[0.0, 0.0]);
}

fn quantized(dtype: Dtype, weights: Dtype) -> QuantizedProduct {
    QuantizedProduct { dtype, weights, m: 5, n: 7, k: 96, group: 64 }
}

#[test]
fn a_product_with_weights_of_few_bits_by_hand() {
    for weights in [Dtype::I8, Dtype::I4] {
        let op = QuantizedProduct { m: 1, n: 2, ..quantized(Dtype::F64, weights) };
        // Column 0 uses the first weight, column 1 one weight of each group.
        let mut numbers = vec![0; 2 * 96];
        for (at, number) in [(0, -8), (96, 7), (96 + 63, -1), (96 + 64, 5)] {
            numbers[at] = number;
        }
        let a: Vec<f64> = (1..=96).map(f64::from).collect();
        let bytes =
            [a.iter().flat_map(|x| x.to_le_bytes()).collect(), pack_weights(weights, &numbers)];
        let scales = encode(Dtype::F16, &[0.5, 9.0, 2.0, 0.25]);
        let mut buffers = [bytes.to_vec(), vec![scales, vec![0; 16]]].concat();
        assert_eq!(op.weight_bytes(), (buffers[1].len() + buffers[2].len()) as u64);
        execute(&Operation::Quantized(op), &mut buffers);
        near(&decode(Dtype::F64, &buffers[3]), &[-4.0, 2.0 * (7.0 - 64.0) + 0.25 * 5.0 * 65.0]);
    }
}

#[test]
fn a_small_convolution_by_hand() {
    let op = Convolution {
        dtype: Dtype::F64,
        batch: 1,
        in_channels: 1,
        out_channels: 1,
        height: 3,
        width: 3,
        kernel_height: 2,
        kernel_width: 2,
        stride: 2,
        padding: 1,
        dilation: 1,
        groups: 1,
    };
    let input: Vec<f64> = (1..=9).map(f64::from).collect();
    // With padding, the four patches are [0 0; 0 1], [0 0; 2 3], [0 4; 0 7] and [5 6; 8 9].
    let found = done(&Operation::Convolution(op), &[&input, &[1.0, 10.0, 100.0, 1000.0]]);
    near(&found, &[1000.0, 3200.0, 7040.0, 9865.0]);
}

#[test]
fn rows_are_normalized_by_hand() {
    let op = |op| Operation::Normalize(Normalize { op, dtype: Dtype::F64, rows: 2, columns: 2 });
    let x = [0.0, 0.0, 0.0, 3.0_f64.ln()];
    near(&done(&op(NormalizeOp::Softmax), &[&x]), &[0.5, 0.5, 0.25, 0.75]);
    let found =
        done(&op(NormalizeOp::LayerNorm), &[&[1.0, 3.0, 5.0, 5.0], &[1.0, 2.0], &[0.0, 10.0]]);
    let one = 1.0 / (1.0_f64 + 1e-5).sqrt();
    near(&found, &[-one, 10.0 + 2.0 * one, 0.0, 10.0]);
    let found = done(&op(NormalizeOp::RmsNorm), &[&[1.0, 7.0, 0.0, 0.0], &[1.0, 2.0]]);
    let root = (25.0_f64 + 1e-5).sqrt();
    near(&found, &[1.0 / root, 14.0 / root, 0.0, 0.0]);
}

#[test]
fn rows_are_rearranged_by_hand() {
    let (dtype, rotary) = (Dtype::F64, false);
    let op = Rearrange {
        dtype,
        batch: 1,
        rows: 2,
        columns: 3,
        width: 1,
        capacity: 3,
        position: 1,
        rotary,
    };
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let found = done(&Operation::Rearrange(op), &[&x, &[-1.0; 9]]);
    near(&found, &[-1.0, 1.0, 4.0, -1.0, 2.0, 5.0, -1.0, 3.0, 6.0]);
    // The first row is unchanged, the second is rotated by a quarter turn.
    let op = Rearrange { rows: 2, columns: 1, width: 2, rotary: true, ..op };
    let found = done(&Operation::Rearrange(op), &[&x[..4], &[1.0, 0.0, 0.0, 1.0], &[-1.0; 6]]);
    near(&found, &[-1.0, -1.0, 1.0, 2.0, -4.0, 3.0]);
}

#[test]
fn attention_by_hand() {
    let op = Attention {
        dtype: Dtype::F64,
        batch: 1,
        heads: 2,
        kv_heads: 1,
        head_dim: 1,
        queries: 2,
        positions: 2,
        capacity: 3,
        causal: true,
    };
    // A query that sees both positions weights them by 1/4 and 3/4. The unused capacity has no
    // effect.
    let (q, k, v) = ([5.0, 3.0_f64.ln(), 0.0, 0.0], [0.0, 1.0, 9.0], [4.0, 8.0, 1e9]);
    near(&done(&Operation::Attention(op), &[&q, &k, &v]), &[4.0, 7.0, 4.0, 6.0]);
    let all = Attention { causal: false, ..op };
    near(&done(&Operation::Attention(all), &[&[0.0; 4], &k, &v]), &[6.0; 4]);
}

#[test]
fn reductions_and_functions_by_hand() {
    let reduce = |op| Operation::Reduce(Reduce { op, dtype: Dtype::F64, elements: 4 });
    let x = [1.0, 4.0, -2.0, 4.0];
    near(&done(&reduce(ReduceOp::Sum), &[&x]), &[7.0]);
    near(&done(&reduce(ReduceOp::Mean), &[&x]), &[1.75]);
    near(&done(&reduce(ReduceOp::Max), &[&x]), &[4.0]);
    let position = done(&reduce(ReduceOp::Argmax), &[&x]);
    near(&position, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (op, x, expected) in [
        (ElementwiseOp::Relu, -1.0, 0.0),
        (ElementwiseOp::Sigmoid, 0.0, 0.5),
        (ElementwiseOp::Gelu, 0.0, 0.0),
        (ElementwiseOp::Gelu, 1.0, 0.841_191_990_608_276),
        (ElementwiseOp::Add, 2.0, 5.0),
        (ElementwiseOp::Multiply, 2.0, 6.0),
    ] {
        near(&[elementwise(op, x, 3.0)], &[expected]);
    }
}

/// Runs `operation` on a device with `script` and verifies it.
fn verified(operation: &Operation, script: Script) -> Result<f64, DeviceError> {
    let device = ScriptedDevice::new(script);
    let buffers: Vec<Buffer> = operation
        .buffers()
        .iter()
        .map(|spec| device.allocate(spec.bytes()))
        .collect::<Result<_, _>>()?;
    fill(&device, operation, &buffers, 9)?;
    device.prepare(operation, &Options::default(), &buffers)?.launch()?;
    verify(&device, operation, &buffers, 9, None)
}

/// Returns `gemm` with gaps between all rows and matrices.
fn with_gaps(gemm: Gemm) -> Gemm {
    let [a, b, c] = gemm.layouts();
    Gemm {
        ld_a: Some(a.columns + 3),
        ld_b: Some(b.columns + 1),
        ld_c: Some(c.columns + 2),
        stride_a: Some(a.rows * (a.columns + 3) + 5),
        stride_b: Some(b.rows * (b.columns + 1)),
        stride_c: Some(c.rows * (c.columns + 2) + 1),
        ..gemm
    }
}

/// The output is large enough to be sampled. The kernels wrongly use the layout of another
/// operation.
#[test]
fn a_kernel_that_reads_or_writes_gaps_is_found() {
    let device = ScriptedDevice::new(Script::default());
    for beta in [0.0, 0.5] {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::I8] {
            let beta = if dtype == Dtype::I8 { beta * 2.0 } else { beta };
            let gemm = Gemm { batch: 2, beta, ..Gemm::new(dtype, 70, 80, 40) };
            let right = with_gaps(gemm);
            let operation = Operation::Gemm(right);
            let buffers: Vec<Buffer> = operation
                .buffers()
                .iter()
                .map(|spec| device.allocate(spec.bytes()).unwrap())
                .collect();
            for (wrong, is_right) in [
                (right, true),
                (Gemm { ld_a: None, ..right }, false),
                (Gemm { ld_b: None, ..right }, false),
                (Gemm { ld_c: None, ..right }, false),
                (Gemm { stride_a: None, ..right }, false),
                (Gemm { stride_c: None, ..right }, false),
            ] {
                fill(&device, &operation, &buffers, 9).unwrap();
                let wrong = Operation::Gemm(wrong);
                device.prepare(&wrong, &Options::default(), &buffers).unwrap().launch().unwrap();
                let found = verify(&device, &operation, &buffers, 9, None);
                assert_eq!(found.is_ok(), is_right, "{wrong:?}: {found:?}");
            }
            let [a, _, c] = right.layouts();
            fill(&device, &operation, &buffers, 9).unwrap();
            device.prepare(&operation, &Options::default(), &buffers).unwrap().launch().unwrap();
            let (gap, size) = (c.position(1, 7, c.columns), operation.buffers()[2].dtype.bytes(1));
            device.write(&buffers[2], gap * size, &[7]).unwrap();
            assert!(verify(&device, &operation, &buffers, 9, None).is_err());
            let mut first = vec![0; dtype.bytes(a.leading) as usize];
            device.read(&buffers[0], 0, &mut first).unwrap();
            let gap = decode(dtype, &first)[a.columns as usize];
            assert!(if dtype == Dtype::I8 { gap < 0.0 } else { gap.is_nan() });
        }
    }
}

fn some_operations() -> Vec<Operation> {
    use crate::operation::{
        HostMemory, MemoryStream, PeakArithmetic, PointerChase, Stores, StreamPattern, Transfer,
        TransferDirection,
    };
    let mut all: Vec<Operation> = StreamPattern::ALL
        .iter()
        .flat_map(|&pattern| {
            [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16].map(|dtype| {
                Operation::Stream(MemoryStream {
                    pattern,
                    dtype,
                    elements: 1001,
                    stores: Stores::Temporal,
                })
            })
        })
        .collect();
    all.push(Operation::PointerChase(PointerChase {
        nodes: 50,
        line_bytes: 64,
        accesses: 77,
        seed: 1,
    }));
    all.push(Operation::PeakArithmetic(PeakArithmetic {
        dtype: Dtype::F32,
        operations: PeakArithmetic::UNIT,
    }));
    for dtype in [Dtype::Tf32, Dtype::Fp8, Dtype::Bf8, Dtype::Fp6, Dtype::Fp4, Dtype::I4, Dtype::I8]
    {
        all.push(Operation::PeakArithmetic(PeakArithmetic {
            dtype,
            operations: PeakArithmetic::UNIT,
        }));
    }
    all.push(Operation::Gather(Gather { dtype: Dtype::F16, of: 40, rows: 7, width: 5 }));
    for (capacity, position, rotary) in [(7, 0, false), (9, 2, true), (8, 0, false)] {
        let dtype = Dtype::F16;
        all.push(Operation::Rearrange(Rearrange {
            dtype,
            batch: 2,
            rows: 7,
            columns: 3,
            width: 5 + u64::from(rotary),
            capacity,
            position,
            rotary,
        }));
    }
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        all.extend(
            ElementwiseOp::ALL
                .iter()
                .map(|&op| Operation::Elementwise(Elementwise { op, dtype, elements: 999 })),
        );
        all.extend(
            ReduceOp::ALL.iter().map(|&op| Operation::Reduce(Reduce { op, dtype, elements: 999 })),
        );
        all.extend(
            NormalizeOp::ALL
                .iter()
                .map(|&op| Operation::Normalize(Normalize { op, dtype, rows: 7, columns: 33 })),
        );
    }
    // The fault changes the last byte, so both of its halves must be elements.
    for (dtype, elements) in [(Dtype::I8, 999), (Dtype::I4, 1000)] {
        all.extend(
            [ElementwiseOp::Add, ElementwiseOp::Relu]
                .map(|op| Operation::Elementwise(Elementwise { op, dtype, elements })),
        );
        all.extend(
            ReduceOp::ALL.iter().map(|&op| Operation::Reduce(Reduce { op, dtype, elements })),
        );
    }
    for (dtype, causal) in [(Dtype::F32, true), (Dtype::F16, false)] {
        let (batch, heads, kv_heads, head_dim, queries) = (2, 4, 2, 6, 5);
        let (positions, capacity) = (9, 11);
        all.push(Operation::Attention(Attention {
            dtype,
            batch,
            heads,
            kv_heads,
            head_dim,
            queries,
            positions,
            capacity,
            causal,
        }));
    }
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
        let gemm = Gemm { batch: 2, beta: 0.5, transpose_a: true, ..Gemm::new(dtype, 9, 8, 11) };
        all.extend([None, Some(100)].map(|stride_b| Operation::Gemm(Gemm { stride_b, ..gemm })));
        all.push(Operation::Gemm(with_gaps(gemm)));
    }
    all.push(Operation::Gemm(Gemm {
        batch: 2,
        beta: 1.0,
        transpose_b: true,
        ..Gemm::new(Dtype::I8, 9, 8, 11)
    }));
    let narrow =
        Gemm { stored: OutputWidth::AsInputs, beta: 0.5, ..Gemm::new(Dtype::Bf16, 9, 8, 11) };
    all.push(Operation::Gemm(narrow));
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
        all.extend(
            [Dtype::I8, Dtype::I4].map(|weights| Operation::Quantized(quantized(dtype, weights))),
        );
    }
    for epilogue in Epilogue::ALL {
        all.extend([Dtype::F32, Dtype::Fp8].map(|dtype| {
            Operation::Gemm(Gemm { epilogue, batch: 2, beta: 0.5, ..Gemm::new(dtype, 9, 8, 11) })
        }));
    }
    for init in Init::ALL {
        all.extend(
            [Dtype::F64, Dtype::F16, Dtype::I8].map(|dtype| {
                Operation::Gemm(Gemm { init, beta: 2.0, ..Gemm::new(dtype, 9, 8, 11) })
            }),
        );
    }
    all.extend(TransferDirection::ALL.iter().map(|&direction| {
        Operation::Transfer(Transfer { direction, host_memory: HostMemory::Pinned, bytes: 4004 })
    }));
    all
}

#[test]
fn right_results_pass() {
    for operation in some_operations() {
        let error = verified(&operation, Script::default());
        assert!(
            error.as_ref().is_ok_and(|&error| error <= tolerance(&operation, None)),
            "{operation:?}: {error:?}"
        );
    }
}

#[test]
fn wrong_results_do_not() {
    for operation in some_operations() {
        let wrong = verified(&operation, Script::with_fault(Fault::WrongResult { launch: 0 }));
        assert!(wrong.is_err(), "{operation:?}: {wrong:?}");
    }
}

#[test]
fn results_that_are_no_numbers_do_not() {
    for operation in some_operations() {
        let nan = verified(&operation, Script::with_fault(Fault::NotANumber { launch: 0 }));
        assert!(nan.is_err(), "{operation:?}: {nan:?}");
    }
}

/// A large product with one wrong element in the middle, off by as much as the largest. Samples are
/// unlikely to hit it; Freivalds' check must find it.
#[test]
fn one_wrong_element_of_a_large_product_is_found() {
    let gemm = Gemm::new(Dtype::F32, 120, 130, 140);
    let operation = Operation::Gemm(gemm);
    let device = ScriptedDevice::new(Script::default());
    let buffers: Vec<Buffer> =
        operation.buffers().iter().map(|spec| device.allocate(spec.bytes()).unwrap()).collect();
    fill(&device, &operation, &buffers, 9).unwrap();
    device.prepare(&operation, &Options::default(), &buffers).unwrap().launch().unwrap();
    assert!(verify(&device, &operation, &buffers, 9, None).is_ok());
    for index in [0, 5_000, 7_777, 10_001, 15_599] {
        let (mut old, at) = ([0; 4], 4 * index);
        device.read(&buffers[2], at, &mut old).unwrap();
        device.write(&buffers[2], at, &(f32::from_le_bytes(old) + 1.0).to_le_bytes()).unwrap();
        let error = verify(&device, &operation, &buffers, 9, None).unwrap_err();
        assert!(error.to_string().contains("wrong result"), "{error}");
        device.write(&buffers[2], at, &old).unwrap();
    }
}

/// A large product with low-bit weights and one wrong element in the middle. The weights consist of
/// bytes and scales.
#[test]
fn one_wrong_element_of_a_large_product_with_few_bits_is_found() {
    for weights in [Dtype::I8, Dtype::I4] {
        let op = QuantizedProduct { m: 90, n: 200, ..quantized(Dtype::F32, weights) };
        let operation = Operation::Quantized(op);
        let device = ScriptedDevice::new(Script::default());
        let buffers: Vec<Buffer> =
            operation.buffers().iter().map(|spec| device.allocate(spec.bytes()).unwrap()).collect();
        fill(&device, &operation, &buffers, 9).unwrap();
        device.prepare(&operation, &Options::default(), &buffers).unwrap().launch().unwrap();
        assert!(verify(&device, &operation, &buffers, 9, None).is_ok());
        for index in [1, 5_001, 7_777, 10_003, 17_998] {
            let (mut old, at) = ([0; 4], 4 * index);
            device.read(&buffers[3], at, &mut old).unwrap();
            device
                .write(&buffers[3], at, &(f32::from_le_bytes(old) + 200.0).to_le_bytes())
                .unwrap();
            assert!(verify(&device, &operation, &buffers, 9, None).is_err(), "{weights} {index}");
            device.write(&buffers[3], at, &old).unwrap();
        }
    }
}

/// The f64 reference, rounded once, is a correct kernel; none of its mutations is accepted.
#[test]
fn no_mutation_of_the_reference_survives() {
    let device = ScriptedDevice::new(Script::default());
    let reports = mutation::check_device(&device, &[None], 0..3, 1).unwrap();
    assert_eq!(reports.len(), mutation::operations().len());
    assert_eq!(mutation::list_survivors(&reports), Vec::<String>::new());
    for mutation in &mutation::Mutation::ALL {
        assert!(
            reports.iter().any(|report| report.tried.contains(mutation)),
            "{mutation} is never tried"
        );
    }
}

#[test]
fn types_without_a_reference_are_unsupported() {
    let operation = Operation::Elementwise(Elementwise {
        op: ElementwiseOp::Add,
        dtype: Dtype::Fp6,
        elements: 8,
    });
    assert!(matches!(verified(&operation, Script::default()), Err(DeviceError::Unsupported(_))));
}

proptest! {
    #[test]
    fn softmax_rows_add_up_to_one(row in prop::collection::vec(-50.0..50.0_f64, 1..100)) {
        let found = softmax_row(&row);
        prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_product_is_linear_in_alpha(m in 1_u64..6, n in 1_u64..6, k in 1_u64..6, alpha in -2.0..2.0_f64) {
        let gemm = Gemm::new(Dtype::F64, m, n, k);
        let values = |at: u64| at as f64 - 3.0;
        for index in 0..m * n {
            let one = gemm_element(&gemm, values, values, values, index);
            let scaled = gemm_element(&Gemm { alpha, ..gemm }, values, values, values, index);
            prop_assert!((scaled - alpha * one).abs() < 1e-9);
        }
    }
}
