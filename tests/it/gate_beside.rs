//! A baseline whose record no longer fits the machine: the gate runs the program that made it beside today's.
//!
//! The figures are real. The changes are made so large, and the threshold so wide, that no neighbor can hide them.

use crate::common::Bench;
use serde_json::Value;

const MEASURE: [&str; 10] = [
    "run",
    "tensor-ops",
    "--axis",
    "shape=64x64",
    "--axis",
    "dtype=f32",
    "--axis",
    "operation=add,gelu,sum",
    "--replicates",
    "3",
];
const GATE: [&str; 2] = ["gate", "--json"];

/// A baseline that says that every case took a hundredth of its time, as on a machine that was faster then.
fn with_a_record_of_better_days() -> Bench {
    let bench = Bench::new();
    bench.write("baselines/policy.toml", "threshold_percent = 100.0\n");
    bench.run(&MEASURE).expect(0);
    bench.run(&["baseline", "save"]).expect(0);
    let listed = bench.run(&["baseline", "list", "--json"]).expect(0).json();
    let machine = listed["baselines"][0]["machine"].as_str().unwrap().to_owned();
    let name = format!("baselines/{machine}/tensor-ops.json");
    let mut baseline: Value = serde_json::from_str(&std::fs::read_to_string(bench.path(&name)).unwrap()).unwrap();
    for case in baseline["runs"][0]["benchmarks"].as_array_mut().unwrap() {
        for replicate in case["samples"].as_array_mut().unwrap() {
            for time in replicate["times_ns"].as_array_mut().unwrap() {
                *time = (time.as_f64().unwrap() / 100.0).into();
            }
        }
    }
    bench.write(&name, &baseline.to_string());
    bench
}

fn regressed(result: &Value) -> Vec<&str> {
    let rows = result["comparisons"].as_array().unwrap().iter();
    rows.filter(|row| row["verdict"] == "Regressed").map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn where_the_machine_changed_the_code_is_not_blamed() {
    let bench = with_a_record_of_better_days();
    bench.run(&MEASURE).expect(0);
    // What is stored alone looks a hundred times as slow.
    let stored = bench.run(&[&GATE[..], &["--budget", "0s"]].concat()).expect(3).json();
    assert_eq!(regressed(&stored).len(), 3);
    let result = bench.run(&GATE).expect(0).json();
    for row in result["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == "time_ms") {
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("the machine changed, not the code"), "{reason}");
    }
    // The report repeats that verdict, rather than judging the stored figures anew.
    let report = bench.run(&["report", "--format", "json"]).expect(0).json();
    assert!(report.to_string().contains("the machine changed, not the code"), "{report:#}");
    // Without the program that made it, the record is all there is.
    std::fs::remove_dir_all(bench.path("benchmark_results/programs")).unwrap();
    assert_eq!(regressed(&bench.run(&GATE).expect(3).json()).len(), 3);
}

#[cfg(feature = "fault-injection")]
#[test]
fn what_the_code_did_is_named_alone_on_a_machine_that_changed() {
    let bench = with_a_record_of_better_days().set("RSB_TEST_SLOWDOWN", "/gelu/=20.0");
    bench.run(&MEASURE).expect(0);
    let bench = bench.set("RSB_TEST_SLOWDOWN", "none=1.0"); // The run itself knows how it was slowed.
    let result = bench.run(&GATE).expect(3).json();
    let slower = regressed(&result);
    assert_eq!(slower.len(), 1, "{result:#}");
    assert!(slower[0].contains("/gelu/"), "{slower:?}");
}

#[test]
fn programs_that_no_baseline_is_of_are_not_kept() {
    let bench = with_a_record_of_better_days();
    bench.write("benchmark_results/programs/0123456789abcdef", "an old program");
    bench.run(&MEASURE).expect(0);
    bench.run(&["baseline", "save"]).expect(0);
    let kept: Vec<_> = std::fs::read_dir(bench.path("benchmark_results/programs")).unwrap().collect();
    assert_eq!(kept.len(), 1);
}

/// What says of a run that it was not alone.
const DISTURBED: &str = "another run of this program was measuring at the same time";

#[test]
fn who_measures_beside_another_is_told_and_so_is_who_judges_by_it() {
    let bench = Bench::new();
    let dir = bench.dir.path().display().to_string();
    let bench = bench.set("TMPDIR", &dir);
    let lock = std::fs::File::create(bench.path("rusty-stack-bench.lock")).unwrap();
    lock.lock().unwrap();
    assert!(bench.run(&MEASURE).expect(0).stderr.contains(DISTURBED));
    assert!(bench.run(&["baseline", "save"]).expect(0).stderr.contains(DISTURBED));
    drop(lock);
    assert!(!bench.run(&MEASURE).expect(0).stderr.contains(DISTURBED));
    let judged = bench.run(&[&GATE[..], &["--budget", "0s"]].concat());
    assert_eq!(judged.stderr.matches(DISTURBED).count(), 1, "{}", judged.stderr);
    // Whoever measures again for doubt, beside the program of the baseline, claims the machine too.
    let doubted = with_a_record_of_better_days().set("TMPDIR", &dir);
    doubted.run(&MEASURE).expect(0);
    let lock = std::fs::File::open(bench.path("rusty-stack-bench.lock")).unwrap();
    lock.lock().unwrap();
    assert!(doubted.run(&GATE).stderr.contains(DISTURBED));
}
