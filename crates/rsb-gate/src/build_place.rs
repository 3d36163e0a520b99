//! The path at which both sides are built and run.
//!
//! Equal sources produce equal bytes only if they are built at the same path, and a program opens
//! its files by the path that was compiled into it. So each side is built at this path, and its
//! tree and outputs are copied elsewhere. Before a process of a side starts, this path becomes a
//! link to the side's copy.

mod machine_code;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

pub(crate) use machine_code::{code_size, compilers, is_same};

/// Settings files of cargo and rustup that also apply if they are in a directory above the
/// repository.
const SETTINGS: [&str; 4] =
    [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"];

/// Maximum size of an executable that is copied for each process, in bytes; copying this much takes
/// about 30 ms.
const LARGEST_RENEWED: u64 = 64 << 20;

/// The build path: a directory with `tree` and `build` while building, otherwise a link to the copy
/// of a side.
#[derive(Debug, Clone)]
pub struct BuildPlace {
    path: PathBuf,
    /// Settings files above the repository, and the paths to which they are copied so that they
    /// apply to both sides.
    settings: Vec<[PathBuf; 2]>,
    /// Current target of the link.
    shown: Arc<Mutex<Option<PathBuf>>>,
}

impl BuildPlace {
    /// Returns the build path `name` in `dir`, for the repository at `top`.
    pub(crate) fn new(dir: &Path, top: &Path, name: &str) -> Self {
        let mut parent = dir.to_owned();
        let mut settings = Vec::new();
        let cargo_home = cargo_home();
        let mut above: Vec<&Path> = top.ancestors().skip(1).collect();
        above.reverse();
        for directory in above {
            let is_home = cargo_home.as_deref() == Some(directory.join(".cargo").as_path());
            let found = SETTINGS.iter().filter(|name| !(is_home && name.starts_with(".cargo")));
            let found: Vec<_> = found.filter(|name| directory.join(name).is_file()).collect();
            if !found.is_empty() {
                parent.push("above");
                settings.extend(
                    found.into_iter().map(|name| [directory.join(name), parent.join(name)]),
                );
            }
        }
        Self { path: parent.join(name), settings, shown: Arc::default() }
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the tree of a revision.
    pub(crate) fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    /// Returns the directory in which cargo builds.
    pub(crate) fn build(&self) -> PathBuf {
        self.path.join("build")
    }

    /// Returns the path to which the build directory is moved while a link replaces it.
    fn set_aside(&self) -> PathBuf {
        self.path.with_extension("building")
    }

    /// Creates the directory, and copies the settings files above the repository to the directories
    /// above it.
    pub(crate) fn prepare(&self) -> Result<()> {
        std::fs::create_dir_all(&self.path)
            .with_context(|| format!("cannot create {}", self.path.display()))?;
        for [from, to] in &self.settings {
            copy_file(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        Ok(())
    }

    /// Removes the link and moves the build directory back to this path.
    ///
    /// # Errors
    /// If it cannot be moved.
    pub(crate) fn restore(&self) -> Result<()> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        self.move_back().with_context(|| format!("cannot restore {}", self.path.display()))?;
        *shown = None;
        Ok(())
    }

    fn move_back(&self) -> std::io::Result<()> {
        if self.path.is_symlink() {
            std::fs::remove_file(&self.path)?;
        }
        if self.set_aside().is_dir() && !self.path.exists() {
            std::fs::rename(self.set_aside(), &self.path)?;
        }
        Ok(())
    }

    /// Makes this path a link to `side`, the copy of a side.
    ///
    /// # Errors
    /// If the link cannot be created.
    fn show(&self, side: &Path) -> std::io::Result<()> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_deref() == Some(side) {
            return Ok(());
        }
        if !self.path.is_symlink() {
            std::fs::rename(&self.path, self.set_aside())?;
        }
        let next = self.path.with_extension("next");
        if next.is_symlink() {
            std::fs::remove_file(&next)?;
        }
        std::os::unix::fs::symlink(side, &next)?;
        std::fs::rename(&next, &self.path)?;
        *shown = Some(side.to_owned());
        Ok(())
    }
}

/// Returns cargo's own directory: `~/.cargo`, unless the environment names another.
pub(crate) fn cargo_home() -> Option<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Some(PathBuf::from(home));
    }
    Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"))
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to).map(drop)
}

