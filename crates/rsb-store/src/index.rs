//! The database beside the run files: an index, and nothing that the files do not hold.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rsb_model::{BenchmarkResult, ComparisonResult, Fingerprint, Run};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, COMPARISONS, RUNS};
use crate::read;

/// The version of the tables. Raising it makes older databases be rebuilt.
pub(crate) const SCHEMA_VERSION: i64 = 3;

/// Every table.
pub(crate) const TABLES: [&str; 4] = ["runs", "results", "metrics", "comparisons"];

const SCHEMA: &str = "
    DROP TABLE IF EXISTS metrics;
    DROP TABLE IF EXISTS results;
    DROP TABLE IF EXISTS runs;
    DROP TABLE IF EXISTS comparisons;
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL,
        started INTEGER NOT NULL, finished INTEGER, suite TEXT NOT NULL, profile TEXT NOT NULL,
        commit_hash TEXT, branch TEXT, slug TEXT NOT NULL, notes TEXT NOT NULL,
        measured INTEGER NOT NULL, skipped INTEGER NOT NULL, failed INTEGER NOT NULL, simulated INTEGER NOT NULL,
        sequence INTEGER, imported INTEGER NOT NULL, fingerprint TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (started);
    CREATE INDEX runs_by_sequence ON runs (sequence);
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
    ) STRICT;
";

/// An open index.
#[derive(Debug)]
pub(crate) struct Index {
    connection: Connection,
}

/// Why an index cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// Of a later program.
    Newer(i64),
    /// Damaged, or not a database.
    Corrupt,
    /// Locked, unwritable, on a file system that cannot hold it …
    Unusable(rusqlite::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        if is_corrupt(&error) { Self::Corrupt } else { Self::Unusable(error) }
    }
}

/// Whether `error` says that the database itself is damaged. A table or column that is not there is damage too.
pub(crate) fn is_corrupt(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch | ErrorCode::Unknown)
    ) || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..))
}

impl Index {
    /// Opens the database in `path`, which is created when missing.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        // In a working tree a link may be somebody else's: it is moved aside as a broken database is.
        if std::fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
            return Err(OpenError::Corrupt);
        }
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > SCHEMA_VERSION {
            return Err(OpenError::Newer(found));
        }
        // Readers then never wait for a writer. Not every file system can do it, and it is not needed for truth.
        let _ = connection.pragma_update(None, "journal_mode", "WAL");
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let mut index = Self { connection };
        index.create_tables()?;
        Ok(index)
    }

    /// An index that is nowhere but in memory.
    pub(crate) fn in_memory() -> rusqlite::Result<Self> {
        let mut index = Self { connection: Connection::open_in_memory()? };
        index.create_tables()?;
        Ok(index)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn create_tables(&mut self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "foreign_keys", "ON")?;
        let version =
            |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        if version(&self.connection)? == SCHEMA_VERSION {
            return Ok(());
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Somebody else may have done it while this process waited for its turn.
        if version(&transaction)? == SCHEMA_VERSION {
            return Ok(());
        }
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        transaction.commit()
    }

    /// Adds or replaces the run in `file`.
    pub(crate) fn add_run(&mut self, file: &Path, run: &Run) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        insert_run(&transaction, file, run)?;
        transaction.commit()
    }

    /// Adds or replaces the comparison in `file`.
    pub(crate) fn add_comparison(&mut self, file: &Path, comparison: &ComparisonResult) -> rusqlite::Result<()> {
        insert_comparison(&self.connection, file, comparison)
    }

    /// Makes the index agree with the files within `results_dir`: new and changed ones are read, vanished ones go.
    pub(crate) fn sync(&mut self, results_dir: &Path) -> rusqlite::Result<Vec<StoreNotice>> {
        let runs = files::files_in(&results_dir.join(RUNS), ".json");
        let comparisons = files::files_in(&results_dir.join(COMPARISONS), ".json");
        let mut notices = Vec::new();
        for path in self.changed("runs", &runs)? {
            match read::read_run(&path) {
                Ok(run) => match self.owner_of(&run, &path)? {
                    Some(other) => notices.push(StoreNotice::LeftOut {
                        path,
                        problem: format!("`{other}` has the run id {} already; remove one of them", run.run_id),
                    }),
                    None => self.add_run(&path, &run)?,
                },
                Err(error) => notices.push(StoreNotice::LeftOut { path, problem: error.to_string() }),
            }
        }
        for path in self.changed("comparisons", &comparisons)? {
            match read::read_comparison(&path) {
                Ok(comparison) => self.add_comparison(&path, &comparison)?,
                Err(error) => notices.push(StoreNotice::LeftOut { path, problem: error.to_string() }),
            }
        }
        Ok(notices)
    }

    /// The file other than `path` that holds the id of `run`.
    fn owner_of(&self, run: &Run, path: &Path) -> rusqlite::Result<Option<String>> {
        let mut statement = self.connection.prepare_cached("SELECT file FROM runs WHERE run_id = ?1 AND file <> ?2")?;
        let mut rows = statement.query(params![run.run_id.0, name_of(path)])?;
        rows.next()?.map(|row| row.get(0)).transpose()
    }

    /// Those of `present` that `table` does not have as they are now. Rows whose file is gone are removed.
    fn changed(&mut self, table: &str, present: &[PathBuf]) -> rusqlite::Result<Vec<PathBuf>> {
        let mut known: HashMap<String, String> = self
            .connection
            .prepare(&format!("SELECT file, stamp FROM {table}"))?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let is_new = |path: &&PathBuf| known.remove(&name_of(path)) != Some(stamp_of(path));
        let changed = present.iter().filter(is_new).cloned().collect();
        for file in known.keys() {
            self.connection.execute(&format!("DELETE FROM {table} WHERE file = ?1"), [file])?;
        }
        Ok(changed)
    }
}

