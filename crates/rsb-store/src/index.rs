//! The database next to the run files: an index whose contents can all be rebuilt from the files.

#[cfg(test)]
mod agreement_tests;
mod ingest;
mod migrate;
#[cfg(test)]
mod migration_tests;
mod rows;
pub(crate) mod schema;
mod text;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rsb_model::{ComparisonResult, Run};
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, COMPARISONS, RUNS, StampedFile};
use crate::read;
use rows::RunRows;
#[cfg(feature = "parquet")]
pub(crate) use rows::{PointRow, ResultRow};
pub(crate) use schema::{SCHEMA_VERSION, TABLES};
pub(crate) use text::{FromJson, Parsed};
use text::{count, to_json};
use write::RunWriter;

/// Number of points inserted at once: large enough to visit each database page only once for many
/// runs, small enough for memory.
const POINTS_AT_ONCE: usize = 500_000;

#[derive(Debug)]
pub(crate) struct Index {
    connection: Connection,
    /// Notices that were collected when the index was opened.
    notices: Vec<StoreNotice>,
}

/// Reason why an index cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// Written by a later program; its schema version.
    Newer(i64),
    /// Damaged, or not a database.
    Corrupt,
    /// Not usable for another reason: locked, not writable, or on an unsuitable file system.
    Unusable(rusqlite::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        if is_corrupt(&error) { Self::Corrupt } else { Self::Unusable(error) }
    }
}

/// Returns whether `error` means that the database itself is damaged. A missing table or column
/// counts as damage.
pub(crate) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::TypeMismatch
                | ErrorCode::Unknown
        )
    ) || matches!(
        error,
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..)
    )
}

