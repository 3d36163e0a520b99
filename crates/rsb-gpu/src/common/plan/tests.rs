//! Plans against the table of kernels.

use super::*;
use crate::common::catalog::Parameter;
use rsb_device::operation::{
    Attention, Convolution, Elementwise, ElementwiseOp, Gather, Gemm, Normalize, NormalizeOp,
    OutputWidth, PointerChase, QuantizedProduct, Rearrange, Reduce, ReduceOp,
};

const MI300X: Gpu<'static> = Gpu { arch: "gfx942", units: 304 };

fn every_operation(dtype: Dtype) -> Vec<Operation> {
    let mut all = Vec::new();
    for pattern in StreamPattern::ALL {
        for stores in Stores::ALL {
            all.push(Operation::Stream(MemoryStream { pattern, dtype, elements: 1001, stores }));
        }
    }
    all.extend(
        ElementwiseOp::ALL
            .iter()
            .map(|&op| Operation::Elementwise(Elementwise { op, dtype, elements: 77 })),
    );
    all.extend(
        ReduceOp::ALL.iter().map(|&op| Operation::Reduce(Reduce { op, dtype, elements: 1 << 24 })),
    );
    all.extend(
        NormalizeOp::ALL
            .iter()
            .map(|&op| Operation::Normalize(Normalize { op, dtype, rows: 5, columns: 9 })),
    );
    all.push(Operation::Gather(Gather { dtype, of: 9, rows: 3, width: 8 }));
    for rotary in [false, true] {
        let cache = Rearrange {
            dtype,
            batch: 2,
            rows: 3,
            columns: 4,
            width: 8,
            capacity: 9,
            position: 5,
            rotary,
        };
        all.push(Operation::Rearrange(cache));
    }
    all.extend([attention(dtype, 40), attention(dtype, 1)].map(Operation::Attention));
    all.push(Operation::Convolution(Convolution {
        dtype,
        batch: 2,
        in_channels: 4,
        out_channels: 6,
        height: 8,
        width: 8,
        kernel_height: 3,
        kernel_width: 3,
        stride: 1,
        padding: 1,
        dilation: 1,
        groups: 2,
    }));
    all.push(Operation::Gemm(Gemm::new(dtype, 100, 200, 300)));
    all.push(Operation::Gemm(Gemm::new(dtype, 3, 5, 7)));
    all.push(Operation::Gemm(Gemm {
        stored: OutputWidth::AsInputs,
        ..Gemm::new(dtype, 100, 200, 300)
    }));
    if dtype != Dtype::F64 {
        all.extend([1, 5, 40].map(|m| Operation::Quantized(quantized(dtype, m))));
    }
    all.push(Operation::PointerChase(PointerChase {
        nodes: 10,
        line_bytes: 128,
        accesses: 100,
        seed: 1,
    }));
    all
}

fn attention(dtype: Dtype, queries: u64) -> Attention {
    let (batch, heads, kv_heads, head_dim) = (2, 6, 3, 64);
    let (positions, capacity, causal) = (50, 60, queries > 1);
    Attention { dtype, batch, heads, kv_heads, head_dim, queries, positions, capacity, causal }
}

fn quantized(dtype: Dtype, m: u64) -> QuantizedProduct {
    QuantizedProduct { dtype, weights: Dtype::I4, m, n: 100, k: 320, group: 128 }
}

/// Returns whether `argument` is valid for `parameter`.
fn fits(parameter: Parameter, argument: Argument) -> bool {
    match argument {
        Argument::Buffer(_) => {
            matches!(parameter, Parameter::In | Parameter::Out | Parameter::InOut)
        }
        Argument::Scratch { .. } => matches!(parameter, Parameter::Scratch),
        Argument::Counter => matches!(parameter, Parameter::InOut),
        Argument::Count(_) => matches!(parameter, Parameter::Count),
        Argument::Number(_) => matches!(parameter, Parameter::Number),
    }
}

