//! A run with made-up times and a baseline made from it. Verdict tests use them because real times
//! on a shared machine are noisy.

use serde_json::Value;

use super::{Bench, SMALL};

/// Measures some cases of `operations` with `bench` and returns the run.
fn measure(bench: &Bench, operations: &str) -> Value {
    let axes = ["tensor-ops", "--axis", "shape=8x64", "--axis", &format!("operation={operations}")];
    bench.run(&[&axes[..], &SMALL].concat()).expect(0);
    serde_json::from_str(&std::fs::read_to_string(&bench.run_files()[0]).unwrap()).unwrap()
}

/// Returns a bench and a run that the program wrote there, as a template for other runs. It is no
/// longer stored.
pub fn template(operations: &str) -> (Bench, Value) {
    let bench = Bench::new();
    let run = measure(&bench, operations);
    std::fs::remove_file(&bench.run_files()[0]).unwrap();
    (bench, run)
}

/// Stores `run` as the program does.
pub fn store(bench: &Bench, run: &Value) {
    let name = run["run_id"].as_str().unwrap();
    bench.write_sealed(&format!("benchmark_results/runs/{name}.json"), run);
}

/// Returns the ids of the cases of `result` that regressed.
pub fn regressed(result: &Value) -> Vec<&str> {
    let rows = result["comparisons"].as_array().unwrap().iter();
    rows.filter(|row| row["verdict"] == "Regressed")
        .map(|row| row["id"].as_str().unwrap())
        .collect()
}

/// Returns `bench` with a baseline of twelve cases, with three replicates each about 1 % apart, and
/// the run that it was made from.
pub fn with_baseline(bench: Bench) -> (Bench, Value) {
    let mut run = measure(&bench, "add");
    let measured = run["benchmarks"][0].take();
    run["benchmarks"] = (0..12).map(|index| made_up(&measured, index)).collect();
    bench.write_sealed("made-up.json", &run);
    bench.run("baseline save --run made-up.json").expect(0);
    (bench, run)
}

/// Returns a copy of `measured` with made-up times and the id of case `index`.
pub fn made_up(measured: &Value, index: u32) -> Value {
    let mut case = measured.clone();
    case["benchmark_id"] = format!("cpu_performance/tensor-ops/cpu:0/made-up-{index}").into();
    let replicate = |replicate: u32| {
        let level =
            1000.0 * f64::from(index + 1) * (1.0 + f64::from((index + replicate * 5) % 7) / 500.0);
        let times: Vec<f64> =
            (0..20).map(|sample| level * (1.0 + f64::from(sample % 4) / 400.0)).collect();
        serde_json::json!({ "replicate": replicate, "iters": vec![1; 20], "times_ns": times })
    };
    case["samples"] = (0..3).map(replicate).collect();
    case
}

/// Returns a copy of `run` with the id `name` and times that differ by less than 0.1 %, because two
/// real measurements are never identical.
pub fn again(run: &Value, name: &str) -> Value {
    let mut again = run.clone();
    again["run_id"] = name.into();
    for (at, case) in again["benchmarks"].as_array_mut().unwrap().iter_mut().enumerate() {
        scale(case, 1.0 + 1e-4 * (at % 5 + 1) as f64);
    }
    again
}

/// Multiplies every time of `case` by `factor`.
pub fn scale(case: &mut Value, factor: f64) {
    for replicate in case["samples"].as_array_mut().unwrap() {
        for time in replicate["times_ns"].as_array_mut().unwrap() {
            *time = (time.as_f64().unwrap() * factor).into();
        }
    }
}
