//! Tests of every kernel against the reference, element by element, on random shapes.

use proptest::prelude::*;
use rsb_model::Dtype;

use super::*;
use rsb_device::convert::{decode, word};
use rsb_device::operation::{
    Allocate, Attention, Churn, Convolution, Elementwise, ElementwiseOp, Gather, Gemm, Normalize,
    NormalizeOp, OutputWidth, PeakArithmetic, PointerChase, QuantizedProduct, Rearrange, Reduce,
    ReduceOp, Stores, StreamPattern, Touch,
};
use rsb_device::reference::mutation::{check_device, list_survivors, seeds_of_slow_test, table};
use rsb_device::reference::{execute, fill, tolerance, verify};

const SEED: u64 = 42;

/// Runs `operation` once and compares every element with the reference, computed from the same
/// bytes.
fn check(operation: &Operation, options: &Options) -> Result<(), DeviceError> {
    let device = CpuDevice::new();
    let specs = operation.buffers();
    let buffers =
        specs.iter().map(|spec| device.allocate(spec.bytes())).collect::<Result<Vec<_>, _>>()?;
    fill(&device, operation, &buffers, SEED)?;
    let bytes_of = |buffer: &Buffer| {
        let mut bytes = vec![0; buffer.bytes() as usize];
        device.read(buffer, 0, &mut bytes).map(|()| bytes)
    };
    let mut expected = buffers.iter().map(bytes_of).collect::<Result<Vec<_>, _>>()?;
    let mut kernel = device.prepare(operation, options, &buffers)?;
    kernel.launch()?;
    let sums_in = kernel.sums_in();
    let found = buffers.iter().map(bytes_of).collect::<Result<Vec<_>, _>>()?;
    execute(operation, &mut expected);
    let last = specs.len() - 1;
    for index in 0..last {
        assert_eq!(found[index], expected[index], "input {index} of {operation:?} changed");
    }
    let dtype = specs[last].dtype;
    if dtype == Dtype::I8 {
        assert_eq!(word(&found[last]), word(&expected[last]), "{operation:?}");
    } else {
        let limit = tolerance(operation, sums_in);
        close(operation, &decode(dtype, &found[last]), &decode(dtype, &expected[last]), limit);
    }
    verify(&device, operation, &buffers, SEED, sums_in).map(drop)
}

fn close(operation: &Operation, found: &[f64], expected: &[f64], limit: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / largest;
        assert!(
            error <= limit || found.to_bits() == expected.to_bits(),
            "{operation:?}: element {index} is {found}, not {expected}"
        );
    }
}

/// Checks a product with one of the `rsb-gemm` providers, if this CPU supports it.
fn check_where_it_is(gemm: &Gemm, provider: &str, count: u32) {
    let options = Options { provider: Some(provider.to_owned()), ..threads(count) };
    match check(&Operation::Gemm(*gemm), &options) {
        Ok(()) => {}
        Err(DeviceError::Unsupported(reason)) => {
            let (lacks, never) =
                (reason.why.contains("this CPU"), reason.why.contains("no product of"));
            assert!(provider != "native" && (lacks || never), "{reason}");
        }
        Err(failed) => panic!("{failed}"),
    }
}

/// Returns `gemm` with `gap` elements after each row.
fn with_gaps(gemm: Gemm, gap: u64) -> Gemm {
    let [ld_a, ld_b, ld_c] = gemm.layouts().map(|layout| Some(layout.columns + gap));
    Gemm { ld_a, ld_b, ld_c, ..gemm }
}

#[test]
fn products_of_our_own_of_more_than_a_block() {
    for name in rsb_gemm::PROVIDERS {
        for (dtype, k) in
            [(Dtype::F32, 1030), (Dtype::F16, 1030), (Dtype::Bf16, 2053), (Dtype::I8, 4105)]
        {
            check_where_it_is(&Gemm::new(dtype, 490, 7, k), name, 1);
            check_where_it_is(&Gemm { transpose_b: true, ..Gemm::new(dtype, 3, 2050, k) }, name, 2);
        }
    }
}