/// Outputs of a build.
#[derive(Debug, Default)]
pub(crate) struct BuildOutputs {
    /// Executables of bench targets.
    pub(crate) benches: Vec<PathBuf>,
    /// Files and directories that each side needs its own copy of: other executables, shared
    /// libraries, and `OUT_DIR` of the project's packages.
    pub(crate) own: Vec<PathBuf>,
    /// `OUT_DIR` of other packages, which cargo names by their version.
    pub(crate) shared: Vec<PathBuf>,
    /// Directories of shared libraries.
    pub(crate) library_directories: Vec<PathBuf>,
}

impl BuildOutputs {
    /// Adds the outputs of another workspace of the same side.
    pub(super) fn add(&mut self, other: Self) {
        self.benches.extend(other.benches);
        self.own.extend(other.own);
        self.shared.extend(other.shared);
        self.library_directories.extend(other.library_directories);
    }
}

/// The tree and the outputs of one side.
#[derive(Debug, Clone)]
pub struct BuiltSide {
    place: BuildPlace,
    dir: PathBuf,
    /// Paths of the stored executables of bench targets.
    benches: Vec<PathBuf>,
    library_directories: Vec<PathBuf>,
}

impl BuiltSide {
    /// Copies the tree and the `outputs` of the build at `place` to `dir`.
    pub(crate) fn copy(place: &BuildPlace, outputs: BuildOutputs, dir: &Path) -> Result<Self> {
        copy_outputs(place, &outputs, dir)
            .with_context(|| format!("cannot copy the build outputs to {}", dir.display()))?;
        let BuildOutputs { benches, library_directories, .. } = outputs;
        let mut side = Self {
            place: place.clone(),
            dir: dir.to_owned(),
            benches: Vec::new(),
            library_directories,
        };
        side.benches = benches.iter().map(|bench| side.stored_path(bench)).collect();
        Ok(side)
    }

    /// Returns whether the outputs of both sides behave the same, ignoring the executables of bench
    /// targets. Files must be equal; programs and libraries must have the same machine code.
    ///
    /// # Errors
    /// If an output cannot be read.
    pub(crate) fn does_as(&self, other: &Self) -> Result<bool> {
        let benches = [&self.benches[..], &other.benches].concat();
        do_the_same([&self.outputs(), &other.outputs()], &benches)
    }

    /// Links the path where this side was built to the side's copy.
    ///
    /// # Errors
    /// If the link cannot be created.
    pub(crate) fn show(&self) -> std::io::Result<()> {
        self.place.show(&self.dir)
    }

    /// Replaces the stored executable that was built at `path` by a new copy, in other pages of
    /// memory. Keeps it if it cannot be copied quickly.
    ///
    /// Of forty copies of one executable, four were 7 to 13 % slower in one case, probably because
    /// their physical pages share other lines of the caches (docs/gate-study.md). If all processes
    /// of a side shared a copy, that side would be slower throughout.
    pub(crate) fn renew(&self, path: &Path) {
        let stored = self.stored_path(path);
        let is_small = std::fs::metadata(&stored).is_ok_and(|file| file.len() <= LARGEST_RENEWED);
        if !is_small {
            return;
        }
        let next = stored.with_extension("next");
        let copied = std::fs::copy(&stored, &next).and_then(|_| std::fs::rename(&next, &stored));
        if copied.is_err() {
            // Only that process shares the pages of the one before it.
            std::fs::remove_file(&next).ok();
        }
    }