impl Index {
    /// Opens the database in `path`, creating it if missing and migrating it if it is older.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        // In a working tree, the path may be a link that another user created, so a link is moved
        // aside like a broken database.
        if std::fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
            return Err(OpenError::Corrupt);
        }
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        let found = migrate::version(&connection)?;
        if found > SCHEMA_VERSION {
            return Err(OpenError::Newer(found));
        }
        // With WAL, readers never wait for a writer. Not every file system supports it, and
        // correctness does not depend on it.
        let _ = connection.pragma_update(None, "journal_mode", "WAL");
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // `store check` verifies foreign keys. Enforcing them here would cost a lookup for each of
        // millions of points.
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        // Size in KiB. A run appends to the last page of each of some thousand series, so these
        // pages should stay in the cache.
        connection.pragma_update(None, "cache_size", -65_536)?;
        let notices = migrate::bring_up(&mut connection, path.parent().unwrap_or(Path::new(".")))?;
        Ok(Self { connection, notices })
    }

    pub(crate) fn in_memory() -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", "OFF")?;
        migrate::bring_up(&mut connection, Path::new("."))?;
        Ok(Self { connection, notices: Vec::new() })
    }

    /// Wraps a database of the current schema version that is only read.
    pub(crate) fn frozen(connection: Connection) -> Self {
        Self { connection, notices: Vec::new() }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the notices from opening the index and clears them.
    pub(crate) fn take_notices(&mut self) -> Vec<StoreNotice> {
        std::mem::take(&mut self.notices)
    }

    /// Adds the run in `file`, or replaces it.
    pub(crate) fn add_run(&mut self, file: &Path, run: &Run) -> rusqlite::Result<()> {
        let rows = RunRows::of(&StampedFile::of(file), run)?;
        self.within(|writer| writer.add(&rows))
    }

    /// Adds the comparison in `file`, or replaces it.
    pub(crate) fn add_comparison(
        &mut self,
        file: &Path,
        comparison: &ComparisonResult,
    ) -> rusqlite::Result<()> {
        insert_comparison(&self.connection, &StampedFile::of(file), comparison)
    }

    /// Updates the index from the files in `results_dir`: reads new and changed ones and removes
    /// deleted ones.
    pub(crate) fn sync(&mut self, results_dir: &Path) -> rusqlite::Result<Vec<StoreNotice>> {
        let mut notices = self.sync_runs(&StampedFile::all_in(&results_dir.join(RUNS)))?;
        let comparisons = StampedFile::all_in(&results_dir.join(COMPARISONS));
        let (changed, vanished) = differences(&self.connection, "comparisons", &comparisons)?;
        for file in vanished {
            self.connection.execute("DELETE FROM comparisons WHERE file = ?1", [file])?;
        }
        for file in changed {
            match files::check_ending(&file.path).and_then(|()| read::read_comparison(&file.path)) {
                Ok(comparison) => insert_comparison(&self.connection, &file, &comparison)?,
                Err(error) => notices
                    .push(StoreNotice::LeftOut { path: file.path, problem: error.to_string() }),
            }
        }
        Ok(notices)
    }

    fn sync_runs(&mut self, present: &[StampedFile]) -> rusqlite::Result<Vec<StoreNotice>> {
        let (changed, vanished) = differences(&self.connection, "runs", present)?;
        if !vanished.is_empty() {
            self.within(|writer| vanished.iter().try_for_each(|file| writer.remove("file", file)))?;
        }
        let mut notices: Vec<StoreNotice> = Vec::new();
        let mut waiting = Vec::new();
        let mut points = 0;
        ingest::in_order(&changed, read_rows, |read| {
            match read {
                Ok(rows) => {
                    points += rows.points();
                    waiting.push(rows);
                }
                Err(notice) => notices.push(notice),
            }
            if points < POINTS_AT_ONCE {
                return Ok(());
            }
            points = 0;
            // Between the transactions, other processes can write.
            self.add_all(&mut waiting, &mut notices)
        })?;
        self.add_all(&mut waiting, &mut notices)?;
        self.forget(&notices)?;
        notices.sort_by(|a, b| a.path().cmp(b.path()));
        Ok(notices)
    }

    /// Removes the index entries of files that changed after they were indexed and are now left
    /// out.
    fn forget(&mut self, notices: &[StoreNotice]) -> rusqlite::Result<()> {
        let names = notices.iter().filter_map(|notice| notice.path().file_name()?.to_str());
        let known: Vec<&str> = names.filter(|name| self.has_file(name).unwrap_or(true)).collect();
        if known.is_empty() {
            return Ok(());
        }
        self.within(|writer| known.iter().try_for_each(|file| writer.remove("file", file)))
    }

    fn has_file(&self, file: &str) -> rusqlite::Result<bool> {
        self.connection.prepare_cached("SELECT 1 FROM runs WHERE file = ?1")?.exists([file])
    }

    fn add_all(
        &mut self,
        waiting: &mut Vec<RunRows>,
        notices: &mut Vec<StoreNotice>,
    ) -> rusqlite::Result<()> {
        if waiting.is_empty() {
            return Ok(());
        }
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writer = RunWriter::new(&transaction);
        for rows in waiting.drain(..) {
            add_unless_owned(&transaction, &mut writer, &rows, notices)?;
        }
        writer.finish()?;
        transaction.commit()
    }

    fn within(
        &mut self,
        write: impl FnOnce(&mut RunWriter<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut writer = RunWriter::new(&transaction);
        write(&mut writer)?;
        writer.finish()?;
        transaction.commit()
    }
}

/// Reads `runs` into the tables, within the current transaction of `connection`.
fn take_in(
    connection: &Connection,
    runs: &[StampedFile],
    notices: &mut Vec<StoreNotice>,
) -> rusqlite::Result<()> {
    let mut writer = RunWriter::new(connection);
    ingest::in_order(runs, read_rows, |read| {
        match read {
            Ok(rows) => add_unless_owned(connection, &mut writer, &rows, notices)?,
            Err(notice) => notices.push(notice),
        }
        if writer.waiting() < POINTS_AT_ONCE { Ok(()) } else { writer.flush() }
    })?;
    writer.finish()
}

/// Reads the rows of the run in `file`, or returns the reason why it is left out.
fn read_rows(file: &StampedFile) -> Result<RunRows, StoreNotice> {
    let read = files::check_ending(&file.path).and_then(|()| read::read_run(&file.path));
    let run = read.map_err(|error| left_out(file, error.to_string()))?;
    RunRows::of(file, &run).map_err(|error| left_out(file, error.to_string()))
}

fn left_out(file: &StampedFile, problem: String) -> StoreNotice {
    StoreNotice::LeftOut { path: file.path.clone(), problem }
}

/// Adds `rows` unless another file has a run with the same id.
fn add_unless_owned(
    connection: &Connection,
    writer: &mut RunWriter<'_>,
    rows: &RunRows,
    notices: &mut Vec<StoreNotice>,
) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("SELECT file, stamp FROM runs WHERE run_id = ?1 OR file = ?2")?;
    let known =
        statement.query_map([&rows.run_id, &rows.file], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known: Vec<(String, String)> = known.collect::<rusqlite::Result<_>>()?;
    if known.iter().any(|(file, stamp)| (file, stamp) == (&rows.file, &rows.stamp)) {
        // Another process has indexed this version of the file already.
        return Ok(());
    }
    if let Some((other, _)) = known.iter().find(|(file, _)| *file != rows.file) {
        notices.push(StoreNotice::LeftOut {
            path: rows.path.clone(),
            problem: format!(
                "`{other}` has the run id {} already; remove one of them",
                rows.run_id
            ),
        });
        return Ok(());
    }
    writer.add(rows)
}

/// Returns the files of `present` that are new or changed compared with `table`, and the names of
/// the files in `table` that no longer exist.
fn differences(
    connection: &Connection,
    table: &str,
    present: &[StampedFile],
) -> rusqlite::Result<(Vec<StampedFile>, Vec<String>)> {
    let mut known: HashMap<String, String> = connection
        .prepare(&format!("SELECT file, stamp FROM {table}"))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let changed = present
        .iter()
        .filter(|file| known.remove(&file.name).as_ref() != Some(&file.stamp))
        .cloned()
        .collect();
    Ok((changed, known.into_keys().collect()))
}

/// Converts an index error to a store error.
pub(crate) fn database_error(path: &Path, source: rusqlite::Error) -> StoreError {
    StoreError::Database { path: path.to_owned(), source }
}

fn insert_comparison(
    connection: &Connection,
    file: &StampedFile,
    comparison: &ComparisonResult,
) -> rusqlite::Result<()> {
    let text = to_json(comparison)?;
    let summary = &comparison.summary;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO comparisons VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
        )?
        .execute(params![
            comparison.comparison_id,
            file.name,
            file.stamp,
            comparison.timestamp.as_microsecond(),
            comparison.baseline_run_id,
            comparison.current_run_id,
            comparison.verdict.as_str(),
            count(summary.total_improved),
            count(summary.total_degraded),
            count(summary.total_unchanged),
            count(summary.total_no_verdict),
            text,
        ])
        .map(drop)
}
