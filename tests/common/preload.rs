//! Faults from C functions in shared libraries.

use std::path::PathBuf;
use std::process::Command;

use super::Bench;

/// Builds C `source` as a shared library in the directory of `bench`; `None` without a C compiler.
pub fn shared_library(bench: &Bench, source: &str) -> Option<PathBuf> {
    let (file, library) = (bench.write("functions.c", source), bench.path("functions.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &file]);
    if !compiler.status().is_ok_and(|status| status.success()) {
        test_needs::missing("cc", "no C compiler can build a library here; install gcc");
        return None;
    }
    Some(library)
}

/// Returns `bench` with the functions of C `source` in place of those of the system's library;
/// `None` without a C compiler.
pub fn with_functions(bench: Bench, source: &str) -> Option<Bench> {
    let library = shared_library(&bench, source)?;
    Some(bench.set("LD_PRELOAD", library.to_str().unwrap()))
}
