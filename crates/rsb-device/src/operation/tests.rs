use super::*;
use crate::device::DeviceError;

fn stream(pattern: StreamPattern) -> Operation {
    Operation::Stream(MemoryStream {
        pattern,
        dtype: Dtype::F32,
        elements: 1000,
        stores: Stores::Temporal,
    })
}

#[test]
fn streams_count_bytes_as_mccalpin_does() {
    for (pattern, bytes) in [
        (StreamPattern::Read, 4008.0),
        (StreamPattern::Write, 4000.0),
        (StreamPattern::Copy, 8000.0),
        (StreamPattern::Triad, 12000.0),
        (StreamPattern::ReadWrite, 8000.0),
    ] {
        assert_eq!(stream(pattern).bytes_moved().to_bits(), f64::to_bits(bytes), "{pattern}");
    }
}

/// The tolerance matches the error measured on Hopper, with a limit that still rejects wrong
/// results.
#[test]
fn sums_of_the_matrix_unit_may_be_off_by_its_truncations() {
    let error = |accumulation, k| {
        Gemm { accumulation, ..Gemm::new(Dtype::Fp8, 16, 16, k) }.accumulation_error()
    };
    for (k, expected) in [(1, 1.2e-4), (32, 1.2e-4), (4096, 0.0157), (1 << 20, 0.05)] {
        let found = error(Accumulation::Fast, k);
        assert!((found / expected - 1.0).abs() < 0.02, "{k}: {found}");
        assert!(error(Accumulation::Full, k).abs() < f64::EPSILON, "{k}");
    }
}

#[test]
fn a_transfer_counts_what_passes_the_link() {
    let bytes = |direction| {
        let transfer = Transfer { direction, host_memory: HostMemory::Pinned, bytes: 4096 };
        Operation::Transfer(transfer).bytes_moved().to_bits()
    };
    assert_eq!(bytes(TransferDirection::HostToDevice), 4096.0_f64.to_bits());
    assert_eq!(bytes(TransferDirection::DeviceToHost), 4096.0_f64.to_bits());
    assert_eq!(
        bytes(TransferDirection::DeviceToDevice),
        8192.0_f64.to_bits(),
        "each byte is read and written"
    );
    assert_eq!(
        bytes(TransferDirection::Bidirectional),
        8192.0_f64.to_bits(),
        "the data is copied in both directions"
    );
}

#[test]
fn a_product_counts_two_operations_a_term() {
    let gemm = Gemm { batch: 3, ..Gemm::new(Dtype::F32, 2, 5, 7) };
    assert_eq!(Operation::Gemm(gemm).flops().to_bits(), 420.0_f64.to_bits());
    let apart = Operation::Gemm(Gemm { stride_b: Some(50), ..gemm });
    assert_eq!(
        apart.bytes_moved().to_bits(),
        Operation::Gemm(gemm).bytes_moved().to_bits(),
        "the gaps between matrices are not read"
    );
    assert_eq!(apart.buffers()[1].elements, 150);
    let padded = Gemm { ld_a: Some(9), ld_c: Some(8), stride_c: Some(20), ..gemm };
    assert_eq!(
        Operation::Gemm(padded).bytes_moved().to_bits(),
        Operation::Gemm(gemm).bytes_moved().to_bits(),
        "the gaps between rows are not read"
    );
    let specs = Operation::Gemm(padded).buffers();
    let elements: Vec<u64> = specs.iter().map(|spec| spec.elements).collect();
    assert_eq!(elements, [3 * 2 * 9, 3 * 7 * 5, 3 * 20]);
    let square = Operation::Gemm(Gemm::new(Dtype::F32, 1024, 1024, 1024));
    let intensity = square.arithmetic_intensity().unwrap();
    assert!((intensity - 1024.0 / 6.0).abs() < 1e-9, "{intensity}");
}

