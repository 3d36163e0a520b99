use super::*;
use rsb_device::device::DeviceInfo;
use rsb_device::operation::{Gemm, Normalize, NormalizeOp, QuantizedProduct, Reduce, ReduceOp};

const GPU: Target = Target {
    device_type: DeviceType::Gpu,
    units: 40,
    most_groups: 65535,
    store_bytes: 1,
    matrix: &[],
};
const CPU: Target = Target {
    device_type: DeviceType::Cpu,
    units: 2,
    most_groups: 65535,
    store_bytes: 1,
    matrix: &[],
};

fn planned(operation: &Operation) -> Plan {
    plan(operation, &Options::default(), GPU).unwrap()
}

fn stream(pattern: StreamPattern, dtype: Dtype, elements: u64) -> Operation {
    Operation::Stream(MemoryStream { pattern, dtype, elements, stores: Stores::Temporal })
}

#[test]
fn streams_go_pack_by_pack() {
    for (dtype, elements, packs) in [
        (Dtype::F32, 1000, 250),
        (Dtype::F64, 1000, 500),
        (Dtype::F16, 1001, 126),
        (Dtype::F32, 1, 1),
    ] {
        let plan = planned(&stream(StreamPattern::Triad, dtype, elements));
        assert_eq!(plan.dtype, dtype);
        assert_eq!(plan.steps[0].work, Work::Items(packs), "{dtype}");
        assert_eq!(plan.steps[0].arguments[3], Argument::Count(packs));
    }
}

#[test]
fn a_reduction_has_an_end_that_reads_what_each_group_left() {
    let reduce =
        |op, elements| planned(&Operation::Reduce(Reduce { op, dtype: Dtype::F32, elements }));
    let plan = reduce(ReduceOp::Argmax, 10_000_000);
    let Work::Groups(groups) = plan.steps[0].work else { panic!("{plan:?}") };
    assert_eq!(plan.scratch, vec![u64::from(groups) * 8; 2]);
    assert_eq!(plan.steps[1].arguments.last(), Some(&Argument::Count(u64::from(groups))));
    let Some(Argument::Count(share)) = plan.steps[0].arguments.last() else { panic!("{plan:?}") };
    assert!(share * u64::from(groups) * 4 >= 10_000_000, "every element must belong to a group");
    let one = reduce(ReduceOp::Mean, 3);
    assert_eq!(one.steps[0].work, Work::Groups(1));
    assert_eq!(one.steps[1].arguments.last(), Some(&Argument::Number(1.0 / 3.0)));
}

#[test]
fn a_launch_has_no_more_groups_than_the_device_takes() {
    let few = Target { most_groups: 100, ..GPU };
    for operation in [
        Operation::Reduce(Reduce { op: ReduceOp::Sum, dtype: Dtype::F32, elements: 1 << 30 }),
        Operation::Normalize(Normalize {
            op: NormalizeOp::Softmax,
            dtype: Dtype::F32,
            rows: 5000,
            columns: 8,
        }),
        Operation::Gemm(Gemm::new(Dtype::F32, 4096, 4096, 64)),
        Operation::Quantized(quantized(Dtype::F16, 4096)),
        Operation::PeakArithmetic(PeakArithmetic {
            dtype: Dtype::F32,
            operations: PeakArithmetic::UNIT,
        }),
    ] {
        let plan = plan(&operation, &Options::default(), few).unwrap();
        assert!(matches!(plan.steps[0].work, Work::Groups(groups) if groups <= 100), "{plan:?}");
    }
}

fn quantized(dtype: Dtype, n: u64) -> QuantizedProduct {
    QuantizedProduct { dtype, weights: Dtype::I4, m: 2, n, k: 64, group: 128 }
}

#[test]
fn weights_of_few_bits_have_a_group_for_eight_rows_of_them() {
    let plan = planned(&Operation::Quantized(quantized(Dtype::Bf16, 20)));
    assert_eq!((plan.module, plan.steps[0].work), (Module::Quantized, Work::Groups(3)));
    assert_eq!(
        plan.steps[0].arguments.last(),
        Some(&Argument::Count(4)),
        "the last argument must be the number of bits per weight"
    );
}