#[test]
fn every_operation_gives_its_kernel_what_the_table_says() {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16] {
        for operation in every_operation(dtype) {
            let plan = plan(&operation, &Options::default(), MI300X).unwrap();
            assert_eq!(plan.arguments.len(), plan.kernel.parameters.len(), "{}", plan.symbol);
            for (&parameter, &argument) in plan.kernel.parameters.iter().zip(&plan.arguments) {
                assert!(
                    fits(parameter, argument),
                    "{}: {argument:?} for {parameter:?}",
                    plan.symbol
                );
            }
            let buffers = operation.buffers().len();
            for index in 0..buffers {
                assert!(
                    plan.arguments.contains(&Argument::Buffer(index)),
                    "{}: buffer {index}",
                    plan.symbol
                );
            }
            assert!(
                plan.grid >= 1 && plan.block >= 1 && plan.block <= plan.kernel.block,
                "{}",
                plan.symbol
            );
            assert!(plan.kernel.symbols(MI300X.arch).contains(&plan.symbol), "{}", plan.symbol);
        }
    }
}

#[test]
fn the_matrix_units_are_used_where_they_are() {
    let peak = |dtype, operations| Operation::PeakArithmetic(PeakArithmetic { dtype, operations });
    let symbol = |arch, dtype, operations| {
        plan(&peak(dtype, operations), &Options::default(), Gpu { arch, units: 60 }).unwrap().symbol
    };
    assert_eq!(symbol("gfx90a", Dtype::F16, MATRIX_PIECE), "rsb_peak_matrix_f16");
    assert_eq!(symbol("gfx90a", Dtype::F16, PeakArithmetic::UNIT), "rsb_peak_vector_f16");
    assert_eq!(symbol("gfx1030", Dtype::F16, MATRIX_PIECE), "rsb_peak_vector_f16");
    let options = Options { provider: Some("matrix".into()), ..Options::default() };
    let none = plan(&peak(Dtype::F16, MATRIX_PIECE), &options, Gpu { arch: "gfx1030", units: 60 })
        .unwrap_err();
    assert!(
        none.to_string().contains("gfx1030") && none.to_string().contains("gfx908 or sm_80"),
        "{none}"
    );
    let sparse = Options { provider: Some("sparse".into()), ..Options::default() };
    let found = plan(&peak(Dtype::Bf8, MATRIX_PIECE), &sparse, MI300X).unwrap();
    assert_eq!(found.symbol, "rsb_peak_sparse_bf8");
    let none = plan(&peak(Dtype::F16, MATRIX_PIECE), &sparse, Gpu { arch: "gfx90a", units: 104 })
        .unwrap_err();
    assert!(none.to_string().contains("gfx942 or sm_80"), "{none}");
    let by_block =
        plan(&peak(Dtype::Fp4, MATRIX_PIECE), &options, Gpu { arch: "sm_100", units: 148 })
            .unwrap_err();
    assert!(
        by_block.to_string().contains("does not use; the first with a kernel is gfx950 or sm_120"),
        "{by_block}"
    );
    let odd = plan(&peak(Dtype::F16, PeakArithmetic::UNIT), &options, MI300X).unwrap_err();
    assert!(odd.to_string().contains("196608"), "{odd}");
}

/// Every rate in the table of architectures must have a peak kernel, or an error that names the
/// type without one.
#[test]
fn each_rate_of_the_table_has_a_kernel_or_a_reason() {
    let mut without = Vec::new();
    for row in ARCHITECTURES {
        let gpu = Gpu { arch: row.target, ..MI300X };
        for rate in row.rates {
            let peak = Operation::PeakArithmetic(PeakArithmetic {
                dtype: rate.dtype,
                operations: MATRIX_PIECE,
            });
            let options =
                Options { provider: Some(rate.engine.as_str().to_owned()), ..Options::default() };
            if let Err(error) = plan(&peak, &options, gpu) {
                let said = error.to_string();
                let named = [
                    rate.dtype.as_str(),
                    row.target,
                    "supports it, with instructions that this program does not use",
                ];
                assert!(named.iter().all(|part| said.contains(part)), "{said}");
                without.push(format!("{} {} {}", row.target, rate.engine.as_str(), rate.dtype));
            }
        }
    }
    for known in ["gfx906 vector i8", "gfx1030 vector i4", "sm_75 matrix f16", "sm_100 matrix fp4"]
    {
        assert!(without.iter().any(|one| one == known), "{known} must be in {without:?}");
    }
    assert!(!without.iter().any(|one| one.starts_with("gfx942")), "{without:?}");
}

