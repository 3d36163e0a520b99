use super::*;

const LONG: Duration = Duration::from_mins(1);
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba98";

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// Returns the result for `dir` without a git program, from files only.
fn by_files(dir: &Path) -> Option<(String, Option<String>, bool)> {
    git_with(dir, "/no/such/git", LONG).map(|git| (git.commit, git.branch, git.dirty))
}

fn check(files: &[(&str, &str)], below: &str, expected: Option<(&str, Option<&str>)>) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    let found = by_files(&dir.path().join(below));
    let expected =
        expected.map(|(commit, branch)| (commit.to_owned(), branch.map(str::to_owned), true));
    assert_eq!(found, expected, "{files:?}: without git, the tree counts as changed");
}

#[test]
fn commit_and_branch_are_read_from_files() {
    let head = (".git/HEAD", "ref: refs/heads/topic/one\n");
    check(
        &[head, (".git/refs/heads/topic/one", COMMIT), ("a/b/c", "")],
        "a/b",
        Some((COMMIT, Some("topic/one"))),
    );
    let packed = format!(
        "# pack-refs with: peeled\n{OTHER} refs/heads/topic\n{COMMIT} \
         refs/heads/topic/one\n^{OTHER}\n"
    );
    check(&[head, (".git/packed-refs", &packed)], "", Some((COMMIT, Some("topic/one"))));
    check(&[(".git/HEAD", COMMIT)], "", Some((COMMIT, None)));
    check(
        &[
            ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/refs/heads/side", COMMIT),
        ],
        "tree",
        Some((COMMIT, Some("side"))),
    );
}

#[test]
fn what_is_no_checkout_is_none() {
    check(&[("a", "")], "", None);
    check(&[("a", "")], "missing", None);
    check(&[(".git", "nonsense")], "", None);
    let dir = tempfile::tempdir().unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join(".git"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    assert_eq!(by_files(dir.path()), None, "a pipe must not be read");
    check(&[(".git/HEAD", "ref: refs/heads/unborn\n")], "", None);
    check(&[(".git/HEAD", "0123")], "", None);
    check(&[(".git/HEAD", "ref: refs/heads/x"), (".git/refs/heads/x", "not a hash")], "", None);
}

#[test]
fn every_change_but_results_makes_a_tree_dirty() {
    let header = format!("# branch.oid {COMMIT}\n# branch.head main\n");
    for (line, dirty) in [
        ("", false),
        ("? benchmark_results/\n", false),
        ("? crates/a/benchmark_results/runs/x.json\n", false),
        ("? \"benchmark_results/\\303\\244\"\n", false),
        ("? src/new.rs\n", true),
        ("1 .M N... 100644 100644 100644 a b src/lib.rs\n", true),
        ("1 .M N... 100644 100644 100644 a b benchmark_results/kept.json\n", true),
        ("? baselines/cpu-1/\n", false),
        ("1 .M N... 100644 100644 100644 a b baselines/cpu-1/quick.json\n", false),
        ("1 .M N... 100644 100644 100644 a b \"baselines/\\303\\244/quick.json\"\n", false),
        ("1 .M N... 100644 100644 100644 a b baselines/policy.toml\n", true),
        ("1 .M N... 100644 100644 100644 a b src/table.json\n", true),
        ("u UU N... 1 2 3 4 a b c d e\n", true),
    ] {
        assert_eq!(is_dirty(&(header.clone() + line)), dirty, "{line}");
    }
    assert_eq!(
        (super::header(&header, "branch.oid"), super::header(&header, "branch")),
        (Some(COMMIT), None)
    );
}

fn run_git(dir: &Path, arguments: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.current_dir(dir).args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ]);
    command
        .args(arguments)
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_real_repository_is_followed_from_clean_to_changed() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path();
    if !run_git(tree, &["init", "--quiet", "--initial-branch=trunk"]) {
        eprintln!("skipped: git is not installed, or too old for --initial-branch");
        return;
    }
    assert_eq!(git(tree), None, "a repository without commits");
    write(tree, &[("a", "1"), ("below/b", "1")]);
    assert!(run_git(tree, &["add", "."]) && run_git(tree, &["commit", "--quiet", "-m", "first"]));
    let clean = git(&tree.join("below")).unwrap();
    assert_eq!(
        (clean.branch.as_deref(), clean.dirty, clean.commit.len()),
        (Some("trunk"), false, 40)
    );
    assert!(run_git(tree, &["pack-refs", "--all"]));
    assert_eq!(git(tree).as_ref(), Some(&clean));
    write(tree, &[("a", "2")]);
    let changed = git(tree).unwrap();
    assert_eq!(changed, Git { dirty: true, changes: changed.changes.clone(), ..clean.clone() });
    assert_eq!(changed.changes.as_ref().map(String::len), Some(64));
    assert!(run_git(tree, &["add", "."]));
    assert_eq!(
        git(&tree.join("below")),
        Some(changed.clone()),
        "staging must not change the result"
    );
    write(tree, &[("a", "3")]);
    assert_ne!(git(tree).unwrap().changes, changed.changes);
    write(tree, &[("a", "2"), ("new", "1"), ("benchmark_results/x", "1")]);
    assert_eq!(git(tree).unwrap(), changed, "only tracked files may count");
    write(tree, &[("a", "1")]);
    assert!(run_git(tree, &["add", "a"]));
    assert_eq!(git(tree).unwrap(), Git { dirty: true, ..clean.clone() });
    assert!(run_git(tree, &["add", "--force", "benchmark_results"]));
    assert_eq!(git(tree).unwrap().changes, None, "benchmark results are not part of the source");
    assert!(run_git(tree, &["rm", "--quiet", "--cached", "below/b"]));
    assert!(git(tree).unwrap().changes.is_some());
}

#[test]
#[cfg(unix)]
fn a_git_that_refuses_or_hangs_is_told_apart() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, body: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write(dir.path(), &[(".git/HEAD", COMMIT)]);
    assert_eq!(git_with(dir.path(), &script("refuses", "exit 128"), LONG), None);
    let slow =
        git_with(dir.path(), &script("hangs", "exec tail -f /dev/null"), Duration::from_millis(50));
    assert_eq!(
        slow,
        Some(Git {
            commit: COMMIT.to_owned(),
            branch: None,
            dirty: true,
            changes: Some(UNKNOWN.to_owned())
        })
    );
    let reftable = format!("echo '# branch.oid {OTHER}'; echo '# branch.head side'");
    write(dir.path(), &[(".git/HEAD", "ref: refs/heads/.invalid")]);
    let told = git_with(dir.path(), &script("tells", &reftable), LONG);
    assert_eq!(
        told,
        Some(Git { commit: OTHER.to_owned(), branch: Some("side".to_owned()), ..Git::default() })
    );
}

#[test]
fn a_commit_of_another_project_is_not_known() {
    let dir = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let output = Command::new("git")
            .args(identity)
            .args(words)
            .current_dir(dir.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
    assert!(knows_commit(dir.path(), &git(&["rev-parse", "HEAD"])));
    assert!(!knows_commit(dir.path(), COMMIT) && !knows_commit(dir.path(), "--help"));
}
