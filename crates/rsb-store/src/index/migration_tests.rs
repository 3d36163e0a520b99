//! Tests that indexes of earlier versions are either rebuilt from the run files or left unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, ErrorCode};

use super::migrate::{bring_up, version};
use super::schema::SCHEMA_VERSION;
use crate::error::StoreNotice;
use crate::history::HistoryFilter;
use crate::store::Store;
use crate::testing::{comparison, measured_case, run};

/// Number of cases per run: enough for their rows to fill several database pages.
const CASES: u32 = 400;

/// Schema version of an earlier program.
const EARLIER: i64 = SCHEMA_VERSION - 1;

/// Creates a results directory with a comparison and three runs, of which one has lost its file.
/// Its index has an earlier version.
fn earlier_index() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().to_owned();
    let store = Store::open_for_writing(&results).unwrap();
    let mut files = Vec::new();
    for (at, id) in ["a", "b", "gone"].into_iter().enumerate() {
        let base = run(id, i64::try_from(at).unwrap() * 3600);
        let mut journal = store.begin(&base).unwrap();
        for case in 0..CASES {
            journal
                .add(&measured_case(&format!("case-{case}"), f64::from(case) + at as f64))
                .unwrap();
        }
        files.push(journal.finish(&base).unwrap());
    }
    store.save_comparison(&comparison("b-vs-a")).unwrap();
    drop(store);
    fs::remove_file(files.pop().unwrap()).unwrap();
    let index = Connection::open(results.join("benchmarks.db")).unwrap();
    index.pragma_update(None, "foreign_keys", "OFF").unwrap();
    // The index is kept small, so that the rebuilt one needs more pages.
    index
        .execute_batch(
            "ALTER TABLE runs DROP COLUMN branch; DELETE FROM results WHERE position > 0",
        )
        .unwrap();
    for table in ["points", "days", "series", "variants", "cases"] {
        index.execute(&format!("DELETE FROM {table}"), []).unwrap();
    }
    index.execute_batch("VACUUM").unwrap();
    index.pragma_update(None, "user_version", EARLIER).unwrap();
    (dir, results)
}

/// Checks that the index in `database` has the earlier version and its old contents.
fn assert_untouched(database: &Path) {
    let index = Connection::open(database).unwrap();
    assert_eq!(version(&index).unwrap(), EARLIER);
    let counts = ["runs", "results", "comparisons"].map(|table| {
        let sql = format!("SELECT count(*) FROM {table}");
        index.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    });
    assert_eq!(counts, [3, 3, 1]);
    assert_eq!(
        index.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(),
        "ok"
    );
}

#[test]
fn an_earlier_version_becomes_today_s_with_what_the_files_hold() {
    let (_dir, results) = earlier_index();
    let store = Store::open_existing(&results).unwrap();
    let path = results.join("benchmarks.db");
    assert_eq!(
        *store.notices(),
        [StoreNotice::Migrated { path, from: EARLIER, to: SCHEMA_VERSION }]
    );
    let ids: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.run_id.0).collect();
    assert_eq!(ids, ["b", "a"], "runs without a file must be removed");
    assert_eq!(store.history(&HistoryFilter::default()).unwrap().len(), 2 * CASES as usize * 2);
    let kept = store.comparisons().unwrap();
    assert_eq!((kept.len(), kept[0].comparison_id.as_str()), (1, "b-vs-a"));
    drop(store);
    assert_eq!(
        *Store::open_existing(&results).unwrap().notices(),
        [],
        "the migration must be reported once"
    );
}

#[test]
fn a_full_disk_leaves_the_earlier_index_as_it_was() {
    let (_dir, results) = earlier_index();
    let database = results.join("benchmarks.db");
    let mut refused = 0;
    for more in 0..200_u32 {
        let mut connection = Connection::open(&database).unwrap();
        let pages: u32 =
            connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update(None, "max_page_count", pages + more).unwrap();
        connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
        match bring_up(&mut connection, &results) {
            Err(error) => {
                assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull), "{error}");
            }
            Ok(_) => break,
        }
        refused += 1;
        drop(connection);
        assert_untouched(&database);
    }
    assert!(refused > 0, "the migration must run out of space at least once");
    assert_eq!(
        Store::open_existing(&results).unwrap().runs().unwrap().len(),
        2,
        "with enough space, the migration must succeed"
    );
}

#[test]
fn a_crash_in_the_middle_leaves_the_earlier_index_as_it_was() {
    let (_dir, results) = earlier_index();
    let mut connection = Connection::open(results.join("benchmarks.db")).unwrap();
    connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
    // Force SQLite to write uncommitted pages to disk.
    connection.pragma_update(None, "cache_size", 1).unwrap();
    let copies = Arc::new(Mutex::new(Vec::new()));
    let looks = AtomicUsize::new(0);
    let (from, into) = (results.clone(), Arc::clone(&copies));
    let handler = move || {
        // Copies the files in the state in which a kill at this moment would leave them.
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
    let grew = copies
        .iter()
        .filter(|copy| copy.path().join("benchmarks.db-wal").metadata().unwrap().len() > 4_096);
    assert!(grew.count() > 0, "some copies must contain uncommitted writes");
    for copy in &copies {
        let database = copy.path().join("benchmarks.db");
        let found = version(&Connection::open(&database).unwrap()).unwrap();
        assert!(found == EARLIER || found == SCHEMA_VERSION, "{found}");
        if found == EARLIER {
            assert_untouched(&database);
        }
    }
}

#[test]
fn a_metric_whose_unit_or_direction_changed_is_read_again_and_named() {
    for change in ["unit = 's'", "better = 'higher'", "name = 'time_of_old'"] {
        let (_dir, results) = earlier_index();
        drop(Store::open_existing(&results).unwrap());
        let database = results.join("benchmarks.db");
        let other = Connection::open(&database).unwrap();
        other.execute(&format!("UPDATE metrics SET {change} WHERE name = 'time_ms'"), []).unwrap();
        drop(other);
        let store = Store::open_existing(&results).unwrap();
        let name = if change.contains("old") { "time_of_old" } else { "time_ms" };
        let expected =
            StoreNotice::MetricsChanged { path: database, metrics: vec![name.to_owned()] };
        assert_eq!(*store.notices(), [expected]);
        let rows = store
            .history(&HistoryFilter { metric: Some("time_ms".to_owned()), ..Default::default() })
            .unwrap();
        assert_eq!(rows.len(), 2 * CASES as usize);
        assert!(rows.iter().all(|row| row.unit.as_deref() == Some("ms")));
    }
}
