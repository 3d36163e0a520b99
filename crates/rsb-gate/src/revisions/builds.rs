//! The repository, and the two sources of `gate --against`: a revision, and the current tree.
//!
//! Both are built at the same path, the worktree of [`super::worktree`], so that the same source
//! gives the same bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rsb_engine::{Listener, WorkerCommand};

use super::against::AgainstRequest;
use super::cargo::{self, CargoProfile};
use super::project::{Build, Project, SideRole};
use super::worktree::{ProgramDirectory, Worktree};
use super::{added_benches, inert, opened};
use crate::harness::CountedMetric;

/// The git repository around the current directory.
#[derive(Debug, Clone)]
pub struct Repository {
    top: PathBuf,
}

impl Repository {
    /// Finds the repository; `verb` names the subcommand that needs it.
    ///
    /// # Errors
    /// If there is none.
    pub fn here(verb: &str) -> Result<Self> {
        let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]);
        Ok(Self { top: top.with_context(|| format!("{verb} needs a git repository"))?.into() })
    }

    /// Creates a repository with the top directory `top`.
    #[cfg(test)]
    pub(super) fn at(top: &Path) -> Self {
        Self { top: top.to_owned() }
    }

    /// Returns the full hash of the commit that `revision` refers to.
    ///
    /// # Errors
    /// If git cannot find it.
    pub fn commit(&self, revision: &str) -> Result<String> {
        let found =
            self.git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
        found.with_context(|| {
            let cure = if self.is_shallow() {
                "; this clone is shallow, and `git fetch --unshallow` fetches the rest"
            } else {
                ""
            };
            // A fresh clone has only the default branch; the others are those of the remote.
            let remote = format!("refs/remotes/origin/{revision}");
            let meant = if self.git(&["rev-parse", "--verify", "--quiet", &remote]).is_ok() {
                format!("write `origin/{revision}`; ")
            } else {
                self.branches()
            };
            format!(
                "git cannot find the revision `{revision}`; {meant}`git log` lists the \
                 revisions{cure}"
            )
        })
    }

    /// Returns the branches for an error message, at most ten, those used last first; empty if
    /// there are none.
    fn branches(&self) -> String {
        let listed = self.git(&[
            "for-each-ref",
            "--count=10",
            "--sort=-committerdate",
            // `origin/HEAD` is only another name of a branch.
            "--format=%(if)%(symref)%(then)%(else)%(refname:short)%(end)",
            "refs/heads",
            "refs/remotes",
        ]);
        let listed = listed.unwrap_or_default();
        let names = listed.lines().filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() { String::new() } else { format!("branches: {}; ", names.join(", ")) }
    }

    /// Returns whether part of the history was not fetched.
    pub(super) fn is_shallow(&self) -> bool {
        self.git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|answer| answer == "true")
    }

    /// Returns the files that differ between two commits.
    ///
    /// # Errors
    /// If git cannot find one of them.
    pub(super) fn changed_files(&self, one: &str, other: &str) -> Result<Vec<PathBuf>> {
        Ok(opened::names_in(&self.git(&[
            "diff",
            "--name-only",
            "--no-renames",
            "-z",
            one,
            other,
        ])?))
    }

    /// Returns the top directory.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// Runs git here and returns its output.
    ///
    /// # Errors
    /// If it fails, with its error message.
    pub fn git(&self, arguments: &[&str]) -> Result<String> {
        git(&self.top, arguments)
    }

    /// Returns the worktree in which its revisions are built.
    ///
    /// # Errors
    /// If there is no directory for it outside the repository.
    pub(super) fn worktree(&self) -> Result<Worktree> {
        Worktree::of(&self.top)
    }

    /// Commits the current tree, on no branch and without the user's index.
    fn commit_of_this_tree(&self) -> Result<String> {
        let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
        let index = scratch.path().join("index");
        self.git_with_index(&index, &["read-tree", "HEAD"])?;
        self.git_with_index(&index, &["add", "--all"])?;
        self.commit_index(&index, "HEAD", "the working tree")
    }

    /// Commits the index in the file `index`, after `parent` and on no branch.
    pub(super) fn commit_index(&self, index: &Path, parent: &str, subject: &str) -> Result<String> {
        let tree = self.git_with_index(index, &["write-tree"])?;
        let author = ["-c", "user.name=rusty-stack-bench", "-c", "user.email=gate@localhost"];
        let commit = ["commit-tree", &tree, "-p", parent, "-m", subject];
        self.git_with_index(index, &[&author[..], &commit].concat())
    }

    /// Runs git with its index in the file `index`.
    pub(super) fn git_with_index(&self, index: &Path, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("git");
        command.current_dir(&self.top).env("GIT_INDEX_FILE", index).args(arguments);
        output(command)
    }

    /// Returns the hash of the contents of `commit`.
    fn contents_of(&self, commit: &str) -> Result<String> {
        self.git(&["rev-parse", &format!("{commit}^{{tree}}")])
    }
}

