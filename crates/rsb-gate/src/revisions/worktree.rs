//! The worktree in which revisions are built: outside the repository, and switched from one
//! revision to the next.
//!
//! It is outside so that nothing in the tree under test affects the other side: neither
//! `.cargo/config.toml` nor `rust-toolchain.toml`, nor a committed build output. Dependencies are
//! compiled there once. The worktree is kept for the next time, registered with git, unless a
//! revision does not build. In any state, even after a kill, it is reused or created again.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use rsb_engine::Listener;
use rsb_model::Event;
use rsb_store::Programs;

use super::builds::git;
use super::lfs;
use crate::build_place::BuildPlace;

/// The worktree of one repository, and its builds.
pub(super) struct Worktree {
    top: PathBuf,
    dir: PathBuf,
    place: BuildPlace,
    /// Whether the user was warned of pointers of Git LFS.
    was_warned: Cell<bool>,
}

/// The tree of a revision, and the directory to build it in.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuildTarget<'a> {
    /// The tree.
    pub(super) tree: &'a Path,
    /// Directory for build outputs.
    pub(super) target: &'a Path,
}

/// A directory for programs that is removed with this value. Leftovers of killed processes are
/// removed when the next one is created.
pub(super) struct ProgramDirectory {
    dir: tempfile::TempDir,
    /// Locked while the directory is in use.
    _alive: File,
    /// Keeps other processes away from the worktree.
    session: Option<File>,
    place: BuildPlace,
}

/// How long a worktree is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeUse {
    /// While a program is built in it.
    WhileBuilding,
    /// Also while the program is measured, because executables read their files there.
    WhileMeasuring,
}

impl Drop for ProgramDirectory {
    fn drop(&mut self) {
        if self.session.is_some() {
            // If restoring fails, the next build restores the path.
            drop(self.place.restore());
        }
    }
}

impl ProgramDirectory {
    /// Returns the path of the program `name`.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Prefix of the names of such directories.
const PROGRAMS: &str = "programs-";
/// File in them that is locked while they are in use.
const ALIVE: &str = "alive";

impl Worktree {
    /// Returns the worktree of the repository at `top`, in `$CARGO_TARGET_DIR` if that is outside
    /// the repository, else in the user's cache directory.
    ///
    /// # Errors
    /// If there is no such directory outside the repository.
    pub(super) fn of(top: &Path) -> Result<Self> {
        let top = top.canonicalize().with_context(|| format!("cannot read {}", top.display()))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(std::path::absolute).transpose();
        let target = target.context("cannot find the directory of the build")?;
        let outside =
            target.filter(|target| !is_below(target, &top)).map(|target| target.join("against"));
        let dir = if let Some(dir) = outside {
            dir
        } else {
            let builds = Programs::of_user()?.builds_dir();
            if is_below(&builds, &top) {
                bail!(
                    "the build cache {} is inside the judged repository; set RSB_CACHE_DIR to a \
                     directory outside it",
                    builds.display()
                );
            }
            builds.with_file_name("against")
        };
        let mut hash = DefaultHasher::new();
        top.hash(&mut hash);
        let name = top.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self::at(&top, dir.join(format!("{name}-{:016x}", hash.finish()))))
    }

    /// Returns a worktree of the repository at `top` in `dir`.
    pub(super) fn at(top: &Path, dir: PathBuf) -> Self {
        let place = BuildPlace::new(&dir, top, "side");
        Self { top: top.to_owned(), dir, place, was_warned: Cell::new(false) }
    }

    /// Returns another worktree of the same repository, for a side whose command builds in its
    /// tree.
    pub(super) fn for_side(&self, name: &str) -> Self {
        let place = BuildPlace::new(&self.dir, &self.top, &format!("side-{name}"));
        Self { place, was_warned: Cell::new(false), top: self.top.clone(), dir: self.dir.clone() }
    }

    /// Returns the place at which trees and outputs appear.
    pub(super) const fn place(&self) -> &BuildPlace {
        &self.place
    }

    /// Runs `work` with the tree of `commit` and the directory to build in, under a lock.
    ///
    /// # Errors
    /// If the tree cannot be switched to it, or the work fails.
    pub(super) fn with_revision<T>(
        &self,
        commit: &str,
        listener: &mut Listener<'_>,
        work: impl FnOnce(BuildTarget<'_>, &mut Listener<'_>) -> Result<T>,
    ) -> Result<T> {
        let _lock = self.lock(listener)?;
        self.place.restore()?;
        self.switch(commit)?;
        if let Some(warning) = lfs::check_out(&self.tree())?
            && !self.was_warned.replace(true)
        {
            listener(&Event::warning(warning));
        }
        listener(&Event::BuildStarted {
            revision: git(&self.top, &["log", "-1", "--format=%h %s", commit])?,
        });
        work(BuildTarget { tree: &self.tree(), target: &self.place.build() }, listener)
    }

