//! The measured source tree: commit and branch from the files of `.git`, uncommitted changes from
//! `git`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rsb_model::environment::Git;
use sha2::{Digest as _, Sha256};

use crate::child::{self, ChildEnd};
use crate::host::{read_line, read_text};

/// Time limit of a git command. If git takes longer (a large tree on a slow disk), the tree counts
/// as dirty.
const STATUS_LIMIT: Duration = Duration::from_secs(5);

/// Directory of results in the tree; not source, so its files do not make the tree dirty.
const RESULTS: &str = "benchmark_results";
/// Directory of baselines; measured data, not source.
const BASELINES: &str = "baselines";
/// Value of `changes` if git does not report them.
const UNKNOWN: &str = "unknown";

/// Returns the commit that `dir` is a checkout of.
///
/// Returns `None` if there is no repository, no commit yet, or git refuses to read it (a tree of
/// another owner: see `safe.directory`). If git is not installed or does not answer in time, the
/// tree counts as dirty. Untracked files make it dirty, except those under `benchmark_results` and
/// `baselines`; modified baselines do not.
pub fn git(dir: &Path) -> Option<Git> {
    git_with(dir, "git", STATUS_LIMIT)
}

fn git_with(dir: &Path, program: &str, limit: Duration) -> Option<Git> {
    let dir = std::fs::canonicalize(dir).ok()?;
    let (top, files) = dir.ancestors().find_map(|top| Some((top, Files::of(top)?)))?;
    let (read, branch) = files.head();
    let status = status(top, program, limit);
    let (output, dirty, changes) = match &status {
        ChildEnd::Well(text) => {
            (Some(text.as_str()), is_dirty(text), changes(top, program, limit, text))
        }
        ChildEnd::Badly => return None,
        ChildEnd::Late | ChildEnd::Missing => (None, true, Some(UNKNOWN.to_owned())),
    };
    let commit = read.or_else(|| hash(header(output?, "branch.oid")?))?;
    let branch = branch.or_else(|| {
        header(output?, "branch.head").filter(|name| *name != "(detached)").map(str::to_owned)
    });
    Some(Git { commit, branch, dirty, changes })
}

/// Returns the SHA-256 of the differences between tracked files and the commit, from `status` and a
/// `git diff`. Results and baselines are excluded.
fn changes(top: &Path, program: &str, limit: Duration, status: &str) -> Option<String> {
    if status.lines().all(|line| line.is_empty() || line.starts_with(['#', '?'])) {
        return None;
    }
    // With full content hashes, so that binary files count.
    let diff = [
        "diff",
        "--full-index",
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "HEAD",
        "--",
        ".",
    ];
    let left_out = [RESULTS, BASELINES].map(|dir| format!(":(exclude,glob)**/{dir}/**"));
    let words: Vec<&str> = diff.into_iter().chain(left_out.iter().map(String::as_str)).collect();
    match child::run(ask_git(top, program, &words), limit) {
        ChildEnd::Well(diff) if diff.is_empty() => None,
        ChildEnd::Well(diff) => {
            let mut hash = String::new();
            for byte in Sha256::digest(diff.as_bytes()) {
                let _ = write!(hash, "{byte:02x}"); // Into a string it cannot fail.
            }
            Some(hash)
        }
        ChildEnd::Badly | ChildEnd::Late | ChildEnd::Missing => Some(UNKNOWN.to_owned()),
    }
}

/// Returns whether the repository around `dir` has `commit`. A tree without it belongs to another
/// project.
pub fn knows_commit(dir: &Path, commit: &str) -> bool {
    let found = child::run(ask_git(dir, "git", &["cat-file", "-t", commit]), STATUS_LIMIT);
    matches!(found, ChildEnd::Well(kind) if kind.trim() == "commit")
}

/// Returns the URL of the remote `origin` of the repository around `dir`, if there is one.
pub fn origin(dir: &Path) -> Option<String> {
    setting(dir, "remote.origin.url")
}

/// Returns the name that git records in commits made in `dir`, if it is configured.
pub fn user_name(dir: &Path) -> Option<String> {
    setting(dir, "user.name").filter(|name| !name.is_empty())
}