#[test]
fn rows_and_matrices_that_overlap_are_refused() {
    let base = Gemm { batch: 2, transpose_a: true, ..Gemm::new(Dtype::F32, 4, 6, 8) };
    for (wrong, smallest) in [
        (Gemm { ld_a: Some(3), ..base }, "ld_a=4 or"),
        (Gemm { ld_b: Some(5), ..base }, "ld_b=6 or"),
        (Gemm { ld_c: Some(5), ..base }, "ld_c=6 or"),
        (Gemm { stride_a: Some(31), ..base }, "stride_a=32 or"),
        (Gemm { ld_c: Some(9), stride_c: Some(24), ..base }, "stride_c=36 or"),
    ] {
        let refused = wrong.check_layouts().unwrap_err();
        assert!(refused.cure.contains(smallest), "{refused}");
    }
    let right = Gemm { ld_a: Some(4), ld_c: Some(9), stride_c: Some(40), ..base };
    assert_eq!(right.check_layouts(), Ok(()));
    let [a, _, c] = right.layouts();
    assert!(a.is_packed() && !c.is_packed());
    let gaps: Vec<u64> = (0..18).filter(|&position| c.is_padding(position)).collect();
    assert_eq!(gaps, [6, 7, 8, 15, 16, 17]);
    assert!(c.is_padding(39) && !c.is_padding(40));
    assert!(right.check_packed("these kernels").is_err());
    assert_eq!(Gemm { stride_b: Some(50), ..base }.check_packed("these kernels"), Ok(()));
}

#[test]
fn attention_counts_where_its_queries_look() {
    let op = Attention {
        dtype: Dtype::F16,
        batch: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 8,
        queries: 3,
        positions: 5,
        capacity: 9,
        causal: true,
    };
    // The three queries have the last three of five positions and see 3, 4 and 5 positions.
    assert_eq!(Operation::Attention(op).flops().to_bits(), f64::to_bits(4.0 * 8.0 * 12.0 * 8.0));
    let all = Operation::Attention(Attention { causal: false, ..op });
    assert_eq!(all.flops().to_bits(), f64::to_bits(4.0 * 8.0 * 15.0 * 8.0));
    // 24 rows are read and 24 written, and 5 keys and 5 values for each of 4 heads are read.
    assert_eq!(all.bytes_moved().to_bits(), f64::to_bits(2.0 * 8.0 * (2.0 * 24.0 + 2.0 * 20.0)));
    assert_eq!(all.buffers()[2].elements, 2 * 2 * 9 * 8);
    assert_eq!(
        op.visible_elements(7),
        72..72 + 4 * 8,
        "the second query of the second group of heads"
    );
    for wrong in [
        Attention { kv_heads: 3, ..op },
        Attention { capacity: 4, ..op },
        Attention { queries: 6, ..op },
    ] {
        assert!(wrong.check().is_err(), "{wrong:?}");
    }
    assert!(op.check().is_ok());
}

#[test]
fn weights_of_few_bits_count_as_narrow_as_they_are() {
    let of =
        |weights| QuantizedProduct { dtype: Dtype::F16, weights, m: 2, n: 5, k: 96, group: 64 };
    for (weights, bytes) in [(Dtype::I8, 96.0), (Dtype::I4, 48.0)] {
        let product = Operation::Quantized(of(weights));
        assert_eq!(product.flops().to_bits(), f64::to_bits(2.0 * 2.0 * 5.0 * 96.0));
        // Two rows are read and two written, with two scales for each of five rows of weights; the
        // second group of each row is shorter.
        let moved = 2.0 * (192.0 + 10.0) + 5.0 * (bytes + 4.0);
        assert_eq!(product.bytes_moved().to_bits(), f64::to_bits(moved), "{weights}");
    }
    assert!(of(Dtype::I4).check().is_ok());
    let right = of(Dtype::I8);
    for wrong in [
        of(Dtype::F16),
        QuantizedProduct { k: 80, ..right },
        QuantizedProduct { group: 48, ..right },
        QuantizedProduct { group: 0, ..right },
        QuantizedProduct { m: 0, ..right },
    ] {
        assert!(matches!(wrong.check(), Err(DeviceError::Unsupported(_))), "{wrong:?}");
    }
    assert_eq!(pack_weights(Dtype::I4, &[-8, 7, 1, -1]), [0x78, 0xf1]);
}