#[test]
fn block_sizes_are_kept_where_the_kernel_leaves_them_open() {
    let triad = Operation::Stream(MemoryStream {
        pattern: StreamPattern::Triad,
        dtype: Dtype::F32,
        elements: 1 << 20,
        stores: Stores::Temporal,
    });
    let sum = Operation::Reduce(Reduce { op: ReduceOp::Sum, dtype: Dtype::F32, elements: 100 });
    let with = |block_size| Options { block_size: Some(block_size), ..Options::default() };
    assert_eq!(plan(&triad, &with(64), MI300X).unwrap().block, 64);
    assert_eq!(plan(&sum, &with(256), MI300X).unwrap().block, 256);
    for (operation, block) in [(&triad, 2048), (&triad, 0), (&sum, 64)] {
        let error = plan(operation, &with(block), MI300X).unwrap_err();
        assert!(
            matches!(error, DeviceError::Unsupported(_)) && error.to_string().contains("block"),
            "{error}"
        );
    }
}

#[test]
fn attention_has_a_block_for_each_tile_of_rows_or_for_each_row() {
    let blocks = |op| {
        let plan = plan(&Operation::Attention(op), &Options::default(), MI300X).unwrap();
        (plan.kernel.stem, plan.grid)
    };
    // 6 key heads over both sequences, each shared by the queries of two heads.
    assert_eq!(blocks(attention(Dtype::F16, 40)), ("rsb_attention", 6 * 3));
    assert_eq!(blocks(attention(Dtype::F64, 40)), ("rsb_attention", 6 * 5));
    assert_eq!(blocks(attention(Dtype::F16, 1)), ("rsb_attention_row", 12));
}

#[test]
fn weights_of_few_bits_have_a_block_for_eight_rows_of_them_or_for_a_tile() {
    let blocks = |m| {
        let plan =
            plan(&Operation::Quantized(quantized(Dtype::F16, m)), &Options::default(), MI300X)
                .unwrap();
        assert_eq!(
            plan.arguments.last(),
            Some(&Argument::Count(4)),
            "the last argument must be the number of bits per weight"
        );
        (plan.kernel.stem, plan.grid)
    };
    assert_eq!(blocks(1), ("rsb_quantized_rows", 13));
    assert_eq!(blocks(16), ("rsb_quantized_rows", 13));
    assert_eq!(blocks(70), ("rsb_quantized_tiled", 2 * 2));
}

#[test]
fn what_a_gpu_cannot_do_is_a_reason() {
    let odd = Operation::Quantized(QuantizedProduct { k: 100, ..quantized(Dtype::F16, 1) });
    assert!(
        plan(&odd, &Options::default(), MI300X).unwrap_err().to_string().contains("multiple of 32")
    );
    let wide = Operation::Quantized(quantized(Dtype::F64, 1));
    assert!(plan(&wide, &Options::default(), MI300X).unwrap_err().to_string().contains("bf16"));
    let wide = Operation::Attention(Attention { head_dim: 256, ..attention(Dtype::F16, 40) });
    assert!(
        plan(&wide, &Options::default(), MI300X)
            .unwrap_err()
            .to_string()
            .contains("attention=staged")
    );
    let gemm = Operation::Gemm(Gemm::new(Dtype::F32, 64, 64, 64));
    let elsewhere = Options { provider: Some("openblas".into()), ..Options::default() };
    assert!(plan(&gemm, &elsewhere, MI300X).unwrap_err().to_string().contains("native"));
    let add = Operation::Elementwise(Elementwise {
        op: ElementwiseOp::Add,
        dtype: Dtype::Fp8,
        elements: 8,
    });
    assert!(plan(&add, &Options::default(), MI300X).unwrap_err().to_string().contains("bf16"));
}