fn setting(dir: &Path, key: &str) -> Option<String> {
    match child::run(ask_git(dir, "git", &["config", "--get", key]), STATUS_LIMIT) {
        ChildEnd::Well(value) => Some(value.trim().to_owned()),
        ChildEnd::Badly | ChildEnd::Late | ChildEnd::Missing => None,
    }
}

/// Returns the commits after `before` up to `after`, oldest first, each as its short hash and its
/// subject. `None` if the repository around `dir` lacks one of the two, or git does not answer in
/// time.
pub fn commits_between(dir: &Path, before: &str, after: &str) -> Option<Vec<String>> {
    let range = format!("{before}..{after}");
    let words = ["log", "--reverse", "--format=%h %s", "--end-of-options", &range, "--"];
    match child::run(ask_git(dir, "git", &words), STATUS_LIMIT) {
        ChildEnd::Well(text) => Some(text.trim().lines().map(str::to_owned).collect()),
        ChildEnd::Badly | ChildEnd::Late | ChildEnd::Missing => None,
    }
}

/// The directories with the references; they differ in an added worktree.
struct Files {
    own: PathBuf,
    common: PathBuf,
}

impl Files {
    fn of(top: &Path) -> Option<Self> {
        let entry = top.join(".git");
        let own = if entry.is_dir() {
            entry
        } else if !entry.is_file() {
            // The entry does not exist, or is a FIFO, on which a read would block.
            return None;
        } else {
            // In a worktree or submodule, `.git` is a file with the path of the directory.
            top.join(read_line(&entry)?.strip_prefix("gitdir:")?.trim())
        };
        let common = read_line(&own.join("commondir"))
            .map_or_else(|| own.clone(), |common| own.join(common));
        own.join("HEAD").is_file().then_some(Self { own, common })
    }

    /// Returns commit and branch. The commit is missing if there is none yet, or only git can read
    /// its format.
    fn head(&self) -> (Option<String>, Option<String>) {
        let Some(head) = read_line(&self.own.join("HEAD")) else { return (None, None) };
        match head.strip_prefix("ref:").map(str::trim) {
            // Placeholder in repositories with reftables, which makes old programs fail.
            Some("refs/heads/.invalid") => (None, None),
            Some(name) => (
                self.resolve(name),
                Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
            ),
            None => (hash(&head), None),
        }
    }

    fn resolve(&self, name: &str) -> Option<String> {
        let loose = [&self.own, &self.common]
            .into_iter()
            .find_map(|dir| hash(&read_line(&dir.join(name))?));
        loose.or_else(|| {
            let packed = read_text(&self.common.join("packed-refs"))?;
            packed
                .lines()
                .find_map(|line| line.split_once(' ').filter(|(_, packed)| *packed == name))
                .and_then(|row| hash(row.0))
        })
    }
}

/// Parses a full hash, SHA-1 or SHA-256.
fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    (matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| text.to_owned())
}

fn status(top: &Path, program: &str, limit: Duration) -> ChildEnd {
    child::run(ask_git(top, program, &["status", "--porcelain=v2", "--branch"]), limit)
}

fn ask_git(dir: &Path, program: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    // Runs no hooks, takes no locks, and never prompts.
    command.args(["-c", "core.fsmonitor=false"]).args(words).current_dir(dir);
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        // Set while a git hook runs; they would select another tree.
        command.env_remove(name);
    }
    command
}

/// Returns a header of the status, such as `# branch.head main`.
fn header<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(' '))
}

fn is_dirty(status: &str) -> bool {
    status.lines().any(|line| match line.strip_prefix("? ") {
        Some(unknown) => !is_in(unknown, RESULTS) && !is_in(unknown, BASELINES),
        // `1 XY sub mH mI mW hH hI path`: a modified baseline.
        None if line.starts_with("1 ")
            && Path::new(line.trim_end_matches('"'))
                .extension()
                .is_some_and(|end| end == "json") =>
        {
            !line.splitn(9, ' ').nth(8).is_some_and(|path| is_in(path, BASELINES))
        }
        None => !line.is_empty() && !line.starts_with('#'),
    })
}

/// Returns whether `dir` is one of the directories in `path`, which git quotes if necessary.
fn is_in(path: &str, dir: &str) -> bool {
    path.trim_matches('"').split('/').any(|part| part == dir)
}

#[cfg(test)]
mod tests;