/// Turns an index's error into one for the reader.
pub(crate) fn database_error(path: &Path, source: rusqlite::Error) -> StoreError {
    StoreError::Database { path: path.to_owned(), source }
}

fn insert_run(transaction: &Transaction<'_>, file: &Path, run: &Run) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM runs WHERE run_id = ?1 OR file = ?2", params![run.run_id.0, name_of(file)])?;
    let counts = run.counts();
    let git = run.environment.git.as_ref();
    let notes = to_json(&run.notes)?;
    let fingerprint = Fingerprint::of(&run.environment);
    transaction
        .prepare_cached("INSERT INTO runs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)")?
        .execute(params![
            run.run_id.0,
            name_of(file),
            stamp_of(file),
            run.started.as_microsecond(),
            run.finished.map(rsb_model::Timestamp::as_microsecond),
            run.suite,
            run.profile,
            git.map(|git| git.commit.as_str()),
            git.and_then(|git| git.branch.as_deref()),
            fingerprint.slug(),
            notes,
            count(counts.measured),
            count(counts.skipped),
            count(counts.failed),
            count(counts.simulated),
            run.sequence.map(|sequence| i64::try_from(sequence).unwrap_or(i64::MAX)),
            run.imported,
            to_json(&fingerprint)?,
        ])?;
    for (position, result) in run.benchmarks.iter().enumerate() {
        insert_result(transaction, &run.run_id.0, count(position), result)?;
    }
    Ok(())
}

fn insert_result(
    transaction: &Transaction<'_>,
    run_id: &str,
    position: i64,
    result: &BenchmarkResult,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO results VALUES (?1,?2,?3,?4,?5,?6,?7)")?.execute(params![
        run_id,
        position,
        result.benchmark_id.as_str(),
        result.category.as_deref().or_else(|| result.benchmark_id.benchmark()),
        result.benchmark_type.as_str(),
        result.outcome.as_str(),
        result.device_type.map(rsb_model::DeviceType::as_str),
    ])?;
    let mut insert = transaction.prepare_cached("INSERT INTO metrics VALUES (?1,?2,?3,?4,?5,?6)")?;
    for (field, value) in result.fields().into_iter().flat_map(rsb_model::Fields::metrics) {
        let better = field.better().map_or("", better_text);
        insert.execute(params![run_id, position, field.name, field.unit.symbol(), better, value])?;
    }
    Ok(())
}

fn insert_comparison(connection: &Connection, file: &Path, comparison: &ComparisonResult) -> rusqlite::Result<()> {
    let text = to_json(comparison)?;
    let summary = &comparison.summary;
    connection
        .prepare_cached("INSERT OR REPLACE INTO comparisons VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")?
        .execute(params![
            comparison.comparison_id,
            name_of(file),
            stamp_of(file),
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

fn to_json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A word of the index as its type. An unknown word is an error: the index holds what this program put into it.
pub(crate) struct Parsed<T>(pub(crate) T);

impl<T> FromSql for Parsed<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map(Self).map_err(FromSqlError::other)
    }
}

/// A document of the index as its type.
pub(crate) struct FromJson<T>(pub(crate) T);

impl<T: serde::de::DeserializeOwned> FromSql for FromJson<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(FromSqlError::other)
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The word for `better` in the index and in exports.
pub(crate) const fn better_text(better: rsb_model::Better) -> &'static str {
    match better {
        rsb_model::Better::Higher => "higher",
        rsb_model::Better::Lower => "lower",
    }
}

/// The direction that `text` names.
pub(crate) fn better_from(text: &str) -> Option<rsb_model::Better> {
    match text {
        "higher" => Some(rsb_model::Better::Higher),
        "lower" => Some(rsb_model::Better::Lower),
        _ => None,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Size and time of change: what tells an edited file from the one indexed.
fn stamp_of(path: &Path) -> String {
    let Ok(meta) = path.metadata() else { return String::new() };
    let changed = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    format!("{}@{}", meta.len(), changed.as_nanos())
}
