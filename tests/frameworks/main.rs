//! Framework cases with the real worker: correct results, and isolation of the run from faults of a
//! framework's process.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod environments;
mod faults;
mod models;
mod one_worker;
mod package;
mod standing;
mod sweeps;
mod vllm;
mod workloads;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::Bench;
use serde_json::Value;

const FEW: [&str; 6] = ["--runs", "10", "--warmup", "1", "--replicates", "1"];

fn why(result: &Value) -> &str {
    result["why"].as_str().unwrap()
}

fn find(document: &Value, part: &str) -> Value {
    let results = document["benchmarks"].as_array().unwrap();
    let found =
        results.iter().find(|result| result["benchmark_id"].as_str().unwrap().contains(part));
    found.unwrap_or_else(|| panic!("no {part}: {document}")).clone()
}

/// Checks that no process runs in the bench's directory: neither the worker nor a child of it.
fn assert_no_process_left(bench: &Bench) {
    let here = bench.dir.path().canonicalize().unwrap();
    let left = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes
            .filter(|process| {
                std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == here)
            })
            .count()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while left() > 0 {
        assert!(Instant::now() < until, "a process outlived the run");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the Python that cases use by default.
fn python() -> PathBuf {
    rsb_probe::python_program().expect("a Python")
}

/// Returns a temporary directory if the environment has `package`. Otherwise prints why the test is
/// skipped.
fn bench_with(package: &str) -> Option<Bench> {
    // One thread, because tests run in parallel and threads that wait for each other would be
    // descheduled.
    let bench = Bench::new().set("OMP_NUM_THREADS", "1");
    let listed = bench.run("python list --json").expect(0).json();
    if listed["packages"].get(package).is_none() {
        test_needs::missing(
            "frameworks",
            &format!(
                "{package} is not in {}: name another with MLSTACK_BENCHMARK_PYTHON",
                listed["program"]
            ),
        );
        return None;
    }
    Some(bench)
}

/// Returns the results of the sweep `text` on the CPU, if the environment has `package`.
fn swept(package: &str, text: &str) -> Option<(Bench, Vec<Value>)> {
    let bench = bench_with(package)?;
    bench.write("sweep.toml", text);
    let arguments =
        [&["run", "--sweep", "sweep.toml", "--backend", "cpu", "--json"], FEW.as_slice()].concat();
    let results = bench.run(&arguments).expect(0).json()["benchmarks"].as_array().unwrap().clone();
    assert_no_process_left(&bench);
    Some((bench, results))
}

/// Returns the results of `arguments` if the environment has `package`. Otherwise prints why the
/// test is skipped.
fn with(package: &str, arguments: &[&str]) -> Option<(Bench, Vec<Value>)> {
    let bench = bench_with(package)?;
    let arguments = [arguments, &["--json"], FEW.as_slice()].concat();
    let results = bench.run(&arguments).expect(0).json()["benchmarks"].as_array().unwrap().clone();
    assert_no_process_left(&bench);
    Some((bench, results))
}

/// Checks that every measured result has known fields, is verified and has a component version, and
/// that every other result has a `cure`.
fn check(results: &[Value], least: usize) {
    let mut measured = 0;
    for result in results {
        let id = result["benchmark_id"].as_str().unwrap();
        match result["outcome"].as_str().unwrap() {
            "measured" => {
                measured += 1;
                let fields = result["results"][0].as_object().unwrap();
                for name in fields.keys() {
                    assert!(
                        rsb_model::Field::find(name).is_some(),
                        "{id}: `{name}` is not in the table of fields"
                    );
                }
                assert!(
                    fields["component_version"].as_str().is_some_and(|version| !version.is_empty()),
                    "{id}"
                );
                let verified =
                    fields.get("accuracy_error").is_none_or(|error| error.as_f64().is_some());
                assert!(verified && result["device_type"] == "cpu", "{id}");
            }
            "skipped" => {
                assert!(result["cure"].as_str().is_some_and(|cure| !cure.is_empty()), "{id}");
            }
            other => panic!("{id}: {other}: {result}"),
        }
    }
    assert!(measured >= least, "{measured} measured of {}", results.len());
}
