//! A committed baseline on a fresh checkout that has no copy of the program that made it, so the
//! program is built from its revision. Also tests the baseline of a pull request, which is that of
//! the merge base.
//!
//! The revision's program is a small one that executes the real one, so that times are real and the
//! build takes only a second.

use std::process::Command;

use serde_json::Value;

use crate::common::revisions::{git, repository};
use crate::common::{Bench, says};
use crate::gate_beside::{GATE, MEASURE, regressed, save_a_record_of_better_days};

/// Writes the source of a program that executes the real one.
fn write_program(bench: &Bench, mark: &str) {
    let real = env!("CARGO_BIN_EXE_rusty-stack-bench");
    bench.write(
        "src/main.rs",
        &format!(
            "// {mark}\nuse std::os::unix::process::CommandExt;\nfn main() \
             {{ let words = std::env::args_os().skip(1); \
             panic!(\"{{}}\", std::process::Command::new({real:?}).args(words).exec()) }}\n"
        ),
    );
}

fn commit_all(bench: &Bench, subject: &str) -> String {
    git(bench, &["add", "."]);
    git(bench, &["commit", "--quiet", "-m", subject]);
    git(bench, &["rev-parse", "HEAD"])
}

/// Moves the user's caches outside every working tree.
fn with_cache_outside(bench: Bench) -> (Bench, tempfile::TempDir) {
    let cache = tempfile::tempdir().unwrap();
    let path = cache.path().display().to_string();
    (bench.set("RSB_CACHE_DIR", &path), cache)
}

/// Returns a repository of this program with a baseline committed at an earlier revision, that
/// revision, and the path of the baseline. As on a fresh checkout, no program is kept.
fn fresh_checkout() -> (Bench, String, String) {
    let bench = repository();
    bench.write(
        "baselines/policy.toml",
        "threshold_percent = 100.0\n[[target]]\nid = \"*/sum/*\"\nmetric = \
         \"throughput_gb_s\"\nabove = 0.001\n",
    );
    bench.write(".gitignore", "target\ncache\nclone\nbenchmark_results\n");
    write_program(&bench, "one");
    let revision = commit_all(&bench, "one");
    let file = save_a_record_of_better_days(&bench);
    commit_all(&bench, "a baseline");
    std::fs::remove_dir_all(bench.cache.path().join("programs")).unwrap();
    (bench, revision, file)
}

