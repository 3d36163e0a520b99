use std::path::PathBuf;

use rsb_model::{BenchmarkResult, Fields, Run, Samples};
use serde_json::json;

use super::*;
use crate::parquet_file::{ParquetSink, write_all};
use crate::store::Store;
use crate::testing::{DAY, keep, measured_case, run, skipped_case, with_runs};

const LIMIT: Duration = Duration::from_mins(1);

/// Creates a directory with some runs and its export; returns `None` if DuckDB is not installed.
fn exported() -> Option<(DuckdbLibrary, tempfile::TempDir, Store, PathBuf)> {
    let library = match library() {
        Ok(library) => library,
        Err(error) => {
            test_needs::missing("duckdb", &error.to_string());
            return None;
        }
    };
    let (dir, store) = with_runs(3, 2);
    let mut model = measured_case("bs=8", 4.0);
    model.results = vec![
        Fields::new()
            .with("time_us", 4000.0)
            .with("batch_size", 8)
            .with("sequence_length", 128)
            .with("dtype", "f32")
            .with("throughput_samples_per_second", 2000.0)
            .with("ttft_ms", 1.5)
            .with("gpu_memory_peak_mb", 700.0)
            .with("gpu_power_w", 250.0)
            .with("architecture_type", "llama")
            .with("parameter_count", 1_100_000),
    ];
    model.samples.push(Samples { replicate: 1, iters: vec![1; 11], times_ns: vec![5e6; 11] });
    let impossible = Samples { replicate: 0, iters: vec![1; 11], times_ns: vec![-5e6; 11] };
    let broken = BenchmarkResult { samples: vec![impossible], ..measured_case("broken", 1.0) };
    let twice = measured_case("twice", 3.0);
    let benchmarks = vec![model, broken, twice.clone(), twice, skipped_case("none")];
    keep(&store, &Run { benchmarks, ..run("other", 5 * DAY) });
    keep(&store, &Run { benchmarks: Vec::new(), ..run("empty", 6 * DAY) });
    let path = dir.path().canonicalize().unwrap().join("it's exported.parquet");
    let mut sink = ParquetSink::new(std::fs::File::create(&path).unwrap()).unwrap();
    write_all(&store, &mut sink).unwrap();
    sink.finish().unwrap();
    Some((library, dir, store, path))
}

/// Sorts the rows of an answer and rounds its numbers, because the order of summation affects the
/// last digits.
fn comparable(answer: SqlAnswer) -> (Vec<String>, Vec<String>) {
    let digits = |value: &Value| match value.as_f64() {
        Some(number) => format!("{number:.9e}"),
        None => value.to_string(),
    };
    let row = |row: &Vec<Value>| row.iter().map(digits).collect::<Vec<_>>().join(" | ");
    let mut rows: Vec<String> = answer.rows.iter().map(row).collect();
    rows.sort();
    (answer.columns, rows)
}

#[test]
fn both_engines_say_the_same() {
    let Some((library, _dir, store, path)) = exported() else { return };
    for view in VIEWS.iter().filter(|view| **view != "samples") {
        let sql = format!("SELECT * FROM {view}");
        let index = comparable(store.select(&sql, LIMIT).unwrap());
        let duckdb = comparable(select(&library, &path, &sql, LIMIT).unwrap());
        assert!(!index.1.is_empty());
        assert_eq!(duckdb, index, "{view}");
    }
    let samples = "SELECT count(*) AS rows, sum(len(times_ns)) AS times, max(times_ns[1]) AS most \
                   FROM samples WHERE id LIKE '%bs=8'";
    let answer = select(&library, &path, samples, LIMIT).unwrap();
    assert_eq!(answer.columns, ["rows", "times", "most"]);
    assert_eq!(json!(answer.rows), json!([[2, 51, 5e6]]));
}

#[test]
fn values_of_every_kind_are_read() {
    let Some((library, _dir, _store, path)) = exported() else { return };
    let sql = "SELECT NULL, true, 1::TINYINT, 2::UBIGINT, 170141183460469231731687303715884105727, 1.25, 'a long text beyond twelve',
               'short', DATE '2026-01-02', [1, 2], {'a': 1}, 'nan'::DOUBLE, 'ab'::BLOB, 1 AS x, 2 AS x -- and no more;\n;";
    let answer = select(&library, &path, sql, LIMIT).unwrap();
    let expected = json!([[
        null,
        true,
        1,
        2,
        1.701_411_834_604_692_3e38,
        1.25,
        "a long text beyond twelve",
        "short",
        "2026-01-02",
        "[1, 2]",
        "{'a': 1}",
        null,
        "2 bytes",
        1,
        2
    ]]);
    assert_eq!(json!(answer.rows), expected);
    // More than one chunk, in the requested order.
    let many = "SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i::VARCHAR END FROM range(10000) t(i) \
                ORDER BY i DESC";
    let rows = select(&library, &path, many, LIMIT).unwrap().rows;
    assert_eq!(
        (rows.len(), json!(rows[0]), json!(rows[9998])),
        (10_000, json!([9999, null]), json!([1, "1"]))
    );
}