#[test]
fn products_of_a_type_that_libraries_alone_make_say_where_there_are_units() {
    for (arch, dtype, words) in [
        ("gfx90a", Dtype::Fp8, "if the matrix units support the data type, from gfx942 on"),
        ("gfx942", Dtype::Fp8, "its matrix units support it, and libraries"),
        ("gfx90a", Dtype::Tf32, "if the matrix units support the data type, from gfx942 on"),
        ("sm_70", Dtype::Fp8, "from sm_89 on"),
    ] {
        let gpu = Gpu { arch, units: 100 };
        match plan(&Operation::Gemm(Gemm::new(dtype, 100, 200, 300)), &Options::default(), gpu) {
            Err(DeviceError::Unsupported(reason)) => {
                assert!(reason.why.contains(words), "{arch} {dtype}: {reason}");
            }
            other => panic!("{arch} {dtype}: {other:?}"),
        }
    }
}

/// HIP rejects launches of 2³² or more threads, and each operation here would exceed that with one
/// block per tile or row.
#[test]
fn no_launch_has_as_many_threads_as_hip_refuses() {
    let huge = 1 << 40;
    for operation in [
        Operation::Gemm(Gemm::new(Dtype::F32, 1 << 22, 1 << 22, 64)),
        Operation::Gemm(Gemm { batch: huge, ..Gemm::new(Dtype::F32, 64, 64, 64) }),
        Operation::Gemm(Gemm {
            stored: OutputWidth::AsInputs,
            ..Gemm::new(Dtype::Bf16, 1 << 22, 1 << 22, 64)
        }),
        Operation::Attention(Attention { batch: huge, ..attention(Dtype::F16, 40) }),
        Operation::Attention(Attention { batch: huge, ..attention(Dtype::F16, 1) }),
        Operation::Quantized(QuantizedProduct { n: huge, ..quantized(Dtype::F16, 1) }),
        Operation::Quantized(QuantizedProduct { n: huge, ..quantized(Dtype::F16, 64) }),
        Operation::Normalize(Normalize {
            op: NormalizeOp::Softmax,
            dtype: Dtype::F32,
            rows: huge,
            columns: 8,
        }),
        Operation::Stream(MemoryStream {
            pattern: StreamPattern::Triad,
            dtype: Dtype::F32,
            elements: huge,
            stores: Stores::Temporal,
        }),
    ] {
        for units in [304, 1 << 20] {
            let plan = plan(&operation, &Options::default(), Gpu { units, ..MI300X }).unwrap();
            let threads = u64::from(plan.grid) * u64::from(plan.block);
            assert!(u32::try_from(threads).is_ok(), "{}: {threads} threads", plan.symbol);
        }
    }
    assert_eq!(
        (launchable(0, 256), launchable(7, 256), launchable(u32::MAX, 256)),
        (1, 7, (1 << 24) - 1)
    );
}

#[test]
fn a_walk_takes_the_vector_path_unless_the_scalar_one_is_asked_for() {
    let chase = Operation::PointerChase(PointerChase {
        nodes: 10,
        line_bytes: 128,
        accesses: 100,
        seed: 1,
    });
    let planned = |provider: Option<&str>, arch| {
        plan(
            &chase,
            &Options { provider: provider.map(str::to_owned), ..Options::default() },
            Gpu { arch, units: 60 },
        )
    };
    for (provider, symbol) in [
        (None, "rsb_pointer_chase"),
        (Some("native"), "rsb_pointer_chase"),
        (Some("scalar"), "rsb_pointer_chase_scalar"),
    ] {
        assert_eq!(planned(provider, "gfx942").unwrap().symbol, symbol, "{provider:?}");
    }
    for (provider, arch, word) in
        [("scalar", "sm_90", "sm_90 has none"), ("rocblas", "gfx942", "native and scalar")]
    {
        let refused = planned(Some(provider), arch).unwrap_err();
        assert!(
            matches!(&refused, DeviceError::Unsupported(reason) if reason.to_string().contains(word)),
            "{refused}"
        );
    }
}
