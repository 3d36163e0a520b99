//! Whole suites on the fake GPU: every case is verified and marked as simulated, and none is ever
//! gated.

use std::collections::BTreeSet;

use serde_json::Value;

use super::support::{
    ROCM, RUNTIMES, Runtime, assert_no_process_left, cases, fake_gpu, id, outcome,
};
use crate::common::{Bench, SMALL};

/// Runs a suite with the quick profile and checks every case: simulated and verified, or skipped
/// with a reason.
fn whole(runtime: Runtime, suite: &str, more: &[&str]) -> (Bench, Value) {
    let bench = runtime.fake_gpu().set("FAKE_GPU_DEVICES", "2");
    let arguments = ["--suite", suite, "--profile", "quick", "--device", "0"];
    let document = runtime.run(&bench, &[&arguments[..], more].concat()).expect(0).json();
    for case in cases(&document) {
        match outcome(case) {
            "simulated" => {
                assert_eq!(case["device_type"], "simulated", "{case:#}");
                assert!(!case["results"].as_array().unwrap().is_empty(), "{case:#}");
            }
            "skipped" => assert!(
                ["what", "why", "cure"].iter().all(|name| case[*name].is_string()),
                "{case:#}"
            ),
            _ => panic!("{case:#}"),
        }
    }
    assert_no_process_left(&bench);
    (bench, document)
}

/// Benchmarks that never run on a fake GPU, most of them because they run only on the CPU.
const ELSEWHERE: [&str; 4] =
    ["cache-hit-rate", "memory-allocation", "memory-fragmentation", "smi-metrics"];

fn every_benchmark_ran(document: &Value) {
    let name = |case: &Value| id(case).split('/').nth(1).unwrap_or_default().to_owned();
    let named: BTreeSet<String> = cases(document)
        .iter()
        .map(name)
        .filter(|name| !ELSEWHERE.contains(&name.as_str()))
        .collect();
    assert!(named.len() > 6, "{named:?}");
    let ran =
        cases(document).iter().filter(|case| outcome(case) == "simulated").map(name).collect();
    assert_eq!(
        named.difference(&ran).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "some benchmarks never ran: {document:#}"
    );
}

#[test]
fn every_workload_runs_verifies_and_is_marked() {
    let (bench, document) = whole(ROCM, "pre-installation", &[]);
    every_benchmark_ran(&document);
    let gemm = cases(&document)
        .iter()
        .find(|case| id(case).contains("/gemm/") && outcome(case) == "simulated")
        .unwrap();
    let [error, limit] =
        ["accuracy_error", "accuracy_limit"].map(|name| gemm["results"][0][name].as_f64().unwrap());
    assert!(error < 1e-3 && error <= limit && limit < 0.05, "{gemm:#}");
    assert_eq!(gemm["results"][0]["provider"], "rocblas");
    never_green(&bench);
}

/// Checks that a run of simulated results has no verdict, neither against itself nor against a
/// baseline of them.
fn never_green(bench: &Bench) {
    let run = bench.run_files()[0].display().to_string();
    let gate =
        bench.run(&["gate", "--baseline", &run, "--current", &run, "--json"]).expect(4).json();
    assert_ne!(gate["verdict"], "unchanged", "{gate:#}");
    for comparison in gate["comparisons"].as_array().unwrap() {
        assert_eq!(comparison["verdict"], "not_comparable", "{comparison:#}");
    }
}

#[test]
fn the_suite_of_gpus_completes() {
    // Small sizes are enough to test the code path. For ROCm, other tests run a different suite,
    // and this suite with a faulty clock.
    let runtime = RUNTIMES[RUNTIMES.len() - 1];
    let (_, document) = whole(runtime, "gpu-performance", &["--axis", "size=64KiB"]);
    every_benchmark_ran(&document);
    let simulated = cases(&document).iter().filter(|case| outcome(case) == "simulated").count();
    assert!(simulated > 20, "{simulated}");
}

#[test]
fn a_capability_of_a_look_alike_is_no_hardware_to_the_probe() {
    let bench = fake_gpu();
    let document = bench.run("probe --json").expect(0).json();
    let named = document["gpus"].to_string();
    assert!(
        !named.contains("fake GPU"),
        "the probe must read the system, not the runtime: {named}"
    );
    let text = bench.run(
        &[
            &["gemm", "--backend", "rocm", "--axis", "shape=64x64x64", "--axis", "dtype=f32"],
            &SMALL[..],
        ]
        .concat(),
    );
    assert!(text.expect(0).stdout.contains("simulated"));
}
