//! `gate --against` with the real binary: decisions before building anything, and two builds of a
//! small program with made-up times. Judging this program itself takes minutes; CONTRIBUTING.md has
//! the command.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::revisions::{Change, FAST, Source, commit, git, repository};
use crate::common::{Bench, says};
use serde_json::Value;

/// Returns the rows of a comparison, as `(case, verdict)`.
fn verdicts(result: &Value) -> Vec<(&str, &str)> {
    let rows = result["comparisons"].as_array().unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap(), row["verdict"].as_str().unwrap())).collect()
}

const ONE: &str = "cpu_performance/made-up/cpu:0/one";
const TWO: &str = "cpu_performance/made-up/cpu:0/two";
const JSON: [&str; 4] = ["gate", "--against", "HEAD", "--json"];

#[test]
fn what_became_slower_is_named_alone() {
    let bench = repository().set("ALIGNED", "1");
    commit(&bench, &Change::Source(FAST, ""), "fast");
    Source { two: "1.2", ..Source::of(FAST) }.write(&bench);
    let result = bench.run(&JSON).expect(3).json();
    assert_eq!(verdicts(&result), [(ONE, "Unchanged"), (TWO, "Regressed")], "{result:#}");
    let change = result["comparisons"][1]["difference_percent"].as_f64().unwrap();
    assert!((change - 20.0).abs() < 1.0, "{change}");
    // A case that runs on neither side is neither new nor missing.
    assert_eq!(
        (&result["new"], &result["missing"]),
        (&Value::Array(vec![]), &Value::Array(vec![]))
    );
}

#[test]
#[cfg(target_arch = "x86_64")] // Where rustc links with lld by itself.
fn each_side_is_measured_in_several_layouts() {
    let bench = repository().set("NOTE_LAYOUTS", "layouts");
    commit(&bench, &Change::Source(FAST, ""), "fast");
    Source { two: "1.2", ..Source::of(FAST) }.write(&bench);
    let result = bench.run(&[&JSON[..], &["--layouts", "8"]].concat()).expect(3).json();
    assert_eq!(verdicts(&result), [(ONE, "Unchanged"), (TWO, "Regressed")], "{result:#}");
    assert!(result["notes"].to_string().contains("linked in 8 layouts"), "{result:#}");
    let noted =
        std::fs::read_dir(bench.path("layouts")).unwrap().map(|entry| entry.unwrap().file_name());
    let (stacks, layouts): (Vec<_>, Vec<_>) =
        noted.partition(|name| name.to_string_lossy().starts_with("stack-"));
    assert!(
        layouts.len() >= 4,
        "functions must have different addresses in each layout: {layouts:?}"
    );
    assert!(
        stacks.len() >= 4,
        "the stack must have different addresses in each layout: {stacks:?}"
    );
    let refused = bench.run("gate --layouts 8").expect(2);
    assert!(refused.stderr.contains("--against"), "{}", refused.stderr);
}

/// Stand-in for Valgrind, used if the CPU has no counters: writes the program's standard error,
/// which contains the count, to the log.
const VALGRIND: &str = r#"#!/bin/sh
while :; do case $1 in --log-file=*) log=${1#*=};; --*) ;; *) break;; esac; shift; done
"$@" 2> "$log"
"#;

#[test]
fn added_instructions_are_a_regression_while_the_time_is_as_before() {
    let bench = repository();
    let valgrind = bench.write("tools/valgrind", VALGRIND);
    std::fs::set_permissions(&valgrind, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bench.path("tools").display(), std::env::var("PATH").unwrap());
    let bench = bench.set("PATH", &path);
    let of = |instructions| Source { cases: 1, instructions, ..Source::of(FAST) };
    let gate = |before, after, code| {
        of(before).write(&bench);
        git(&bench, &["add", "."]);
        git(&bench, &["commit", "--quiet", "-m", "before"]);
        of(after).write(&bench);
        let result =
            bench.run(&[&JSON[..], &["--metric", "instructions"]].concat()).expect(code).json();
        let rows = result["comparisons"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["verdict"]), (2, &Value::from("Unchanged")), "{result:#}");
        assert!(result["notes"].to_string().contains("instructions are counted for"), "{result:#}");
        (
            rows[1]["verdict"].as_str().unwrap().to_owned(),
            rows[1]["reason"].as_str().unwrap().to_owned(),
        )
    };
    let (verdict, reason) = gate(1000, 1030, 3);
    assert_eq!(verdict, "Regressed");
    says(&reason, &["1030 after 1000", "its time is not worse"]);
    let (verdict, reason) = gate(0, 1000, 4);
    assert_eq!(verdict, "Inconclusive");
    says(&reason, &["of the baseline were not counted", "built before"]);
}

#[test]
fn the_same_program_is_decided_without_measuring() {
    let bench = repository();
    commit(&bench, &Change::Source(FAST, ""), "fast");
    bench.write("README.md", "documents are no part of the program");
    let ended = bench.run("gate --against HEAD").expect(0);
    assert!(ended.stdout.contains("the same machine code"), "{}", ended.stdout);
    assert!(!ended.stderr.contains("measuring"), "{}", ended.stderr);
}

#[test]
fn a_case_that_vanished_has_no_verdict() {
    let bench = repository();
    commit(&bench, &Change::Source(FAST, ""), "fast");
    Source { cases: 1, ..Source::of(FAST) }.write(&bench);
    let result = bench.run(&JSON).expect(4).json();
    assert_eq!(verdicts(&result)[..2], [(ONE, "Unchanged"), (TWO, "Inconclusive")], "{result:#}");
    assert_eq!(result["missing"][0], TWO);
}

