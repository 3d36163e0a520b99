//! Products of hipBLASLt and cuBLASLt through the program's device backends, compared with its
//! reference: every type, epilogue and layout. All run in this process, which is faster than a
//! process per product.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, missing_docs)]

use rsb_device::device::{AlgorithmChoice, Backend};
use rsb_device::operation::{Epilogue, Gemm, OutputWidth};
use rsb_device::{Buffer, Device, DeviceError, Operation, Options, reference};
use rsb_gpu::cuda::CudaBackend;
use rsb_gpu::hip::HipBackend;
use rsb_model::Dtype;

/// Runs `gemm` once and verifies the result. Returns its error and the chosen algorithm.
fn product(
    device: &dyn Device,
    gemm: Gemm,
    options: &Options,
) -> Result<(f64, Option<AlgorithmChoice>), DeviceError> {
    let operation = Operation::Gemm(gemm);
    let buffers: Vec<Buffer> =
        operation.buffers().iter().map(|spec| device.allocate(spec.bytes()).unwrap()).collect();
    reference::fill(device, &operation, &buffers, 5)?;
    let mut kernel = device.prepare(&operation, options, &buffers)?;
    kernel.launch()?;
    device.stream()?.synchronize()?;
    Ok((reference::verify(device, &operation, &buffers, 5, None)?, kernel.algorithm()))
}

fn by(provider: &str) -> Options {
    Options { provider: Some(provider.to_owned()), ..Options::default() }
}

/// Returns `gemm` with gaps between rows and between matrices.
fn with_gaps(gemm: Gemm) -> Gemm {
    let [ld_a, ld_b, ld_c] = gemm.layouts().map(|layout| Some(layout.columns + 4));
    let [a, _, c] = Gemm { ld_a, ld_b, ld_c, ..gemm }.layouts();
    let (stride_a, stride_c) = (Some(a.stride + 8), Some(c.stride + 12));
    Gemm { ld_a, ld_b, ld_c, stride_a, stride_c, ..gemm }
}

/// Checks that products of `provider` on `device` are correct for each type, layout and epilogue,
/// and that unsupported ones are rejected.
fn check(device: &dyn Device, provider: &str, dtypes: &[Dtype]) {
    let first = Some(AlgorithmChoice { index: 0, tried: 1 });
    for &dtype in dtypes {
        let gemm = Gemm { batch: 2, transpose_b: true, alpha: 2.0, ..Gemm::new(dtype, 40, 24, 56) };
        let found = product(device, gemm, &by(provider))
            .map_err(|error| format!("{dtype}: {error}"))
            .unwrap();
        assert_eq!(found.1, first, "{dtype}");
        let beta = product(device, Gemm { beta: 1.0, ..gemm }, &by(provider));
        assert!(beta.is_ok(), "{dtype}: {beta:?}");
    }
    for (transpose_a, transpose_b) in [(false, false), (true, false), (true, true)] {
        let gemm = Gemm { batch: 3, transpose_a, transpose_b, ..Gemm::new(Dtype::F32, 40, 24, 56) };
        for stride_b in [None, Some(1400)] {
            assert!(
                product(device, Gemm { stride_b, ..gemm }, &by(provider)).is_ok(),
                "{transpose_a} {transpose_b}"
            );
        }
        let padded = product(device, with_gaps(gemm), &by(provider));
        assert!(padded.is_ok(), "{transpose_a} {transpose_b}: {padded:?}");
    }
    let best = Options { algorithms: Some(8), ..by(provider) };
    for epilogue in Epilogue::ALL {
        let narrow =
            Gemm { epilogue, stored: OutputWidth::AsInputs, ..Gemm::new(Dtype::Bf16, 40, 24, 56) };
        let found = product(device, narrow, &best).unwrap();
        assert_eq!(found.1, Some(AlgorithmChoice { index: 1, tried: 3 }), "{epilogue}");
        let read = product(device, Gemm { epilogue, batch: 2, beta: 0.5, ..narrow }, &by(provider));
        assert!(read.is_ok(), "{epilogue}: {read:?}");
    }
    let beta =
        product(device, Gemm { beta: 1.0, ..Gemm::new(Dtype::F32, 8, 8, 8) }, &best).unwrap_err();
    assert!(beta.to_string().contains("every trial changes C"), "{beta}");
    let whole =
        Gemm { epilogue: Epilogue::Bias, transpose_b: true, ..Gemm::new(Dtype::I8, 16, 16, 16) };
    assert!(matches!(product(device, whole, &by(provider)), Err(DeviceError::Unsupported(_))));
}

/// A single test, since environment variables of the process select the libraries and the GPU.
#[test]
fn products_with_what_follows_them_are_right() {
    let library = rsb_fake_gpu::file::library().unwrap();
    for name in
        ["RSB_HIP_LIBRARY", "RSB_ROCBLAS_LIBRARY", "RSB_HIPBLASLT_LIBRARY", "RSB_CUDA_LIBRARY"]
    {
        unsafe { std::env::set_var(name, &library) };
    }
    unsafe { std::env::set_var("FAKE_GPU_ARCH", "gfx942") };
    let amd = HipBackend.open(0).unwrap();
    let types = [Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::Fp8, Dtype::I8];
    check(&*amd, "hipblaslt", &types);
    // xf32 is a mode of the rocBLAS handle and must be reset for f32 products.
    for dtype in [Dtype::F32, Dtype::Tf32, Dtype::F32] {
        let gemm = Gemm { batch: 2, beta: 0.5, ..Gemm::new(dtype, 40, 24, 56) };
        for gemm in [gemm, with_gaps(gemm)] {
            assert!(product(&*amd, gemm, &by("rocblas")).is_ok());
        }
    }
    for (gemm, provider) in [
        (Gemm { epilogue: Epilogue::Bias, ..Gemm::new(Dtype::F32, 8, 8, 8) }, "rocblas"),
        (Gemm { epilogue: Epilogue::Bias, ..Gemm::new(Dtype::F32, 8, 8, 8) }, "native"),
        (with_gaps(Gemm::new(Dtype::F32, 8, 8, 8)), "native"),
        (Gemm { ld_a: Some(7), ..Gemm::new(Dtype::F32, 8, 8, 8) }, "rocblas"),
        (Gemm::new(Dtype::Fp8, 8, 8, 8), "rocblas"),
        (Gemm::new(Dtype::F64, 8, 8, 8), "hipblaslt"),
    ] {
        let found = product(&*amd, gemm, &by(provider));
        assert!(matches!(found, Err(DeviceError::Unsupported(_))), "{provider}: {found:?}");
    }
    drop(amd);
    let nvidia = CudaBackend.open(0).unwrap();
    check(&*nvidia, "cublaslt", &[&types[..], &[Dtype::F64]].concat());
    let padded = with_gaps(Gemm { batch: 2, ..Gemm::new(Dtype::F32, 40, 24, 56) });
    assert!(product(&*nvidia, padded, &Options::default()).is_ok());
    let plain =
        product(&*nvidia, Gemm::new(Dtype::Fp8, 16, 16, 16), &Options::default()).unwrap_err();
    assert!(plain.to_string().contains("product not supported"), "{plain}");
}