#[test]
fn only_what_reads_the_export_is_answered_and_in_time() {
    let Some((library, dir, _store, path)) = exported() else { return };
    let theirs = dir.path().join("theirs.csv");
    std::fs::write(&theirs, "a\nb\n").unwrap();
    let (file, export) =
        (theirs.display().to_string(), path.display().to_string().replace('\'', "''"));
    for (sql, part) in [
        ("SELECT 1; SELECT 2".to_owned(), "these are several"),
        (String::new(), "this is not a SELECT"),
        ("DROP VIEW samples".to_owned(), "only a single SELECT"),
        ("CREATE TABLE t (a INT)".to_owned(), "only a single SELECT"),
        (format!("COPY (SELECT 1) TO '{export}'"), "only a single SELECT"),
        (format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{export}'"), "only a single SELECT"),
        (format!("ATTACH '{file}' AS other"), "only a single SELECT"),
        ("INSTALL httpfs".to_owned(), "only a single SELECT"),
        ("SET enable_external_access = true".to_owned(), "only a single SELECT"),
        ("PRAGMA database_list".to_owned(), "only a single SELECT"),
        (format!("SELECT * FROM '{file}'"), "only a single SELECT"),
        (format!("SELECT * FROM read_text('{file}')"), "only a single SELECT"),
        ("SELECT * FROM glob('/etc/*')".to_owned(), "only a single SELECT"),
        ("SELECT * FROM read_csv('/proc/self/environ')".to_owned(), "only a single SELECT"),
        ("SELECT absent FROM samples".to_owned(), "absent"),
        (
            "SELECT * FROM nowhere".to_owned(),
            "benchmark_results(run_id, batch_size, sequence_length, precision, latency_ms",
        ),
        ("SELEC 1".to_owned(), "syntax error"),
        ("SELECT ?".to_owned(), "daily_means(day"),
        ("SELECT 'a\0b'".to_owned(), "zero byte"),
        ("SELECT * FROM range(2000000)".to_owned(), "more than 1000000 rows"),
        ("SELECT repeat('x', 1000000) FROM range(400)".to_owned(), "more than 256 MiB"),
    ] {
        let error = select(&library, &path, &sql, LIMIT).unwrap_err().to_string();
        assert!(error.contains(part), "`{sql}`: {error}");
    }
    let endless = "SELECT count(*) FROM range(10000000000) a, range(10000000000) b WHERE a.range % \
                   7 = b.range % 11";
    let short = Duration::from_millis(50);
    let error = select(&library, &path, endless, short).unwrap_err();
    assert!(matches!(error, SqlError::TimedOut { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(theirs).unwrap(), "a\nb\n");
    assert!(crate::parquet_file::read_parquet(&path).is_ok(), "the export must stay readable");
    let left = std::fs::read_dir(".")
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name() == ".tmp");
    assert_eq!(left.count(), 0, "no temporary directory may be left in the working directory");
}

#[test]
fn a_database_has_the_views_as_tables_of_the_same_types() {
    let Some((library, dir, store, path)) = exported() else { return };
    let file = dir.path().join("all.duckdb");
    write_database(&library, &path, &file).unwrap();
    let connection = library.in_memory(&[]).unwrap();
    connection.execute(&format!("ATTACH '{}' AS all_of_it (READ_ONLY)", file.display())).unwrap();
    let texts = |sql: &str| {
        let mut texts = Vec::new();
        connection.rows(sql, |row| {
            texts.extend(row.into_iter().map(|value| match value {
                DuckdbValue::Text(text) => text,
                other => format!("{other:?}"),
            }));
            true
        })?;
        Ok::<_, DuckdbError>(texts.join(" "))
    };
    let columns = |table: &str| {
        texts(&format!("SELECT column_name, column_type FROM (DESCRIBE all_of_it.{table})"))
            .unwrap()
    };
    assert_eq!(
        columns("benchmark_runs"),
        "id VARCHAR timestamp VARCHAR model_id VARCHAR device VARCHAR architecture_type VARCHAR \
         parameter_count BIGINT \
         description VARCHAR"
    );
    assert_eq!(
        columns("benchmark_results"),
        "run_id VARCHAR batch_size BIGINT sequence_length BIGINT precision VARCHAR latency_ms \
         DOUBLE \
         throughput_samples_per_sec DOUBLE memory_usage_mb DOUBLE first_token_latency_ms DOUBLE \
         peak_memory_mb DOUBLE \
         device_metrics VARCHAR benchmark_id VARCHAR architecture_type VARCHAR parameter_count \
         BIGINT model_id VARCHAR device VARCHAR backend VARCHAR workload VARCHAR"
    );
    for view in ["benchmark_runs", "benchmark_results", "measurements", "daily_means"] {
        let count = format!("SELECT count(*) FROM {view}");
        let index = store.select(&count, LIMIT).unwrap().rows[0][0].to_string();
        let there = texts(&format!("SELECT count(*)::VARCHAR FROM all_of_it.{view}")).unwrap();
        assert_eq!(there, index, "{view}");
    }
    let joined = "SELECT count(*)::VARCHAR FROM all_of_it.benchmark_results r JOIN \
                  all_of_it.benchmark_runs b ON b.id = r.run_id";
    let results = "SELECT count(*) FROM benchmark_results";
    assert_eq!(
        texts(joined).unwrap(),
        store.select(results, LIMIT).unwrap().rows[0][0].to_string()
    );
}