    /// Creates a directory for programs next to their build outputs, because some systems do not
    /// allow execution in the temporary directory. With `TreeUse::WhileMeasuring`, no other process
    /// can use the worktree until the value is dropped.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub(super) fn programs(
        &self,
        tree: TreeUse,
        listener: &mut Listener<'_>,
    ) -> Result<ProgramDirectory> {
        let session = match tree {
            TreeUse::WhileBuilding => None,
            TreeUse::WhileMeasuring => Some(self.wait_for_lock("session", listener)?),
        };
        let _lock = self.lock(listener)?;
        self.remove_orphans();
        let why = || format!("cannot make a directory in {}", self.dir.display());
        let dir =
            tempfile::Builder::new().prefix(PROGRAMS).tempdir_in(&self.dir).with_context(why)?;
        let alive = File::create(dir.path().join(ALIVE)).with_context(why)?;
        alive.lock().with_context(why)?;
        Ok(ProgramDirectory { dir, _alive: alive, session, place: self.place.clone() })
    }

    /// Removes program directories that are no longer in use. One that cannot be removed only
    /// wastes space.
    fn remove_orphans(&self) {
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PROGRAMS) && is_orphan(&entry.path())
            {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Removes the worktree, including git's record of it. If that fails, the worktree is reused or
    /// created again.
    pub(super) fn remove_tree(&self, listener: &mut Listener<'_>) {
        if let (Ok(_lock), tree) = (self.lock(listener), self.tree().display().to_string()) {
            drop(self.place.restore());
            let _ = git(&self.top, &["worktree", "remove", "--force", &tree]);
        }
    }

    /// Returns the path of the tree.
    pub(super) fn tree(&self) -> PathBuf {
        self.place.tree()
    }

    /// Locks the worktree, so that concurrent builds do not switch it to another revision while it
    /// is in use.
    fn lock(&self, listener: &mut Listener<'_>) -> Result<File> {
        self.wait_for_lock("lock", listener)
    }

    fn wait_for_lock(&self, name: &str, listener: &mut Listener<'_>) -> Result<File> {
        let dir = self.dir.display();
        std::fs::create_dir_all(&self.dir).with_context(|| format!("cannot create {dir}"))?;
        let path = self.dir.join(name);
        let file =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            listener(&Event::BuildWaiting { directory: self.dir.clone() });
        }
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }

    /// Switches the worktree. Only files that differ are written, so only their dependents are
    /// compiled again.
    fn switch(&self, commit: &str) -> Result<()> {
        if self.is_ours() && self.check_out(commit).is_ok() {
            return Ok(());
        }
        let tree = self.tree();
        if tree.exists() {
            std::fs::remove_dir_all(&tree)
                .with_context(|| format!("cannot remove {}", tree.display()))?;
        }
        // Forced twice: git may still have a worktree registered at this path, even one that is
        // locked because git was killed.
        self.place.prepare()?;
        let shown = tree.display().to_string();
        git(&self.top, &["worktree", "add", "--force", "--force", "--detach", &shown, commit])?;
        self.check_out(commit)
    }

    fn check_out(&self, commit: &str) -> Result<()> {
        let tree = self.tree();
        git(&tree, &["checkout", "--force", "--detach", "--quiet", commit])?;
        git(&tree, &["clean", "-ffdq"])?; // Twice: also a submodule that the commit does not have.
        check_out_submodules(&tree, &self.top)
    }

    /// Returns whether the worktree exists and belongs to this repository: a target directory
    /// shared by several clones may contain that of another.
    fn is_ours(&self) -> bool {
        let tree = self.tree();
        tree.join(".git").is_file()
            && common_dir(&tree).is_some_and(|own| common_dir(&self.top) == Some(own))
    }
}