fn threads(count: u32) -> Options {
    Options { threads: Some(count), ..Options::default() }
}

fn any_threads() -> impl Strategy<Value = u32> {
    1..=CpuDevice::new().info().units.min(3)
}

const FLOATS: [Dtype; 3] = [Dtype::F32, Dtype::F16, Dtype::Bf16];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn streams(
        pattern in prop::sample::select(&StreamPattern::ALL),
        dtype in prop::sample::select(vec![Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16]),
        elements in 1_u64..20_000,
        around: bool,
        count in any_threads(),
    ) {
        let stores = if around && cfg!(target_arch = "x86_64") { Stores::NonTemporal } else { Stores::Temporal };
        let stream = rsb_device::operation::MemoryStream { pattern, dtype, elements, stores };
        check(&Operation::Stream(stream), &threads(count)).unwrap();
    }

    #[test]
    fn elementwise(
        op in prop::sample::select(&ElementwiseOp::ALL),
        dtype in prop::sample::select(FLOATS.to_vec()),
        elements in 1_u64..10_000,
        count in any_threads(),
    ) {
        check(&Operation::Elementwise(Elementwise { op, dtype, elements }), &threads(count)).unwrap();
    }

    #[test]
    fn reductions(
        op in prop::sample::select(&ReduceOp::ALL),
        dtype in prop::sample::select(FLOATS.to_vec()),
        elements in 1_u64..20_000,
        count in any_threads(),
    ) {
        check(&Operation::Reduce(Reduce { op, dtype, elements }), &threads(count)).unwrap();
    }

    #[test]
    fn normalizations(
        op in prop::sample::select(&NormalizeOp::ALL),
        dtype in prop::sample::select(FLOATS.to_vec()),
        rows in 1_u64..40,
        columns in 1_u64..300,
        count in any_threads(),
    ) {
        check(&Operation::Normalize(Normalize { op, dtype, rows, columns }), &threads(count)).unwrap();
    }

    #[test]
    fn attention(
        dtype in prop::sample::select(FLOATS.to_vec()),
        (batch, kv_heads, group, head_dim) in (1_u64..3, 1_u64..3, 1_u64..4, 1_u64..40),
        (queries, before, room) in (1_u64..80, 0_u64..150, 0_u64..3),
        (causal, count) in (any::<bool>(), any_threads()),
    ) {
        let (heads, positions) = (kv_heads * group, before + queries);
        let capacity = positions + room;
        let op = Attention { dtype, batch, heads, kv_heads, head_dim, queries, positions, capacity, causal };
        check(&Operation::Attention(op), &threads(count)).unwrap();
    }

    #[test]
    fn rearrangements(
        dtype in prop::sample::select(vec![Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16]),
        (batch, rows, columns, width) in (1_u64..4, 1_u64..9, 1_u64..9, 1_u64..20),
        (position, room) in (0_u64..5, 0_u64..5),
        (rotary, count) in (any::<bool>(), any_threads()),
    ) {
        let capacity = position + rows + room;
        // Only pairs can be rotated, and only in types computed in f32.
        let (width, rotary) = if dtype == Dtype::F64 { (width, false) } else { (width << u32::from(rotary), rotary) };
        let op = Rearrange { dtype, batch, rows, columns, width, capacity, position, rotary };
        check(&Operation::Rearrange(op), &threads(count)).unwrap();
    }

    #[test]
    fn gathered_rows(
        dtype in prop::sample::select(vec![Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16]),
        (of, rows, width) in (1_u64..50, 1_u64..40, 1_u64..20),
        count in any_threads(),
    ) {
        check(&Operation::Gather(Gather { dtype, of, rows, width }), &threads(count)).unwrap();
    }

    #[test]
    fn products(
        dtype in prop::sample::select(vec![Dtype::F64, Dtype::F32, Dtype::F16]),
        sizes in (1_u64..70, 1_u64..70, 1_u64..70, 1_u64..4),
        transposes: (bool, bool),
        factors in (prop::sample::select(vec![1.0, -0.5]), prop::sample::select(vec![0.0, 1.0, 0.5])),
        count in any_threads(),
    ) {
        let (m, n, k, batch) = sizes;
        let gemm = Gemm {
            batch,
            transpose_a: transposes.0,
            transpose_b: transposes.1,
            alpha: factors.0,
            beta: factors.1,
            ..Gemm::new(dtype, m, n, k)
        };
        check(&Operation::Gemm(gemm), &threads(count)).unwrap();
    }

    #[test]
    fn products_of_our_own(
        dtype in prop::sample::select(vec![Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8]),
        name in prop::sample::select(rsb_gemm::PROVIDERS.to_vec()),
        sizes in (prop_oneof![1_u64..20, 1_u64..150], 1_u64..150, 1_u64..150, 1_u64..4),
        (transpose_a, transpose_b, is_narrow) in any::<(bool, bool, bool)>(),
        factors in (prop::sample::select(vec![1.0, -0.5]), prop::sample::select(vec![0.0, 1.0, 0.5])),
        (count, gap) in (any_threads(), 0_u64..20),
    ) {
        let (m, n, k, batch) = sizes;
        // Products of i8 are integers, so factors must be whole.
        let (alpha, beta) = if dtype == Dtype::I8 { (factors.0 * 2.0, factors.1 * 2.0) } else { factors };
        let stored = if is_narrow && dtype != Dtype::I8 { OutputWidth::AsInputs } else { OutputWidth::Wide };
        let gemm = Gemm { batch, transpose_a, transpose_b, alpha, beta, stored, ..Gemm::new(dtype, m, n, k) };
        check_where_it_is(&with_gaps(gemm, gap), name, count);
    }

    #[test]
    fn products_with_weights_of_few_bits(
        dtype in prop::sample::select(FLOATS.to_vec()),
        weights in prop::sample::select(vec![Dtype::I8, Dtype::I4]),
        // Covers multiplication in registers and in several panels.
        (m, n, units, group) in (1_u64..60, 1_u64..150, 1_u64..9, 1_u64..5),
        count in any_threads(),
    ) {
        let op = QuantizedProduct { dtype, weights, m, n, k: 32 * units, group: 32 * group };
        check(&Operation::Quantized(op), &threads(count)).unwrap();
    }

    #[test]
    fn convolutions(
        dtype in prop::sample::select(FLOATS.to_vec()),
        sizes in (1_u64..3, 1_u64..4, 1_u64..4, 3_u64..14, 3_u64..14),
        kernel in (1_u64..4, 1_u64..4),
        steps in (1_u64..4, 0_u64..4, 1_u64..3),
        groups in 1_u64..4,
        count in any_threads(),
    ) {
        let (batch, in_per_group, out_per_group, height, width) = sizes;
        let op = Convolution {
            dtype,
            batch,
            in_channels: in_per_group * groups,
            out_channels: out_per_group * groups,
            height,
            width,
            kernel_height: kernel.0,
            kernel_width: kernel.1,
            stride: steps.0,
            padding: steps.1,
            dilation: steps.2,
            groups,
        };
        prop_assume!(op.output_size().is_some());
        check(&Operation::Convolution(op), &threads(count)).unwrap();
    }

    #[test]
    fn chases(nodes in 2_u64..500, accesses in 1_u64..1000, seed: u64) {
        let chase = PointerChase { nodes, line_bytes: 64, accesses, seed };
        check(&Operation::PointerChase(chase), &Options::default()).unwrap();
    }
}

