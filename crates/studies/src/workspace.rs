//! Paths of the workspace and its build directory, and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map_or(own.clone(), PathBuf::from)
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds the program in release mode, and returns it.
pub(crate) fn release_program() -> Result<PathBuf> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--bin", "rusty-stack-bench"])
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "the program does not build");
    Ok(target().join("release/rusty-stack-bench"))
}

/// Runs `program` with `arguments` in the store `store`, without its output.
pub(crate) fn run_in_store(program: &Path, store: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .arg("--results-dir")
        .arg(store)
        .current_dir(store)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "{arguments:?} ended with {status}");
    Ok(())
}

/// Files below a directory.
#[derive(Default)]
pub(crate) struct FileTotals {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Number of entries of the largest directory.
    pub(crate) entries: usize,
}

impl FileTotals {
    /// Counts the files below `dir`.
    pub(crate) fn below(dir: &Path) -> Result<Self> {
        let mut totals = Self::default();
        totals.add(dir)?;
        Ok(totals)
    }

    fn add(&mut self, dir: &Path) -> Result<()> {
        let mut entries = 0;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            entries += 1;
            if entry.file_type()?.is_dir() {
                self.add(&entry.path())?;
            } else {
                self.files += 1;
                self.bytes += entry.metadata()?.len();
            }
        }
        self.entries = self.entries.max(entries);
        Ok(())
    }
}
