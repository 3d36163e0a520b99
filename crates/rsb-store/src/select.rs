//! Read-only SQL queries with a time limit.

use std::path::Path;
use std::time::{Duration, Instant};

use rsb_model::Reason;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};
use serde_json::Value;

use crate::error::StoreError;
use crate::files::DATABASE;
use crate::index::database_error;
use crate::store::Store;

/// Result of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlAnswer {
    /// Column names.
    pub columns: Vec<String>,
    /// One value per column: null, a number, or text.
    pub rows: Vec<Vec<Value>>,
}

/// Maximum number of rows in an answer; use an export for more.
pub const MOST_ROWS: usize = 1_000_000;

/// Maximum size of the values in an answer, in bytes.
pub const MOST_BYTES: usize = 256 << 20;

/// Number of steps of SQLite's virtual machine between two checks of the time limit.
const STEPS: i32 = 10_000;

/// Reason why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// SQLite cannot parse the query.
    #[error("{problem}; the tables and views, each with its columns:\n  {}", tables.join("\n  "))]
    Invalid {
        /// Error message from SQLite.
        problem: String,
        /// Tables and views, each with its columns.
        tables: Vec<String>,
    },
    /// The query would change something or access something outside the database.
    #[error("only a single SELECT that reads the stored results is allowed; {problem}")]
    Refused {
        /// Why it was refused.
        problem: String,
    },
    /// The query exceeded its time limit.
    #[error(
        "no answer within {} s; select less, or raise the limit, such as with --timeout 3m",
        limit.as_secs()
    )]
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// The answer is too large.
    #[error(
        "the answer has more than {MOST_ROWS} rows, or more than {} MiB; add a LIMIT, select fewer \
         columns, or use `rusty-stack-bench export`",
        MOST_BYTES >> 20
    )]
    TooLong,
    /// The query engine is not available.
    #[error("{}: {}; {}", .0.what, .0.why, .0.cure)]
    Missing(Reason),
    /// The query engine failed.
    #[error("DuckDB failed: {problem}")]
    Engine {
        /// Error message from the engine.
        problem: String,
    },
    /// The index cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Runs `sql`, a single statement that only reads, against the index, within the time `limit`.
    ///
    /// # Errors
    /// If the statement is invalid, would change something, takes longer, or returns more than
    /// [`MOST_ROWS`] rows or [`MOST_BYTES`] bytes.
    pub fn select(&self, sql: &str, limit: Duration) -> Result<SqlAnswer, SqlError> {
        let path = self.results_dir().join(DATABASE);
        let own = self.without_file(|connection| answer_guarded(connection, sql, limit));
        own.unwrap_or_else(|| answer_guarded(&mut read_only(&path)?, sql, limit))
    }
}

/// Opens the database in `path` read-only.
fn read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| database_error(path, error))?;
    connection
        .busy_timeout(Duration::from_secs(10))
        .map_err(|error| database_error(path, error))?;
    Ok(connection)
}

fn answer_guarded(
    connection: &mut Connection,
    sql: &str,
    limit: Duration,
) -> Result<SqlAnswer, SqlError> {
    // A time limit that is too large for the clock means no limit.
    let until = Instant::now().checked_add(limit);
    let guarded = connection.authorizer(Some(authorize)).and_then(|()| {
        connection.progress_handler(
            STEPS,
            Some(move || until.is_some_and(|until| Instant::now() > until)),
        )?;
        // A single value must not exceed the limit for the whole answer, since SQLite builds it in
        // one step.
        let most = i32::try_from(MOST_BYTES).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most)
    });
    let answered = match guarded {
        Ok(usual) => {
            let answered = answer(connection, sql);
            // Restores the previous length limit; this cannot fail.
            let _ = connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, usual);
            answered
        }
        Err(error) => Err(error.into()),
    };
    // Removes the hooks, so that the connection can be used again. This fails only in a build
    // without hooks.
    let _ = connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>);
    let _ = connection.progress_handler(0, None::<fn() -> bool>);
    answered.map_err(|why| match why {
        Unanswered::Other(error) => error,
        Unanswered::Sqlite(error) => problem(connection, error, limit),
    })
}

