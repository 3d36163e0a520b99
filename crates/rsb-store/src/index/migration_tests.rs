//! Indexes of every version that there was become today's, or stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, ErrorCode, params};

use super::migrate::{bring_up, version};
use super::schema::SCHEMA_VERSION;
use crate::error::StoreNotice;
use crate::history::HistoryFilter;
use crate::store::Store;
use crate::testing::{comparison, measured, run};

/// The tables of versions 1 and 2; those of version 3 have more columns of runs.
const OLD: &str = "
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL,
        started INTEGER NOT NULL, finished INTEGER, suite TEXT NOT NULL, profile TEXT NOT NULL,
        commit_hash TEXT, branch TEXT, slug TEXT NOT NULL, notes TEXT NOT NULL,
        measured INTEGER NOT NULL, skipped INTEGER NOT NULL, failed INTEGER NOT NULL, simulated INTEGER NOT NULL
        {more}
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (started);
    CREATE TABLE results (
        run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, position INTEGER NOT NULL,
        id TEXT NOT NULL, benchmark TEXT, benchmark_type TEXT NOT NULL, outcome TEXT NOT NULL, device_type TEXT,
        PRIMARY KEY (run_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX results_by_id ON results (id);
    CREATE TABLE metrics (
        run_id TEXT NOT NULL, position INTEGER NOT NULL, metric TEXT NOT NULL,
        unit TEXT NOT NULL, better TEXT NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (run_id, position, metric),
        FOREIGN KEY (run_id, position) REFERENCES results ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE comparisons (
        comparison_id TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, timestamp INTEGER NOT NULL,
        baseline_run_id TEXT NOT NULL, current_run_id TEXT NOT NULL, verdict TEXT NOT NULL,
        improved INTEGER NOT NULL, degraded INTEGER NOT NULL, unchanged INTEGER NOT NULL, no_verdict INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;";

/// The tables of version 4.
const OF_VERSION_4: &str = "
    CREATE TABLE machines (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL) STRICT;
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL,
        started INTEGER NOT NULL, finished INTEGER, suite TEXT NOT NULL, profile TEXT NOT NULL,
        commit_hash TEXT, branch TEXT, machine INTEGER NOT NULL REFERENCES machines, notes TEXT NOT NULL,
        measured INTEGER NOT NULL, skipped INTEGER NOT NULL, failed INTEGER NOT NULL, simulated INTEGER NOT NULL,
        sequence INTEGER, imported INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (started, run_id);
    CREATE TABLE cases (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, device TEXT NOT NULL,
        batch_size INTEGER, sequence_length INTEGER, precision TEXT
    ) STRICT;
    CREATE TABLE variants (
        id INTEGER PRIMARY KEY, case_id INTEGER NOT NULL REFERENCES cases, benchmark TEXT NOT NULL,
        benchmark_type TEXT NOT NULL, outcome TEXT NOT NULL, device_type TEXT NOT NULL,
        UNIQUE (case_id, benchmark, benchmark_type, outcome, device_type)
    ) STRICT;
    CREATE TABLE results (
        run INTEGER NOT NULL REFERENCES runs, position INTEGER NOT NULL, variant INTEGER NOT NULL REFERENCES variants,
        device_metrics TEXT, PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX results_by_variant ON results (variant, run);
    CREATE TABLE metrics (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, better TEXT NOT NULL
    ) STRICT;
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, variant INTEGER NOT NULL REFERENCES variants,
        machine INTEGER NOT NULL REFERENCES machines, metric INTEGER NOT NULL REFERENCES metrics,
        UNIQUE (variant, machine, metric)
    ) STRICT;
    CREATE TABLE points (
        series INTEGER NOT NULL REFERENCES series, started INTEGER NOT NULL, run INTEGER NOT NULL,
        position INTEGER NOT NULL, value REAL, recorded REAL, PRIMARY KEY (series, started, run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE days (
        metric INTEGER NOT NULL REFERENCES metrics, machine INTEGER NOT NULL REFERENCES machines, day INTEGER NOT NULL,
        results INTEGER NOT NULL, total REAL NOT NULL, PRIMARY KEY (metric, machine, day)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE comparisons (
        comparison_id TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, timestamp INTEGER NOT NULL,
        baseline_run_id TEXT NOT NULL, current_run_id TEXT NOT NULL, verdict TEXT NOT NULL,
        improved INTEGER NOT NULL, degraded INTEGER NOT NULL, unchanged INTEGER NOT NULL, no_verdict INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE VIEW benchmark_runs AS SELECT run_id AS id FROM runs;
    CREATE VIEW benchmark_results AS SELECT name AS benchmark_id FROM cases;
    CREATE VIEW measurements AS SELECT value FROM points;
    CREATE VIEW daily_means AS SELECT total FROM days;
    INSERT INTO machines VALUES (1, 'm', '{}');
    INSERT INTO cases VALUES (1, 'x', 'b', 'cpu:0', NULL, NULL, NULL);
    INSERT INTO variants VALUES (1, 1, 'b', 'cpu_performance', 'measured', 'cpu');
    INSERT INTO metrics VALUES (1, 'time_ms', 'ms', 'lower'), (2, 'gflops', 'GFLOP/s', 'higher'), (3, 'cv', '', '');
    INSERT INTO series VALUES (1, 1, 1, 1);";

/// Puts the run `id` into the tables of version 4.
fn insert_4(old: &Connection, id: &str) {
    let sql = "INSERT INTO runs VALUES (NULL, ?1, ?1 || '.json', '', 0, NULL, 's', 'p', NULL, NULL, 1, '[]', 1, 0, 0, 0, 1, 0)";
    old.execute(sql, [id]).unwrap();
    let run = old.last_insert_rowid();
    old.execute("INSERT INTO results VALUES (?1, 0, 1, NULL)", [run]).unwrap();
    old.execute("INSERT INTO points VALUES (1, 0, ?1, 0, 1.0, NULL)", [run]).unwrap();
}

/// Puts the run `id` into the tables of an earlier one.
fn insert_3(old: &Connection, id: &str, of: i64) {
    let values = if of < 3 { "" } else { ", 1, 0, '{}'" };
    let sql = format!(
        "INSERT INTO runs VALUES (?1, ?1 || '.json', '', 0, NULL, 's', 'p', NULL, NULL, 'm', '[]', 1, 0, 0, 0{values})"
    );
    old.execute(&sql, [id]).unwrap();
    old.execute("INSERT INTO results VALUES (?1, 0, 'x', 'b', 'cpu_performance', 'measured', 'cpu')", [id]).unwrap();
    old.execute("INSERT INTO metrics VALUES (?1, 0, 'time_ms', 'ms', 'lower', 1.0)", [id]).unwrap();
}

/// A directory of results with three runs and a comparison, whose index is of version `of`, as far as this can tell.
fn older(of: i64) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().to_owned();
    let store = Store::open_for_writing(&results).unwrap();
    for (at, id) in ["a", "b", "c"].into_iter().enumerate() {
        let base = run(id, i64::try_from(at).unwrap() * 3600);
        let mut journal = store.begin(&base).unwrap();
        for case in 0..40 {
            journal.add(&measured(&format!("case-{case}"), f64::from(case) + at as f64)).unwrap();
        }
        journal.finish(&base).unwrap();
    }
    let kept = store.save_comparison(&comparison("b-vs-a")).unwrap();
    drop(store);
    let database = results.join("benchmarks.db");
    let today = Connection::open(&database).unwrap();
    let (stamp, document): (String, String) =
        today.query_row("SELECT stamp, document FROM comparisons", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    drop(today);
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(results.join(format!("benchmarks.db{suffix}")));
    }
    let old = Connection::open(&database).unwrap();
    old.pragma_update(None, "journal_mode", "WAL").unwrap();
    let more = if of < 3 { "" } else { ", sequence INTEGER, imported INTEGER NOT NULL, fingerprint TEXT NOT NULL" };
    old.execute_batch(&if of < 4 { OLD.replace("{more}", more) } else { OF_VERSION_4.to_owned() }).unwrap();
    for id in ["a", "b", "gone"] {
        if of < 4 { insert_3(&old, id, of) } else { insert_4(&old, id) }
    }
    let file = kept.file_name().unwrap().to_str().unwrap();
    let insert = "INSERT INTO comparisons VALUES ('b-vs-a', ?1, ?2, 3, 'a', 'b', 'Regressed', 0, 2, 0, 0, ?3)";
    old.execute(insert, params![file, stamp, document]).unwrap();
    old.pragma_update(None, "user_version", of).unwrap();
    (dir, results)
}

/// Checks that the index in `database` is of version `of` with what it had.
fn assert_untouched(database: &Path, of: i64) {
    let old = Connection::open(database).unwrap();
    assert_eq!(version(&old).unwrap(), of);
    let count =
        |table: &str| -> i64 { old.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap() };
    assert_eq!(["runs", "results", "metrics", "comparisons"].map(count), [3, 3, 3, 1]);
    assert_eq!(old.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
}

#[test]
fn every_version_becomes_today_s_with_what_the_files_hold() {
    for of in 1..SCHEMA_VERSION {
        let (_dir, results) = older(of);
        let store = Store::open_existing(&results).unwrap();
        let path = results.join("benchmarks.db");
        assert_eq!(*store.notices(), [StoreNotice::Migrated { path, from: of, to: SCHEMA_VERSION }], "of {of}");
        let ids: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.run_id.0).collect();
        assert_eq!(ids, ["c", "b", "a"], "what had no file is gone");
        assert_eq!(store.history(&HistoryFilter::default()).unwrap().len(), 3 * 40 * 2);
        let kept = store.comparisons().unwrap();
        assert_eq!((kept.len(), kept[0].comparison_id.as_str()), (1, "b-vs-a"));
        drop(store);
        assert_eq!(*Store::open_existing(&results).unwrap().notices(), [], "once");
    }
}

#[test]
fn a_full_disk_leaves_the_older_index_as_it_was() {
    for of in 1..SCHEMA_VERSION {
        let (_dir, results) = older(of);
        let database = results.join("benchmarks.db");
        let mut refused = 0;
        for more in 0..200_u32 {
            let mut connection = Connection::open(&database).unwrap();
            let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
            connection.pragma_update(None, "max_page_count", pages + more).unwrap();
            connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
            match bring_up(&mut connection, &results) {
                Err(error) => assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull), "{error}"),
                Ok(_) => break,
            }
            refused += 1;
            drop(connection);
            assert_untouched(&database, of);
        }
        assert!(refused > 3, "of {of}: refused {refused} times");
        assert_eq!(Store::open_existing(&results).unwrap().runs().unwrap().len(), 3, "with room it goes on");
    }
}

#[test]
fn a_crash_in_the_middle_leaves_the_older_index_as_it_was() {
    let (_dir, results) = older(3);
    let mut connection = Connection::open(results.join("benchmarks.db")).unwrap();
    connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
    // So that what is not committed reaches the disk.
    connection.pragma_update(None, "cache_size", 1).unwrap();
    let copies = Arc::new(Mutex::new(Vec::new()));
    let looks = AtomicUsize::new(0);
    let (from, into) = (results.clone(), Arc::clone(&copies));
    let handler = move || {
        // What a kill at this moment would leave behind.
        if looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(4) {
            let copy = tempfile::tempdir().unwrap();
            for suffix in ["", "-wal"] {
                let name = format!("benchmarks.db{suffix}");
                fs::copy(from.join(&name), copy.path().join(&name)).unwrap();
            }
            into.lock().unwrap().push(copy);
        }
        false
    };
    connection.progress_handler(200, Some(handler)).unwrap();
    bring_up(&mut connection, &results).unwrap();
    drop(connection);
    let copies = std::mem::take(&mut *copies.lock().unwrap());
    assert!(copies.len() > 5, "{} copies", copies.len());
    let grew = copies.iter().filter(|copy| copy.path().join("benchmarks.db-wal").metadata().unwrap().len() > 4_096);
    assert!(grew.count() > 0, "something was written that does not count");
    for copy in &copies {
        let database = copy.path().join("benchmarks.db");
        let found = version(&Connection::open(&database).unwrap()).unwrap();
        assert!(found == 3 || found == SCHEMA_VERSION, "{found}");
        if found == 3 {
            assert_untouched(&database, 3);
        }
    }
}

#[test]
fn a_metric_whose_unit_or_direction_changed_is_read_again_and_named() {
    for change in ["unit = 's'", "better = 'higher'", "name = 'time_of_old'"] {
        let (_dir, results) = older(3);
        drop(Store::open_existing(&results).unwrap());
        let database = results.join("benchmarks.db");
        let other = Connection::open(&database).unwrap();
        other.execute(&format!("UPDATE metrics SET {change} WHERE name = 'time_ms'"), []).unwrap();
        drop(other);
        let store = Store::open_existing(&results).unwrap();
        let name = if change.contains("old") { "time_of_old" } else { "time_ms" };
        let expected = StoreNotice::MetricsChanged { path: database, metrics: vec![name.to_owned()] };
        assert_eq!(*store.notices(), [expected]);
        let rows = store.history(&HistoryFilter { metric: Some("time_ms".to_owned()), ..Default::default() }).unwrap();
        assert_eq!(rows.len(), 3 * 40);
        assert!(rows.iter().all(|row| row.unit.as_deref() == Some("ms")));
    }
}
