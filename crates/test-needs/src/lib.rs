//! What a test needs of the machine. Green is never "skipped": what is missing is written down, and
//! where `RSB_REQUIRE` names it, the test fails.
//!
//! `RSB_REQUIRE` is a list such as `vulkan,opencl`, or `all`. `RSB_SKIPPED` is a file to which each
//! skip adds a line, so that `cargo xtask test` can print them at the end; a test runner hides what
//! passed tests say.
#![allow(clippy::print_stderr)] // A tool for whoever works on this: its messages may end it.

use std::fs::File;
use std::io::Write;

/// Says that `need` is missing and why; the test that asks then ends.
///
/// # Panics
/// When `RSB_REQUIRE` names `need`, or says `all`.
pub fn missing(need: &str, why: &str) {
    let required = std::env::var("RSB_REQUIRE").unwrap_or_default();
    assert!(
        !is_required(need, &required),
        "RSB_REQUIRE={required} asks for {need}, and it is missing: {why}"
    );
    eprintln!("skipped: {need}: {why}");
    let Some(path) = std::env::var_os("RSB_SKIPPED") else { return };
    // Tests run side by side: a line is written in one piece.
    if let Ok(mut file) = File::options().create(true).append(true).open(path) {
        let _ = file.write_all(format!("{need}: {}\n", why.replace('\n', " ")).as_bytes());
    }
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
