//! Two revisions built at one place, so that the same source gives the same bytes.
//!
//! A worktree in the build's folder is switched to one revision, built, switched to the other, built again. It has a
//! target folder of its own: cargo names what it builds independently of where the sources lie, so that in a shared one
//! the two trees would pass for each other. Dependencies are compiled there once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

/// The two sources.
pub(super) struct Trees {
    top: PathBuf,
    /// Commits: the revision, then this tree (with what is not committed yet).
    commits: [String; 2],
    /// Hashes of their contents.
    contents: [String; 2],
}

/// The two programs, in a folder that goes with this value.
pub(super) struct Builds {
    pub(super) programs: [PathBuf; 2],
    _folder: tempfile::TempDir,
}

/// The revision `revision`, and this tree as it is: changed and new files included, ignored ones not.
///
/// # Errors
/// When this is no git repository, or git does not know the revision.
pub(super) fn trees(revision: &str) -> Result<Trees> {
    let top = PathBuf::from(
        git(Path::new("."), &["rev-parse", "--show-toplevel"]).context("gate --against needs a git repository")?,
    );
    let commit = git(&top, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
        .with_context(|| format!("git does not know the revision `{revision}`; `git log` shows those there are"))?;
    let here = commit_of_this_tree(&top)?;
    let contents = |commit: &str| git(&top, &["rev-parse", &format!("{commit}^{{tree}}")]);
    Ok(Trees { contents: [contents(&commit)?, contents(&here)?], commits: [commit, here], top })
}

/// A commit of the tree as it is, made beside the index that the user works with, and on no branch.
fn commit_of_this_tree(top: &Path) -> Result<String> {
    let scratch = tempfile::tempdir().context("cannot make a scratch folder")?;
    let index = scratch.path().join("index");
    let with_index = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(top).env("GIT_INDEX_FILE", &index).args(arguments);
        output(command)
    };
    with_index(&["read-tree", "HEAD"])?;
    with_index(&["add", "--all"])?;
    let tree = with_index(&["write-tree"])?;
    let author = ["-c", "user.name=rusty-stack-bench", "-c", "user.email=gate@localhost"];
    with_index(&[&author[..], &["commit-tree", &tree, "-p", "HEAD", "-m", "the tree as it is"]].concat())
}

impl Trees {
    /// Whether both hold the same source.
    pub(super) fn are_equal(&self) -> bool {
        self.contents[0] == self.contents[1]
    }

    /// Builds both.
    ///
    /// # Errors
    /// When one of them does not build, with the compiler's words on standard error.
    pub(super) fn build(&self) -> Result<Builds> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.top.join("target"), PathBuf::from);
        let target = std::path::absolute(target).context("cannot find the folder of the build")?;
        let target = target.join("against");
        let _lock = lock(&target)?;
        let tree = target.join("tree");
        let folder =
            tempfile::Builder::new().prefix("rusty-stack-bench-").tempdir().context("cannot make a scratch folder")?;
        let mut programs = Vec::new();
        for (commit, name) in self.commits.iter().zip(["baseline", "current"]) {
            self.switch(&tree, commit)?;
            programs.push(build(&tree, &target.join("build"), &folder.path().join(name))?);
        }
        let programs = <[PathBuf; 2]>::try_from(programs).map_err(|_| anyhow!("two programs were to be built"))?;
        Ok(Builds { programs, _folder: folder })
    }

    /// Switches the worktree, which is made when it is not there. Only files that differ are touched, so that only
    /// what they concern is compiled again.
    fn switch(&self, tree: &Path, commit: &str) -> Result<()> {
        let shown = tree.display().to_string();
        if !tree.join(".git").exists() {
            git(&self.top, &["worktree", "prune"])?;
            git(&self.top, &["worktree", "add", "--force", "--detach", &shown, commit])?;
        }
        git(tree, &["checkout", "--force", "--detach", "--quiet", commit])?;
        git(tree, &["clean", "-fdq"]).map(drop)
    }
}

impl Builds {
    /// Whether both programs are the same, byte for byte.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn are_equal(&self) -> Result<bool> {
        let [before, after] = &self.programs;
        Ok(std::fs::read(before)? == std::fs::read(after)?)
    }
}

/// Two of these at once would switch each other's worktree.
fn lock(target: &Path) -> Result<std::fs::File> {
    std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    let path = target.join("lock");
    let file = std::fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn build(tree: &Path, target: &Path, program: &Path) -> Result<PathBuf> {
    eprintln!("building {}", git(tree, &["log", "-1", "--format=%h %s"])?);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(tree)
        .args(["build", "--release", "--locked", "--quiet", "--bin", "rusty-stack-bench", "--target-dir"])
        .arg(target);
    let status =
        command.status().context("cannot start cargo; gate --against builds both sides and needs a Rust toolchain")?;
    if !status.success() {
        bail!("{} does not build", git(tree, &["log", "-1", "--format=%h %s"])?);
    }
    let built = target.join("release/rusty-stack-bench");
    std::fs::copy(&built, program).with_context(|| format!("cannot copy {}", built.display()))?;
    Ok(program.to_owned())
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(folder).env_remove("GIT_INDEX_FILE").args(arguments);
    output(command)
}

fn output(mut command: Command) -> Result<String> {
    // Inside a hook these point at the user's own index and folder, whatever the current folder is.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().context("cannot start git")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
