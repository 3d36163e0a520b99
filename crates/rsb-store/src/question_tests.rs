//! Tests of SQL queries: the views, the named questions, and that queries can only read.

use std::time::Duration;

use rsb_model::record::Comparison;
use rsb_model::{
    BenchmarkResult, BenchmarkType, Better, CaseId, ComparisonResult, Fields, ReasonCode, Run,
    Verdict,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::question::HistoryQuestion;
use crate::select::SqlError;
use crate::store::Store;
use crate::testing::{
    DAY, case_id, comparison, keep, machine, measured_case, moment, run, skipped_case, with_runs,
};

const LIMIT: Duration = Duration::from_mins(1);

#[test]
fn only_what_reads_is_answered() {
    let (dir, store) = with_runs(2, 2);
    let other = dir.path().join("other.db");
    for (sql, part) in [
        ("DELETE FROM runs", "only a single SELECT"),
        ("SELECT 1; DROP TABLE runs", "only a single SELECT"),
        ("SELECT 1; SELECT 2", "these are several"),
        ("", "this is not a SELECT"),
        ("PRAGMA journal_mode = DELETE", "only a single SELECT"),
        ("PRAGMA query_only", "only a single SELECT"),
        (&format!("ATTACH '{}' AS other", other.display()), "only a single SELECT"),
        ("CREATE TEMP TABLE t (a)", "only a single SELECT"),
        ("BEGIN", "only a single SELECT"),
        ("VACUUM", "only a single SELECT"),
        ("SELECT load_extension('x')", "only a single SELECT"),
        ("WITH x AS (SELECT 1) INSERT INTO runs SELECT * FROM x", "only a single SELECT"),
        ("SELECT absent FROM runs", "no such column: absent"),
        (
            "SELECT * FROM nowhere",
            "benchmark_results(run_id, batch_size, sequence_length, precision, latency_ms",
        ),
        ("SELEC 1", "syntax error"),
    ] {
        let error = store.select(sql, LIMIT).unwrap_err().to_string();
        assert!(error.contains(part), "`{sql}`: {error}");
    }
    assert!(!other.exists());
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    assert!(matches!(
        store.select(endless, Duration::from_millis(50)),
        Err(SqlError::TimedOut { .. })
    ));
    let many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n";
    assert!(matches!(store.select(many, LIMIT), Err(SqlError::TooLong)));
    // A single value that is too long, and several values that are too long together.
    let long = "SELECT zeroblob(300000000)";
    assert!(matches!(store.select(long, LIMIT), Err(SqlError::TooLong)));
    let wide = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 40)
                SELECT CAST(zeroblob(8000000) AS TEXT) FROM n";
    assert!(matches!(store.select(wide, LIMIT), Err(SqlError::TooLong)));
    assert_eq!(store.runs().unwrap().len(), 2);
    // The same restrictions apply without a database file.
    let nowhere = Store::open_existing(&dir.path().join("nowhere")).unwrap();
    assert!(nowhere.select("DELETE FROM runs", LIMIT).is_err());
    assert_eq!(nowhere.select("SELECT count(*) AS n FROM runs", LIMIT).unwrap().columns, ["n"]);
    assert_eq!(
        nowhere.select("SELECT 1.5, NULL, 'x'", LIMIT).unwrap().rows,
        [[json!(1.5), json!(null), json!("x")]]
    );
}

