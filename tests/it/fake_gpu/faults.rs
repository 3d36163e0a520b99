//! Each fault gives a failed case with what, why and cure; the rest of the run stands, and no process is left behind.

use super::support::{
    THREE, assert_no_process_left, assert_reason, assert_rest_stands, case, cases, fake_gpu, run, with_fault,
};

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
    check("launch:rsb_gelu", &[], "unspecified launch failure (error 719)");
}

#[test]
fn a_gpu_that_is_lost() {
    check("lost:rsb_gelu", &[], "hipStreamSynchronize: unknown error (error 999)");
}

#[test]
fn a_kernel_that_hangs_ends_at_the_time_limit() {
    check("hang:rsb_gelu", &["--timeout", "4"], "it did not end within 4 s");
}

#[test]
fn a_launch_that_never_returns_ends_at_the_time_limit() {
    check("stuck:rsb_gelu", &["--timeout", "4"], "it did not end within 4 s");
}

#[test]
fn a_wrong_result_is_never_timed() {
    check("wrong:rsb_gelu", &[], "wrong result of gelu");
}

#[test]
fn a_wrong_product_of_rocblas() {
    let bench = with_fault("wrong:rocblas");
    let axes = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "--axis", "provider=rocblas,native"];
    let document = run(&bench, &axes).expect(1).json();
    assert_reason(case(&document, "provider=rocblas"), "failed", "wrong result of gemm");
    assert_rest_stands(&document, "provider=rocblas");
}

#[test]
fn memory_that_is_used_up_at_the_third_allocation() {
    let bench = with_fault("oom:3");
    let axes = ["memory-bandwidth", "--axis", "size=64KiB", "--axis", "operation=copy,triad", "--axis", "cache=hot"];
    let document = run(&bench, &axes).expect(1).json();
    assert_reason(case(&document, "/triad/"), "failed", "hipMalloc: out of memory (error 2)");
    assert!(case(&document, "/triad/")["cure"].as_str().unwrap().contains("smaller size"));
    assert_rest_stands(&document, "/triad/");
    assert_no_process_left(&bench);
}

#[test]
fn a_gpu_that_vanishes_in_the_middle_of_a_run() {
    let bench = fake_gpu();
    let gone = bench.path("gone");
    let bench = bench.set("FAKE_GPU_FAULT", &format!("vanish:rsb_gelu@{}", gone.display()));
    let document = run(&bench, &THREE).expect(1).json();
    assert!(gone.exists());
    assert_reason(case(&document, "/gelu/"), "failed", "no ROCm-capable device is detected (error 100)");
    // Cases take turns in an order of their own: what came before stands, what came after says why it could not be.
    for other in ["/relu/", "/sum/"] {
        let case = case(&document, other);
        if case["outcome"] != "simulated" {
            assert_reason(case, "failed", "the runtime finds no device");
        }
    }
    assert_no_process_left(&bench);
    let again = run(&bench, &THREE).expect(5).json();
    assert_reason(case(&again, "tensor-ops"), "skipped", "the runtime finds no device");
    // What was measured before stands, even when its later replicates find no GPU.
    std::fs::remove_file(&gone).unwrap();
    let twice = ["run", "--backend", "rocm", "--json", "--replicates", "2", "--runs", "10", "--warmup", "1"];
    let document = bench.run(&[&twice[..], &THREE].concat()).expect(1).json();
    let mut stands = cases(&document).iter().filter(|case| case["outcome"] == "simulated").peekable();
    assert!(stands.peek().is_some(), "{document:#}");
    for case in stands {
        assert_eq!(case["metadata"]["replicates"], 1, "{case:#}");
        assert!(case["metadata"]["notes"].to_string().contains("from replicate 2 on it could not run"), "{case:#}");
    }
}

#[test]
fn a_compiler_that_ends_the_process() {
    let bench = with_fault("abort:hiprtc");
    let document = run(&bench, &THREE[..3]).expect(1).json();
    for case in cases(&document) {
        assert_reason(case, "failed", "was killed by signal 6 (SIGABRT)");
        let why = case["why"].as_str().unwrap();
        assert!(why.contains("for gfx90a") && why.contains("does not know gfx90a"), "the cause is named: {why}");
    }
    // What needs no kernel of our own stands.
    let document = run(&bench, &["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32"]).expect(0).json();
    assert_rest_stands(&document, "nothing");
}

#[test]
fn a_rocblas_that_ends_the_process() {
    let bench = with_fault("abort:rocblas");
    let axes = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32", "--axis", "provider=rocblas,native"];
    let document = run(&bench, &axes).expect(1).json();
    assert_reason(case(&document, "provider=rocblas"), "failed", "was killed by signal 6 (SIGABRT)");
    let why = case(&document, "provider=rocblas")["why"].as_str().unwrap();
    assert!(why.contains("no kernels for this GPU"), "{why}");
    assert_rest_stands(&document, "provider=rocblas");
}

#[test]
fn a_runtime_that_ends_the_process_when_it_starts() {
    let bench = with_fault("abort:init");
    let document = run(&bench, &THREE).expect(1).json();
    assert_reason(case(&document, "tensor-ops"), "failed", "ended the process that asked");
    // The CPU is measured all the same.
    let ended = bench.run(&[&["run", "--backend", "cpu"], &THREE[..], &crate::common::SMALL].concat());
    ended.expect(0);
    let auto = bench.run(&[&["run", "--suite", "quick", "--dry-run"], &crate::common::SMALL[..]].concat()).expect(0);
    assert!(auto.stdout.contains("/gemm/cpu:0/"), "{}", auto.stdout);
    assert!(auto.stdout.contains("gpu_performance/all/rocm: failed: devices of rocm"), "{}", auto.stdout);
}

#[test]
fn a_mistyped_fault_is_never_no_fault() {
    let bench = with_fault("ooom:3");
    let document = run(&bench, &THREE).expect(5).json();
    assert_reason(case(&document, "tensor-ops"), "skipped", "`ooom:3` is no fault");
}

#[test]
fn little_free_memory_makes_cases_smaller_and_says_so() {
    let bench = fake_gpu().set("FAKE_GPU_FREE_MB", "100");
    let copies = ["memory-bandwidth", "--axis", "operation=copy", "--axis", "cache=hot"];
    let document = run(&bench, &copies).expect(0).json();
    assert_rest_stands(&document, "nothing");
    assert!(case(&document, "/8MiB").is_object(), "eighths of 90 MB, rounded down: {document:#}");
    let text = bench.run(&[&["run", "--backend", "rocm"], &copies[..], &crate::common::SMALL].concat()).expect(0);
    let said = format!("{}{}", text.stdout, text.stderr).replace('\n', " ");
    assert!(said.contains("rocm:0 lets a benchmark take 90 MB alone"), "{said}");
    let large = run(&bench, &[&copies[..], &["--axis", "size=64MiB"]].concat()).expect(5).json();
    assert_reason(case(&large, "/copy/f32/64MiB"), "skipped", "134.2 MB of memory");
}
