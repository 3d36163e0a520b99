//! Unusual libraries: without a function, with the properties of ROCm 5, for other GPUs, or several
//! at once.

use std::path::Path;

use crate::common::preload::shared_library;
use crate::common::{Bench, SMALL, words};

use super::support::{
    ROCM, RUNTIMES, THREE, assert_reason, assert_rest_stands, case, cases, each, fake_gpu, run,
};

#[test]
fn without_a_function_what_needs_it_fails_and_the_rest_stands() {
    for (runtime, name) in each(["hipGraphInstantiate", "cuGraphInstantiateWithFlags"]) {
        let (_dir, bench) = runtime.without(&[name]);
        let document = runtime.run(&bench, "launch-latency").expect(1).json();
        assert_reason(case(&document, "/graph/"), "failed", name);
        assert_rest_stands(&document, "/graph/");
    }
}

#[test]
fn a_library_without_its_product_leaves_the_native_one() {
    for (runtime, name) in each(["rocblas_gemm_strided_batched_ex", "cublasGemmStridedBatchedEx"]) {
        let (_dir, bench) = runtime.without(&[name]);
        let document = runtime.run_products(&bench).expect(1).json();
        let own = format!("provider={}", runtime.products);
        assert_reason(case(&document, &own), "failed", name);
        assert_rest_stands(&document, &own);
    }
}

#[test]
fn without_a_function_that_every_gpu_needs_all_cases_fail() {
    for (runtime, names) in
        each([["hipGetDeviceCount", "hipMemGetInfo"], ["cuInit", "cuMemGetInfo_v2"]])
    {
        for name in names {
            let (_dir, bench) = runtime.without(&[name]);
            let document = runtime.run(&bench, &THREE).expect(1).json();
            assert_reason(case(&document, "tensor-ops"), "failed", name);
        }
    }
}

#[test]
fn a_library_that_is_not_there_is_no_fault() {
    for &runtime in RUNTIMES {
        let bench = runtime.with_library(Path::new("/nonexistent/librsb_fake_gpu.so"));
        let document = runtime.run(&bench, &THREE).expect(5).json();
        assert_reason(case(&document, "tensor-ops"), "skipped", "/nonexistent/librsb_fake_gpu.so");
    }
}

#[test]
fn a_library_of_another_architecture_is_named() {
    let library = std::fs::read(rsb_fake_gpu::file::library().unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (machine, name) =
        if cfg!(target_arch = "aarch64") { (62, "x86-64") } else { (183, "AArch64") };
    // Offset and value of a byte in the ELF header, and the expected message: another processor,
    // and the 32-bit class.
    for (at, value, expected) in [(18, machine, name), (4, 1, "with 32 bits")] {
        let mut bytes = library.clone();
        bytes[at] = value;
        let foreign = dir.path().join("librsb_fake_gpu.so");
        std::fs::write(&foreign, bytes).unwrap();
        let exists = format!("{} exists, but is built for ", foreign.display());
        for &runtime in RUNTIMES {
            let document = runtime.run(&runtime.with_library(&foreign), &THREE).expect(5).json();
            for part in [exists.as_str(), expected, "; the loader reports: "] {
                assert_reason(case(&document, "tensor-ops"), "skipped", part);
            }
        }
    }
}

#[test]
fn a_library_that_aborts_while_it_is_loaded_costs_its_backend() {
    let source = "#include <stdlib.h>\n\
                  __attribute__((constructor)) static void begin(void) { abort(); }\n";
    let bench = Bench::new();
    let Some(library) = shared_library(&bench, source) else { return };
    for &runtime in RUNTIMES {
        let bench = runtime.with_library(&library);
        let document = runtime.run(&bench, &THREE).expect(1).json();
        assert_reason(case(&document, "tensor-ops"), "failed", "signal: 6 (SIGABRT)");
        bench.run(&[&["run", "--backend", "cpu"], &THREE[..], &SMALL].concat()).expect(0);
    }
}

#[test]
fn properties_in_the_layout_of_rocm_5() {
    let (_dir, bench) = ROCM.without(&["hipGetDevicePropertiesR0600"]);
    let document = run(&bench, &THREE).expect(0).json();
    assert_rest_stands(&document, "nothing");
    assert_eq!(cases(&document).len(), 3);
}

#[test]
fn every_architecture_is_measured_within_its_peaks() {
    for arch in ["gfx906", "gfx908", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"] {
        let bench = fake_gpu().set("FAKE_GPU_ARCH", arch);
        // (Flushes of the largest caches, which take the CPU long, are tested elsewhere.)
        let axes = words("compute-peak memory-bandwidth --axis operation=copy --axis size=64KiB");
        let document =
            run(&bench, &[&axes[..], &["--axis", "cache=hot"]].concat()).expect(0).json();
        assert_rest_stands(&document, "nothing");
    }
}

#[test]
fn eight_gpus_are_eight_devices() {
    let axes = words("tensor-ops --axis shape=32x1024 --axis operation=relu --axis cache=hot");
    for &runtime in RUNTIMES {
        let bench = runtime.fake_gpu().set("FAKE_GPU_DEVICES", "8");
        let document = runtime.run(&bench, &axes).expect(0).json();
        assert_rest_stands(&document, "nothing");
        for gpu in 0..8 {
            assert!(case(&document, &format!("/{}:{gpu}/", runtime.backend)).is_object());
        }
        let two = runtime.run(&bench, &[&axes[..], &["--device", "3,7"]].concat()).expect(0).json();
        assert_eq!(cases(&two).len(), 2);
        runtime.run(&bench, &[&axes[..], &["--device", "8"]].concat()).expect(2);
    }
}