#[test]
fn the_views_have_one_row_for_each_model_and_one_for_each_point_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let mut case = measured_case("bs=8", 4.0);
    case.results[0] = std::mem::take(&mut case.results[0])
        .with("batch_size", 8)
        .with("sequence_length", 128)
        .with("throughput_samples_per_second", 2000.0)
        .with("ttft_ms", 1.5)
        .with("gpu_memory_peak_mb", 700.0)
        .with("gpu_power_w", 250.0)
        .with("architecture_type", "llama")
        .with("parameter_count", 1_100_000_u64);
    case.samples.clear();
    keep(
        &store,
        &Run {
            benchmarks: vec![case, measured_case("plain", 2.0), skipped_case("none")],
            ..run("x", 0)
        },
    );
    let runs = store.select("SELECT * FROM benchmark_runs", LIMIT).unwrap();
    let columns = [
        "id",
        "timestamp",
        "model_id",
        "device",
        "architecture_type",
        "parameter_count",
        "description",
    ];
    assert_eq!(runs.columns, columns);
    let description = "suite quick, profile quick, commit 1a2b3c4d5e6f";
    assert_eq!(
        runs.rows,
        [[
            json!("x/gemm/cpu:0"),
            json!("2026-01-01T00:00:00Z"),
            json!("gemm"),
            json!("cpu:0"),
            json!("llama"),
            json!(1_100_000),
            json!(description)
        ]]
    );
    let results =
        store.select("SELECT * FROM benchmark_results ORDER BY batch_size IS NULL", LIMIT).unwrap();
    assert_eq!(results.rows.len(), 2, "only measured results have rows");
    let expected = json!([
        "x/gemm/cpu:0",
        8,
        128,
        "f32",
        4.0,
        2000.0,
        null,
        1.5,
        700.0,
        "{\"gpu_power_w\":250.0}",
        "cpu_performance/gemm/cpu:0/bs=8",
        "llama",
        1_100_000,
        "gemm",
        "cpu:0",
        "cpu",
        "bs=8"
    ]);
    assert_eq!(json!(results.rows[0]), expected);
    let joined =
        "SELECT count(*) FROM benchmark_runs a JOIN benchmark_results b ON b.run_id = a.id";
    assert_eq!(store.select(joined, LIMIT).unwrap().rows, [[json!(2)]]);
    // If the models of a case differ in a property, the property is null, like an unknown value.
    let other = BenchmarkResult {
        results: vec![Fields::new().with("time_ms", 3.0).with("parameter_count", 7)],
        ..measured_case("other", 3.0)
    };
    keep(&store, &Run { benchmarks: vec![other], ..run("y", 60) });
    let asked = "SELECT architecture_type, parameter_count FROM benchmark_runs WHERE id LIKE 'y/%'";
    assert_eq!(store.select(asked, LIMIT).unwrap().rows, [[json!(null), json!(7)]]);
    let mut both = measured_case("both", 1.0);
    both.results[0].set("parameter_count", 8);
    let seven = store.run("y").unwrap().benchmarks[0].clone();
    keep(&store, &Run { benchmarks: vec![both, seven], ..run("z", 120) });
    let asked = "SELECT parameter_count FROM benchmark_runs WHERE id LIKE 'z/%'";
    assert_eq!(store.select(asked, LIMIT).unwrap().rows, [[json!(null)]]);
}

#[test]
fn the_columns_of_a_result_identify_it_within_its_run() {
    let (_dir, store) = with_models();
    let key = "run_id, backend, workload, batch_size, sequence_length, precision";
    let sql = format!("SELECT {key} FROM benchmark_results ORDER BY {key}");
    let rows = store.select(&sql, LIMIT).unwrap().rows;
    let expected = json!([
        ["x/bert-tiny/cpu:0", "openvino", "forward", 1, 128, "f32"],
        ["x/bert-tiny/cpu:0", "pytorch", "forward", 1, 64, "f32"],
        ["x/bert-tiny/cpu:0", "pytorch", "forward", 1, 128, "f16"],
        ["x/bert-tiny/cpu:0", "pytorch", "forward", 1, 128, "f32"],
        ["x/bert-tiny/cpu:0", "pytorch", "load/request_rate=4", 1, 128, "f32"],
        ["x/bert-tiny/cpu:0", "pytorch", "load/request_rate=8", 1, 128, "f32"],
        ["x/gemm/cpu:0", "cpu", "128x128x128", null, null, "f32"],
        ["x/gemm/cpu:0", "cpu", "256x256x256", null, null, "f32"],
    ]);
    assert_eq!(json!(rows), expected);
    let shared = format!("SELECT {key} FROM benchmark_results GROUP BY {key} HAVING count(*) > 1");
    assert_eq!(store.select(&shared, LIMIT).unwrap().rows, Vec::<Vec<Value>>::new());
    let of_requests = "SELECT DISTINCT latency_ms, peak_memory_mb FROM benchmark_results
                       WHERE workload LIKE 'load%'";
    assert_eq!(store.select(of_requests, LIMIT).unwrap().rows, [[json!(11.5), json!(19.7)]]);
}

/// Creates a run of a model in several runtimes, types, lengths and loads, and of two products.
fn with_models() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let mut benchmarks = vec![measured_case("f32/128x128x128", 1.0)];
    benchmarks.push(measured_case("f32/256x256x256", 1.0));
    for (point, runtime, dtype, length) in [
        ("forward/bert-tiny/f32", "pytorch", "f32", "128"),
        ("forward/bert-tiny/f32/runtime=openvino", "openvino", "f32", "128"),
        ("forward/bert-tiny/f32/sequence_length=64", "pytorch", "f32", "64"),
        ("forward/bert-tiny/f16", "pytorch", "fp16", "128"),
        ("load/bert-tiny/f32/request_rate=4", "pytorch", "f32", "128"),
        ("load/bert-tiny/f32/request_rate=8", "pytorch", "f32", "128"),
    ] {
        let mut case = measured_case("model", 1252.0);
        case.benchmark_id =
            CaseId::from_segments(&["component_specific", "models", "cpu:0", point]);
        case.benchmark_type = BenchmarkType::ComponentSpecific;
        case.category = Some("models".to_owned());
        let fields = Fields::new().with("dtype", dtype).with("time_ms", 1252.0);
        let fields = fields.with("memory_used_mb", 19.7);
        let is_load = point.starts_with("load");
        case.results = vec![if is_load { fields.with("latency_p50_ms", 11.5) } else { fields }];
        case.samples.clear();
        let parameters = json!({"model": "bert-tiny", "runtime": runtime, "dtype": dtype,
                                "batch_size": "1", "sequence_length": length});
        case.metadata.insert("parameters".to_owned(), parameters);
        benchmarks.push(case);
    }
    keep(&store, &Run { benchmarks, ..run("x", 0) });
    (dir, store)
}