#[test]
fn products_take_the_kernel_that_suits_the_device() {
    let kernel = |target, gemm| {
        plan(&Operation::Gemm(gemm), &Options::default(), target).unwrap().steps[0].kernel
    };
    let square = |side| Gemm::new(Dtype::F32, side, side, side);
    assert_eq!(kernel(GPU, square(512)), "rsb_gemm_tiled");
    assert_eq!(kernel(CPU, square(512)), "rsb_gemm_strips");
    assert_eq!(kernel(GPU, square(8)), "rsb_gemm_naive");
    assert_eq!(
        kernel(GPU, Gemm::new(Dtype::F16, 1, 4096, 4096)),
        "rsb_gemm_naive",
        "a matrix-vector product (one token)"
    );
    assert_eq!(kernel(CPU, Gemm::new(Dtype::F16, 1, 4096, 4096)), "rsb_gemm_strips");
    let words = Target { store_bytes: 4, ..GPU };
    assert_eq!(
        kernel(words, Gemm::new(Dtype::F16, 64, 65, 64)),
        "rsb_gemm_naive",
        "rows that end within a word need the naive kernel"
    );
    assert_eq!(
        kernel(words, Gemm::new(Dtype::Bf16, 64, 65, 64)),
        "rsb_gemm_tiled",
        "products of bf16 are stored as f32"
    );
}

