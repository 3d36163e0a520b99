//! Mutation tests on the fake GPUs: verification detects every wrong result, with native kernels
//! and with vendor libraries.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::unwrap_used, missing_docs)]

use rsb_device::Device;
use rsb_device::device::Backend;
use rsb_device::reference::mutation;
use rsb_gpu::cuda::CudaBackend;
use rsb_gpu::hip::HipBackend;

fn check(device: &dyn Device, providers: &[Option<&str>]) {
    let reports = mutation::check_device(device, providers, 0..2, 1).unwrap();
    assert!(reports.len() > 100, "{}: {}", device.info().name, reports.len());
    assert_eq!(mutation::list_survivors(&reports), Vec::<String>::new());
    for provider in providers {
        assert!(
            reports.iter().any(|report| report.provider.as_deref() == *provider),
            "provider {provider:?} was never used"
        );
    }
}

/// A single test, since environment variables of the process select the libraries and the GPU.
#[test]
fn no_mutation_survives_on_a_fake_gpu() {
    let library = rsb_fake_gpu::file::library().unwrap();
    for name in
        ["RSB_HIP_LIBRARY", "RSB_ROCBLAS_LIBRARY", "RSB_HIPBLASLT_LIBRARY", "RSB_CUDA_LIBRARY"]
    {
        unsafe { std::env::set_var(name, &library) };
    }
    unsafe { std::env::set_var("FAKE_GPU_ARCH", "gfx942") };
    check(
        &*HipBackend.open(0).unwrap(),
        &[None, Some("native"), Some("rocblas"), Some("hipblaslt")],
    );
    check(
        &*CudaBackend.open(0).unwrap(),
        &[None, Some("native"), Some("cublas"), Some("cublaslt")],
    );
}
