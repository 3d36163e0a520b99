//! Instruction counts next to the time: repeated counts are equal, and 5 % more work is detected in
//! one run.

use serde_json::Value;

use crate::common::Bench;

/// Two cases, small enough for Valgrind.
const COUNTED: &str = "run tensor-ops --axis shape=64x64 --axis dtype=f32 --axis operation=add,sum \
                       --replicates 2 --runs 10 --warmup 1 --metric=instructions";
/// Times vary on a machine that runs tests in parallel, so their threshold is wide; instructions
/// have a separate one.
const WIDE: &str = "threshold_percent = 2000.0\n";
const GATE: [&str; 4] = ["gate", "--json", "--budget", "0s"];

fn counted(bench: &Bench) -> Vec<Value> {
    let run = bench.run(&format!("{COUNTED} --json")).expect(0);
    let benchmarks = run.json()["benchmarks"].as_array().unwrap().clone();
    assert_eq!(benchmarks.len(), 2);
    benchmarks
}

/// Returns the instructions of each case, or why there are none.
fn figures(benchmarks: &[Value]) -> Result<Vec<f64>, String> {
    let figure = |result: &Value| match result["results"][0]["instructions"].as_f64() {
        Some(figure) => {
            let source = result["results"][0]["instructions_source"].as_str().unwrap();
            assert!(["perf", "callgrind"].contains(&source), "{source}");
            Ok(figure)
        }
        None => {
            Err(result["metadata"]["instructions_not_counted"]["why"].as_str().unwrap().to_owned())
        }
    };
    benchmarks.iter().map(figure).collect()
}

#[test]
fn the_same_program_twice_executes_the_same_instructions_and_more_work_is_a_regression() {
    let bench = Bench::new();
    let first = match figures(&counted(&bench)) {
        Ok(figures) => figures,
        Err(why) => return test_needs::missing("valgrind", &why),
    };
    bench.run("baseline save").expect(0);
    bench.run("baseline refresh").expect(0);
    let second = figures(&counted(&bench)).unwrap();
    for (first, second) in first.iter().zip(&second) {
        assert!(*first > 1000.0 && (second / first - 1.0).abs() < 1e-3, "{first} and {second}");
    }
    bench.write("baselines/policy.toml", WIDE);
    let result = bench.run(&GATE).expect(0).json();
    assert_eq!(
        rows(&result).len(),
        2,
        "the refreshed baseline must have instruction counts: {result:#}"
    );
    if cfg!(feature = "fault-injection") {
        let slowed = bench.set("RSB_TEST_SLOWDOWN", "/sum/=1.05");
        let third = figures(&counted(&slowed)).unwrap();
        let [added, summed] = [0, 1].map(|at| third[at] / first[at]);
        assert!((added - 1.0).abs() < 1e-3 && (summed - 1.05).abs() < 5e-3, "{added} {summed}");
        let result = slowed.run(&GATE).expect(3).json();
        let verdicts: Vec<_> =
            rows(&result).iter().map(|row| row["verdict"].as_str().unwrap().to_owned()).collect();
        assert_eq!(verdicts, ["Unchanged", "Regressed"], "{result:#}");
    }
}

/// Returns the rows of a comparison about instructions.
fn rows(result: &Value) -> Vec<Value> {
    let rows = result["comparisons"].as_array().unwrap().iter();
    rows.filter(|row| row["metric"] == "instructions").cloned().collect()
}

#[test]
fn where_nothing_counts_the_times_are_kept_and_the_rest_has_no_verdict() {
    // Valgrind is not on this PATH; with hardware counters, it is not needed.
    let bench = Bench::new().set("PATH", "/nonexistent");
    let benchmarks = counted(&bench);
    let Err(why) = figures(&benchmarks) else { return };
    assert!(why.contains("Valgrind is not installed"), "{why}");
    assert!(benchmarks.iter().all(|result| result["outcome"] == "measured"));
    bench.run("baseline save").expect(0);
    bench.run(COUNTED).expect(0);
    bench.write("baselines/policy.toml", WIDE);
    let result = bench.run(&GATE).expect(4).json();
    assert_eq!(rows(&result).len(), 2);
    for row in rows(&result) {
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("not counted") && reason.contains("install valgrind"), "{row:#}");
    }
}