#[test]
fn what_there_is_no_kernel_for_is_unsupported_and_says_what_there_is() {
    let refused = |operation: &Operation, provider: Option<&str>| {
        let options = Options { provider: provider.map(str::to_owned), ..Options::default() };
        match plan(operation, &options, GPU) {
            Err(DeviceError::Unsupported(reason)) => reason.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let product = Operation::Gemm(Gemm::new(Dtype::F32, 64, 64, 64));
    assert!(
        refused(&product, Some("mkl")).contains("--backend cpu"),
        "oneMKL runs only on the CPU"
    );
    let triad = stream(StreamPattern::Triad, Dtype::F32, 8);
    assert!(refused(&stream(StreamPattern::Triad, Dtype::I8, 8), None).contains("bf16"));
    assert!(refused(&triad, Some("rocblas")).contains("native"));
    let around = MemoryStream {
        pattern: StreamPattern::Copy,
        dtype: Dtype::F32,
        elements: 8,
        stores: Stores::NonTemporal,
    };
    assert!(refused(&Operation::Stream(around), None).contains("temporal"));
    let halves = Gemm { alpha: 0.5, ..Gemm::new(Dtype::I8, 8, 8, 8) };
    assert!(refused(&Operation::Gemm(halves), None).contains("integers"));
    let gaps = Gemm { ld_c: Some(12), ..Gemm::new(Dtype::F32, 8, 8, 8) };
    assert!(refused(&Operation::Gemm(gaps), None).contains("no gaps"));
    let rows = Operation::Normalize(Normalize {
        op: NormalizeOp::Softmax,
        dtype: Dtype::F16,
        rows: 2,
        columns: 9,
    });
    assert!(plan(&rows, &Options::default(), GPU).is_ok());
    assert!(plan(&rows, &Options::default(), Target { store_bytes: 4, ..GPU }).is_err());
    assert!(refused(&Operation::Quantized(quantized(Dtype::F64, 8)), None).contains("bf16"));
    let odd = QuantizedProduct { k: 48, ..quantized(Dtype::F32, 8) };
    assert!(refused(&Operation::Quantized(odd), None).contains("multiple of 32"));
    let words = Target { store_bytes: 4, ..GPU };
    assert!(
        plan(&Operation::Quantized(quantized(Dtype::F16, 9)), &Options::default(), words).is_err()
    );
    let odd = PeakArithmetic { dtype: Dtype::F32, operations: 7 };
    assert!(refused(&Operation::PeakArithmetic(odd), None).contains("multiple of"));
}

#[test]
fn matrix_units_are_planned_for_the_types_that_they_multiply() {
    let options = Options { provider: Some("matrix".to_owned()), ..Options::default() };
    let peak = |dtype, operations| Operation::PeakArithmetic(PeakArithmetic { dtype, operations });
    let units = Target { matrix: &[Dtype::F16], ..GPU };
    let plan = |target, operation: &Operation| plan(operation, &options, target);
    let found = plan(units, &peak(Dtype::F16, 80 * PeakArithmetic::UNIT)).unwrap();
    assert_eq!((found.steps[0].kernel, found.provider), ("rsb_peak_matrix", "native-matrix"));
    assert_eq!(
        found.steps[0].arguments[1],
        Argument::Count(10),
        "one matrix piece is as long as eight vector pieces"
    );
    for (target, dtype) in [(units, Dtype::Bf16), (GPU, Dtype::F16)] {
        let refused = plan(target, &peak(dtype, 80 * PeakArithmetic::UNIT)).unwrap_err();
        assert!(
            matches!(&refused, DeviceError::Unsupported(reason) if reason.why.contains("cooperative")),
            "{refused}"
        );
    }
    assert!(
        plan(units, &peak(Dtype::F16, PeakArithmetic::UNIT)).is_err(),
        "fewer operations than one piece"
    );
}

#[test]
fn versions_are_found_in_what_drivers_report() {
    for (text, expected) in [
        ("Mesa 25.0.3-1ubuntu2 (LLVM 19.1.7)", Some("25.0.3")),
        ("Mesa 25.1.0-devel (git-0123456789)", Some("25.1.0")),
        ("570.86.15", Some("570.86.15")),
        ("2023.Q3.1 (LLPC)", Some("2023.Q3.1")),
        ("3590.0 (HSA1.1,LC)", Some("3590.0")),
        ("5.0+debian", Some("5.0")),
        ("v1.r38p1-01eac0.0123456789", None),
        ("Driver Build: 85da404, 1606794520 / Date: 11/30/20", None),
        ("", None),
    ] {
        assert_eq!(version_in(text), expected, "{text}");
    }
}

#[test]
fn cpus_are_spared_what_takes_them_seconds() {
    let info =
        |device_type| DeviceInfo { device_type, ..rsb_device::scripted::Script::default().info };
    let large = Operation::Gemm(Gemm::new(Dtype::F32, 512, 512, 512));
    let check = |operation: &Operation, device_type| {
        check_patience(operation, &info(device_type), [1e8, 1e8])
    };
    assert!(check(&large, DeviceType::Gpu).is_ok());
    assert!(
        matches!(check(&large, DeviceType::Cpu), Err(DeviceError::Unsupported(reason)) if reason.what.contains("268"))
    );
    assert!(check(&Operation::Gemm(Gemm::new(Dtype::F32, 64, 64, 64)), DeviceType::Cpu).is_ok());
    assert!(check(&stream(StreamPattern::Copy, Dtype::F32, 1 << 28), DeviceType::Cpu).is_ok());
}

#[test]
fn a_flush_writes_and_then_reads_other_memory() {
    let plan = flush(1 << 20, GPU);
    let kernels: Vec<_> = plan.steps.iter().map(|step| (step.kernel, step.arguments[0])).collect();
    assert_eq!(
        kernels[..2],
        [("rsb_flush", Argument::Buffer(0)), ("rsb_read", Argument::Buffer(1))]
    );
    assert_eq!(plan.steps[0].work, Work::Items(1 << 20));
    assert_eq!(
        plan.steps[1].arguments[2],
        Argument::Count(1 << 20),
        "the flush must read as many packs as it writes"
    );
}

#[test]
fn a_flush_is_larger_than_any_cache_where_caches_are_unknown() {
    const MIB: u64 = 1 << 20;
    let bytes = |device_type, cache: Option<u64>, memory| {
        let caches = cache.map(|size_bytes| rsb_model::environment::Cache {
            level: 2,
            size_bytes,
            shared_by: None,
        });
        let info = rsb_device::scripted::Script::default().info;
        let caches = caches.into_iter().collect();
        flush_bytes(&DeviceInfo { device_type, caches, usable_memory_bytes: memory, ..info })
    };
    for (name, device_type, cache, memory, expected) in [
        ("RTX 4090", DeviceType::Gpu, Some(72 * MIB), 20 << 30, 144 * MIB),
        ("a small cache", DeviceType::Gpu, Some(4 * MIB), 20 << 30, 64 * MIB),
        ("unknown caches", DeviceType::Gpu, None, 20 << 30, 512 * MIB),
        (
            "unknown caches and little memory: a quarter, for both buffers",
            DeviceType::Gpu,
            None,
            2 << 30,
            256 * MIB,
        ),
        ("a CPU", DeviceType::Cpu, None, 20 << 30, 64 * MIB),
    ] {
        assert_eq!(bytes(device_type, cache, memory), expected, "{name}");
    }
}
