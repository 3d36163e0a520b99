//! The clock that is preloaded into benchmarks, `preloaded_clock.c`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The library; empty if it could not be compiled.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preloaded_clock.so"));

/// File that the library creates to show that it is in use.
const MARK: &str = "preloaded-clock";

/// Rate of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockRate {
    /// This many times as fast.
    Faster(u32),
    /// Advances by this step on each read; random bytes are reproducible, too.
    Steps(Duration),
}

/// Preloads a clock that runs at `rate` into `command`, with its files in `home`. Returns false if
/// the library was not compiled or cannot be written.
pub(super) fn preload(command: &mut Command, rate: ClockRate, home: &Path) -> bool {
    let library = home.join("preloaded_clock.so");
    if LIBRARY.is_empty() || std::fs::write(&library, LIBRARY).is_err() {
        return false;
    }
    add_library(command, library);
    match rate {
        ClockRate::Faster(scale) => command.env("RSB_CLOCK_SCALE", scale.to_string()),
        ClockRate::Steps(step) => command.env("RSB_CLOCK_STEP", step.as_nanos().to_string()),
    };
    command.env("RSB_CLOCK_MARK", home.join(MARK));
    true
}

/// Adds `library` to the libraries that are preloaded into the process of `command`.
pub(super) fn add_library(command: &mut Command, library: PathBuf) {
    let set = command.get_envs().find(|(name, _)| *name == "LD_PRELOAD");
    let others = match set {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os("LD_PRELOAD"),
    };
    let mut all = library.into_os_string();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    command.env("LD_PRELOAD", all);
}

/// Returns how often a process read the clock, according to its files in `home`; 0 if the reads
/// were not counted, `None` if the clock was not preloaded.
pub(super) fn reads(home: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(home.join(MARK)).ok()?;
    Some(text.parse().unwrap_or(0))
}
