//! The same on a fake CUDA driver: every workload that the backend has, every fault. What of this is alike
//! for both runtimes is here as a table of faults; how a fault comes to light is told in the words of the driver.

use std::path::Path;

use serde_json::Value;

use super::support::{
    THREE, assert_no_process_left, assert_reason, assert_rest_stands, case, cases, fake_gpu, id, outcome,
};
use crate::common::{Bench, ProgramOutput, SMALL};

/// The program with the fake GPU in the places of ROCm and CUDA.
fn both() -> Bench {
    let library = rsb_fake_gpu::file::library().unwrap();
    with_library(fake_gpu(), &library)
}

/// The program with a certain library in the place of CUDA's, and nothing else.
fn with_library(bench: Bench, library: &Path) -> Bench {
    let caches = bench.path("caches").display().to_string();
    bench.set("RSB_CUDA_LIBRARY", &library.display().to_string()).set("XDG_CACHE_HOME", &caches)
}

/// The program with CUDA's fake GPU alone.
fn cuda() -> Bench {
    with_library(Bench::new(), &rsb_fake_gpu::file::library().unwrap())
}

fn with_fault(fault: &str) -> Bench {
    cuda().set("FAKE_GPU_FAULT", fault)
}

/// The program with a copy of the library that lacks functions.
fn without(names: &[&str]) -> (tempfile::TempDir, Bench) {
    let dir = tempfile::tempdir().unwrap();
    let torn = dir.path().join("librsb_fake_gpu.so");
    rsb_fake_gpu::file::copy_without(names, &torn).unwrap();
    let bench = with_library(Bench::new(), &torn);
    (dir, bench)
}

fn run(bench: &Bench, arguments: &[&str]) -> ProgramOutput {
    bench.run(&[&["run", "--backend", "cuda", "--json"], arguments, &SMALL].concat())
}

/// A fault of the kernel for gelu: that case fails and says `word`, the two others stand, and the run ends with 1.
fn check(fault: &str, more: &[&str], word: &str) {
    let bench = with_fault(fault);
    let document = run(&bench, &[&THREE[..], more].concat()).expect(1).json();
    assert_reason(case(&document, "/gelu/"), "failed", word);
    assert_rest_stands(&document, "/gelu/");
    assert_no_process_left(&bench);
}

#[test]
fn a_launch_that_fails() {
    check("launch:rsb_gelu", &[], "unspecified launch failure");
}

#[test]
fn a_gpu_that_is_lost() {
    check("lost:rsb_gelu", &[], "cuStreamSynchronize: ");
}

#[test]
fn what_hangs_ends_at_the_time_limit() {
    std::thread::scope(|scope| {
        for fault in ["hang:rsb_gelu", "stuck:rsb_gelu"] {
            scope.spawn(move || check(fault, &["--timeout", "4"], "it did not end within 4 s"));
        }
    });
}

#[test]
fn a_wrong_result_is_never_timed() {
    check("wrong:rsb_gelu", &[], "wrong result of gelu");
}

/// Small products by cuBLAS and by a kernel of our own.
const PRODUCTS: [&str; 7] =
    ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "--axis", "provider=cublas,native"];

#[test]
fn a_fault_of_cublas_leaves_the_native_product() {
    for (fault, word) in [
        ("wrong:cublas", "wrong result of gemm"),
        ("abort:cublas", "was killed by signal 6 (SIGABRT)"),
        ("launch:cublas", "unspecified launch failure"),
    ] {
        let document = run(&with_fault(fault), &PRODUCTS).expect(1).json();
        assert_reason(case(&document, "provider=cublas"), "failed", word);
        assert_rest_stands(&document, "provider=cublas");
    }
}

#[test]
fn memory_that_is_used_up_at_the_third_allocation() {
    let bench = with_fault("oom:3");
    let axes = ["memory-bandwidth", "--axis", "size=64KiB", "--axis", "operation=copy,triad", "--axis", "cache=hot"];
    let document = run(&bench, &axes).expect(1).json();
    assert_reason(case(&document, "/triad/"), "failed", "cuMemAlloc_v2: ");
    assert!(case(&document, "/triad/")["cure"].as_str().unwrap().contains("smaller size"), "{document:#}");
    assert_rest_stands(&document, "/triad/");
    assert_no_process_left(&bench);
}