/// The two sources of `gate --against`.
pub(super) struct Trees {
    repository: Repository,
    project: Project,
    /// Commits: the revision, then this tree (with uncommitted changes).
    commits: [String; 2],
    /// Hashes of their contents.
    contents: [String; 2],
}

/// Both builds, in a directory that is removed with this value.
pub(super) struct Builds {
    pub(super) sides: [Build; 2],
    dir: ProgramDirectory,
}

/// Prepares the revision of `request` and the current tree: including changed and new files,
/// excluding ignored ones.
///
/// # Errors
/// If this is not a git repository, git cannot find the revision, or the projects differ.
pub(super) fn trees(request: &AgainstRequest<'_>) -> Result<Trees> {
    let (revision, options) = (request.revision, request.project);
    let repository = Repository::here("gate --against")?;
    let mut commits = [repository.commit(revision)?, repository.commit_of_this_tree()?];
    let project =
        Project::of(&repository, &[(&commits[0], revision), (&commits[1], "this tree")], options)?;
    if request.add_benches && project.has_executables() {
        commits[0] = added_benches::commit_with_benches(&repository, &commits[0], &commits[1])?;
    }
    Ok(Trees {
        contents: [repository.contents_of(&commits[0])?, repository.contents_of(&commits[1])?],
        commits,
        project,
        repository,
    })
}

