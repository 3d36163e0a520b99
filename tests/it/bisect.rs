//! `bisect` with the real binary, on a history with made-up times.

use std::os::unix::process::ExitStatusExt;

use crate::common::revisions::{Change, FAST, SLOW, commit, git, repository};
use crate::common::{Bench, says};
use serde_json::Value;

fn history(bench: &Bench, changes: &[(Change, &str)]) -> Vec<String> {
    changes.iter().map(|(change, subject)| commit(bench, change, subject)).collect()
}

/// Returns `(commit, outcome, reason)` of each step, with the commit as an index into `commits`.
fn steps(document: &Value, commits: &[String]) -> Vec<(usize, String, String)> {
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    let place =
        |step: &Value| commits.iter().position(|known| *known == text(step, "commit")).unwrap();
    let steps = document["steps"].as_array().unwrap().iter();
    steps.map(|step| (place(step), text(step, "outcome"), text(step, "reason"))).collect()
}

#[test]
fn the_first_slow_commit_is_found_and_nothing_is_measured_twice() {
    let bench = repository();
    let commits = history(
        &bench,
        &[
            (Change::Source(FAST, ""), "fast"),
            (Change::Docs, "docs"),
            (Change::Docs, "more docs"),
            (Change::Docs, "even more docs"),
            (Change::Broken, "does not compile"),
            (Change::Revert, "revert it"),
            (Change::Source(SLOW, "a"), "the\tculprit"),
            (Change::Docs, "docs again"),
            (Change::Broken, "broken again"),
            (Change::Source(SLOW, "b"), "slow"),
        ],
    );
    bench.write("src/main.rs", "what is not committed does not matter");
    let arguments = ["bisect", &commits[0], "main", "--case", "cpu_performance/made-up/cpu:0/one"];
    let document = bench.run(&[&arguments[..], &["--json"]].concat()).expect(0).json();
    assert_eq!(document["format_version"], 3);
    assert_eq!(
        (&document["good"], &document["bad"]),
        (&commits[0].clone().into(), &commits[9].clone().into())
    );
    let found = &document["first_bad"];
    assert_eq!(found["commit"], commits[6], "{document:#}");
    assert_eq!(found["subject"], "the\tculprit");
    assert!(found["date"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{found}");
    assert!((found["change_percent"].as_f64().unwrap() - 20.0).abs() < 1.0, "{found}");
    assert!(found["confidence_interval"][0].as_f64().unwrap() > 15.0, "{found}");
    let steps = steps(&document, &commits);
    let tried: Vec<(usize, &str)> =
        steps.iter().map(|(place, outcome, _)| (*place, outcome.as_str())).collect();
    assert_eq!(tried, [(9, "bad"), (4, "skipped"), (3, "good"), (6, "bad"), (5, "good")]);
    for (step, reason) in [
        (1, "does not build"),
        (2, "builds the same machine code as"),
        (4, "has the same source as"),
    ] {
        assert!(steps[step].2.contains(reason), "{:?}", steps[step]);
    }
    assert_eq!(document["skipped"], serde_json::json!([commits[4]]));
    assert_eq!(document["remaining"], serde_json::json!([]));
    assert_eq!(
        git(&bench, &["status", "--porcelain"]),
        "M src/main.rs",
        "the user's working tree must stay unchanged"
    );

    let nothing = bench.run(&["bisect", &commits[0], &commits[3], "--case", "one"]).expect(0);
    says(&nothing.stdout, &["NOT REGRESSED", "same machine code"]);
    let broken = bench.run(&["bisect", &commits[0], &commits[8], "--case", "one"]).expect(2);
    assert!(broken.stderr.contains("does not build; choose another"), "{}", broken.stderr);
}

#[test]
fn what_cannot_be_judged_is_left_and_never_guessed() {
    let bench = repository();
    let commits = history(
        &bench,
        &[
            (Change::Source(FAST, ""), "fast"),
            (Change::Broken, "does not compile"),
            (Change::Noisy, "noisy"),
            (Change::Source(SLOW, ""), "slow"),
        ],
    );
    let arguments = ["bisect", &commits[0], "HEAD", "--case", "*/one", "--budget", "8s", "--json"];
    let document = bench.run(&arguments).expect(4).json();
    assert_eq!(document["first_bad"], Value::Null);
    assert_eq!(document["skipped"], serde_json::json!([commits[1]]));
    assert_eq!(document["undecided"], serde_json::json!([commits[2]]), "{document:#}");
    assert_eq!(document["remaining"], serde_json::json!(commits[1..]));
}

#[test]
fn cut_off_in_the_middle_it_can_begin_again_and_a_merge_is_one_commit() {
    let bench = repository();
    let fast = commit(&bench, &Change::Source(FAST, ""), "fast");
    git(&bench, &["switch", "--quiet", "--create", "side"]);
    commit(&bench, &Change::Source(SLOW, ""), "slow");
    git(&bench, &["switch", "--quiet", "main"]);
    commit(&bench, &Change::Docs, "docs");
    git(&bench, &["merge", "--quiet", "--no-ff", "-m", "bring in the slow branch", "side"]);
    let arguments = ["bisect", &fast, "HEAD", "--case", "two"];
    let killed = bench
        .command(&arguments)
        .env("DISTURB", "KILL")
        .env("TMPDIR", bench.dir.path())
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(9));
    let interrupted = bench.command(&arguments).env("DISTURB", "INT").output().unwrap();
    let said = String::from_utf8_lossy(&interrupted.stdout);
    assert_eq!(
        interrupted.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&interrupted.stderr)
    );
    assert!(said.contains("INTERRUPTED") && said.contains("  bring in the slow branch"), "{said}");
    let programs = || {
        let of_repository =
            std::fs::read_dir(bench.cache.path().join("against")).unwrap().next().unwrap().unwrap();
        let entries = std::fs::read_dir(of_repository.path()).unwrap();
        entries
            .filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("programs-")
            })
            .count()
    };
    assert_eq!(programs(), 0, "the programs of both ended searches must be deleted");
    let ended = bench.run(&arguments).expect(0);
    let merge = git(&bench, &["rev-parse", "HEAD"]);
    assert!(
        ended.stdout.contains(&format!("FOUND: {merge}")),
        "a regression from a merge must be reported as the merge: {}",
        ended.stdout
    );
    assert!(ended.stdout.contains("20 % slower"), "{}", ended.stdout);
    assert_eq!(git(&bench, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2);
}