#[test]
fn every_library_that_is_here_gives_the_same_products() {
    let mut tried = Vec::new();
    for provider in ["gemm", "native", "openblas", "mkl", "onednn"] {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8] {
            for (transpose_a, transpose_b) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                // Half of an integer may not be representable.
                let beta = match provider {
                    "onednn" => 0.0,
                    _ if dtype == Dtype::I8 => 2.0,
                    _ => 0.5,
                };
                let gemm = Gemm {
                    batch: 2,
                    transpose_a,
                    transpose_b,
                    beta,
                    ..Gemm::new(dtype, 33, 17, 65)
                };
                let options = Options { provider: Some(provider.to_owned()), ..Options::default() };
                let (stride_a, stride_c) = (Some(6000), Some(2000));
                let padded = Gemm { stride_a, stride_c, ..with_gaps(gemm, 2) };
                for gemm in [gemm, Gemm { stride_b: Some(1200), ..gemm }, padded] {
                    match check(&Operation::Gemm(gemm), &options) {
                        Ok(()) => tried.push(provider),
                        Err(DeviceError::Unsupported(reason)) => assert!(!reason.cure.is_empty()),
                        Err(failed) => panic!("{provider}: {failed}"),
                    }
                }
            }
        }
    }
    let count = |name: &str| tried.iter().filter(|&&provider| provider == name).count();
    assert!(count("gemm") >= 24, "the gemm crate supports f64 and f32 in twelve variants each");
    assert_eq!(
        count("native"),
        48,
        "native kernels support f32, f16, bf16 and i8 in twelve variants each"
    );
    match count("onednn") {
        0 => test_needs::missing(
            "onednn",
            "`pip install onednn-cpu-gomp`, and set DNNLROOT to the directory that contains its lib",
        ),
        several => assert!(several >= 8, "f32 in eight variants"),
    }
}