#[test]
fn named_questions_are_answered() {
    let (_dir, store) = with_runs(3, 3);
    let slowest = answer(&store, &HistoryQuestion::Slowest { limit: 2 });
    assert_eq!((slowest.len(), &slowest[0][2]), (2, &json!("run-002")));
    let unmeasured = answer(&store, &HistoryQuestion::Unmeasured { since: moment(-1) });
    assert_eq!(
        unmeasured,
        [[json!("cpu_performance/gemm/cpu:0/none"), json!(null), json!("skipped")]]
    );
    let later = HistoryQuestion::Unmeasured { since: moment(10 * DAY) };
    assert_eq!(answer(&store, &later).len(), 4);
    let other = "f00df00d'f00d";
    let mut environment = machine(2);
    environment.git.as_mut().unwrap().commit = other.to_owned();
    keep(
        &store,
        &Run {
            environment,
            benchmarks: vec![measured_case("case-0", 8.0)],
            ..run("other", 5 * DAY)
        },
    );
    let between = answer(
        &store,
        &HistoryQuestion::Between { before: "1a2b3c4".to_owned(), after: other.to_owned() },
    );
    assert_eq!(between.len(), 2, "two metrics of the case that both runs have");
    assert_eq!((&between[0][6], &between[0][7]), (&json!(3), &json!(1)));
    assert!(between[0][5].as_f64().unwrap() > 250.0, "{between:?}");
    store.save_comparison(&comparison("b-vs-a")).unwrap();
    let regressed = answer(&store, &HistoryQuestion::Regressed { since: moment(0) });
    assert_eq!(regressed.len(), 0, "a comparison without rows lists nothing");
}

fn answer(store: &Store, question: &HistoryQuestion) -> Vec<Vec<Value>> {
    store.select(&question.sql(), LIMIT).unwrap().rows
}

#[test]
fn a_regression_that_was_judged_many_times_is_listed_once() {
    let (_dir, store) = with_runs(1, 1);
    save_judgment(&store, 1, "a", "b", Verdict::Regressed);
    save_judgment(&store, 2, "a", "b", Verdict::Regressed);
    save_judgment(&store, 3, "a", "c", Verdict::Regressed);
    let listed = listed_regressions(&store);
    assert_eq!(listed, ["comparison-3", "comparison-2"], "each run must be listed once");
    save_judgment(&store, 4, "other", "b", Verdict::Regressed);
    save_judgment(&store, 5, "third", "b", Verdict::Unchanged);
    let listed = listed_regressions(&store);
    assert_eq!(
        listed,
        ["comparison-4", "comparison-3"],
        "each run must be listed once, whatever it was compared with"
    );
    save_judgment(&store, 6, "a", "c", Verdict::Unchanged);
    assert_eq!(
        listed_regressions(&store),
        ["comparison-4"],
        "a later judgment replaces an earlier one of the same two runs"
    );
}

/// Returns the comparison ids in the answer to the question about regressions, in order.
fn listed_regressions(store: &Store) -> Vec<String> {
    let rows = answer(store, &HistoryQuestion::Regressed { since: moment(0) });
    rows.into_iter().map(|row| row[7].as_str().unwrap().to_owned()).collect()
}

/// Saves a comparison with one row.
fn save_judgment(store: &Store, at: i64, baseline: &str, current: &str, verdict: Verdict) {
    let row = Comparison {
        baseline_value: Some(1.0),
        current_value: Some(1.2),
        difference_percent: Some(20.0),
        verdict,
        reason_code: ReasonCode::AboveThreshold,
        threshold_percent: 10.0,
        ..Comparison::new(case_id("case-0"), "time_ms", "ms", Better::Lower)
    };
    let result = ComparisonResult {
        timestamp: moment(at),
        baseline_run_id: baseline.to_owned(),
        current_run_id: current.to_owned(),
        comparisons: vec![row],
        ..comparison(&format!("comparison-{at}"))
    };
    store.save_comparison(&result).unwrap();
}

#[test]
fn what_is_unmeasured_is_found_at_the_end_of_each_case() {
    let [few, many] = [3, 30].map(|runs| {
        let (dir, store) = with_runs(runs, 3);
        drop(store);
        let connection = Connection::open(dir.path().join("benchmarks.db")).unwrap();
        let mut statement =
            connection.prepare(&HistoryQuestion::Unmeasured { since: moment(0) }.sql()).unwrap();
        assert_eq!(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().count(), 1);
        statement.get_status(rusqlite::StatementStatus::VmStep)
    });
    assert!(few > 0 && many < few + few / 4, "{few} and {many} steps");
}
