//! A temporary directory in which the program finds the fake GPU instead of ROCm.

use std::path::Path;

use serde_json::Value;

use crate::common::{Bench, ProgramOutput, SMALL};

/// The program with the fake GPU, its caches in the temporary directory.
pub fn fake_gpu() -> Bench {
    let library = rsb_fake_gpu::file::library().unwrap();
    with_library(&library)
}

/// The same with a fault ordered.
pub fn with_fault(fault: &str) -> Bench {
    fake_gpu().set("FAKE_GPU_FAULT", fault)
}

/// The program with a certain library in the place of ROCm's.
pub fn with_library(library: &Path) -> Bench {
    let bench = Bench::new();
    let caches = bench.path("caches").display().to_string();
    let library = library.display().to_string();
    bench.set("RSB_HIP_LIBRARY", &library).set("RSB_ROCBLAS_LIBRARY", &library).set("XDG_CACHE_HOME", &caches)
}

/// Runs benchmarks on the fake GPU, small, as one JSON document.
pub fn run(bench: &Bench, arguments: &[&str]) -> ProgramOutput {
    bench.run(&[&["run", "--backend", "rocm", "--json"], arguments, &SMALL].concat())
}

/// The small cases of `tensor-ops` that most faults are tried on: gelu breaks, the others stand.
pub const THREE: [&str; 5] = ["tensor-ops", "--axis", "shape=32x1024", "--axis", "operation=relu,gelu,sum"];

/// Every case of a document.
pub fn cases(document: &Value) -> &[Value] {
    document["benchmarks"].as_array().unwrap()
}

/// The one case whose id holds `part`.
pub fn case<'d>(document: &'d Value, part: &str) -> &'d Value {
    let found: Vec<&Value> = cases(document).iter().filter(|case| id(case).contains(part)).collect();
    assert_eq!(found.len(), 1, "{part}: {document:#}");
    found[0]
}

/// A case's id.
pub fn id(case: &Value) -> &str {
    case["benchmark_id"].as_str().unwrap()
}

/// A case's outcome.
pub fn outcome(case: &Value) -> &str {
    case["outcome"].as_str().unwrap()
}

/// Checks that a case has no figures, and says what, why and cure; `why` must hold the word given.
pub fn assert_reason(case: &Value, expected: &str, word: &str) {
    assert_eq!(outcome(case), expected, "{case:#}");
    let text = |name: &str| case[name].as_str().unwrap_or_else(|| panic!("no {name}: {case:#}")).to_owned();
    assert!(!text("what").is_empty() && !text("cure").is_empty(), "{case:#}");
    assert!(format!("{}: {}", text("what"), text("why")).contains(word), "{word} is not in {case:#}");
}

/// Checks that every case but those whose id holds `but` was simulated.
pub fn assert_rest_stands(document: &Value, but: &str) {
    let mut rest = cases(document).iter().filter(|case| !id(case).contains(but)).peekable();
    assert!(rest.peek().is_some(), "{document:#}");
    for case in rest {
        assert_eq!(outcome(case), "simulated", "{case:#}");
        assert_eq!(case["device_type"], "simulated");
    }
}

/// Checks that no process whose current directory is the bench's is left.
pub fn assert_no_process_left(bench: &Bench) {
    let here = bench.dir.path().canonicalize().unwrap();
    let at_home =
        |process: &std::fs::DirEntry| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == here);
    let left = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(at_home).count();
    assert_eq!(left, 0, "a worker outlived its run");
}