enum Unanswered {
    Sqlite(rusqlite::Error),
    Other(SqlError),
}

impl From<rusqlite::Error> for Unanswered {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Allows reading, functions that access no files, and pragmas that describe tables.
fn authorize(context: AuthContext<'_>) -> Authorization {
    const DESCRIBING: [&str; 5] =
        ["table_info", "table_xinfo", "table_list", "index_list", "index_info"];
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name }
            if !function_name.eq_ignore_ascii_case("load_extension") =>
        {
            Authorization::Allow
        }
        AuthAction::Pragma { pragma_name, .. } if DESCRIBING.contains(&pragma_name) => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn answer(connection: &Connection, sql: &str) -> Result<SqlAnswer, Unanswered> {
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(Unanswered::Other(SqlError::Refused {
            problem: "this is not a SELECT".to_owned(),
        }));
    }
    rows(&mut statement)?.ok_or(Unanswered::Other(SqlError::TooLong))
}

/// Returns all rows, or `None` if they exceed the limits.
fn rows(statement: &mut Statement<'_>) -> rusqlite::Result<Option<SqlAnswer>> {
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    let mut size = AnswerSize::default();
    while let Some(row) = found.next()? {
        let cells = (0..columns.len()).map(|column| row.get_ref(column).map(cell));
        let cells = cells.collect::<rusqlite::Result<Vec<Value>>>()?;
        if !size.has_room_for(&cells) {
            return Ok(None);
        }
        rows.push(cells);
    }
    Ok(Some(SqlAnswer { columns, rows }))
}

#[derive(Debug, Default)]
pub(crate) struct AnswerSize {
    rows: usize,
    bytes: usize,
}

impl AnswerSize {
    /// Counts a row and returns whether the answer is still within the limits.
    pub(crate) fn has_room_for(&mut self, cells: &[Value]) -> bool {
        self.rows += 1;
        let bytes = cells.iter().map(|cell| cell.as_str().map_or(size_of::<f64>(), str::len));
        self.bytes += bytes.sum::<usize>();
        self.rows <= MOST_ROWS && self.bytes <= MOST_BYTES
    }
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(), // Null where it is not finite.
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}

fn problem(connection: &Connection, error: rusqlite::Error, limit: Duration) -> SqlError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => SqlError::TimedOut { limit },
        Some(ErrorCode::TooBig) => SqlError::TooLong,
        Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly) => {
            SqlError::Refused { problem: "this statement does more".to_owned() }
        }
        _ if matches!(error, rusqlite::Error::MultipleStatement) => {
            SqlError::Refused { problem: "these are several statements".to_owned() }
        }
        _ => match &error {
            // The message for a function that is not allowed.
            rusqlite::Error::SqlInputError { msg, .. } if msg.starts_with("not authorized") => {
                SqlError::Refused { problem: "this statement does more".to_owned() }
            }
            rusqlite::Error::SqlInputError { msg, .. } => invalid(connection, msg.clone()),
            rusqlite::Error::SqliteFailure(code, message) if code.code == ErrorCode::Unknown => {
                invalid(connection, message.clone().unwrap_or_else(|| error.to_string()))
            }
            _ => SqlError::Store(database_error(Path::new(DATABASE), error)),
        },
    }
}

fn invalid(connection: &Connection, problem: String) -> SqlError {
    match tables(connection) {
        Ok(tables) => SqlError::Invalid { problem, tables },
        Err(error) => SqlError::Store(database_error(Path::new(DATABASE), error)),
    }
}

/// Returns each view and table with its columns. Views come first, because they are intended for
/// queries.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT t.name || '(' || (SELECT group_concat(c.name, ', ') FROM pragma_table_info(t.name) c) || ')'
               FROM sqlite_schema t WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite%'
               ORDER BY t.type = 'table', t.name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}
