//! Revisions that made baselines: whether they may be used, and their programs. Also the baselines
//! of the merge base of a pull request.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use rsb_engine::{EngineError, Listener};
use rsb_store::{KeptProgram, Programs};

use super::builds::Repository;
use super::cargo::{self, CargoProfile, PROGRAM};
use super::project::package;
use super::tree::RevisionTree;
use super::worktree::{TreeUse, Worktree};
use crate::build_place::cargo_home;
use crate::gate::Revisions;

/// The commit from which a pull request branched off. Its baselines and policy apply, so that a
/// pull request cannot change the rules by which it is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeBase {
    commit: String,
}

impl MergeBase {
    /// Finds the merge base of `revision`, the branch to merge into, and the checked-out commit.
    ///
    /// # Errors
    /// If this is not a git repository or git cannot find the revision. Without a common
    /// ancestor, there is no verdict.
    pub fn of(revision: &str) -> Result<Self, EngineError> {
        let repository = Repository::here("gate --base").map_err(EngineError::usage)?;
        let commit = repository.commit(revision).map_err(EngineError::usage)?;
        match repository.git(&["merge-base", &commit, "HEAD"]) {
            Ok(commit) => Ok(Self { commit }),
            Err(_) => Err(EngineError::no_verdict(anyhow!(
                "this clone has no common ancestor of `{revision}` and HEAD: {} fetches more of \
                 the history",
                fetch(&repository, &commit)
            ))),
        }
    }

    /// Returns the hash of the commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Writes the files that the commit has in `dir` to a temporary directory, which stays empty if
    /// there are none. The files get the time of the commit, so that the verdict on a run stays
    /// valid until its baseline changes.
    ///
    /// # Errors
    /// If `dir` is outside the repository, a link leads out of it, git cannot write the files, or
    /// there is no space.
    pub fn files(&self, dir: &Path) -> Result<tempfile::TempDir, EngineError> {
        let tree = RevisionTree::open(&self.commit, "gate --base")?;
        let Some(name) = tree.name_of(dir)? else {
            return Err(EngineError::usage(anyhow!(
                "--base reads the baselines of the merge base, and {} is outside this repository; \
                 name a directory in it with \
                 --baselines-dir, or leave out --base",
                dir.display()
            )));
        };
        let files = tempfile::tempdir().context("cannot create a temporary directory")?;
        tree.export(&name, files.path()).map_err(EngineError::usage)?;
        let repository = Repository::here("gate --base")?;
        let seconds = repository.git(&["show", "--no-patch", "--format=%ct", &self.commit])?;
        let then =
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.parse().unwrap_or_default());
        set_modified(files.path(), then)
            .with_context(|| format!("cannot write in {}", files.path().display()))?;
        Ok(files)
    }
}

fn set_modified(dir: &Path, then: SystemTime) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            set_modified(&entry.path(), then)?;
        } else if entry.file_type()?.is_file() {
            std::fs::File::options().append(true).open(entry.path())?.set_modified(then)?;
        }
    }
    Ok(())
}

/// Returns the command that fetches `commit`.
fn fetch(repository: &Repository, commit: &str) -> String {
    if repository.is_shallow() {
        "`git fetch --unshallow`".to_owned()
    } else {
        format!("`git fetch origin {commit}`")
    }
}

/// Provider of the revisions that made baselines, from the repository here.
#[derive(Debug, Clone, Default)]
pub struct BaselineRevisions {
    base: Option<MergeBase>,
}

impl BaselineRevisions {
    /// Creates a provider that accepts only ancestors of `base`; without it, any revision.
    pub const fn new(base: Option<MergeBase>) -> Self {
        Self { base }
    }

    fn find_or_build(commit: &str, listener: &mut Listener<'_>) -> Result<KeptProgram> {
        let short = short(commit);
        let repository = Repository::here("building the revision that made the baseline")?;
        let commit = &repository.commit(commit).map_err(|_| {
            let fetch = fetch(&repository, commit);
            anyhow!(
                "the revision {short}, which made the baseline, is not in this repository: {fetch} \
                 fetches it, if it belongs to this project"
            )
        })?;
        match package(&repository, commit, Path::new("")) {
            Ok(name) if name == PROGRAM => {}
            _ => bail!(
                "the program that made the baseline is not kept here, and the repository here is \
                 not that of {PROGRAM}"
            ),
        }
        let programs = Programs::of_user()?;
        let profile = CargoProfile::OWN;
        let build = format!("{commit}-{}-{:016x}", profile.directory(), toolchain(&repository)?);
        if let Ok(known) = programs.find_build(&build) {
            return Ok(known);
        }
        // Build outside this tree, because its `.cargo/config.toml` would apply to everything below
        // it.
        let worktree = Worktree::at(repository.top(), programs.builds_dir());
        let dir = worktree.programs(TreeUse::WhileBuilding, listener)?;
        let into = dir.path("baseline");
        let is_built = worktree.with_revision(commit, listener, |place, _| {
            cargo::build_this_program(place, profile, &into)
        })?;
        if !is_built {
            bail!("the revision {short}, which made the baseline, does not build here");
        }
        programs.keep_build(&into, &build).context("cannot store the program of the baseline")
    }
}

impl Revisions for BaselineRevisions {
    fn check(&self, commit: &str) -> Result<(), String> {
        let Some(base) = &self.base else { return Ok(()) };
        let repository = Repository::here("gate --base").map_err(|error| format!("{error:#}"))?;
        if repository.git(&["merge-base", "--is-ancestor", commit, &base.commit]).is_ok() {
            return Ok(());
        }
        let (short_one, short_base) = (short(commit), short(&base.commit));
        let why = match repository.commit(commit) {
            Err(_) => format!("was not fetched: {} fetches it", fetch(&repository, commit)),
            Ok(_) if repository.is_shallow() => {
                format!(
                    "is not an ancestor of {short_base} in the fetched history: `git fetch \
                     --unshallow` fetches the rest"
                )
            }
            Ok(_) => format!(
                "is not an ancestor of {short_base}: if the history was rewritten, save another \
                 baseline there with `rusty-stack-bench baseline refresh`; if only the branch \
                 moved, run `git fetch origin`"
            ),
        };
        Err(format!("the revision {short_one}, which made the baseline, {why}"))
    }

    fn program(&self, commit: &str, listener: &mut Listener<'_>) -> Result<KeptProgram, String> {
        Self::find_or_build(commit, listener).map_err(|error| format!("{error:#}"))
    }
}

/// Returns the first 12 digits of a hash.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Returns a hash of everything that a build depends on except the source: the compiler, the user's
/// environment, and the configuration in cargo's own directory.
fn toolchain(repository: &Repository) -> Result<u64> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.arg("-vV").current_dir(repository.top()).output();
    let output = output
        .context("cannot start rustc; a revision is built here, which needs a Rust toolchain")?;
    let mut sum = DefaultHasher::new();
    output.stdout.hash(&mut sum);
    let mut set: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_build_variable))
        .collect();
    set.sort();
    set.hash(&mut sum);
    cargo_home().and_then(|dir| std::fs::read(dir.join("config.toml")).ok()).hash(&mut sum);
    Ok(sum.finish())
}

/// Returns whether the environment variable `name` changes what cargo builds.
fn is_build_variable(name: &str) -> bool {
    ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS"]
        .contains(&name)
        || ["CARGO_PROFILE_", "CARGO_BUILD_"].iter().any(|begin| name.starts_with(begin))
        || (name.starts_with("CARGO_TARGET_") && name != "CARGO_TARGET_DIR")
}
