//! A suite of native kernels on one backend, as users run it. Shared by the tests of each backend.

use serde_json::Value;

use super::{Bench, SMALL, words};

/// Returns whether `list` reports that `backend` is available. If not, prints the reason for
/// skipping the test.
pub fn is_here(backend: &str) -> bool {
    let missing = absence(backend);
    if let Some(why) = &missing {
        test_needs::missing(backend, why);
    }
    missing.is_none()
}

/// Returns why `backend` does not run here, according to `list`.
pub fn absence(backend: &str) -> Option<String> {
    let document = Bench::new().run("list --json").expect(0).json();
    let rows = document["benchmarks"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["backend"] == backend && row["benchmark"] == "gemm").unwrap();
    if row["runnable"] == true {
        return None;
    }
    assert!(
        ["what", "why", "cure"]
            .iter()
            .all(|field| row[field].as_str().is_some_and(|text| !text.is_empty()))
    );
    Some(format!("{}: {}; {}", row["what"], row["why"], row["cure"]))
}

/// Measures the benchmarks that the hardware comparison suite lacks, at small sizes, on one
/// backend.
pub fn measured_rest(backend: &str) -> Vec<Value> {
    let names = "memory-latency memory-transfer memory-tiers launch-latency inference tensor-core";
    // Large arrays would take CPU drivers minutes, without testing more.
    let arguments = format!("run {names} --backend {backend} --axis size=64KiB --json");
    let document = Bench::new().run(&[&words(&arguments)[..], &SMALL].concat()).expect(0).json();
    verified(&document)
}

/// Returns the results of `document`, and checks that every measured one is verified, every skip
/// has a reason, and none failed.
pub fn verified(document: &Value) -> Vec<Value> {
    let results = document["benchmarks"].as_array().unwrap().clone();
    for result in &results {
        let id = result["benchmark_id"].as_str().unwrap();
        match result["outcome"].as_str().unwrap() {
            "measured" => {
                let error = result["results"][0]["accuracy_error"].as_f64();
                let works_on_data =
                    !["launch-latency", "memory-allocation"].iter().any(|name| id.contains(name));
                assert!(
                    error.is_some_and(|error| error >= 0.0) || !works_on_data,
                    "{id} was not verified"
                );
                assert!(["cpu", "gpu"].contains(&result["device_type"].as_str().unwrap()), "{id}");
            }
            "skipped" => {
                for field in ["what", "why", "cure"] {
                    assert!(
                        result[field].as_str().is_some_and(|text| !text.is_empty()),
                        "{id}: {field}"
                    );
                }
            }
            other => panic!("{id}: {other}: {result}"),
        }
    }
    results
}

/// Returns the measured results.
pub fn measured(results: &[Value]) -> Vec<&Value> {
    results.iter().filter(|result| result["outcome"] == "measured").collect()
}

/// Checks that each of `benchmarks` was measured at least once.
pub fn covers(results: &[Value], benchmarks: &[&str]) {
    let ids: Vec<&str> =
        measured(results).iter().map(|result| result["benchmark_id"].as_str().unwrap()).collect();
    for benchmark in benchmarks {
        assert!(
            ids.iter().any(|id| id.contains(&format!("/{benchmark}/"))),
            "{benchmark} is missing: {ids:?}"
        );
    }
}
