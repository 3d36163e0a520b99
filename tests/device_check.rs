//! Runs `examples/device_check.rs` without a GPU: on the fake GPU as ROCm and as CUDA, on PoCL, and
//! on lavapipe.
//!
//! This is a separate test program, because the check starts its own executable to list devices.
//! With an environment variable, this program runs the example.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "common/mod.rs"]
mod common;
#[path = "../examples/device_check.rs"]
mod device_check;
#[allow(dead_code)] // It is shared with the tests of the fake GPU.
#[path = "it/fake_gpu/support.rs"]
mod support;

use std::process::ExitCode;

use common::backend::is_here;
use common::{Bench, steps};

/// Environment variable that turns this program, and the copies it starts to list devices, into the
/// example.
const AS_CHECK: &str = "DEVICE_CHECK_AS_EXAMPLE";

/// Runs the check of `backend`, asserts that nothing failed, and returns its output.
fn checked(bench: Bench, backend: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let ended = bench.set(AS_CHECK, "1").run_of(&program, &[backend]);
    let wrong: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("FAILED")).collect();
    assert!(ended.code == 0 && wrong.is_empty(), "{backend}: {wrong:#?}\n{}", ended.stderr);
    assert!(ended.stdout.trim_end().ends_with("0 failed"), "{}", ended.stdout);
    ended.stdout
}

/// Checks that each operation in `parts` has an `ok` line that contains the paired text, such as
/// the provider.
fn did(said: &str, parts: &[(&str, &str)]) {
    for (operation, with) in parts {
        let is = |line: &str| line.starts_with(&format!("ok {operation}")) && line.contains(with);
        assert!(said.lines().any(is), "no {operation} with {with}:\n{said}");
    }
}

const QUANTIZED: (&str, &str) = ("quantized-product", "weights: I4");

#[cfg(feature = "rocm")]
fn rocm() {
    let library = rsb_fake_gpu::file::library().unwrap().display().to_string();
    let bench =
        support::ROCM.fake_gpu().set("FAKE_GPU_DEVICES", "3").set("RSB_RCCL_LIBRARY", &library);
    let said = checked(bench, "rocm");
    did(
        &said,
        &[
            ("gemm", "by rocblas"),
            ("gemm", "by hipblaslt"),
            ("all-reduce f32", "rccl"),
            ("all-to-all", "rccl"),
            QUANTIZED,
        ],
    );
}

#[cfg(feature = "cuda")]
fn cuda() {
    let said = checked(support::CUDA.fake_gpu().set("FAKE_GPU_DEVICES", "3"), "cuda");
    did(
        &said,
        &[
            ("gemm", "by cublas"),
            ("gemm", "by cublaslt"),
            ("all-reduce f32", "nccl"),
            ("all-to-all", "nccl"),
            QUANTIZED,
        ],
    );
}

#[cfg(feature = "opencl")]
fn opencl() {
    if is_here("opencl") {
        did(&checked(Bench::new(), "opencl"), &[("gemm", "native"), QUANTIZED]);
    }
}

#[cfg(feature = "vulkan")]
fn vulkan() {
    let drivers = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
    if !std::path::Path::new(drivers).exists() {
        test_needs::missing(
            "vulkan",
            &format!("{drivers} is missing; install mesa-vulkan-drivers"),
        );
    } else if is_here("vulkan") {
        let bench = Bench::new().set("VK_ICD_FILENAMES", drivers).set("VK_DRIVER_FILES", drivers);
        did(&checked(bench, "vulkan"), &[("gemm", "native"), QUANTIZED]);
    }
}

fn main() -> ExitCode {
    if std::env::var_os(AS_CHECK).is_some() {
        return device_check::main();
    }
    steps::run(&[
        #[cfg(feature = "rocm")]
        ("the_fake_gpu_of_rocm_does_every_operation_right", rocm),
        #[cfg(feature = "cuda")]
        ("the_fake_gpu_of_cuda_does_every_operation_right", cuda),
        #[cfg(feature = "opencl")]
        ("pocl_does_every_operation_right", opencl),
        #[cfg(feature = "vulkan")]
        ("lavapipe_does_every_operation_right", vulkan),
    ])
}
