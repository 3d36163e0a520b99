//! A run with made-up times and the baseline made of it: what tests of verdicts rest on, since real
//! times on a shared machine are noise.

use serde_json::Value;

use super::{Bench, SMALL};

/// `bench` with a baseline of twelve cases, three replicates each about 1 % apart; and the run that
/// it was made of.
pub fn with_baseline(bench: Bench) -> (Bench, Value) {
    bench
        .run(
            &[&["tensor-ops", "--axis", "shape=8x64", "--axis", "operation=add"][..], &SMALL]
                .concat(),
        )
        .expect(0);
    let mut run: Value =
        serde_json::from_str(&std::fs::read_to_string(&bench.run_files()[0]).unwrap()).unwrap();
    let measured = run["benchmarks"][0].take();
    run["benchmarks"] = (0..12).map(|index| made_up(&measured, index)).collect();
    bench.write_sealed("made-up.json", &run);
    bench.run("baseline save --run made-up.json").expect(0);
    (bench, run)
}

/// `measured` with other times, as a case of its own.
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

/// `run` measured again under another name: nothing changed, and no two measurements are the same
/// to the last digit.
pub fn again(run: &Value, name: &str) -> Value {
    let mut again = run.clone();
    again["run_id"] = name.into();
    for (at, case) in again["benchmarks"].as_array_mut().unwrap().iter_mut().enumerate() {
        scale(case, 1.0 + 1e-4 * (at % 5 + 1) as f64);
    }
    again
}

/// Makes every time of `case` so many times as long.
pub fn scale(case: &mut Value, factor: f64) {
    for replicate in case["samples"].as_array_mut().unwrap() {
        for time in replicate["times_ns"].as_array_mut().unwrap() {
            *time = (time.as_f64().unwrap() * factor).into();
        }
    }
}
