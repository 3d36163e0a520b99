//! Injected faults: each fails its case with `what`, `why` and `cure`, and with the messages of the
//! runtime. The rest of the run succeeds, and no process is left behind.

use super::support::{
    RUNTIMES, THREE, assert_no_process_left, assert_reason, assert_rest_stands, case, cases, each,
    outcome,
};
use crate::common::{SMALL, says, words};

/// Injects a fault into the gelu kernel: that case fails with its message, the two others succeed,
/// and the run exits with 1.
fn check(fault: &str, more: &[&str], words: [&str; 2]) {
    std::thread::scope(|scope| {
        for (runtime, word) in each(words) {
            scope.spawn(move || {
                let bench = runtime.with_fault(fault);
                let document = runtime.run(&bench, &[&THREE[..], more].concat()).expect(1).json();
                assert_reason(case(&document, "/gelu/"), "failed", word);
                assert_rest_stands(&document, "/gelu/");
                assert_no_process_left(&bench);
            });
        }
    });
}

#[test]
fn a_launch_that_fails() {
    check(
        "launch:rsb_gelu",
        &[],
        ["unspecified launch failure (error 719)", "unspecified launch failure"],
    );
}

#[test]
fn a_gpu_that_is_lost() {
    check(
        "lost:rsb_gelu",
        &[],
        ["hipStreamSynchronize: unknown error (error 999)", "cuStreamSynchronize: "],
    );
}

#[test]
fn a_kernel_that_hangs_ends_at_the_time_limit() {
    check("hang:rsb_gelu", &["--timeout", "4"], ["it did not end within 4 s"; 2]);
}

#[test]
fn a_launch_that_never_returns_ends_at_the_time_limit() {
    check("stuck:rsb_gelu", &["--timeout", "4"], ["it did not end within 4 s"; 2]);
}

#[test]
fn a_wrong_result_is_never_timed() {
    check("wrong:rsb_gelu", &[], ["wrong result of gelu"; 2]);
}

/// Injects a fault into the library for matrix products: its product fails with the expected
/// messages, and the native product succeeds.
fn check_products(fault: &str, words: [&[&str]; 2]) {
    for (runtime, words) in each(words) {
        let bench = runtime.with_fault(&format!("{fault}{}", runtime.products));
        let document = runtime.run_products(&bench).expect(1).json();
        let own = format!("provider={}", runtime.products);
        for word in words {
            assert_reason(case(&document, &own), "failed", word);
        }
        assert_rest_stands(&document, &own);
    }
}

#[test]
fn a_wrong_product_of_a_library() {
    check_products("wrong:", [&["wrong result of gemm"]; 2]);
}

#[test]
fn a_launch_of_a_library_that_fails() {
    check_products("launch:", [&["unspecified launch failure"]; 2]);
}

#[test]
fn a_library_that_ends_the_process() {
    let killed = "was killed by signal 6 (SIGABRT)";
    check_products("abort:", [&[killed, "no kernels for this GPU"], &[killed]]);
}

#[test]
fn memory_that_is_used_up_at_the_third_allocation() {
    for (runtime, word) in each(["hipMalloc: out of memory (error 2)", "cuMemAlloc_v2: "]) {
        let bench = runtime.with_fault("oom:3");
        let axes = words(
            "memory-bandwidth --axis size=64KiB --axis operation=copy,triad --axis \
             cache=hot",
        );
        let document = runtime.run(&bench, &axes).expect(1).json();
        assert_reason(case(&document, "/triad/"), "failed", word);
        assert!(
            case(&document, "/triad/")["cure"].as_str().unwrap().contains("smaller size"),
            "{document:#}"
        );
        assert_rest_stands(&document, "/triad/");
        assert_no_process_left(&bench);
    }
}