#[test]
fn a_gpu_that_vanishes_in_the_middle_of_a_run() {
    let bench = cuda();
    let gone = bench.path("gone");
    let bench = bench.set("FAKE_GPU_FAULT", &format!("vanish:rsb_gelu@{}", gone.display()));
    let document = run(&bench, &THREE).expect(1).json();
    assert!(gone.exists());
    assert_reason(case(&document, "/gelu/"), "failed", "no CUDA-capable device is detected");
    // Cases take turns in an order of their own: what came before stands, what came after says why it could not be.
    for other in ["/relu/", "/sum/"].map(|part| case(&document, part)) {
        assert!(outcome(other) == "simulated" || outcome(other) == "failed", "{other:#}");
    }
    assert_no_process_left(&bench);
    run(&bench, &THREE).expect(5);
}

#[test]
fn a_compiler_or_a_driver_that_ends_the_process() {
    let document = run(&with_fault("abort:nvrtc"), &THREE[..3]).expect(1).json();
    for case in cases(&document) {
        assert_reason(case, "failed", "was killed by signal 6 (SIGABRT)");
    }
    let bench = with_fault("abort:init");
    let document = run(&bench, &THREE).expect(1).json();
    assert_reason(case(&document, "tensor-ops"), "failed", "ended the process that asked");
    // The CPU is measured all the same.
    bench.run(&[&["run", "--backend", "cpu"], &THREE[..], &SMALL].concat()).expect(0);
}

#[test]
fn a_mistyped_fault_is_never_no_fault() {
    let ended = run(&with_fault("ooom:3"), &THREE);
    assert_ne!(ended.code, 0, "{}", ended.stdout);
    let document = ended.json();
    let found = case(&document, "tensor-ops");
    assert_reason(found, outcome(found), "`ooom:3` is no fault");
}

#[test]
fn a_clock_that_lies_gives_no_figure() {
    let relu = ["tensor-ops", "--axis", "shape=32x1024", "--axis", "operation=relu"];
    let products = ["gemm", "--axis", "dtype=f32", "--axis", "shape=64x48x32"];
    for (lie, arguments, word) in [
        ("clock:fast", &products[..], "impossible result"),
        ("clock:backwards", &relu[..], "clock gives -"),
        ("clock:stopped", &relu[..], "gives 0 ns"),
        ("clock:nan", &relu[..], "gives NaN"),
    ] {
        let document = run(&with_fault(lie), arguments).expect(1).json();
        assert!(!cases(&document).is_empty());
        for case in cases(&document) {
            assert_reason(case, "failed", word);
        }
    }
}

#[test]
fn without_a_function_what_needs_it_fails_and_the_rest_stands() {
    let (_dir, bench) = without(&["cuGraphInstantiateWithFlags"]);
    let document = run(&bench, &["launch-latency"]).expect(1).json();
    assert_reason(case(&document, "/graph/"), "failed", "cuGraphInstantiateWithFlags");
    assert_rest_stands(&document, "/graph/");
    let (_dir, bench) = without(&["cublasGemmStridedBatchedEx"]);
    let document = run(&bench, &PRODUCTS).expect(1).json();
    assert_reason(case(&document, "provider=cublas"), "failed", "cublasGemmStridedBatchedEx");
    assert_rest_stands(&document, "provider=cublas");
}

#[test]
fn without_a_function_that_every_gpu_needs_all_cases_fail() {
    for name in ["cuInit", "cuMemGetInfo_v2"] {
        let (_dir, bench) = without(&[name]);
        let document = run(&bench, &THREE).expect(1).json();
        assert_reason(case(&document, "tensor-ops"), "failed", name);
    }
}

#[test]
fn a_driver_that_is_not_there_is_no_fault() {
    let bench = with_library(Bench::new(), Path::new("/nonexistent/libcuda.so.1"));
    let document = run(&bench, &THREE).expect(5).json();
    assert_reason(case(&document, "tensor-ops"), "skipped", "/nonexistent/libcuda.so.1");
}

#[test]
fn eight_gpus_are_eight_and_know_one_another() {
    let bench = cuda().set("FAKE_GPU_DEVICES", "8");
    let document = run(&bench, &[&THREE[..3], &["--device", "0,7"]].concat()).expect(0).json();
    assert!(cases(&document).iter().any(|case| id(case).contains("/cuda:7/")), "{document:#}");
    assert_rest_stands(&document, "nothing");
    let arguments = ["all-reduce", "--axis", "size=64KiB", "--axis", "num_gpus=2,8", "--device", "0"];
    let document = run(&bench, &arguments).expect(0).json();
    assert_eq!(cases(&document).iter().filter(|case| outcome(case) == "simulated").count(), 2, "{document:#}");
    let arguments = ["multi-gpu", "--axis", "size=64KiB", "--axis", "operation=peer-copy", "--axis", "peer=0,3"];
    let document = run(&bench, &[&arguments[..], &["--device", "0"]].concat()).expect(0).json();
    assert!(cases(&document).iter().any(|case| outcome(case) == "simulated"), "{document:#}");
}

