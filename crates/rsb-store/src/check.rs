//! Checks that the files and the index of a results directory are sound and agree, and repairs the
//! index.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rsb_model::RunId;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{StoreError, StoreNotice};
use crate::files::{self, DATABASE, RUNS};
use crate::index::{Index, SCHEMA_VERSION};
use crate::open::{FormerIndex, rebuild_always};
use crate::store::Store;
use crate::{export, read};

/// A problem found by a check.
#[derive(Debug, thiserror::Error)]
pub enum StoreProblem {
    /// SQLite finds the database damaged.
    #[error(
        "the index `{}` is damaged: {}; `store repair` rebuilds it",
        path.display(), messages.join("; ")
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// Messages from SQLite.
        messages: Vec<String>,
    },
    /// The index disagrees with the file of a run.
    #[error(
        "the index does not match the file of the run {run_id}: {problem}; `store repair` rebuilds \
         it"
    )]
    Disagrees {
        /// The run.
        run_id: RunId,
        /// First difference.
        problem: String,
    },
    /// A stored daily mean does not match its values.
    #[error("the mean of {of} in the index does not match its values; `store repair` rebuilds it")]
    DailyMean {
        /// Metric and day.
        of: String,
    },
    /// A notice that was reported when the directory was opened.
    #[error("{0}")]
    Notice(StoreNotice),
}

/// Result of [`check`].
#[derive(Debug, Default)]
pub struct StoreCheck {
    /// Number of runs checked.
    pub runs: usize,
    /// Number of values checked.
    pub values: usize,
    /// Problems found.
    pub problems: Vec<StoreProblem>,
    /// Pairs of runs that are consecutive in the sequence, but whose start times are in reverse
    /// order.
    pub clock_jumps: Vec<(RunId, RunId)>,
}

impl StoreCheck {
    fn check_files(&mut self, files: Vec<PathBuf>) {
        for path in files {
            self.runs += 1;
            if let Err(error) = read::read_run(&path) {
                let notice = StoreNotice::LeftOut { path, problem: error.to_string() };
                self.problems.push(StoreProblem::Notice(notice));
            }
        }
    }
}

/// Checks `results_dir`: the database with SQLite's own check, every run file against its checksum,
/// and each value in the index against its file.
///
/// # Errors
/// If the path is not a results directory, or its database was written by a later program.
pub fn check(results_dir: &Path) -> Result<StoreCheck, StoreError> {
    let mut found = StoreCheck::default();
    let database = results_dir.join(DATABASE);
    if let Some(messages) = damage(results_dir) {
        found.problems.push(StoreProblem::Damaged { path: database, messages });
        // Opening the database would repair it, which was not requested, so only the files are
        // checked.
        found.check_files(files::documents_in(&results_dir.join(RUNS)));
        return Ok(found);
    }
    let store = match frozen(&database) {
        Some(connection) if is_of_today(&connection) => {
            Store::of_index(results_dir, Index::frozen(connection))
        }
        _ => Store::open_existing(results_dir)?,
    };
    let notices = store.notices().to_vec();
    let left_out: Vec<PathBuf> = notices.iter().map(|notice| notice.path().to_owned()).collect();
    found.problems.extend(notices.into_iter().filter(is_problem).map(StoreProblem::Notice));
    let runs = store.runs()?;
    // If the directory cannot be written, the index may lack the newest files.
    let known: HashSet<PathBuf> = runs.iter().map(|run| run.path.clone()).chain(left_out).collect();
    let mut others = files::documents_in(&results_dir.join(RUNS));
    others.retain(|path| !known.contains(path));
    found.check_files(others);
    for run in runs {
        found.runs += 1;
        let problem = match read::read_run(&run.path) {
            // The index stores microseconds.
            Ok(known) => {
                let known = rsb_model::Run { started: run.started, ..known };
                compare(&store, &export::rows_of(&known), &run.run_id, &mut found.values)?
            }
            Err(error) => Some(error.to_string()),
        };
        let disagrees = |problem| StoreProblem::Disagrees { run_id: run.run_id.clone(), problem };
        found.problems.extend(problem.map(disagrees));
    }
    found.problems.extend(wrong_days(&store)?.into_iter().map(|of| StoreProblem::DailyMean { of }));
    found.clock_jumps = clock_jumps(&store)?;
    Ok(found)
}

/// Returns whether a notice reports a problem. A recovered run and a migrated index are not
/// problems.
fn is_problem(notice: &StoreNotice) -> bool {
    match notice {
        StoreNotice::LeftOut { .. }
        | StoreNotice::JournalKept { .. }
        | StoreNotice::IndexUnavailable { .. }
        | StoreNotice::DatabaseRebuilt { .. } => true,
        StoreNotice::Recovered { .. }
        | StoreNotice::NothingToRecover { .. }
        | StoreNotice::Migrated { .. }
        | StoreNotice::MetricsChanged { .. } => false,
    }
}

/// Result of a repair.
#[derive(Debug)]
pub struct StoreRepair {
    /// The index before the repair.
    pub former: FormerIndex,
    /// Number of runs in the new index.
    pub runs: usize,
    /// Remaining notices, which only the user can act on.
    pub notices: Vec<StoreNotice>,
}