#[test]
fn a_gpu_that_vanishes_in_the_middle_of_a_run() {
    // The message of CUDA depends on which driver files exist here.
    let own = [
        ("no ROCm-capable device is detected (error 100)", "the runtime finds no device"),
        ("no CUDA-capable device is detected", "devices of CUDA"),
    ];
    for (runtime, (word, absent)) in each(own) {
        let bench = runtime.fake_gpu();
        let gone = bench.path("gone");
        let bench = bench.set("FAKE_GPU_FAULT", &format!("vanish:rsb_gelu@{}", gone.display()));
        let document = runtime.run(&bench, &THREE).expect(1).json();
        assert!(gone.exists());
        assert_reason(case(&document, "/gelu/"), "failed", word);
        // Cases run in random order: those before the GPU disappears succeed, those after it report
        // why they could not run.
        for other in ["/relu/", "/sum/"].map(|part| case(&document, part)) {
            if outcome(other) != "simulated" {
                assert_reason(other, "failed", absent);
            }
        }
        assert_no_process_left(&bench);
        let again = runtime.run(&bench, &THREE).expect(5).json();
        assert_reason(case(&again, "tensor-ops"), "skipped", absent);
        // Earlier measurements are kept, even if later replicates find no GPU.
        std::fs::remove_file(&gone).unwrap();
        let twice = [
            "run",
            "--backend",
            runtime.backend,
            "--json",
            "--replicates",
            "2",
            "--runs",
            "10",
            "--warmup",
            "1",
        ];
        let document = bench.run(&[&twice[..], &THREE].concat()).expect(1).json();
        let mut stands =
            cases(&document).iter().filter(|case| outcome(case) == "simulated").peekable();
        assert!(stands.peek().is_some(), "{document:#}");
        for case in stands {
            assert_eq!(case["metadata"]["replicates"], 1, "{case:#}");
            says(&case["metadata"]["notes"].to_string(), &["could not run from replicate 2 on"]);
        }
    }
}

#[test]
fn a_compiler_that_ends_the_process() {
    for (runtime, arch) in each(["gfx90a", "sm_90"]) {
        let bench = runtime.with_fault(&format!("abort:{}", runtime.compiler));
        let document = runtime.run(&bench, &THREE[..3]).expect(1).json();
        for case in cases(&document) {
            assert_reason(case, "failed", "was killed by signal 6 (SIGABRT)");
            let why = case["why"].as_str().unwrap();
            assert!(why.contains(&format!("for {arch}")), "the cause must be named: {why}");
        }
        // Cases that need none of our kernels succeed.
        let products = ["gemm", "--axis", "shape=64x48x32", "--axis", "dtype=f32"];
        assert_rest_stands(&runtime.run(&bench, &products).expect(0).json(), "nothing");
    }
}

#[test]
fn a_module_that_does_not_compile_costs_its_cases() {
    for (runtime, word) in each(["undeclared identifier in 'rsb_sum'"; 2]) {
        let bench = runtime.with_fault("compile:rsb_sum");
        let document = runtime.run(&bench, &THREE).expect(1).json();
        assert_reason(case(&document, "/sum/"), "failed", word);
        assert_rest_stands(&document, "/sum/");
    }
}

#[test]
fn a_runtime_that_ends_the_process_when_it_starts() {
    for &runtime in RUNTIMES {
        let bench = runtime.with_fault("abort:init");
        let document = runtime.run(&bench, &THREE).expect(1).json();
        assert_reason(case(&document, "tensor-ops"), "failed", "the probe process ended");
        // The CPU is still measured.
        bench.run(&[&["run", "--backend", "cpu"], &THREE[..], &SMALL].concat()).expect(0);
        let auto = bench
            .run(&[&["run", "--suite", "quick", "--dry-run"], &SMALL[..]].concat())
            .expect(1)
            .stdout;
        assert!(auto.contains("/gemm/cpu:0/"), "{auto}");
        let backend = runtime.backend;
        says(&auto, &[&format!("gpu_performance/all/{backend}: failed: devices of {backend}")]);
    }
}

#[test]
fn a_mistyped_fault_is_never_no_fault() {
    for &runtime in RUNTIMES {
        let ended = runtime.run(&runtime.with_fault("ooom:3"), &THREE);
        assert_ne!(ended.code, 0, "{}", ended.stdout);
        let document = ended.json();
        let found = case(&document, "tensor-ops");
        assert_reason(found, outcome(found), "unknown fault `ooom:3`");
    }
}

#[test]
fn little_free_memory_makes_cases_smaller_and_says_so() {
    let copies = ["memory-bandwidth", "--axis", "operation=copy", "--axis", "cache=hot"];
    for &runtime in RUNTIMES {
        let bench = runtime.fake_gpu().set("FAKE_GPU_FREE_MB", "100");
        let document = runtime.run(&bench, &copies).expect(0).json();
        assert_rest_stands(&document, "nothing");
        assert!(
            case(&document, "/8MiB").is_object(),
            "the size must be an eighth of 90 MB, rounded down: {document:#}"
        );
        let text = bench
            .run(&[&["run", "--backend", runtime.backend], &copies[..], &SMALL].concat())
            .expect(0);
        let said = format!("{}{}", text.stdout, text.stderr).replace('\n', " ");
        says(&said, &[&format!("{}:0 has only 90 MB for a benchmark", runtime.backend)]);
        let large = runtime
            .run(&bench, &[&copies[..], &["--axis", "size=64MiB"]].concat())
            .expect(5)
            .json();
        assert_reason(case(&large, "/copy/f32/64MiB"), "skipped", "134.2 MB of memory");
    }
}
