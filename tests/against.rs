//! `gate --against`: what it decides before it builds anything. Building and measuring two revisions takes minutes; the
//! command for that is in CONTRIBUTING.md.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::process::Command;

use common::Bench;

fn git(bench: &Bench, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    let output = Command::new("git").args(identity).args(arguments).current_dir(bench.folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn repository() -> Bench {
    let bench = Bench::new();
    bench.write("file", "one");
    // A package of the right name that does not build: it has no source.
    bench.write("Cargo.toml", "[package]\nname = \"rusty-stack-bench\"\nversion = \"0.0.0\"\n");
    git(&bench, &["init", "--quiet"]);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "-m", "first"]);
    bench
}

#[test]
fn the_same_source_is_decided_without_building() {
    let bench = repository();
    let ended = bench.run(&["gate", "--against", "HEAD"]).expect(0);
    assert!(ended.stdout.contains("same source"), "{}", ended.stdout);
    bench.write("file", "two");
    git(&bench, &["commit", "--quiet", "-am", "second"]);
    bench.write("file", "one");
    bench.run(&["gate", "--against", "HEAD~1"]).expect(0);
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(bench.folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), " M file\n", "the user's own index is as it was");
}

#[test]
fn what_differs_is_built_and_what_does_not_build_is_no_verdict() {
    let bench = repository().set("CARGO_TARGET_DIR", "built");
    bench.write("new-file", "not committed, and still part of the tree");
    let ended = bench.run(&["gate", "--against", "HEAD"]).expect(1);
    assert!(ended.stderr.contains("does not build"), "{}", ended.stderr);
    assert_eq!(worktrees(&bench), 1, "nothing stays of a build that failed");
}

fn worktrees(bench: &Bench) -> usize {
    git(bench, &["worktree", "list", "--porcelain"]).matches("worktree ").count()
}

#[test]
fn a_repository_of_another_project_is_exit_2_with_what_works_there() {
    let bench = repository();
    for (manifest, said) in [("[workspace]\n", "no Cargo.toml"), ("[package]\nname = \"other\"\n", "package `other`")] {
        bench.write("Cargo.toml", manifest);
        git(&bench, &["commit", "--quiet", "-am", "another project"]);
        let ended = bench.run(&["gate", "--against", "HEAD"]).expect(2);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("--baseline X"), "{}", ended.stderr);
    }
    bench.run(&["bisect", "HEAD~1", "HEAD", "--case", "x"]).expect(2);
    assert_eq!(worktrees(&bench), 1);
}

#[test]
fn a_revision_that_is_not_there_is_exit_2() {
    let ended = repository().run(&["gate", "--against", "nonexistent"]).expect(2);
    assert!(ended.stderr.contains("nonexistent") && ended.stderr.contains("git log"), "{}", ended.stderr);
    let ended = Bench::new().run(&["gate", "--against", "HEAD"]).expect(2);
    assert!(ended.stderr.contains("git repository"), "{}", ended.stderr);
}
