//! Targets for what a run does not have, and what was achieved elsewhere.
#![allow(clippy::unwrap_used)]

mod common;

use common::{now, run, steady};
use rsb_model::{BenchmarkResult, CaseId, DeviceType, Fields};
use rsb_stats::{Policy, PolicyFile, gate, threshold_checks};

fn policy() -> Policy {
    let text = r#"
[[target]]
id = "gpu_performance/memory-transfer/*/256MiB"
metric = "link_percent"
above = 90.0
reference = "Gen4 x16: 28.4 of 31.5 GB/s"
"#;
    Policy::try_from(toml::from_str::<PolicyFile>(text).unwrap()).unwrap()
}

fn on_gpu(case: &str, percent: f64) -> BenchmarkResult {
    BenchmarkResult {
        benchmark_id: CaseId::from_segments(&["gpu_performance", "memory-transfer", "rocm:0", case]),
        results: vec![Fields::new().with("link_percent", percent)],
        ..steady("transfer", &[1e6])
    }
}

#[test]
fn a_run_without_gpus_owes_nothing_to_targets_for_gpus() {
    let without = run("without", vec![steady("copy", &[1e6])]);
    assert!(threshold_checks(std::slice::from_ref(&without), &policy()).is_empty());
    let result = gate(std::slice::from_ref(&without), std::slice::from_ref(&without), &policy(), &[], now());
    assert!(result.threshold_checks.is_empty());
    let other = run("other", vec![on_gpu("4KiB", 1.0)]);
    let checks = threshold_checks(&[other], &policy());
    assert_eq!((checks.len(), checks[0].passed), (1, None), "a run with a GPU that lacks the case says so");
    for size in ["4KiB", "256MiB"] {
        let on_cpu = BenchmarkResult { device_type: Some(DeviceType::Cpu), ..on_gpu(size, 1.0) };
        assert!(threshold_checks(&[run("lavapipe", vec![on_cpu])], &policy()).is_empty(), "{size}");
    }
}

#[test]
fn what_others_achieved_stands_beside_what_was_achieved() {
    for (percent, passed) in [(92.0, true), (88.0, false)] {
        let found = run("found", vec![on_gpu("256MiB", percent)]);
        let checks = threshold_checks(&[found], &policy());
        assert_eq!(checks[0].passed, Some(passed));
        assert_eq!(checks[0].expected_text(), "> 90 %");
        assert_eq!(checks[0].reference.as_deref(), Some("Gen4 x16: 28.4 of 31.5 GB/s"));
    }
}
