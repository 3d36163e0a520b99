//! Checks whether a benchmark opens files that differ between two revisions. If so, the same
//! machine code may behave differently.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::build_place::BuiltSide;
use crate::harness::{BenchExecutable, Executables};

/// Time limit for a benchmark to run each of its cases once.
const LIMIT: Duration = Duration::from_secs(30);

/// Returns whether `executable` opens one of `files`, paths in the tree of its side, when it runs
/// each of its cases once. Also returns true if this cannot be determined: the harness does not
/// support it, the executable fails or takes too long, or the system cannot watch files.
pub(super) fn may_open(
    executables: &Executables,
    executable: &BenchExecutable,
    files: &[PathBuf],
) -> bool {
    let Some(side) = executables.side().filter(|_| executables.has_test_mode(executable)) else {
        return true;
    };
    observe_opens(executables, executable, side, files).unwrap_or(true)
}

#[cfg(target_os = "linux")]
fn observe_opens(
    executables: &Executables,
    executable: &BenchExecutable,
    side: &BuiltSide,
    files: &[PathBuf],
) -> std::io::Result<bool> {
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
    let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let tree = side.tree();
    for file in files.iter().map(|file| tree.join(file)).filter(|file| file.exists()) {
        add_watch(&events, &file, WatchFlags::OPEN | WatchFlags::ACCESS)?;
    }
    let mut command = executables.command(executable)?;
    command.arg("--test");
    let home = tempfile::tempdir()?;
    command.env("CRITERION_HOME", home.path()).env("RSB_RESULTS_DIR", home.path().join("runs"));
    let output = timed_child::run(&mut command, timed_child::Stderr::Discard, LIMIT)?;
    if output.status.is_none_or(|status| !status.success()) {
        return Ok(true);
    }
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    Ok(match Reader::new(&events, &mut buffer).next() {
        Ok(_) => true,
        Err(error) => error != rustix::io::Errno::AGAIN,
    })
}

#[cfg(not(target_os = "linux"))]
fn observe_opens(
    _: &Executables,
    _: &BenchExecutable,
    _: &BuiltSide,
    _: &[PathBuf],
) -> std::io::Result<bool> {
    Ok(true)
}

/// Parses the paths printed by `git diff --name-only -z`.
pub(super) fn names_in(listing: &str) -> Vec<PathBuf> {
    listing
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(|name| Path::new(name).to_owned())
        .collect()
}
