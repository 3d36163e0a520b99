//! Status of a component: gated like any benchmark, and shown in the list of components.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::Bench;
use super::{FEW, bench_with};

fn row(bench: &Bench, name: &str) -> Value {
    let components = bench.run("components --json").expect(0).json();
    let rows = components["components"].as_array().unwrap();
    rows.iter().find(|row| row["component_id"] == name).unwrap().clone()
}

/// A product, and a case that needs only Python, because each process that loads PyTorch takes
/// seconds.
const SWEEP: &str = r#"
[[scenario]]
benchmark = "pytorch"
workload = "matmul"
precision = "f32"
axes = { shape = "128x128x128" }

[[scenario]]
benchmark = "python-faults"
axes = { fault = "none" }
"#;
const RUN: [&str; 5] = ["run", "--sweep", "sweep.toml", "--backend", "cpu"];

/// Uses one stored run for all checks, then measures the same cases again, slowed down.
#[test]
fn a_component_stands_as_its_last_run_its_targets_and_the_gate_say() {
    let Some(bench) = bench_with("torch") else { return };
    bench.write("sweep.toml", SWEEP);
    let arguments = [RUN.as_slice(), &FEW[..4], &["--replicates", "3"]].concat();
    bench.run(&arguments).expect(0);
    bench.run("baseline save").expect(0);
    let run = bench.run_files().remove(0);
    let mut again: Value = serde_json::from_str(&std::fs::read_to_string(&run).unwrap()).unwrap();
    again["run_id"] = "again".into();
    bench.write_sealed("again.json", &again);
    let verdict =
        bench.run(&["compare", run.to_str().unwrap(), "again.json", "--json"]).expect(0).json();
    assert!(verdict["comparisons"].as_array().is_some_and(|rows| !rows.is_empty()), "{verdict}");
    let passed = row(&bench, "pytorch");
    assert_eq!(passed["status"], "passed", "{passed}");
    assert!(passed["metrics"]["throughput"]["value"].as_f64().is_some_and(|value| value > 0.0));
    assert_eq!(row(&bench, "triton")["status"], "not_run");

    let target = "[[target]]\nid = \"*/matmul/*\"\nmetric = \"tflops\"\nabove = 1000000.0\n";
    let policy = bench.write("baselines/policy.toml", target);
    let warned = row(&bench, "pytorch");
    assert_eq!(warned["status"], "warning", "{warned}");
    let checks = warned["threshold_checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["passed"] == false), "{warned}");
    assert_eq!(warned["record"]["status"], "warning");
    assert!(bench.run("components").expect(0).stdout.contains("target missed"));
    bench.write("baselines/policy.toml", &format!("{target}fail = true\n"));
    assert_eq!(row(&bench, "pytorch")["status"], "failed", "a missed required target must fail");
    std::fs::remove_file(policy).unwrap();

    // A slowdown so large that concurrent tests cannot hide it.
    let slowed = bench.set("RSB_TEST_SLOWDOWN", "/128x128x128=100000.0");
    slowed.run(&arguments).expect(0);
    let result = slowed.run("gate --json --budget 0s").expect(3).json();
    let rows = result["comparisons"].as_array().unwrap();
    let regressed: Vec<&str> = rows
        .iter()
        .filter(|row| row["verdict"] == "Regressed")
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert!(
        regressed.iter().any(|id| id.contains("pytorch") && id.contains("/128x128x128")),
        "{result:#}"
    );
    let against = &row(&slowed, "pytorch")["comparison_to_baseline"];
    assert_eq!(against["verdict"], "Regressed", "{against}");
    assert!(against["time_change_percent"].as_f64().unwrap() > 100.0, "{against}");
    assert!(slowed.run("components").expect(0).stdout.contains("against its baseline: Regressed"));
}

#[test]
fn a_component_that_is_being_measured_is_running() {
    let Some(bench) = bench_with("torch") else { return };
    let arguments = ["run", "pytorch", "--backend", "cpu", "--axis", "workload=matmul"];
    let mut run = bench.command(&arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_mins(2);
    let is_running = || row(&bench, "pytorch")["status"] == "running";
    while !is_running() {
        assert!(Instant::now() < until, "the run was never shown as running");
        assert!(run.try_wait().unwrap().is_none(), "the run ended before it was shown as running");
    }
    assert_eq!(row(&bench, "triton")["status"], "not_run");
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!is_running(), "a killed run must not be shown as running");
}
