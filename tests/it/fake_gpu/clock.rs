//! Faulty GPU clocks: every value measured with one is rejected.

use super::support::{ROCM, RUNTIMES, Runtime, assert_reason, cases, id, outcome};
use crate::common::words;

fn refused(runtime: Runtime, lie: &str, arguments: &[&str], word: &str) {
    let document = runtime.run(&runtime.with_fault(lie), arguments).expect(1).json();
    assert!(!cases(&document).is_empty());
    for case in cases(&document) {
        assert_reason(case, "failed", word);
    }
}

#[test]
fn too_fast_is_above_the_peak_of_the_memory_or_the_caches() {
    let copies = ["memory-bandwidth", "--axis", "operation=copy", "--axis", "cache=hot", "--axis"];
    let word = "above 1.3 times the memory's peak of 1638.4 GB/s";
    refused(ROCM, "clock:fast", &[&copies[..], &["size=64MiB"]].concat(), word);
    refused(
        ROCM,
        "clock:fast",
        &[&copies[..], &["size=128KiB"]].concat(),
        "above the bandwidth limit of the GPU's compute units",
    );
}

#[test]
fn too_fast_is_above_the_peak_of_the_compute_units() {
    for (benchmark, runtimes) in [("gemm", RUNTIMES), ("compute-peak", &[ROCM])] {
        for &runtime in runtimes {
            let word = "above the arithmetic limit of the GPU's compute units in f32";
            refused(runtime, "clock:fast", &[benchmark, "--axis", "dtype=f32"], word);
        }
    }
}

/// Every benchmark timed with the GPU's clock is rejected.
#[test]
fn too_fast_is_refused_by_every_benchmark() {
    let bench = ROCM.with_fault("clock:fast").set("FAKE_GPU_DEVICES", "2");
    let arguments = words("--suite gpu-performance --profile quick --device 0 --axis size=65536");
    let document = ROCM.run(&bench, &arguments).expect(1).json();
    let by_the_gpu = |case: &&serde_json::Value| !id(case).contains("/memory-tiers/rocm:0/host/");
    for case in cases(&document).iter().filter(by_the_gpu) {
        if outcome(case) != "skipped" {
            assert_reason(case, "failed", "impossible result");
        }
    }
}

#[test]
fn backwards_stopped_and_no_number_are_no_times() {
    let relu = ["tensor-ops", "--axis", "shape=32x1024", "--axis", "operation=relu"];
    for &runtime in RUNTIMES {
        for (lie, word) in [
            ("clock:backwards", "clock reports -"),
            ("clock:stopped", "reports 0 ns"),
            ("clock:nan", "reports NaN"),
        ] {
            refused(runtime, lie, &relu, word);
        }
    }
}
