//! Fault injection by C functions in preloaded libraries.

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

/// Returns `bench` with C `source` preloaded as a library whose functions replace the system's;
/// `None` without a C compiler.
pub fn with_functions(bench: Bench, source: &str) -> Option<Bench> {
    let library = shared_library(&bench, source)?;
    Some(bench.set("LD_PRELOAD", library.to_str().unwrap()))
}
