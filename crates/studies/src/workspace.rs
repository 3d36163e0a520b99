//! Paths of the workspace and its build directory, and the program.

use std::path::PathBuf;
use std::process::Command;

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