/// Checks out the submodules of `tree` that are also checked out in `top`, the user's tree. Their
/// commits come from there, so nothing is downloaded.
fn check_out_submodules(tree: &Path, top: &Path) -> Result<()> {
    for line in git(tree, &["ls-files", "--stage", "-z"])?.split('\0') {
        let submodule = line.strip_prefix("160000 ").and_then(|rest| rest.split_once('\t'));
        let Some((hash_and_stage, path)) = submodule else { continue };
        let commit = hash_and_stage.split(' ').next().unwrap_or_default();
        let (own, known) = (tree.join(path), top.join(path));
        if !known.join(".git").exists() {
            continue; // The user builds without it.
        }
        let checkout = ["checkout", "--force", "--detach", "--quiet", commit];
        let is_known = own.join(".git").exists() && git(&own, &checkout).is_ok();
        if !is_known {
            if own.exists() {
                std::fs::remove_dir_all(&own)
                    .with_context(|| format!("cannot remove {}", own.display()))?;
            }
            let [from, to] = [&known, &own].map(|path| path.display().to_string());
            git(tree, &["clone", "--quiet", "--shared", "--no-checkout", &from, &to])?;
        }
        if !is_known && git(&own, &checkout).is_err() {
            bail!(
                "the submodule {path} has no commit {commit} here: run `git -C {path} fetch`, then \
                 try again"
            );
        }
        git(&own, &["clean", "-ffdq"])?;
        check_out_submodules(&own, &known)?;
    }
    Ok(())
}

/// Returns whether no process holds the lock of this program directory.
fn is_orphan(dir: &Path) -> bool {
    File::open(dir.join(ALIVE)).map_or(true, |alive| alive.try_lock().is_ok())
}

/// Returns the repository that the worktree at `tree` belongs to.
fn common_dir(tree: &Path) -> Option<PathBuf> {
    let path = git(tree, &["rev-parse", "--git-common-dir"]).ok()?;
    tree.join(path).canonicalize().ok()
}