#[test]
fn peaks_reach_their_fixed_point_on_any_number_of_threads() {
    for dtype in [Dtype::F32, Dtype::F64] {
        for count in 1..=CpuDevice::new().info().units.min(2) {
            let peak = PeakArithmetic { dtype, operations: PeakArithmetic::UNIT * 5 };
            check(&Operation::PeakArithmetic(peak), &threads(count)).unwrap();
        }
    }
}

#[test]
fn the_heap_is_measured() {
    let churn = Churn {
        min_bytes: 16,
        max_bytes: 64 << 10,
        live_bytes: 4 << 20,
        replacements: 500,
        seed: 3,
    };
    let device = CpuDevice::new();
    let operation = Operation::Churn(churn);
    let buffers = vec![device.allocate(16).unwrap()];
    if cfg!(target_os = "linux") {
        device.prepare(&operation, &Options::default(), &buffers).unwrap().launch().unwrap();
        verify(&device, &operation, &buffers, SEED, None).unwrap();
    }
    for touch in [Touch::Untouched, Touch::Written] {
        let operation = Operation::Allocate(Allocate { bytes: 1 << 20, touch });
        device.prepare(&operation, &Options::default(), &[]).unwrap().launch().unwrap();
    }
    let absurd = Operation::Allocate(Allocate { bytes: 1 << 62, touch: Touch::Untouched });
    let refused = device.prepare(&absurd, &Options::default(), &[]).unwrap().launch();
    assert!(matches!(refused, Err(DeviceError::Failed(_))), "{refused:?}");
}

