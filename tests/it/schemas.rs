//! Every document written by the program matches its schema, including formats.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::Value;

use crate::common::{Bench, SMALL};

thread_local! {
    // Compiling a schema takes longer than checking a document with it.
    static COMPILED: RefCell<HashMap<String, Rc<Validator>>> = RefCell::default();
}

fn validator(name: &str) -> Rc<Validator> {
    let compiled = || {
        let path = format!("{}/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Rc::new(jsonschema::options().should_validate_formats(true).build(&schema).unwrap())
    };
    COMPILED
        .with_borrow_mut(|known| Rc::clone(known.entry(name.to_owned()).or_insert_with(compiled)))
}

/// Checks a document against the schema `name`.
pub fn check(name: &str, document: &Value) {
    let problems: Vec<String> = validator(name)
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{name}: {problems:#?}");
}

#[test]
fn every_benchmark_and_every_skip_validates() {
    let bench = Bench::new();
    for benchmark in rsb_workloads::all() {
        let mut arguments = vec![benchmark.name(), "--json"];
        // Small sizes for benchmarks that have them; the others are small with the quick profile.
        let small: &[&str] = match benchmark.name() {
            "gemm" => &["shape=16x24x32"],
            "tensor-ops" => &["shape=8x64"],
            "inference" => &["heads=2x8", "sequence_length=6"],
            // Compiling takes a second each time; other tests check the result.
            "kernel-compilation" => &["arch=gfxfff"],
            _ if benchmark.axes().iter().any(|axis| axis.name == "size") => &["size=64KiB"],
            _ => &[],
        };
        arguments.extend(small.iter().flat_map(|axis| ["--axis", *axis]));
        arguments.extend(SMALL);
        let ended = bench.run(&arguments);
        assert!(
            ended.code == 0 || ended.code == 5,
            "{}: {}\n{}",
            benchmark.name(),
            ended.code,
            ended.stdout
        );
        let document = ended.json();
        check("run", &document);
        for case in document["benchmarks"].as_array().unwrap() {
            check("benchmark-result", case);
            assert!(
                ["measured", "skipped"].contains(&case["outcome"].as_str().unwrap()),
                "{case:#}"
            );
        }
    }
    let skipped = bench.run("run --suite gpu-performance --json").expect(5).json();
    check("run", &skipped);
}

#[test]
fn comparisons_and_trends_validate() {
    let bench = Bench::new();
    let gemm = [&["gemm", "--axis", "shape=32x32x32", "--axis", "dtype=f32"][..], &SMALL].concat();
    bench.run(&gemm).expect(0);
    bench.run("baseline save").expect(0);
    bench.run(&gemm).expect(0);
    let gate = bench.run("gate --json");
    check("comparison-result", &gate.json());
    check("trend", &bench.run("trend --json").expect(0).json());
    check("health", &bench.run("health --json").expect(0).json());
}

#[test]
fn documents_of_models_validate() {
    let bench = Bench::new();
    let stored = ["models-qnn", "models-precisions", "models-onnxruntime", "models"];
    for name in stored {
        let path = format!("{}/docs/gallery/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let run: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        bench.write_sealed(&format!("benchmark_results/runs/{name}.json"), &run);
        let id = run["run_id"].as_str().unwrap();
        check("models", &bench.run(&["models", "results", id, "--json"]).expect(0).json());
        check("run", &run);
    }
    let map = bench.run("models compatibility --json").expect(0).json();
    check("compatibility", &map);
    assert!(
        map["compatibility"].as_array().unwrap().iter().any(|one| one["standing"] == "emulated"),
        "{map}"
    );
    for goal in ["latency", "throughput", "energy"] {
        check("recommend", &bench.run(&["recommend", "--for", goal, "--json"]).expect(0).json());
    }
    check("recommend", &bench.run("recommend bert-small --json").expect(0).json());
}

#[test]
fn a_figure_that_is_a_word_does_not_validate() {
    let run = |value: Value| {
        serde_json::json!({ "benchmark_id": "a/b/cpu:0/c", "timestamp": "2026-01-01T00:00:00Z",
            "benchmark_type": "cpu_performance", "outcome": "measured", "environment": {},
            "results": [{ "time_ms": value, "operation": "copy", "of_another_version": [1] }] })
    };
    check("benchmark-result", &run(1.5.into()));
    check("benchmark-result", &run(Value::Null));
    assert!(!validator("benchmark-result").is_valid(&run("fast".into())));
}

#[test]
fn a_document_that_is_wrong_does_not_validate() {
    let wrong = serde_json::json!({ "benchmark_id": "a", "timestamp": "yesterday", "benchmark_type": "gpu", "results": 3 });
    let problems = validator("benchmark-result").iter_errors(&wrong).count();
    assert!(problems >= 3, "{problems}");
}