/// Returns whether `path` is in `top`, following links as far as it exists.
fn is_below(path: &Path, top: &Path) -> bool {
    let exists = path.ancestors().find_map(|part| part.canonicalize().ok());
    path.starts_with(top) || exists.is_some_and(|part| part.starts_with(top))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a repository with two commits that differ in `file`, its worktree, and both commits.
    fn repository() -> (tempfile::TempDir, Worktree, [String; 2]) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().to_owned();
        git(&top, &["init", "--quiet"]).unwrap();
        let commits = ["one", "two"].map(|text| {
            std::fs::write(top.join("file"), text).unwrap();
            git(&top, &["add", "file"]).unwrap();
            let author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
            git(&top, &[&author[..], &["commit", "--quiet", "-m", text]].concat()).unwrap();
            git(&top, &["rev-parse", "HEAD"]).unwrap()
        });
        let worktree = Worktree::at(&top, top.join("target/against"));
        std::fs::create_dir_all(&worktree.dir).unwrap();
        (dir, worktree, commits)
    }

    fn holds(worktree: &Worktree, text: &str) -> bool {
        std::fs::read_to_string(worktree.tree().join("file")).is_ok_and(|found| found == text)
    }

    /// Returns the directory in which git keeps its data on the worktree.
    fn git_dir(worktree: &Worktree) -> PathBuf {
        git(&worktree.tree(), &["rev-parse", "--absolute-git-dir"]).unwrap().into()
    }

    #[test]
    fn a_worktree_is_used_again_and_only_what_differs_is_touched() {
        let (_dir, worktree, [one, two]) = repository();
        worktree.switch(&one).unwrap();
        std::fs::write(worktree.tree().join("stray"), "left behind").unwrap();
        let made = std::fs::metadata(worktree.tree().join(".git")).unwrap().modified().unwrap();
        worktree.switch(&two).unwrap();
        assert!(holds(&worktree, "two") && !worktree.tree().join("stray").exists());
        assert_eq!(
            std::fs::metadata(worktree.tree().join(".git")).unwrap().modified().unwrap(),
            made
        );
        let list = git(&worktree.top, &["worktree", "list", "--porcelain"]).unwrap();
        assert_eq!(list.matches("worktree ").count(), 2, "{list}");
    }

    #[test]
    fn submodules_are_those_of_the_revision() {
        let (_dir, worktree, _) = repository();
        let (_library_dir, library, [old, new]) = repository();
        let from = library.top.display().to_string();
        let author = ["-c", "user.name=t", "-c", "user.email=t@t"];
        let top = &worktree.top;
        let local = ["-c", "protocol.file.allow=always"];
        git(top, &[&local[..], &["submodule", "--quiet", "add", &from, "library"]].concat())
            .unwrap();
        let revisions = [&old, &new].map(|commit| {
            git(&top.join("library"), &["checkout", "--quiet", commit]).unwrap();
            git(top, &["add", "library"]).unwrap();
            let message = ["commit", "--quiet", "-m", commit];
            git(top, &[&author[..], &message].concat()).unwrap();
            git(top, &["rev-parse", "HEAD"]).unwrap()
        });
        let content = || std::fs::read_to_string(worktree.tree().join("library/file")).unwrap();
        for (revision, expected) in [(0, "one"), (1, "two"), (0, "one")] {
            worktree.switch(&revisions[revision]).unwrap();
            assert_eq!(content(), expected);
        }
        // A submodule at a commit that was not fetched.
        let unknown = "1234567890123456789012345678901234567890";
        let entry = format!("160000,{unknown},library");
        git(top, &["update-index", "--cacheinfo", &entry]).unwrap();
        let message = ["commit", "--quiet", "-m", "unknown"];
        git(top, &[&author[..], &message].concat()).unwrap();
        let revision = git(top, &["rev-parse", "HEAD"]).unwrap();
        let error = worktree.switch(&revision).unwrap_err().to_string();
        assert!(error.contains("library") && error.contains("fetch"), "{error}");
    }

    #[test]
    fn however_it_was_left_it_is_usable_again() {
        type Damage = fn(&Worktree);
        let damages: [(&str, Damage); 6] = [
            ("removed by `cargo clean`", |worktree| {
                std::fs::remove_dir_all(worktree.tree()).unwrap();
            }),
            ("killed while git added it", |worktree| {
                std::fs::write(git_dir(worktree).join("locked"), "initializing").unwrap();
                std::fs::remove_dir_all(worktree.tree()).unwrap();
            }),
            ("killed while git checked out", |worktree| {
                std::fs::write(git_dir(worktree).join("index.lock"), "").unwrap();
            }),
            ("without a head", |worktree| {
                std::fs::write(git_dir(worktree).join("HEAD"), "").unwrap();
            }),
            ("no longer registered", |worktree| {
                std::fs::remove_dir_all(git_dir(worktree)).unwrap();
            }),
            ("no worktree at all", |worktree| {
                std::fs::remove_dir_all(worktree.tree()).unwrap();
                std::fs::create_dir(worktree.tree()).unwrap();
                std::fs::write(worktree.tree().join("file"), "of somebody").unwrap();
            }),
        ];
        for (how, damage) in damages {
            let (_dir, worktree, [one, two]) = repository();
            worktree.switch(&one).unwrap();
            damage(&worktree);
            worktree.switch(&two).unwrap_or_else(|error| panic!("{how}: {error:#}"));
            assert!(holds(&worktree, "two"), "{how}");
            assert!(
                std::fs::read_to_string(worktree.top.join("file")).unwrap() == "two",
                "{how}: the user's working tree must stay unchanged"
            );
        }
    }

    #[test]
    fn programs_of_a_process_that_was_killed_are_removed_and_those_in_use_are_not() {
        let (_dir, worktree, _) = repository();
        let in_use = worktree.programs(TreeUse::WhileBuilding, &mut |_| {}).unwrap();
        std::fs::write(in_use.path("good"), "").unwrap();
        let killed = worktree.dir.join("programs-killed");
        std::fs::create_dir(&killed).unwrap();
        std::fs::write(killed.join(ALIVE), "").unwrap();
        let torn = worktree.dir.join("programs-torn");
        std::fs::create_dir(&torn).unwrap();
        let next = worktree.programs(TreeUse::WhileBuilding, &mut |_| {}).unwrap();
        assert!(in_use.path("good").exists() && next.path("").is_dir());
        assert!(!killed.exists() && !torn.exists());
        let (first, second) = (in_use.path(""), next.path(""));
        drop((in_use, next));
        assert!(!first.exists() && !second.exists());
    }

    #[test]
    fn a_worktree_that_is_removed_is_forgotten_by_git_too() {
        let (_dir, worktree, [one, two]) = repository();
        worktree.remove_tree(&mut |_| {});
        worktree.switch(&one).unwrap();
        std::fs::write(worktree.tree().join("stray"), "left behind").unwrap();
        worktree.remove_tree(&mut |_| {});
        let list = git(&worktree.top, &["worktree", "list", "--porcelain"]).unwrap();
        assert!(list.matches("worktree ").count() == 1 && !worktree.tree().exists(), "{list}");
        worktree.switch(&two).unwrap();
        assert!(holds(&worktree, "two"));
    }

    #[test]
    fn the_worktree_of_another_clone_gives_way() {
        let (_first, first, [one, _]) = repository();
        first.switch(&one).unwrap();
        let (_second, second, [_, two]) = repository();
        let shared = Worktree::at(&second.top, first.dir.clone());
        shared.switch(&two).unwrap();
        assert!(holds(&shared, "two") && shared.is_ours() && !first.is_ours());
        first.switch(&one).unwrap();
        assert!(holds(&first, "one") && first.is_ours());
    }
}
