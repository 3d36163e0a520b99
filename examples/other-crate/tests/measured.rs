//! The benchmark is listed, verified, measured and stored like the built-in ones.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn a_benchmark_of_another_crate_is_measured_and_stored() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["run", "--json", "--replicates", "1", "--runs", "10", "--warmup", "1"];
    let output = Command::new(env!("CARGO_BIN_EXE_other-crate"))
        .args(words)
        .current_dir(dir.path())
        .env("XDG_CACHE_HOME", dir.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = run["benchmarks"].as_array().unwrap();
    let ids: Vec<&str> = cases.iter().map(|case| case["benchmark_id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        ["cpu_performance/primes/cpu:0/n=1000", "cpu_performance/primes/cpu:0/n=10000"],
        "{errors}"
    );
    assert!(cases.iter().all(|case| case["outcome"] == "measured"), "{run:#}");
    let id = run["run_id"].as_str().unwrap();
    assert!(dir.path().join(format!("benchmark_results/runs/{id}.json")).is_file());
}