    /// Returns the path in this side's copy that corresponds to `path`, a path at which the side
    /// was built.
    pub(crate) fn stored_path(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.place.path())
            .map_or_else(|_| path.to_owned(), |name| self.dir.join(name))
    }

    /// Returns `path`, a path in the tree as built, relative to the top of the repository.
    pub(super) fn path_in_tree(&self, path: &Path) -> String {
        path.strip_prefix(self.place.tree()).unwrap_or(path).display().to_string()
    }

    /// Returns the path of the stored tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// Returns the path of the stored outputs.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.dir.join("build")
    }

    /// Returns the directories of the build's shared libraries, at the paths where they were built.
    pub(crate) fn library_directories(&self) -> &[PathBuf] {
        &self.library_directories
    }
}

/// Copies the tree and the outputs of the benchmarks, and links the shared outputs.
fn copy_outputs(place: &BuildPlace, outputs: &BuildOutputs, dir: &Path) -> std::io::Result<()> {
    copy_all(&place.tree(), &dir.join("tree"))?;
    std::fs::create_dir_all(dir.join("build/tmp"))?;
    for output in outputs.benches.iter().chain(&outputs.own) {
        let Ok(name) = output.strip_prefix(place.path()) else { continue };
        copy_all(output, &dir.join(name))?;
    }
    for output in &outputs.shared {
        let Ok(name) = output.strip_prefix(place.path()) else { continue };
        let link = dir.join(name);
        std::fs::create_dir_all(link.parent().unwrap_or(dir))?;
        std::os::unix::fs::symlink(place.set_aside().join(name), link)?;
    }
    Ok(())
}

fn do_the_same([one, other]: [&Path; 2], left_out: &[PathBuf]) -> Result<bool> {
    if left_out.iter().any(|path| path == one) && left_out.iter().any(|path| path == other) {
        return Ok(true);
    }
    let (Some(kind_of_one), Some(kind_of_other)) = (file_type(one), file_type(other)) else {
        return Ok(false);
    };
    if kind_of_one != kind_of_other {
        return Ok(false);
    }
    if kind_of_one.is_symlink() {
        return Ok(std::fs::read_link(one)? == std::fs::read_link(other)?);
    }
    if !kind_of_one.is_dir() {
        return Ok(is_same(&read(one)?, &read(other)?));
    }
    let found = sorted_names(one)?;
    if found != sorted_names(other)? {
        return Ok(false);
    }
    for name in found {
        if !do_the_same([&one.join(&name), &other.join(&name)], left_out)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the type of the file itself, not of its link target.
fn file_type(path: &Path) -> Option<std::fs::FileType> {
    std::fs::symlink_metadata(path).map(|found| found.file_type()).ok()
}

/// Returns the names in a directory, sorted.
fn sorted_names(dir: &Path) -> Result<Vec<std::ffi::OsString>> {
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut names =
        entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Copies a file, a link or a directory, without `.git`.
fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    let kind = std::fs::symlink_metadata(from)?.file_type();
    if !kind.is_dir() {
        std::fs::create_dir_all(to.parent().unwrap_or(to))?;
        if kind.is_symlink() {
            return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
        }
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != ".git" {
            copy_all(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn a_renewed_executable_is_another_file_with_the_same_content() {
        let dir = tempfile::tempdir().unwrap();
        let place = BuildPlace::new(&dir.path().join("place"), dir.path(), "name");
        let built = place.build().join("bench-1a2b");
        std::fs::create_dir_all(place.tree()).unwrap();
        std::fs::create_dir_all(place.build()).unwrap();
        std::fs::write(&built, "machine code").unwrap();
        std::fs::set_permissions(&built, std::fs::Permissions::from_mode(0o755)).unwrap();
        let outputs = BuildOutputs { benches: vec![built.clone()], ..BuildOutputs::default() };
        let side = BuiltSide::copy(&place, outputs, &dir.path().join("side")).unwrap();
        let stored = side.stored_path(&built);
        let before = std::fs::metadata(&stored).unwrap();
        side.renew(&built);
        let after = std::fs::metadata(&stored).unwrap();
        assert_ne!(before.ino(), after.ino());
        assert_eq!(before.mode(), after.mode());
        assert_eq!(std::fs::read(&stored).unwrap(), b"machine code");
        assert_eq!(sorted_names(stored.parent().unwrap()).unwrap().len(), 2, "and `tmp`");
    }
}
