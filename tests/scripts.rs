//! The scripts at the top level, with the real program and with none.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::path::PathBuf;
use std::process::{Command, Output};

use common::Bench;

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn run(bench: &Bench, name: &str, arguments: &[&str]) -> Output {
    let results = bench.path("results");
    Command::new(script(name))
        .args(arguments)
        .env("RUSTY_STACK_BENCH", env!("CARGO_BIN_EXE_rusty-stack-bench"))
        .env("RSB_RESULTS_DIR", &results)
        .env("RSB_BASELINES_DIR", bench.path("baselines"))
        .output()
        .unwrap()
}

const SMALL: [&str; 9] = ["gemm", "--axis", "shape=32x32x32", "--replicates", "1", "--runs", "10", "--warmup", "1"];

#[test]
fn the_main_job_measures_reports_and_says_no_verdict_without_a_baseline() {
    let bench = Bench::new();
    let output = run(&bench, "run_benchmarks.sh", &SMALL);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("NO VERDICT") && stdout.contains("baseline save"), "{stdout}");
    assert!(stdout.contains("benchmark_report_"), "{stdout}");
    let strict = run(&bench, "run_benchmarks.sh", &[&["--gate"][..], &SMALL].concat());
    assert_eq!(strict.status.code(), Some(4));
}

#[test]
fn trends_are_over_what_is_stored() {
    let bench = Bench::new();
    run(&bench, "run_benchmarks.sh", &SMALL);
    let output = run(&bench, "analyze_performance_trends.sh", &[]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("gflops"), "{stdout}");
    let folder = bench.path("results");
    let named = run(&bench, "analyze_performance_trends.sh", &[folder.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&named.stdout).contains("gflops"));
}

#[test]
fn help_needs_no_toolchain_and_a_missing_one_is_told_how_to_get() {
    // A PATH with what the scripts themselves use, and no toolchain wherever the system keeps its own.
    let tools = tempfile::tempdir().unwrap();
    for tool in ["dirname", "realpath", "cat"] {
        let real =
            ["/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(tool)).into_iter().find(|path| path.exists());
        std::os::unix::fs::symlink(real.unwrap(), tools.path().join(tool)).unwrap();
    }
    for name in ["run_benchmarks.sh", "analyze_performance_trends.sh"] {
        let help = Command::new(script(name)).arg("--help").output().unwrap();
        assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("Usage"));
        let without =
            Command::new("/bin/bash").arg(script(name)).env_clear().env("PATH", tools.path()).output().unwrap();
        assert_eq!(without.status.code(), Some(1), "{}", String::from_utf8_lossy(&without.stderr));
        assert!(String::from_utf8_lossy(&without.stderr).contains("https://rustup.rs"));
    }
}