/// Rebuilds the index of `results_dir` from its files. A damaged database is renamed and kept.
///
/// # Errors
/// If the path is not a results directory, its database was written by a later program, or the
/// directory cannot be written.
pub fn repair(results_dir: &Path) -> Result<StoreRepair, StoreError> {
    if !results_dir.join(RUNS).is_dir() {
        return Err(StoreError::NotADirectory { path: results_dir.to_owned() });
    }
    let (former, notices) = rebuild_always(results_dir, || damage(results_dir).is_none())?;
    let store = Store::open_existing(results_dir)?;
    Ok(StoreRepair { former, runs: store.runs()?.len(), notices })
}

/// Returns SQLite's findings about the database; `None` if it is sound or does not exist.
fn damage(results_dir: &Path) -> Option<Vec<String>> {
    let path = results_dir.join(DATABASE);
    if !path.exists() {
        return None;
    }
    let messages = ask(&path).unwrap_or_else(|error| vec![error.to_string()]);
    Some(messages).filter(|messages| !messages.is_empty())
}

/// Opens the database in `path` as immutable if SQLite cannot create the files that it needs in WAL
/// mode, as in a read-only directory. Returns `None` otherwise, or if there is a WAL file with
/// contents, because that file is part of the database.
fn frozen(path: &Path) -> Option<Connection> {
    let plain = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    // SQLite opens the files for WAL mode on the first query.
    let refusal = plain
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .err()?;
    let wal = path.with_file_name(format!("{DATABASE}-wal"));
    let is_whole = wal.metadata().map_or(0, |data| data.len()) == 0;
    if refusal.sqlite_error_code() != Some(ErrorCode::CannotOpen) || !is_whole {
        return None;
    }
    // Characters that are special in SQLite URIs are percent-encoded.
    let name = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{name}?immutable=1"), flags).ok()
}

fn is_of_today(connection: &Connection) -> bool {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    version.is_ok_and(|version| version == SCHEMA_VERSION)
}

fn ask(path: &Path) -> rusqlite::Result<Vec<String>> {
    let connection = match frozen(path) {
        Some(connection) => connection,
        None => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
    };
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let mut messages: Vec<String> = connection
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    messages.retain(|line| line != "ok");
    if version == SCHEMA_VERSION {
        let missing = crate::index::TABLES
            .iter()
            .filter(|table| !connection.table_exists(None, **table).unwrap_or(false));
        messages.extend(missing.map(|table| format!("the table {table} is missing")));
        let dangling = "SELECT 'a row of ' || \"table\" || ' refers to a missing row of ' || \
                        parent FROM pragma_foreign_key_check LIMIT 10";
        let dangling: rusqlite::Result<Vec<String>> =
            connection.prepare(dangling)?.query_map([], |row| row.get(0))?.collect();
        messages.extend(dangling?);
    }
    Ok(messages)
}

/// Returns the first difference between the rows of a file and those in the index.
fn compare(
    store: &Store,
    expected: &[crate::HistoryRow],
    run_id: &RunId,
    values: &mut usize,
) -> Result<Option<String>, StoreError> {
    let found = store.history_of(run_id)?;
    *values += found.len();
    if found.len() != expected.len() {
        return Ok(Some(format!(
            "it has {} values, and the file has {}",
            found.len(),
            expected.len()
        )));
    }
    let wrong = found.iter().zip(expected).find(|(found, expected)| found != expected);
    Ok(wrong.map(|(found, expected)| {
        format!("it has {}, and the file has {}", row_key(found), row_key(expected))
    }))
}

fn row_key(row: &crate::HistoryRow) -> String {
    format!("{} {}", row.benchmark_id, row.metric.as_deref().unwrap_or_default())
}

/// Returns the days whose stored total differs from the sum of their values.
fn wrong_days(store: &Store) -> Result<Vec<String>, StoreError> {
    const SQL: &str = "
        WITH summed AS (
            SELECT s.metric, s.machine, (p.started - (p.started % 86400000000 + 86400000000) % 86400000000) / 86400000000 AS day, count(*) AS results, total(p.value) AS total
            FROM points p JOIN series s ON s.id = p.series JOIN variants v ON v.id = s.variant
            WHERE v.outcome = 'measured' AND p.value IS NOT NULL GROUP BY 1, 2, 3)
        SELECT m.name || ' on ' || date(coalesce(a.day, b.day) * 86400, 'unixepoch')
        FROM summed a FULL JOIN days b ON b.metric = a.metric AND b.machine = a.machine AND b.day = a.day
        JOIN metrics m ON m.id = coalesce(a.metric, b.metric)
        WHERE a.results IS NOT b.results OR abs(a.total - b.total) > 1e-9 * abs(a.total) LIMIT 10";
    store.query(|connection| connection.prepare(SQL)?.query_map([], |row| row.get(0))?.collect())
}

/// Returns the consecutive pairs of runs whose start times are in reverse order because the clock
/// was set back, in sequence order.
fn clock_jumps(store: &Store) -> Result<Vec<(RunId, RunId)>, StoreError> {
    const SQL: &str = "SELECT before, run_id FROM (
            SELECT run_id, started, lag(run_id) OVER w AS before, lag(started) OVER w AS earlier
            FROM runs WHERE sequence IS NOT NULL WINDOW w AS (ORDER BY sequence))
        WHERE started < earlier";
    store.query(|connection| {
        connection
            .prepare(SQL)?
            .query_map([], |row| Ok((RunId(row.get(0)?), RunId(row.get(1)?))))?
            .collect()
    })
}