#[test]
fn what_the_cpu_cannot_do_is_unsupported_with_a_cure() {
    let device = CpuDevice::new();
    let too_many = device.info().units + 1;
    let add =
        |dtype| Operation::Elementwise(Elementwise { op: ElementwiseOp::Add, dtype, elements: 10 });
    let elsewhere =
        |provider: &str| Options { provider: Some(provider.to_owned()), ..Options::default() };
    let quantized = |dtype, k| {
        Operation::Quantized(QuantizedProduct {
            dtype,
            weights: Dtype::I4,
            m: 2,
            n: 3,
            k,
            group: 64,
        })
    };
    for (operation, options) in [
        (add(Dtype::F64), Options::default()),
        (add(Dtype::F32), threads(too_many)),
        (add(Dtype::F32), elsewhere("gemm")),
        (Operation::Gemm(Gemm::new(Dtype::F32, 2, 2, 2)), elsewhere("rocblas")),
        (Operation::Gemm(Gemm::new(Dtype::Bf16, 2, 2, 2)), elsewhere("gemm")),
        (Operation::Gemm(Gemm::new(Dtype::I8, 2, 2, 2)), elsewhere("gemm")),
        (
            Operation::Gemm(Gemm { alpha: 0.5, ..Gemm::new(Dtype::I8, 2, 2, 2) }),
            elsewhere("native"),
        ),
        (Operation::Gemm(Gemm::new(Dtype::Bf16, 2, 2, 2)), elsewhere("native-avx512fp16")),
        (
            Operation::PeakArithmetic(PeakArithmetic { dtype: Dtype::Fp8, operations: 0 }),
            Options::default(),
        ),
        (quantized(Dtype::F64, 64), Options::default()),
        (quantized(Dtype::F32, 48), Options::default()),
    ] {
        let buffers: Vec<Buffer> =
            operation.buffers().iter().map(|spec| device.allocate(spec.bytes()).unwrap()).collect();
        match device.prepare(&operation, &options, &buffers).err() {
            Some(DeviceError::Unsupported(reason)) => {
                assert!(!reason.cure.is_empty(), "{operation:?}");
            }
            other => panic!("{operation:?}: {other:?}"),
        }
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let device = CpuDevice::new();
    let operation = Operation::Elementwise(Elementwise {
        op: ElementwiseOp::Relu,
        dtype: Dtype::F32,
        elements: 100,
    });
    let small = vec![device.allocate(400).unwrap(), device.allocate(399).unwrap()];
    assert!(device.prepare(&operation, &Options::default(), &small).is_err());
    assert!(device.prepare(&operation, &Options::default(), &small[..1]).is_err());
    assert!(device.allocate(u64::MAX).is_err());
    assert!(device.write(&small[0], 399, &[0, 0]).is_err());
    assert!(device.read(&Buffer::new(4, 0_u32), 0, &mut [0]).is_err());
}

#[test]
fn memory_that_is_not_there_is_told_from_memory_that_is_refused() {
    let mut device = CpuDevice::new();
    let beyond = device.allocate(u64::MAX).unwrap_err().to_string();
    assert!(
        beyond.contains("a benchmark may use at most") && beyond.contains(" on cpu:0"),
        "{beyond}"
    );
    device.info.usable_memory_bytes = u64::MAX;
    let refused = device.allocate(1 << 60).unwrap_err().to_string();
    assert!(
        refused.contains("1152921504.6 GB of memory") && refused.contains("refused"),
        "{refused}"
    );
}

#[test]
fn time_goes_on_and_caches_can_be_flushed() {
    let device = CpuDevice::new();
    let mut stream = device.stream().unwrap();
    let from = stream.record().unwrap();
    device.flush_caches().unwrap();
    device.flush_caches().unwrap();
    let to = stream.record().unwrap();
    stream.synchronize().unwrap();
    assert!(stream.elapsed_ns(from, to).unwrap() > 0.0);
    assert!(stream.elapsed_ns(to, from).is_err());
}

/// Providers to test: the default choice of the device and every provider that may be available,
/// except those that support only other types.
const PROVIDERS: [Option<&str>; 9] = [
    None,
    Some("gemm"),
    Some("native"),
    Some("native-avx512"),
    Some("native-avx512fp16"),
    Some("native-avx2"),
    Some("openblas"),
    Some("mkl"),
    Some("onednn"),
];

#[test]
fn correct_kernels_pass_and_no_mutation_does() {
    let reports = check_device(&CpuDevice::new(), &PROVIDERS, 0..20, 1).unwrap();
    assert!(reports.len() > 200, "{}", reports.len());
    assert_eq!(list_survivors(&reports), Vec::<String>::new());
}

#[test]
#[ignore = "a thousand seeds take half an hour; cargo xtask test --slow"]
#[allow(clippy::print_stdout)] // It prints a table.
fn slow_correct_kernels_pass_on_a_thousand_seeds() {
    let reports = check_device(&CpuDevice::new(), &PROVIDERS, 0..seeds_of_slow_test(), 20).unwrap();
    println!("{}", table(&reports));
    assert_eq!(list_survivors(&reports), Vec::<String>::new());
}