#[test]
fn c_is_read_only_where_beta_is_not_zero() {
    let plain = Gemm::new(Dtype::F16, 4, 4, 4);
    assert_eq!(Operation::Gemm(plain).buffers()[2].role, Role::Output);
    assert_eq!(Operation::Gemm(Gemm { beta: 0.5, ..plain }).buffers()[2].role, Role::InOut);
    assert_eq!(Operation::Gemm(Gemm::new(Dtype::Bf16, 4, 4, 4)).buffers()[2].dtype, Dtype::F32);
}

#[test]
fn absurd_sizes_saturate_instead_of_overflowing() {
    let huge = Operation::Gemm(Gemm::new(Dtype::F32, 1 << 20, 1 << 20, 1 << 20));
    assert!(huge.footprint_bytes() > 1 << 40);
}

#[test]
fn a_convolution_that_does_not_fit_has_no_output() {
    let base = Convolution {
        dtype: Dtype::F32,
        batch: 1,
        in_channels: 4,
        out_channels: 8,
        height: 8,
        width: 9,
        kernel_height: 3,
        kernel_width: 3,
        stride: 2,
        padding: 1,
        dilation: 1,
        groups: 1,
    };
    assert_eq!(base.output_size(), Some((4, 5)));
    for impossible in [
        Convolution { groups: 3, ..base },
        Convolution { stride: 0, ..base },
        Convolution { kernel_height: 11, ..base },
        Convolution { dilation: 6, ..base },
    ] {
        assert_eq!(impossible.output_size(), None, "{impossible:?}");
    }
}

#[test]
fn names_are_read_back() {
    for op in ElementwiseOp::ALL {
        assert_eq!(op.as_str().parse(), Ok(op));
        assert_eq!(serde_json::to_value(op).unwrap(), op.as_str());
    }
    for op in ReduceOp::ALL {
        assert_eq!(op.as_str().parse(), Ok(op));
        assert_eq!(serde_json::to_value(op).unwrap(), op.as_str());
    }
    for op in NormalizeOp::ALL {
        assert_eq!(op.as_str().parse(), Ok(op));
        assert_eq!(serde_json::to_value(op).unwrap(), op.as_str());
    }
    for pattern in StreamPattern::ALL {
        assert_eq!(pattern.as_str().parse(), Ok(pattern));
        assert_eq!(serde_json::to_value(pattern).unwrap(), pattern.as_str());
    }
    for direction in TransferDirection::ALL {
        assert_eq!(direction.as_str().parse(), Ok(direction));
        assert_eq!(serde_json::to_value(direction).unwrap(), direction.as_str());
    }
    let wrong = "sun".parse::<ReduceOp>().unwrap_err();
    assert_eq!(wrong.to_string(), "unknown reduction `sun`; expected one of: sum max mean argmax");
}

#[test]
fn a_churn_is_the_same_every_time() {
    let churn =
        Churn { min_bytes: 16, max_bytes: 4096, live_bytes: 1 << 20, replacements: 5000, seed: 3 };
    assert_eq!(churn.steps().collect::<Vec<_>>(), churn.steps().collect::<Vec<_>>());
    assert_eq!(churn.steps().count(), churn.slots() + 5000);
    assert!(
        churn.steps().all(|step| (16..=4096).contains(&step.bytes) && step.slot < churn.slots())
    );
    let live = churn.final_live_bytes() as f64 / f64::from(1 << 20);
    assert!((live - 1.0).abs() < 0.2, "{live}");
}
