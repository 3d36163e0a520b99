//! Libraries that are not as today's are: without a function, with the properties of ROCm 5, for other GPUs, or
//! several of them.

use super::support::{THREE, assert_reason, assert_rest_stands, case, cases, fake_gpu, run, with_library};
use crate::common::Bench;

/// The program with a copy of the library that lacks functions.
fn without(names: &[&str]) -> (tempfile::TempDir, Bench) {
    let dir = tempfile::tempdir().unwrap();
    let torn = dir.path().join("librsb_fake_gpu.so");
    rsb_fake_gpu::file::copy_without(names, &torn).unwrap();
    let bench = with_library(&torn);
    (dir, bench)
}

#[test]
fn without_a_function_what_needs_it_fails_and_the_rest_stands() {
    let (_dir, bench) = without(&["hipGraphInstantiate"]);
    let document = run(&bench, &["launch-latency"]).expect(1).json();
    assert_reason(case(&document, "/graph/"), "failed", "hipGraphInstantiate");
    assert_rest_stands(&document, "/graph/");
}

#[test]
fn a_rocblas_without_its_product_leaves_the_native_one() {
    let (_dir, bench) = without(&["rocblas_gemm_strided_batched_ex"]);
    let axes = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "--axis", "provider=rocblas,native"];
    let document = run(&bench, &axes).expect(1).json();
    assert_reason(case(&document, "provider=rocblas"), "failed", "rocblas_gemm_strided_batched_ex");
    assert_rest_stands(&document, "provider=rocblas");
}

#[test]
fn without_a_function_that_every_gpu_needs_all_cases_fail() {
    for name in ["hipGetDeviceCount", "hipMemGetInfo"] {
        let (_dir, bench) = without(&[name]);
        let document = run(&bench, &THREE).expect(1).json();
        assert_reason(case(&document, "tensor-ops"), "failed", name);
    }
}

#[test]
fn a_library_that_is_not_there_is_no_fault() {
    let bench = with_library(&crate::common::Bench::new().path("librsb_fake_gpu.so"));
    let document = run(&bench, &THREE).expect(5).json();
    assert_reason(case(&document, "tensor-ops"), "skipped", "cannot be loaded");
}

#[test]
fn properties_in_the_layout_of_rocm_5() {
    let (_dir, bench) = without(&["hipGetDevicePropertiesR0600"]);
    let document = run(&bench, &THREE).expect(0).json();
    assert_rest_stands(&document, "nothing");
    assert_eq!(cases(&document).len(), 3);
}

#[test]
fn every_architecture_is_measured_within_its_peaks() {
    for arch in ["gfx906", "gfx908", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"] {
        let bench = fake_gpu().set("FAKE_GPU_ARCH", arch);
        // (What a flush of the largest caches takes the CPU is another test's matter.)
        let axes = ["compute-peak", "memory-bandwidth", "--axis", "operation=copy", "--axis", "size=64KiB"];
        let document = run(&bench, &[&axes[..], &["--axis", "cache=hot"]].concat()).expect(0).json();
        assert_rest_stands(&document, "nothing");
    }
}

#[test]
fn eight_gpus_are_eight_devices() {
    let bench = fake_gpu().set("FAKE_GPU_DEVICES", "8");
    let axes = ["tensor-ops", "--axis", "shape=32x1024", "--axis", "operation=relu", "--axis", "cache=hot"];
    let document = run(&bench, &axes).expect(0).json();
    assert_rest_stands(&document, "nothing");
    for gpu in 0..8 {
        assert!(case(&document, &format!("/rocm:{gpu}/")).is_object());
    }
    let two = run(&bench, &[&axes[..], &["--device", "3,7"]].concat()).expect(0).json();
    assert_eq!(cases(&two).len(), 2);
    bench.run(&[&["run", "--backend", "rocm", "--device", "8"], &axes[..]].concat()).expect(2);
}