#[test]
fn where_no_program_was_kept_the_revision_is_built_once_and_decides() {
    let (bench, revision, _) = fresh_checkout();
    bench.run(MEASURE).expect(0);
    let gated = bench.run(&GATE).expect(0);
    assert!(gated.stderr.contains("building"), "{}", gated.stderr);
    let result = gated.json();
    for row in
        result["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == "time_ms")
    {
        says(row["reason"].as_str().unwrap(), &["the machine changed, not the code"]);
    }
    let notes = result["notes"].to_string();
    assert!(!notes.contains("match no case"), "{notes}");
    says(
        &notes,
        &[&format!(
            "the revision {} that made the baseline, built here \
                             on",
            &revision[..12]
        )],
    );
    // Judging another run uses the kept build.
    bench.run(MEASURE).expect(0);
    let again = bench.run(&GATE).expect(0);
    assert!(
        again.stderr.contains("interleaved") && !again.stderr.contains("building"),
        "{}",
        again.stderr
    );
}

#[test]
fn only_a_baseline_of_this_machine_is_one_of_here() {
    let (bench, _, file) = fresh_checkout();
    bench.run("baseline show --here tensor-ops").expect(0);
    std::fs::create_dir(bench.path("baselines/another-machine")).unwrap();
    std::fs::rename(bench.path(&file), bench.path("baselines/another-machine/tensor-ops.json"))
        .unwrap();
    bench.run("baseline show tensor-ops");
    let shown = bench.run("baseline show --here tensor-ops").expect(4);
    assert!(shown.stderr.contains("was saved for this machine"), "{}", shown.stderr);
}

#[test]
fn cargo_s_settings_of_the_tree_do_not_count_for_the_revision() {
    let (bench, ..) = fresh_checkout();
    let (bench, _cache) = with_cache_outside(bench);
    bench.write(
        ".cargo/config.toml",
        "[build]\nrustflags = [\"--cfg=made_slow\", \"--no-such-flag\"]\n",
    );
    bench.run(MEASURE).expect(0);
    let gated = bench.run(&GATE).expect(0);
    says(&gated.stderr, &["building", "interleaved"]);
}

#[cfg(feature = "fault-injection")]
#[test]
fn what_the_code_did_is_named_alone_against_the_revision() {
    let (bench, ..) = fresh_checkout();
    let bench = bench.set("RSB_TEST_SLOWDOWN", "/gelu/=20.0");
    bench.run(MEASURE).expect(0);
    let bench = bench.set("RSB_TEST_SLOWDOWN", "none=1.0"); // The run itself knows how it was slowed.
    let result = bench.run(&GATE).expect(3).json();
    let slower = regressed(&result);
    assert!(slower.len() == 1 && slower[0].contains("/gelu/"), "{slower:?}");
}

/// Returns the notes that explain why only the stored baseline was used.
fn record_alone(result: &Value) -> String {
    let notes = result["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["text"].as_str().unwrap().to_owned());
    notes.filter(|text| text.contains("only by the stored baseline")).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_a_revision_the_record_alone_counts_and_says_so() {
    let (bench, revision, file) = fresh_checkout();
    let text = std::fs::read_to_string(bench.path(&file)).unwrap();
    let with_revision = |commit: &str, dirty: bool| {
        let mut baseline: Value = serde_json::from_str(&text).unwrap();
        baseline["environment"]["git"]["commit"] = commit.into();
        baseline["environment"]["git"]["dirty"] = dirty.into();
        bench.write_sealed(&file, &baseline);
        let result = bench.run(&GATE).expect(3).json();
        assert_eq!(regressed(&result).len(), 3);
        record_alone(&result)
    };
    bench.run(MEASURE).expect(0);
    let said = with_revision(&revision, true);
    assert!(said.contains("records no revision") && said.contains("changed tree"), "{said}");
    let said = with_revision(&"0123456789".repeat(4), false);
    assert!(said.contains("is not in this repository: `git fetch origin 0123456789"), "{said}");
    bench.write("src/main.rs", "fn main() { does not compile }\n");
    let broken = commit_all(&bench, "broken");
    bench.run(MEASURE).expect(0); // A run of an earlier commit is not judged unasked.
    let said = with_revision(&broken, false);
    assert!(said.contains(&broken[..12]) && said.contains("does not build here"), "{said}");
    bench.write("Cargo.toml", "[package]\nname = \"another\"\nversion = \"0.0.0\"\n");
    let foreign = commit_all(&bench, "another project");
    bench.run(MEASURE).expect(0);
    let said = with_revision(&foreign, false);
    assert!(said.contains("is not that of rusty-stack-bench"), "{said}");
}

#[test]
fn a_baseline_of_a_changed_tree_or_of_several_commits_records_no_revision() {
    let bench = repository();
    write_program(&bench, "one");
    let one = commit_all(&bench, "one");
    let commit = || {
        let listed = bench.run("baseline list --json").expect(0).json();
        listed["baselines"][0]["commit"].clone()
    };
    bench.write(".gitignore", "target\ncache\nbenchmark_results\n");
    bench.run(MEASURE).expect(0);
    bench.run("baseline save").expect(0);
    assert_eq!(commit(), Value::Null, "a baseline of a changed tree has no commit");
    git(&bench, &["checkout", "--quiet", "--", "."]);
    std::fs::remove_dir_all(bench.path("baselines")).unwrap();
    std::fs::remove_dir_all(bench.cache.path().join("programs")).unwrap();
    bench.run(MEASURE).expect(0);
    bench.run("baseline save").expect(0);
    assert_eq!(commit(), Value::from(one));
    let first = bench.run("history --json").expect(0).json()["runs"][0]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::remove_dir_all(bench.path("baselines")).unwrap();
    std::fs::remove_dir_all(bench.cache.path().join("programs")).unwrap();
    write_program(&bench, "two");
    commit_all(&bench, "two");
    bench.run(MEASURE).expect(0);
    let second = bench.run("history --json").expect(0).json()["runs"][0]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    bench.run(&["baseline", "save", "--run", &first, "--run", &second]).expect(0);
    assert_eq!(commit(), Value::Null, "a baseline of two commits has no commit");
}

#[test]
fn a_pull_request_is_judged_by_the_baseline_and_the_policy_of_its_merge_base() {
    let (bench, _, file) = fresh_checkout();
    git(&bench, &["checkout", "--quiet", "-b", "change"]);
    // The change under test adds a policy with a huge threshold, and a baseline with times that are
    // easy to beat.
    bench.write("baselines/policy.toml", "threshold_percent = 1e6\n");
    let mut baseline: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path(&file)).unwrap()).unwrap();
    for case in baseline["runs"][0]["benchmarks"].as_array_mut().unwrap() {
        for replicate in case["samples"].as_array_mut().unwrap() {
            for time in replicate["times_ns"].as_array_mut().unwrap() {
                *time = (time.as_f64().unwrap() * 1000.0).into();
            }
        }
    }
    bench.write_sealed(&file, &baseline);
    commit_all(&bench, "its own judge");
    bench.run(MEASURE).expect(0);
    let stored = [&GATE[..], &["--budget", "0s"]].concat();
    bench.run(&stored).expect(0);
    let gated = bench.run(&[&stored[..], &["--base", "main"]].concat()).expect(3);
    assert_eq!(regressed(&gated.json()).len(), 3);
    assert!(
        gated.json()["notes"].to_string().contains("the policy is that of"),
        "{}",
        gated.stdout
    );
    let in_pairs = bench.run(&[&GATE[..], &["--base", "main"]].concat()).expect(0);
    assert!(in_pairs.stdout.contains("the machine changed, not the code"), "{}", in_pairs.stdout);
    // A repeated call gives the same verdict: files of the merge base count as old as its commit.
    let again = bench.run(&[&GATE[..], &["--base", "main"]].concat()).expect(0);
    assert!(again.stderr.contains("that verdict still applies"), "{}", again.stderr);
    // That verdict does not apply to the baseline in the working tree.
    let by_the_tree = bench.run(&GATE);
    assert!(!by_the_tree.stderr.contains("that verdict still applies"), "{}", by_the_tree.stderr);
    // The baselines and the policy of the merge base are used even if the directory is given as an
    // absolute path.
    let whole = bench.path("baselines").display().to_string();
    let spelled = bench
        .run(&[&stored[..], &["--base", "main", "--baselines-dir", &whole]].concat())
        .expect(3);
    assert_eq!(regressed(&spelled.json()).len(), 3);
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().display().to_string();
    let outside = bench
        .run(&[&stored[..], &["--base", "main", "--baselines-dir", &elsewhere]].concat())
        .expect(2);
    assert!(outside.stderr.contains("outside this repository"), "{}", outside.stderr);
    // The change under test cannot select other baselines in its configuration.
    bench.write("rusty-stack-bench.toml", "[run]\nbaselines_dir = \"nowhere\"\n");
    bench.run(&[&stored[..], &["--base", "main", "--baseline-optional"]].concat()).expect(3);
    std::fs::remove_file(bench.path("rusty-stack-bench.toml")).unwrap();
    bench.run(&[&GATE[..], &["--base", "nowhere"]].concat()).expect(2);
    bench.run(&[&GATE[..], &["--base", "main", "--baseline", &file]].concat()).expect(2);
    bench.run(&[&GATE[..], &["--base", "main", "--against", "main"]].concat()).expect(2);
}

#[test]
fn a_revision_that_is_no_ancestor_or_was_not_fetched_is_no_verdict_and_names_the_command() {
    let (bench, revision, _) = fresh_checkout();
    let dir = bench.dir.path().display().to_string();
    git(&bench, &["clone", "--quiet", "--depth", "1", &format!("file://{dir}"), "clone"]);
    bench.run(MEASURE).expect(0);
    let results = bench.path("benchmark_results").display().to_string();
    let mut command: Command =
        bench.command(&[&GATE[..], &["--base", "origin/main", "--results-dir", &results]].concat());
    let output = command.current_dir(bench.path("clone")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains(&revision[..12]) && text.contains("`git fetch --unshallow`"), "{text}");
    // The branch is rewritten from a commit that is a sibling of the one that made the baseline.
    let files = git(&bench, &["write-tree"]);
    let other = git(&bench, &["commit-tree", &files, "-m", "all of it at once"]);
    git(&bench, &["reset", "--quiet", "--hard", &other]);
    bench.run(MEASURE).expect(0);
    let gated = bench.run("gate --base main --baseline-optional").expect(4);
    says(&gated.stdout, &["is not an ancestor of", "baseline refresh"]);
}
