//! Tests of targets for values that a run does not have, and of reference values.
#![allow(clippy::unwrap_used)]

mod common;

use common::{bare, now, run, steady};
use rsb_model::{BenchmarkResult, CaseId, DeviceType, Fields, Outcome, ReasonCode, Verdict};
use rsb_stats::{Policy, PolicyError, PolicyFile, exit_code, gate, threshold_checks};

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
        benchmark_id: CaseId::from_segments(&[
            "gpu_performance",
            "memory-transfer",
            "rocm:0",
            case,
        ]),
        results: vec![Fields::new().with("link_percent", percent)],
        ..steady("transfer", &[1e6])
    }
}

#[test]
fn a_run_without_gpus_owes_nothing_to_targets_for_gpus() {
    let without = run("without", vec![steady("copy", &[1e6])]);
    assert!(threshold_checks(std::slice::from_ref(&without), &policy()).is_empty());
    let again = run("again", vec![steady("copy", &[1.1e6])]);
    let result = gate(std::slice::from_ref(&without), &[again], &policy(), &[], now());
    assert!(result.threshold_checks.is_empty());
    let other = run("other", vec![on_gpu("4KiB", 1.0)]);
    let checks = threshold_checks(&[other], &policy());
    assert_eq!(
        (checks.len(), checks[0].passed),
        (1, None),
        "a run with a GPU must report a target whose case it lacks"
    );
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

#[test]
fn a_target_that_must_hold_and_that_no_planned_case_answers_is_no_verdict() {
    let judged = |pattern: &str, more: &dyn Fn() -> BenchmarkResult| {
        let text = format!(
            "[[target]]\nid = \"{pattern}\"\nmetric = \"gflops\"\nabove = 1.0\nfail = true\n"
        );
        let policy = Policy::try_from(toml::from_str::<PolicyFile>(&text).unwrap()).unwrap();
        let side = |name: &str| [run(name, vec![steady("gemm", &[1000.0, 1010.0, 990.0]), more()])];
        gate(&side("before"), &side("after"), &policy, &[], now())
    };
    let skipped = |id: &str| BenchmarkResult {
        benchmark_id: id.parse().unwrap(),
        ..bare("x", Outcome::Skipped)
    };
    let plain = || steady("copy", &[1000.0, 1010.0, 990.0]);
    for (pattern, more, owed) in [
        ("*/gemm/*/2048x2048x2048", &plain as &dyn Fn() -> BenchmarkResult, true),
        ("cpu_performance/gemm/*/f16/*", &plain, true),
        ("*nothing*", &plain, true),
        // The benchmark is not part of this run.
        ("*/softmax/*", &plain, false),
        // Planned but skipped: a CPU benchmark, and GPU benchmarks on a machine without that GPU.
        ("*/cache-hit-rate/*", &|| skipped("cpu_performance/cache-hit-rate/cpu:0/32KiB"), true),
        ("*/memory-transfer/*", &|| skipped("gpu_performance/memory-transfer/rocm/256MiB"), false),
        ("gpu_performance/gemm/*", &|| skipped("gpu_performance/gemm/rocm/f32"), false),
    ] {
        let result = judged(pattern, more);
        let row = result.comparisons.iter().find(|row| row.id.as_str() == pattern);
        assert_eq!(
            (row.is_some(), exit_code(&result)),
            (owed, if owed { 4 } else { 0 }),
            "{pattern}: {result:#?}"
        );
        assert!(
            row.is_none_or(|row| (row.verdict, row.reason_code)
                == (Verdict::Inconclusive, ReasonCode::Missing))
        );
    }
}

#[test]
fn a_target_without_a_value_is_shown_only_if_the_run_has_its_benchmark() {
    let text = |id: &str| format!("[[target]]\nid = \"{id}\"\nmetric = \"gflops\"\nabove = 1.0\n");
    let with_copy = [run("with-copy", vec![steady("copy", &[1e6])])];
    for (pattern, shown) in [
        ("*/copy/*/2048", true),
        ("cpu_performance/copy/*/2048", true),
        ("*/gemm/*", false),
        ("cpu_performance/gemm/*", false),
        ("*nothing*", true),
    ] {
        let file: PolicyFile = toml::from_str(&text(pattern)).unwrap();
        let checks = threshold_checks(&with_copy, &Policy::try_from(file).unwrap());
        assert_eq!(!checks.is_empty(), shown, "{pattern}");
    }
}

#[test]
fn one_line_of_the_policy_makes_the_targets_of_a_metric_failures() {
    let judged = |line: &str| {
        let text = format!(
            "{line}\n[[target]]\nid = \"*/memory-transfer/*\"\nmetric = \"link_percent\"\nabove = 90.0\n"
        );
        let policy = Policy::try_from(toml::from_str::<PolicyFile>(&text).unwrap())?;
        let side = |name: &str| [run(name, vec![on_gpu("256MiB", 80.0)])];
        Ok::<_, PolicyError>(exit_code(&gate(&side("before"), &side("after"), &policy, &[], now())))
    };
    let plain = judged("").unwrap();
    assert_ne!(plain, 3);
    assert_eq!(judged("fail_targets = [\"link_percent\"]"), Ok(3));
    assert_eq!(
        judged("fail_targets = [\"link_percent\"]\nignore.metrics = [\"link_percent\"]"),
        Ok(3),
        "a metric that is not compared can still have a target"
    );
    let wrong = judged("fail_targets = [\"efficiency\"]").unwrap_err().to_string();
    assert!(wrong.contains("fail_targets[0]") && wrong.contains("no target"), "{wrong}");
}