#[test]
fn the_policy_is_that_of_the_revision_and_what_is_judged_does_not_choose_it() {
    let bench = repository();
    bench.write("rusty-stack-bench.toml", "[thresholds]\ngemm = 70.0\n");
    bench.write("baselines/policy.toml", "threshold_percent = 60.0\n");
    commit(&bench, &Change::Source(FAST, ""), "lenient");
    git(&bench, &["rm", "--quiet", "-r", "rusty-stack-bench.toml", "baselines"]);
    git(&bench, &["commit", "--quiet", "-m", "strict"]);
    Source { two: "1.5", ..Source::of(FAST) }.write(&bench);
    bench.write("baselines/policy.toml", "threshold_percent = 90.0\n");
    bench.write("rusty-stack-bench.toml", "[thresholds]\ngemm = 90.0\n");
    let note = |result: &Value| result["notes"].to_string();
    let result = bench.run(&JSON).expect(3).json();
    assert_eq!(verdicts(&result)[1], (TWO, "Regressed"), "{result:#}");
    assert!(
        note(&result).contains("HEAD has no baselines/policy.toml: the built-in policy"),
        "{result:#}"
    );
    let lenient = bench.run("gate --against HEAD~1 --json").expect(0).json();
    assert!(note(&lenient).contains("that of HEAD~1 (baselines/policy.toml)"), "{lenient:#}");
    let outside = bench.cache.path().join("policy.toml");
    std::fs::copy(bench.path("baselines/policy.toml"), &outside).unwrap();
    let named =
        bench.run(&[&JSON[..], &["--policy", outside.to_str().unwrap()]].concat()).expect(0).json();
    assert!(!note(&named).contains("the policy is that of"), "{named:#}");
}

#[test]
fn what_had_no_turn_within_the_budget_has_no_verdict_and_is_named() {
    let bench = repository();
    let cases = 400;
    Source { cases, ..Source::of(FAST) }.write(&bench);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "-m", "many cases"]);
    Source { two: "3.0", cases, ..Source::of(FAST) }.write(&bench);
    let result = bench.run(&[&JSON[..], &["--budget", "1s"]].concat()).expect(4).json();
    let rows = result["comparisons"].as_array().unwrap();
    let unmeasured: Vec<&Value> =
        rows.iter().filter(|row| row["reason_code"] == "not_measured").collect();
    assert!(
        !unmeasured.is_empty() && unmeasured.iter().all(|row| row["verdict"] == "Inconclusive"),
        "{result:#}"
    );
    assert!(unmeasured[0]["reason"].as_str().unwrap().contains("--budget"));
    // One case runs on neither side; every other planned case is listed.
    let ids: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(ids.len() >= cases - 1, "{ids:?}");
    assert_eq!(
        (&result["new"], &result["missing"]),
        (&Value::Array(vec![]), &Value::Array(vec![]))
    );
}

/// Returns a repository with a package of the right name that does not build, because it has no
/// source.
fn without_source() -> Bench {
    let bench = Bench::new();
    bench.write("file", "one");
    bench.write("Cargo.toml", "[package]\nname = \"rusty-stack-bench\"\nversion = \"0.0.0\"\n");
    git(&bench, &["init", "--quiet"]);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "-m", "first"]);
    bench
}

#[test]
fn the_same_source_is_decided_without_building() {
    let bench = without_source();
    let ended = bench.run("gate --against HEAD").expect(0);
    assert!(ended.stdout.contains("same source"), "{}", ended.stdout);
    bench.write("file", "two");
    git(&bench, &["commit", "--quiet", "-am", "second"]);
    bench.write("file", "one");
    bench.run("gate --against HEAD~1").expect(0);
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(bench.dir.path())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&status.stdout),
        " M file\n",
        "the user's index must stay unchanged"
    );
}

#[test]
fn what_differs_is_built_and_what_does_not_build_is_no_verdict() {
    let bench = without_source().set("CARGO_TARGET_DIR", "built");
    bench.write("new-file", "not committed, and still part of the tree");
    let ended = bench.run("gate --against HEAD").expect(1);
    assert!(ended.stderr.contains("does not build"), "{}", ended.stderr);
    assert_eq!(worktrees(&bench), 1, "no worktree of a failed build may remain");
}

fn worktrees(bench: &Bench) -> usize {
    git(bench, &["worktree", "list", "--porcelain"]).matches("worktree ").count()
}

#[test]
fn this_program_is_not_judged_against_another_project() {
    let bench = without_source();
    bench.write("Cargo.toml", "[package]\nname = \"other\"\n");
    let ended = bench.run("gate --against HEAD").expect(2);
    assert!(ended.stderr.contains("no benchmarks in common"), "{}", ended.stderr);
    git(&bench, &["rm", "--quiet", "--cached", "Cargo.toml"]);
    std::fs::remove_file(bench.path("Cargo.toml")).unwrap();
    let ended = bench.run("gate --against HEAD").expect(2);
    says(&ended.stderr, &["no Cargo.toml", "--bench-format"]);
    assert_eq!(worktrees(&bench), 1);
}

#[test]
fn a_revision_that_is_not_there_is_exit_2() {
    let ended = without_source().run("gate --against nonexistent").expect(2);
    says(&ended.stderr, &["nonexistent", "git log"]);
    let ended = Bench::new().run("gate --against HEAD").expect(2);
    assert!(ended.stderr.contains("git repository"), "{}", ended.stderr);
}
