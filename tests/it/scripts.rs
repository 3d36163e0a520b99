//! The scripts at the top level, with the real program and with none.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::Bench;

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn run(bench: &Bench, name: &str, arguments: &[&str]) -> Output {
    let results = bench.path("results");
    Command::new(script(name))
        .args(arguments)
        .env("RUSTY_STACK_BENCH", env!("CARGO_BIN_EXE_rusty-stack-bench"))
        .env("RSB_CACHE_DIR", bench.path("cache"))
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
    let dir = bench.path("results");
    let named = run(&bench, "analyze_performance_trends.sh", &[dir.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&named.stdout).contains("gflops"));
}

#[test]
fn help_needs_no_toolchain_and_a_missing_one_is_told_how_to_get() {
    // A PATH with what the scripts themselves use, and no toolchain wherever the system keeps its own.
    let tools = tempfile::tempdir().unwrap();
    for tool in ["dirname", "realpath", "cat"] {
        let real = ["/usr/bin", "/bin"].map(|dir| PathBuf::from(dir).join(tool)).into_iter().find(|path| path.exists());
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

/// Runs `scripts/pr_comment.sh` with a `gh` that notes what it is asked and answers as GitHub would.
fn comment(bench: &Bench, text: &str, (number, existing): (&str, &str)) -> (Output, String) {
    use std::os::unix::fs::PermissionsExt;
    bench.write("comment.md", text);
    let gh = bench.write(
        "tools/gh",
        r#"#!/bin/sh
echo "$*" >>"$NOTED"
case "$*" in
"run download"*) while [ "$1" != --dir ]; do shift; done; cp "$TEXT" "$2/comment.md" ;;
*/pulls*) echo "$NUMBER" ;;
*--paginate*) [ -z "$EXISTING" ] || echo "$EXISTING" ;;
*--method*) for word in "$@"; do case "$word" in body=@*) cp "${word#body=@}" "$POSTED" ;; esac; done ;;
esac
"#,
    );
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", gh.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new(script("scripts/pr_comment.sh"))
        .env("PATH", path)
        .envs([
            ("GH_REPO", "owner/name"),
            ("RUN", "7"),
            ("HEAD_OWNER", "fork"),
            ("HEAD_BRANCH", "b"),
            ("HEAD_SHA", "c0"),
        ])
        .envs([("NUMBER", number), ("EXISTING", existing)])
        .envs([("NOTED", bench.path("noted")), ("POSTED", bench.path("posted")), ("TEXT", bench.path("comment.md"))])
        .output()
        .unwrap();
    (output, std::fs::read_to_string(bench.path("noted")).unwrap())
}

#[test]
fn one_comment_is_posted_and_then_updated() {
    const TEXT: &str = "<!-- rusty-stack-bench:gate -->\nREGRESSED, says @somebody\n";
    for (existing, expected) in [
        ("", "--method POST repos/owner/name/issues/12/comments"),
        ("99", "--method PATCH repos/owner/name/issues/comments/99"),
    ] {
        let bench = Bench::new();
        let (output, noted) = comment(&bench, TEXT, ("12", existing));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(noted.contains(expected) && noted.contains("head=fork:b"), "{noted}");
        let posted = std::fs::read_to_string(bench.path("posted")).unwrap();
        assert!(posted.contains("REGRESSED") && !posted.contains("@somebody"), "nobody is called: {posted}");
    }
}

#[test]
fn nothing_is_posted_for_a_stale_run_or_a_text_that_is_not_the_gates() {
    let bench = Bench::new();
    let (output, noted) = comment(&bench, "<!-- rusty-stack-bench:gate -->\n", ("", ""));
    assert!(output.status.success() && !noted.contains("--method POST"), "{noted}");
    let bench = Bench::new();
    let (output, noted) = comment(&bench, "anything else", ("12", ""));
    assert!(!output.status.success() && !noted.contains("--method POST"), "{noted}");
}