#[test]
fn wrong_words_are_exit_2_with_the_cure() {
    let bench = repository();
    let commits = history(&bench, &[(Change::Source(FAST, ""), "fast"), (Change::Docs, "docs")]);
    git(&bench, &["switch", "--quiet", "--orphan", "elsewhere"]);
    bench.write("file", "unrelated");
    git(&bench, &["add", "file"]);
    git(&bench, &["commit", "--quiet", "-m", "unrelated"]);
    git(&bench, &["switch", "--quiet", "--create", "branch", &commits[0]]);
    bench.write("file", "beside");
    git(&bench, &["add", "file"]);
    git(&bench, &["commit", "--quiet", "-m", "beside"]);
    git(&bench, &["update-ref", "refs/remotes/origin/topic", &commits[0]]);
    for (good, bad, case, expected) in [
        ("nonexistent", "main", "one", "branches: `branch`, `elsewhere`, `main`"),
        ("topic", "main", "one", "write `origin/topic`; `git log` lists"),
        ("main", "main", "one", "the same commit"),
        ("main", &commits[0], "one", "name the good one first"),
        ("branch", "main", "one", &commits[0][..10]),
        ("elsewhere", "main", "one", "no common ancestor"),
        (
            &commits[0],
            "main",
            "made-up",
            "matches 2 cases; name one of them:\n  cpu_performance/made-up/cpu:0/one",
        ),
        (
            &commits[0],
            "main",
            "cpu_performance/made-up/cpu:0/noe",
            "did you mean `cpu_performance/made-up/cpu:0/one`",
        ),
    ] {
        let ended = bench.run(&["bisect", good, bad, "--case", case]).expect(2);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    }
    let ended = Bench::new().run("bisect a b --case one").expect(2);
    assert!(ended.stderr.contains("bisect needs a git repository"), "{}", ended.stderr);
}

#[test]
fn a_slower_command_in_the_file_of_commands_is_found() {
    let bench = Bench::new();
    git(&bench, &["init", "--quiet", "--initial-branch", "main"]);
    bench.write(".gitignore", "benchmark_results\n");
    let entry = |took: u32, about: &str| {
        bench.write(
            "mine.toml",
            &format!(
                "[[benchmark]]\nname = \"nap\"\nabout = \"{about}\"\ncommand = \"echo took {took} \
                 ms\"\nfigure = {{ after = \"took\", unit = \"ms\" }}\n"
            ),
        );
        git(&bench, &["add", "--all"]);
        git(&bench, &["commit", "--quiet", "-m", &format!("{took} ms, {about}")]);
        git(&bench, &["rev-parse", "HEAD"])
    };
    let commits = [entry(20, "a"), entry(20, "b"), entry(40, "c"), entry(40, "d")];
    // The search does not read the working tree.
    bench.write("mine.toml", "");
    let words = ["bisect", &commits[0], "HEAD", "--custom", "mine.toml", "--case", "nap", "--json"];
    let found = bench.run(&words).expect(0).json();
    assert_eq!(found["first_bad"]["commit"], commits[2], "{found:#}");
}
