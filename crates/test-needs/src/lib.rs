//! Requirements of tests on the machine. A test whose requirement is missing records that and ends;
//! if `RSB_REQUIRE` names the requirement, the test fails.
//!
//! `RSB_REQUIRE` is a list such as `vulkan,opencl`, or `all`. `RSB_SKIPPED` is a file to which each
//! skip appends a line, so that `cargo xtask test` can print them at the end; test runners hide the
//! output of passed tests.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Reports that `need` is missing and why; the calling test should then return.
///
/// # Panics
/// If `RSB_REQUIRE` names `need`, or is `all`.
pub fn missing(need: &str, why: &str) {
    let required = std::env::var("RSB_REQUIRE").unwrap_or_default();
    assert!(
        !is_required(need, &required),
        "RSB_REQUIRE={required} requires {need}, but it is missing: {why}"
    );
    eprintln!("skipped: {need}: {why}");
    let Some(path) = std::env::var_os("RSB_SKIPPED") else { return };
    // Tests run in parallel, so a line is written at once.
    if let Ok(mut file) = File::options().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{need}: {}\n", why.replace('\n', " ")).as_bytes());
    }
}

/// Returns the path of a capture from a real machine, which are outside the repository, in
/// `RSB_SHARED` or `../shared` next to it; `None` if it is missing.
pub fn capture(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("RSB_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = shared.join("captures").join(name);
    if file.is_file() {
        return Some(file);
    }
    missing("captures", &format!("{} is not here", file.display()));
    None
}

fn is_required(need: &str, required: &str) -> bool {
    required.split(',').map(str::trim).any(|word| word == need || word == "all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_required() {
        for (required, expected) in
            [("", false), ("opencl", false), ("opencl, vulkan", true), ("all", true)]
        {
            assert_eq!(is_required("vulkan", required), expected, "{required}");
        }
    }
}
