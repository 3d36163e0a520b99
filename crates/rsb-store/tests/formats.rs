//! Tests that files of other formats are refused with instructions.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

use std::fs;

use rsb_model::format::FORMAT_VERSION;
use rsb_store::{Baseline, read_comparison, read_run};

#[test]
fn a_file_of_another_format_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.json");
    let later = u64::from(FORMAT_VERSION) + 1;
    for (version, advice) in
        [(1, "measure again"), (2, "measure again"), (later, "update rusty-stack-bench")]
    {
        fs::write(
            &path,
            format!("{{\"format_version\": {version}, \"benchmarks\": [], \"runs\": []}}"),
        )
        .unwrap();
        let refusals = [
            read_run(&path).unwrap_err().to_string(),
            Baseline::read(&path).unwrap_err().to_string(),
            read_comparison(&path).unwrap_err().to_string(),
        ];
        for refusal in refusals {
            assert!(refusal.contains(advice) && refusal.contains("file.json"), "{refusal}");
        }
    }
}