#[test]
fn little_free_memory_makes_cases_smaller_and_says_so() {
    let bench = cuda().set("FAKE_GPU_FREE_MB", "100");
    let copies = ["memory-bandwidth", "--axis", "operation=copy", "--axis", "cache=hot"];
    let document = run(&bench, &copies).expect(0).json();
    assert_rest_stands(&document, "nothing");
    assert!(case(&document, "/8MiB").is_object(), "eighths of 90 MB, rounded down: {document:#}");
}

/// Benchmarks that can never run on a fake GPU, or only on a CPU.
const ELSEWHERE: [&str; 4] = ["cache-hit-rate", "memory-allocation", "memory-fragmentation", "smi-metrics"];

#[test]
fn the_suite_of_gpus_completes_verified_and_marked() {
    let bench = cuda().set("FAKE_GPU_DEVICES", "2");
    // The sizes that GPUs deserve are those of the other suite; here it is the way that counts.
    let arguments = ["--suite", "gpu-performance", "--profile", "quick", "--device", "0", "--axis", "size=65536"];
    let document = run(&bench, &arguments).expect(0).json();
    for case in cases(&document) {
        match outcome(case) {
            "simulated" => {
                assert_eq!(case["device_type"], "simulated", "{case:#}");
                assert!(!case["results"].as_array().unwrap().is_empty(), "{case:#}");
            }
            "skipped" => assert!(["what", "why", "cure"].iter().all(|name| case[*name].is_string()), "{case:#}"),
            _ => panic!("{case:#}"),
        }
    }
    assert_no_process_left(&bench);
    let of = |case: &Value| id(case).split('/').nth(1).unwrap_or_default().to_owned();
    let mut named: Vec<String> = cases(&document).iter().map(of).collect();
    named.sort_unstable();
    named.dedup();
    for name in named.iter().filter(|name| !ELSEWHERE.contains(&name.as_str())) {
        let ran = cases(&document).iter().any(|case| of(case) == *name && outcome(case) == "simulated");
        assert!(ran, "{name} never ran: {document:#}");
    }
}

#[test]
fn products_of_every_type_are_verified() {
    let arguments = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f64,f32,tf32,f16,bf16,i8"];
    let document = run(&cuda(), &[&arguments[..], &["--axis", "provider=cublas"]].concat()).expect(0).json();
    for dtype in ["f64", "f32", "tf32", "f16", "bf16", "i8"] {
        let found = case(&document, &format!("/{dtype}/"));
        assert_eq!(outcome(found), "simulated", "{found:#}");
        let error = found["results"][0]["accuracy_error"].as_f64().unwrap();
        assert!((0.0..0.01).contains(&error), "{found:#}");
    }
}

/// The fake GPU has its GPUs at one address whichever way they are seen: `auto` measures each once.
#[test]
fn one_gpu_seen_by_rocm_and_cuda_is_one_gpu() {
    let bench = both().set("FAKE_GPU_DEVICES", "2");
    let arguments = ["run", "--json", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "gemm"];
    let document = bench.run(&[&arguments[..], &SMALL].concat()).json();
    let ran = |backend: &str| {
        let at = format!("/{backend}:");
        let ran = cases(&document).iter().filter(|case| id(case).contains(&at) && outcome(case) == "simulated");
        ran.count()
    };
    assert_eq!([ran("rocm"), ran("cuda")].map(|count| count > 0), [true, false], "{document:#}");
    let asked = bench.run(&[&["run", "--backend", "rocm"], &arguments[1..], &SMALL].concat()).json();
    assert_rest_stands(&asked, "nothing");
}

/// Nobody takes the fake GPU for a GPU.
#[test]
fn its_name_says_that_it_is_none() {
    let bench = cuda();
    let document = run(&bench, &["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32"]).expect(0).json();
    assert!(document.to_string().contains("fake GPU of sm_90 (no hardware)"), "{document:#}");
    let listed = bench.run(&["list", "--json"]).expect(0).json();
    let row = listed["benchmarks"].as_array().unwrap().iter();
    let row = row.clone().find(|row| row["backend"] == "cuda" && row["benchmark"] == "gemm").unwrap();
    assert_eq!(row["runnable"], true, "{row:#}");
    assert_eq!(row["devices"][0], "fake GPU of sm_90 (no hardware)", "{row:#}");
    let probed = bench.run(&["probe", "--json"]).expect(0).json();
    assert!(!probed["gpus"].to_string().contains("fake GPU"), "the probe reads the system: {probed:#}");
}
