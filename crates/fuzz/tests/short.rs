//! Each reader, with its corpus and some mutations.

#![allow(clippy::unwrap_used, reason = "in a test a failed step is a failed test")]

use fuzz::corpus;
#[cfg(feature = "memory-limit")]
use fuzz::limits;
use fuzz::session::{self, End};
use fuzz::target::{self, TARGETS};

#[cfg(feature = "memory-limit")]
#[global_allocator]
static ALLOCATOR: limits::CountingAllocator = limits::CountingAllocator;

/// Inputs per target: few, because this build is not optimized. `cargo xtask fuzz` takes millions.
const INPUTS: u64 = 2_000;

#[test]
fn no_reader_panics() {
    session::catch_panics();
    for target in TARGETS {
        let slow = matches!(target.name, "index" | "sysfs" | "keys" | "run" | "comparison");
        let inputs = if slow { INPUTS / 10 } else { INPUTS };
        let summary = session::run(target, 1, End::after_inputs(inputs), None).unwrap();
        assert!(summary.failures.is_empty(), "{}: {:?}", target.name, summary.failures.keys());
    }
}

#[test]
fn readers_accept_the_valid_inputs_of_their_corpus() {
    let scratch = tempfile::tempdir().unwrap();
    for target in TARGETS.iter().filter(|target| target.name != "index") {
        let mut valid = 0;
        for entry in std::fs::read_dir(corpus::directory(target.name)).unwrap() {
            let path = entry.unwrap().path();
            let is_valid = path.file_name().unwrap().to_string_lossy().starts_with("valid");
            let read = (target.read)(&std::fs::read(&path).unwrap(), scratch.path());
            assert!(!is_valid || read.is_ok(), "{}: {read:?}", path.display());
            valid += u32::from(is_valid);
        }
        assert!(valid > 0 || matches!(target.name, "import-as" | "custom"), "{}", target.name);
    }
}

/// A parser that recurses at each of these tables overflows the stack, which ends the process.
#[test]
fn tables_that_are_never_closed_are_refused_at_any_depth() {
    let text = format!("a = {}", "{ [b]c = ".repeat(20_000));
    let scratch = tempfile::tempdir().unwrap();
    for name in ["policy", "accept", "config", "fleet", "sweep", "models"] {
        let read = (target::find(name).unwrap().read)(text.as_bytes(), scratch.path());
        assert!(read.is_err(), "{name}");
    }
}
