//! Revisions built at one place, so that the same source gives the same bytes.
//!
//! `gate --against` builds a revision and the tree as it is, `bisect` one revision after the other; both in the
//! worktree of [`super::worktree`].

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use super::worktree::{BuildOutcome, PROGRAM, ProgramDirectory, Worktree};
use crate::Listener;

/// The git repository around the current directory.
pub struct Repository {
    top: PathBuf,
}

impl Repository {
    /// Finds it; `verb` is what needs it.
    ///
    /// # Errors
    /// When there is none.
    pub fn here(verb: &str) -> Result<Self> {
        let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]);
        Ok(Self { top: top.with_context(|| format!("{verb} needs a git repository"))?.into() })
    }

    /// The full hash of the commit that `revision` means.
    ///
    /// # Errors
    /// When git does not know it.
    pub fn commit(&self, revision: &str) -> Result<String> {
        let found = self.git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
        let shallow = || self.git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true");
        found.with_context(|| {
            let cure =
                if shallow() { "; this clone is shallow, and `git fetch --unshallow` gets the rest" } else { "" };
            format!("git does not know the revision `{revision}`; `git log` shows those there are{cure}")
        })
    }

    /// Checks that `commit`, which the user calls `name`, holds this program, before anything is made of it.
    ///
    /// # Errors
    /// When its `Cargo.toml` is missing, or of another package.
    pub fn check_package(&self, commit: &str, name: &str) -> Result<()> {
        let manifest = self.git(&["show", &format!("{commit}:Cargo.toml")]).unwrap_or_default();
        let package = toml::from_str::<toml::Table>(&manifest)
            .ok()
            .and_then(|manifest| Some(manifest.get("package")?.as_table()?.get("name")?.as_str()?.to_owned()));
        if package.as_deref() == Some(PROGRAM) {
            return Ok(());
        }
        let found = package.map_or_else(
            || "has no Cargo.toml of a package".to_owned(),
            |package| format!("is the package `{package}`"),
        );
        bail!(
            "{name} in {} {found}, and what is built and measured here is {PROGRAM} itself: call this in a clone of \
             {PROGRAM}. Benchmarks of another project are judged by what they stored: `{PROGRAM} gate --baseline X \
             --current Y`, where each is a directory such as target/criterion, or the file of another tool",
            self.top.display()
        )
    }

    /// What git answers here.
    ///
    /// # Errors
    /// With git's own words, when it fails.
    pub fn git(&self, arguments: &[&str]) -> Result<String> {
        git(&self.top, arguments)
    }

    /// Where its revisions are built.
    ///
    /// # Errors
    /// When the current directory is gone.
    pub(super) fn worktree(&self) -> Result<Worktree> {
        Worktree::of(&self.top)
    }

    /// A commit of the tree as it is, made beside the index that the user works with, and on no branch.
    fn commit_of_this_tree(&self) -> Result<String> {
        let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
        let index = scratch.path().join("index");
        let with_index = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&self.top).env("GIT_INDEX_FILE", &index).args(arguments);
            output(command)
        };
        with_index(&["read-tree", "HEAD"])?;
        with_index(&["add", "--all"])?;
        let tree = with_index(&["write-tree"])?;
        let author = ["-c", "user.name=rusty-stack-bench", "-c", "user.email=gate@localhost"];
        with_index(&[&author[..], &["commit-tree", &tree, "-p", "HEAD", "-m", "the tree as it is"]].concat())
    }
}

/// The two sources of `gate --against`.
pub(super) struct Trees {
    repository: Repository,
    /// Commits: the revision, then this tree (with what is not committed yet).
    commits: [String; 2],
    /// Hashes of their contents.
    contents: [String; 2],
}

/// The two programs, in a directory that goes with this value.
pub(super) struct Builds {
    pub(super) programs: [PathBuf; 2],
    _dir: ProgramDirectory,
}

/// The revision `revision`, and this tree as it is: changed and new files included, ignored ones not.
///
/// # Errors
/// When this is no git repository, git does not know the revision, or one of both is not this program.
pub(super) fn trees(revision: &str) -> Result<Trees> {
    let repository = Repository::here("gate --against")?;
    let commits = [repository.commit(revision)?, repository.commit_of_this_tree()?];
    for (commit, name) in commits.iter().zip([revision, "this tree"]) {
        repository.check_package(commit, name)?;
    }
    let contents = |commit: &str| repository.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    Ok(Trees { contents: [contents(&commits[0])?, contents(&commits[1])?], commits, repository })
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
    pub(super) fn build(&self, listener: &mut Listener<'_>) -> Result<Builds> {
        let worktree = self.repository.worktree()?;
        let dir = worktree.programs(listener)?;
        let mut programs = Vec::new();
        for (commit, name) in self.commits.iter().zip(["baseline", "current"]) {
            let program = dir.path(name);
            if worktree.build(commit, &program, listener)? == BuildOutcome::Broken {
                worktree.remove_tree(listener);
                bail!("{} does not build", self.repository.git(&["log", "-1", "--format=%h %s", commit])?);
            }
            programs.push(program);
        }
        let programs = <[PathBuf; 2]>::try_from(programs).map_err(|_| anyhow!("two programs were to be built"))?;
        Ok(Builds { programs, _dir: dir })
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

/// What git answers in `dir`.
///
/// # Errors
/// With git's own words, when it fails.
pub fn git(dir: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).env_remove("GIT_INDEX_FILE").args(arguments);
    output(command)
}

fn output(mut command: Command) -> Result<String> {
    // Inside a hook these point at the user's own index and directory, whatever the current directory is.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().context("cannot start git")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