impl Trees {
    /// Checks that the project supports the requested options.
    ///
    /// # Errors
    /// If a suite, layouts, counts or added benchmarks are requested of a project without them.
    pub(super) fn check(&self, request: &AgainstRequest<'_>) -> Result<()> {
        let is_own = self.project.is_this_program();
        let can_count = is_own || self.project.has_executables();
        let instead = request.counting.instead_of_time;
        let beside = !request.counting.metrics.is_empty() && !instead;
        let own = "the benchmarks of rusty-stack-bench itself";
        let built = "benchmarks that cargo builds";
        let unfit = [
            ("--suite", own, request.suite.is_some() && !is_own),
            ("--layouts", own, request.layouts > 0 && !is_own),
            ("--metric", built, beside && !can_count),
            ("--benches-from", built, request.add_benches && !self.project.has_executables()),
        ];
        if let Some((flag, whose, _)) = unfit.iter().find(|(.., is_unfit)| *is_unfit) {
            bail!("{flag} only applies to {whose}; omit it here");
        }
        let foreign =
            request.counting.metrics.iter().find(|metric| **metric != CountedMetric::Instructions);
        match foreign {
            Some(metric) if beside && is_own => bail!(
                "--metric {} only applies to the benchmarks of other projects; omit it here",
                metric.as_str()
            ),
            _ if instead || (beside && !is_own) => {
                self.project.check_counting(request.counting.metrics)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether both sides contain the same source.
    pub(super) fn are_equal(&self) -> bool {
        self.contents[0] == self.contents[1]
    }

    /// Returns the files that differ.
    ///
    /// # Errors
    /// If git cannot list them.
    pub(super) fn changed_files(&self) -> Result<Vec<PathBuf>> {
        self.repository.changed_files(&self.commits[0], &self.commits[1])
    }

    /// Returns whether `changed`, the files that differ, cannot change what cargo builds: CI
    /// configuration and licenses that no other file of either side mentions.
    pub(super) fn is_change_inert(&self, changed: &[PathBuf]) -> bool {
        if !self.project.is_built_by_cargo() || !changed.iter().all(|path| inert::is_inert(path)) {
            return false;
        }
        let mut searches =
            self.commits.iter().flat_map(|commit| inert::grep_for_readers(commit, changed));
        searches.all(|search| {
            let mut command = Command::new("git");
            command.current_dir(self.repository.top()).args(search);
            without_repository_variables(&mut command);
            // `git grep` exits with 0 if it finds a match, 1 if not, and more than 1 on errors.
            command.status().is_ok_and(|status| status.code() == Some(1))
        })
    }

    /// Builds both sides; the second one only if `check` accepts the first.
    ///
    /// # Errors
    /// If `check` fails, or a side does not build; the compiler prints its errors to standard
    /// error.
    pub(super) fn build(
        &self,
        check: impl FnOnce(&Build) -> Result<()>,
        listener: &mut Listener<'_>,
    ) -> Result<Builds> {
        let worktree = self.repository.worktree()?;
        let dir = worktree.programs(self.project.tree_use(), listener)?;
        let [first, second] = &self.commits;
        let first = self.build_side(&worktree, &dir, first, SideRole::First, listener)?;
        check(&first)?;
        let second = self.build_side(&worktree, &dir, second, SideRole::Second, listener)?;
        Ok(Builds { sides: [first, second], dir })
    }

    fn build_side(
        &self,
        worktree: &Worktree,
        dir: &ProgramDirectory,
        commit: &str,
        role: SideRole,
        listener: &mut Listener<'_>,
    ) -> Result<Build> {
        let build = self.project.build(&self.repository, worktree, dir, commit, role, listener)?;
        if let Some(build) = build {
            return Ok(build);
        }
        worktree.remove_tree(listener);
        bail!("{} does not build", self.repository.git(&["log", "-1", "--format=%h %s", commit])?)
    }

    /// Links each build of this program `layouts` times, each time with its functions in another
    /// order.
    ///
    /// # Errors
    /// If the linker does not support this.
    pub(super) fn relink(
        &self,
        builds: &Builds,
        layouts: u32,
        listener: &mut Listener<'_>,
    ) -> Result<[Vec<WorkerCommand>; 2]> {
        let worktree = self.repository.worktree()?;
        let first = self.relink_side(0, &worktree, builds, layouts, listener)?;
        let second = self.relink_side(1, &worktree, builds, layouts, listener)?;
        Ok([first, second])
    }

    fn relink_side(
        &self,
        which: u32,
        worktree: &Worktree,
        builds: &Builds,
        layouts: u32,
        listener: &mut Listener<'_>,
    ) -> Result<Vec<WorkerCommand>> {
        let mut linked = Vec::new();
        worktree.with_revision(&self.commits[which as usize], listener, |place, _| {
            cargo::build_this_program(place, CargoProfile::Release, &builds.dir.path("plain"))?;
            for layout in 0..layouts {
                let program = builds.dir.path(&format!("layout-{which}-{layout}"));
                // Seeds start at 1, because seed 0 lets the linker choose any order.
                let seed = u64::from(which * layouts + layout + 1);
                if !cargo::relink_this_program(place, seed, &program)? {
                    bail!(
                        "cannot link the program in another layout: that needs the linker lld, \
                         which rustc uses by default on x86_64 Linux, and elsewhere with \
                         RUSTFLAGS=-Clink-arg=-fuse-ld=lld; set it, or omit --layouts"
                    );
                }
                linked.push(WorkerCommand::of(program));
            }
            Ok(())
        })?;
        Ok(linked)
    }
}

/// Runs git in `dir` and returns its output.
///
/// # Errors
/// If it fails, with its error message.
pub fn git(dir: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).env_remove("GIT_INDEX_FILE").args(arguments);
    output(command)
}

/// Removes the variables that git sets inside a hook, which refer to the user's own index and
/// directory whatever the current directory is.
pub(super) fn without_repository_variables(command: &mut Command) {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"]
    {
        command.env_remove(name);
    }
}

fn output(mut command: Command) -> Result<String> {
    without_repository_variables(&mut command);
    let output = command.output().context("cannot start git")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{}{}", message.trim(), missing_contents(&message));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns how to fix a failure of git if its `message` reports that the clone lacks contents;
/// empty for other messages.
fn missing_contents(message: &str) -> &'static str {
    let has = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
    if has(&["filter lfs failed", "git-lfs"]) {
        "; run `git lfs fetch --all`, or set GIT_LFS_SKIP_SMUDGE=1 to use pointers on both sides"
    } else if has(&["promisor remote", "unable to read", "missing blob", "missing tree"]) {
        "; this clone lacks objects of the revision: fetch them (`git fetch --unshallow` if it is \
         shallow), or clone without `--filter`"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_contents_are_named_with_the_cure() {
        for (message, cure) in [
            ("fatal: data.bin: smudge filter lfs failed", "git lfs fetch"),
            ("fatal: could not fetch 12ab from promisor remote", "without `--filter`"),
            ("error: unable to read sha1 file of src/lib.rs (12ab)", "`git fetch --unshallow`"),
            ("fatal: not a valid object name: nobody", ""),
        ] {
            let found = missing_contents(message);
            assert!(found.contains(cure) && found.is_empty() == cure.is_empty(), "{message}");
        }
    }
}
