//! Builders of runs, and helpers for tests.

use rsb_model::environment::{Cpu, Git};
use rsb_model::record::{ComparisonSummary, EnvironmentSummary, OverallStatus};
use rsb_model::{
    BenchmarkResult, CaseId, ComparisonResult, DeviceType, Environment, Fields, Outcome, Reason,
    Run, RunId, Samples, Timestamp, Verdict,
};
use serde_json::Value;

use crate::store::Store;

/// Returns the time `seconds` after January 1, 2026.
pub(crate) fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + seconds).unwrap()
}

pub(crate) fn machine(cores: u32) -> Environment {
    Environment {
        cpu: Some(Cpu {
            model: Some("Test CPU".to_owned()),
            usable_cores: cores,
            ..Cpu::default()
        }),
        git: Some(Git {
            commit: "1a2b3c4d5e6f".to_owned(),
            branch: Some("main".to_owned()),
            ..Git::default()
        }),
        ..Environment::default()
    }
}

/// Creates a run without cases that began at `moment(seconds)`.
pub(crate) fn run(id: &str, seconds: i64) -> Run {
    Run::begin(RunId(id.to_owned()), moment(seconds), "quick", "quick", machine(2))
}

pub(crate) fn case_id(name: &str) -> CaseId {
    CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", name])
}

/// Creates a measured case that took `time_ms`.
pub(crate) fn measured_case(name: &str, time_ms: f64) -> BenchmarkResult {
    let times_ns: Vec<f64> =
        (0..40).map(|index| (time_ms + f64::from(index % 7) / 128.0) * 1e6).collect();
    BenchmarkResult {
        category: Some("gemm".to_owned()),
        device_type: Some(DeviceType::Cpu),
        environment: EnvironmentSummary::of(&machine(2)),
        results: vec![
            Fields::new().with("dtype", "f32").with("time_ms", time_ms).with("gflops", 100.0),
        ],
        samples: vec![Samples { replicate: 0, iters: vec![1; 40], times_ns }],
        ..BenchmarkResult::new(case_id(name), moment(60), Outcome::Measured)
    }
}

pub(crate) fn skipped_case(name: &str) -> BenchmarkResult {
    BenchmarkResult {
        outcome: Outcome::Skipped,
        reason: Some(Reason::new("a GPU", "there is none", "add one")),
        device_type: None,
        results: Vec::new(),
        samples: Vec::new(),
        ..measured_case(name, 1.0)
    }
}

/// Creates a comparison called `id` that found a regression.
pub(crate) fn comparison(id: &str) -> ComparisonResult {
    ComparisonResult {
        format_version: rsb_model::format::FORMAT_VERSION,
        comparison_id: id.to_owned(),
        baseline_run_id: "a".to_owned(),
        current_run_id: "b".to_owned(),
        timestamp: moment(3),
        verdict: Verdict::Regressed,
        threshold_percent: 10.0,
        comparisons: Vec::new(),
        missing: Vec::new(),
        new: Vec::new(),
        threshold_checks: Vec::new(),
        notes: Vec::new(),
        summary: ComparisonSummary {
            total_degraded: 2,
            overall_status: OverallStatus::Critical,
            ..Default::default()
        },
    }
}

pub(crate) const DAY: i64 = 86_400;

/// Stores `run` like the program does, with a journal.
pub(crate) fn keep(store: &Store, run: &Run) {
    store.begin(run).unwrap().finish(run).unwrap();
}

/// Creates a directory with `runs` runs, one a day, each with `cases` measured cases and a skipped
/// one.
pub(crate) fn with_runs(runs: i64, cases: usize) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    for at in 0..runs {
        let time = 1.0 + at as f64;
        let mut benchmarks: Vec<BenchmarkResult> =
            (0..cases).map(|case| measured_case(&format!("case-{case}"), time)).collect();
        benchmarks.push(skipped_case("none"));
        keep(
            &store,
            &Run {
                benchmarks,
                finished: Some(moment(at * DAY)),
                ..run(&format!("run-{at:03}"), at * DAY)
            },
        );
    }
    (dir, store)
}

pub(crate) fn mutate(value: &mut Value, steps: &[usize], replacement: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *value = replacement;
        return;
    };
    let child = match value {
        Value::Object(map) if !map.is_empty() => {
            let step = step % map.len();
            map.values_mut().nth(step)
        }
        Value::Array(list) if !list.is_empty() => {
            let step = step % list.len();
            list.get_mut(step)
        }
        _ => None,
    };
    if let Some(child) = child {
        mutate(child, rest, replacement);
    }
}

pub(crate) fn junk() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(serde_json::json!([])),
        Just(serde_json::json!({"what": 1})),
    ]
}
