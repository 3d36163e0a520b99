//! Whether a directory of results is whole: its files, its index, and that the two agree; and
//! mending what can be mended.

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

/// What is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum StoreProblem {
    /// SQLite finds the database damaged.
    #[error("the index `{}` is damaged: {}; `store repair` builds it again", path.display(), said.join("; "))]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        said: Vec<String>,
    },
    /// The index says of a run what its file does not.
    #[error(
        "the index is not what the file of the run {run_id} says: {problem}; `store repair` builds \
         it again"
    )]
    Disagrees {
        /// The run.
        run_id: RunId,
        /// The first difference.
        problem: String,
    },
    /// A mean of a day is not that of its values.
    #[error(
        "the mean that the index keeps of {of} is not that of its values; `store repair` builds it \
         again"
    )]
    DailyMean {
        /// The metric, and the day.
        of: String,
    },
    /// What opening the directory has to say.
    #[error("{0}")]
    Notice(StoreNotice),
}

/// What [`check`] found.
#[derive(Debug, Default)]
pub struct StoreCheck {
    /// Runs looked at.
    pub runs: usize,
    /// Values looked at.
    pub values: usize,
    /// What is not as it should be.
    pub problems: Vec<StoreProblem>,
    /// Pairs of runs whose order by time is not that of their numbers in the sequence, by which the
    /// first is before the second.
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

/// Checks `results_dir`: the database by SQLite's own check, every run file by its checksum, and
/// that each value of the index is that of its file.
///
/// # Errors
/// When it is no directory of results, or its database is of a later program.
pub fn check(results_dir: &Path) -> Result<StoreCheck, StoreError> {
    let mut found = StoreCheck::default();
    let database = results_dir.join(DATABASE);
    if let Some(said) = damage(results_dir) {
        found.problems.push(StoreProblem::Damaged { path: database, said });
        // To open it would mend it before anybody asked; the files are checked all the same.
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
    // Of a directory that cannot be written, the index may lack the newest.
    let known: HashSet<PathBuf> = runs.iter().map(|run| run.path.clone()).chain(left_out).collect();
    let mut others = files::documents_in(&results_dir.join(RUNS));
    others.retain(|path| !known.contains(path));
    found.check_files(others);
    for run in runs {
        found.runs += 1;
        let problem = match read::read_run(&run.path) {
            // The index keeps microseconds.
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

/// Whether a notice is about what should not be so. A run that was recovered is whole, and an index
/// of today is one.
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

/// What a repair did.
#[derive(Debug)]
pub struct StoreRepair {
    /// The index before it.
    pub former: FormerIndex,
    /// Runs in the new one.
    pub runs: usize,
    /// What is left that nobody but a person can mend.
    pub notices: Vec<StoreNotice>,
}

/// Rebuilds the index of `results_dir` from its files. A damaged database is renamed and kept.
///
/// # Errors
/// When it is no directory of results, its database is of a later program, or nothing can be
/// written there.
pub fn repair(results_dir: &Path) -> Result<StoreRepair, StoreError> {
    if !results_dir.join(RUNS).is_dir() {
        return Err(StoreError::NotADirectory { path: results_dir.to_owned() });
    }
    let (former, notices) = rebuild_always(results_dir, || damage(results_dir).is_none())?;
    let store = Store::open_existing(results_dir)?;
    Ok(StoreRepair { former, runs: store.runs()?.len(), notices })
}

/// What SQLite finds wrong with the database; `None` where there is none, or nothing is.
fn damage(results_dir: &Path) -> Option<Vec<String>> {
    let path = results_dir.join(DATABASE);
    if !path.exists() {
        return None;
    }
    let said = ask(&path).unwrap_or_else(|error| vec![error.to_string()]);
    Some(said).filter(|said| !said.is_empty())
}

/// The database in `path` as it is, where SQLite cannot make the files that a database in WAL mode
/// has beside it, as in a directory that nobody can write. Where such a file is left, it holds a
/// part of the database, and nothing is given.
fn frozen(path: &Path) -> Option<Connection> {
    let plain = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    // The files beside it are opened with the first look at it.
    let refusal = plain
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .err()?;
    let wal = path.with_file_name(format!("{DATABASE}-wal"));
    let is_whole = wal.metadata().map_or(0, |data| data.len()) == 0;
    if refusal.sqlite_error_code() != Some(ErrorCode::CannotOpen) || !is_whole {
        return None;
    }
    // What SQLite would read as a part of its own is written as a number.
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
    let mut said: Vec<String> = connection
        .prepare("PRAGMA integrity_check")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    said.retain(|line| line != "ok");
    if version == SCHEMA_VERSION {
        let missing = crate::index::TABLES
            .iter()
            .filter(|table| !connection.table_exists(None, **table).unwrap_or(false));
        said.extend(missing.map(|table| format!("the table {table} is missing")));
        let dangling = "SELECT 'a row of ' || \"table\" || ' refers to none of ' || parent FROM \
                        pragma_foreign_key_check LIMIT 10";
        let dangling: rusqlite::Result<Vec<String>> =
            connection.prepare(dangling)?.query_map([], |row| row.get(0))?.collect();
        said.extend(dangling?);
    }
    Ok(said)
}

/// The first difference between what a file says and what the index does.
fn compare(
    store: &Store,
    expected: &[crate::HistoryRow],
    run_id: &RunId,
    values: &mut usize,
) -> Result<Option<String>, StoreError> {
    let found = store.history_of(run_id)?;
    *values += found.len();
    if found.len() != expected.len() {
        return Ok(Some(format!("it has {} values, the file {}", found.len(), expected.len())));
    }
    let wrong = found.iter().zip(expected).find(|(found, expected)| found != expected);
    Ok(wrong.map(|(found, expected)| {
        format!("{} where the file has {}", row_key(found), row_key(expected))
    }))
}

fn row_key(row: &crate::HistoryRow) -> String {
    format!("{} {}", row.benchmark_id, row.metric.as_deref().unwrap_or_default())
}

/// Days whose total is not the sum of their values.
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

/// Where the clock went back, by the order in which the runs were measured here.
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
