//! Queries over all runs with DuckDB, on the Parquet export. They can use the views of the index,
//! and `samples`, the export itself. They cannot access anything else or change anything.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use duckdb_sys::{
    DuckdbConnection, DuckdbError, DuckdbLibrary, DuckdbValue, Interrupter, StatementKind,
};
use rsb_model::Reason;
use serde_json::Value;

use crate::index::schema::{LATENCY_MS, PEAK_MEMORY_MB, first_of};
use crate::select::{AnswerSize, MOST_ROWS, SqlAnswer, SqlError};

/// DuckDB options at startup: do not load extensions that are not in the library, and do not access
/// the network.
const OPTIONS: [(&str, &str); 3] = [
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
    ("allow_community_extensions", "false"),
];

/// The views, in dependency order.
const VIEWS: [&str; 5] =
    ["samples", "benchmark_runs", "benchmark_results", "measurements", "daily_means"];

/// Name of the view over the user's query.
const ANSWER: &str = "_answer";

/// Interval between two attempts to interrupt a query, because an interrupt between two statements
/// has no effect.
const AGAIN: Duration = Duration::from_millis(20);

/// Runs `sql`, a single statement that only reads, against the export in `parquet`, an absolute
/// path, within the time `limit`.
///
/// # Errors
/// As [`crate::Store::select`], and if DuckDB fails.
pub fn select(
    library: &DuckdbLibrary,
    parquet: &Path,
    sql: &str,
    limit: Duration,
) -> Result<SqlAnswer, SqlError> {
    let connection = over(library, parquet).map_err(|error| broken(&error))?;
    let settings = format!(
        "SET allowed_paths = [{}]; SET temp_directory = ''; SET enable_external_access = false; \
         SET lock_configuration = true",
        quote(&name_of(parquet)?)
    );
    connection.execute(&settings).map_err(|error| broken(&error))?;
    within(limit, &connection.interrupter(), || answer(&connection, sql)).map_err(|error| {
        match error {
            QueryFailure::Other(error) => error,
            QueryFailure::Duckdb(error) if error.is_interrupt() => SqlError::TimedOut { limit },
            QueryFailure::Duckdb(error) if error.message.starts_with("Permission Error") => {
                SqlError::Refused { problem: "this statement does more".to_owned() }
            }
            QueryFailure::Duckdb(error) => match tables(&connection) {
                Ok(tables) => SqlError::Invalid { problem: in_a_line(&error.message), tables },
                Err(error) => broken(&error),
            },
        }
    })
}

/// Writes the views of the export in `parquet`, except the raw samples, as tables to the new
/// database `file`.
///
/// # Errors
/// If DuckDB reports an error.
pub fn write_database(
    library: &DuckdbLibrary,
    parquet: &Path,
    file: &Path,
) -> Result<(), SqlError> {
    let connection = over(library, parquet).map_err(|error| broken(&error))?;
    let mut sql =
        format!("SET temp_directory = ''; ATTACH {} AS exported;", quote(&name_of(file)?));
    // The raw samples are already in Parquet, which DuckDB reads directly.
    for view in VIEWS.iter().filter(|view| **view != "samples") {
        // Writing to a string cannot fail.
        let _ = write!(sql, "CREATE TABLE exported.{view} AS SELECT * FROM {view};");
    }
    sql.push_str("DETACH exported");
    connection.execute(&sql).map_err(|error| broken(&error))
}

/// Loads DuckDB.
///
/// # Errors
/// If DuckDB is not installed.
pub fn library() -> Result<DuckdbLibrary, SqlError> {
    DuckdbLibrary::load()
        .map_err(|missing| SqlError::Missing(Reason::new(missing.what, missing.why, missing.cure)))
}

/// Returns a DuckDB message on one line, without the copy of the query at its end.
fn in_a_line(message: &str) -> String {
    message.split("\n\nLINE ").next().unwrap_or_default().replace('\n', " ")
}

fn broken(error: &DuckdbError) -> SqlError {
    SqlError::Engine { problem: error.message.clone() }
}

fn name_of(path: &Path) -> Result<String, SqlError> {
    let text = path.to_str().filter(|text| !text.contains(['*', '?', '[']));
    let Some(text) = text else {
        let path = path.display();
        let problem = format!("the path `{path}` is not valid UTF-8, or contains `*`, `?` or `[`");
        return Err(SqlError::Engine { problem });
    };
    Ok(text.to_owned())
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn over(library: &DuckdbLibrary, parquet: &Path) -> Result<DuckdbConnection, DuckdbError> {
    let connection = library.in_memory(&OPTIONS)?;
    let path = name_of(parquet).map_err(|error| DuckdbError { message: error.to_string() })?;
    connection.execute(&views(&path))?;
    Ok(connection)
}

/// Returns SQL that creates the views of [`crate::index`] over the export in `path`.
fn views(path: &str) -> String {
    let file = quote(path);
    let id = "run_id || '/' || model_id || '/' || device";
    let time = "strftime(make_timestamp(epoch_us(started)), '%Y-%m-%dT%H:%M:%SZ')";
    let [throughput, memory, first_token] =
        ["throughput_samples_per_second", "memory_used_mb", "ttft_ms"].map(metric_value);
    let [latency, peak] =
        [LATENCY_MS, PEAK_MEMORY_MB].map(|metrics| first_of(metrics, metric_value));
    let architecture = single_value("architecture_type");
    let count = single_value("parameter_count");
    format!(
        "CREATE VIEW samples AS SELECT * FROM read_parquet({file});
        CREATE VIEW benchmark_runs AS
            SELECT {id} AS id, {time} AS timestamp, model_id, device, {architecture}, {count},
                'suite ' || suite || ', profile ' || profile || coalesce(', commit ' || \"commit\", '') AS description
            FROM samples WHERE part = 0 AND outcome <> 'skipped'
            GROUP BY run_id, started, suite, profile, \"commit\", model_id, device;
        CREATE VIEW benchmark_results AS
            SELECT {id} AS run_id, batch_size, sequence_length, precision,
                {latency} AS latency_ms, {throughput} AS throughput_samples_per_sec, {memory} AS memory_usage_mb,
                {first_token} AS first_token_latency_ms, {peak} AS peak_memory_mb, device_metrics,
                id AS benchmark_id, architecture_type, parameter_count, model_id, device, backend, workload
            FROM samples WHERE part = 0 AND outcome = 'measured';
        CREATE VIEW measurements AS
            SELECT run_id, {time} AS timestamp, \"commit\", id AS benchmark_id, benchmark_type, outcome, device_type,
                metric, unit, better, \"value\", machine
            FROM (SELECT *, unnest(metrics) AS metric, unnest(units) AS unit, unnest(directions) AS better,
                      unnest(\"values\") AS \"value\"
                  FROM samples WHERE part = 0);
        CREATE VIEW daily_means AS
            SELECT substr(timestamp, 1, 10) AS day, metric, unit, machine, count(*) AS results, avg(\"value\") AS mean
            FROM measurements WHERE outcome = 'measured' AND \"value\" IS NOT NULL GROUP BY 1, 2, 3, 4;"
    )
}

fn metric_value(metric: &str) -> String {
    format!("list_extract(\"values\", list_position(metrics, '{metric}'))")
}

/// Returns SQL for `column` of a group: its value if all rows agree, or NULL.
fn single_value(column: &str) -> String {
    format!("CASE WHEN min({column}) = max({column}) THEN min({column}) END AS {column}")
}

/// Runs `work` and interrupts it if it takes longer than `limit`.
fn within<T>(limit: Duration, interrupter: &Interrupter, work: impl FnOnce() -> T) -> T {
    let (working, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut wait = limit;
            while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                interrupter.interrupt();
                wait = AGAIN;
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// Reason why a query has no answer.
enum QueryFailure {
    Duckdb(DuckdbError),
    Other(SqlError),
}

impl From<DuckdbError> for QueryFailure {
    fn from(error: DuckdbError) -> Self {
        Self::Duckdb(error)
    }
}

fn answer(connection: &DuckdbConnection, sql: &str) -> Result<SqlAnswer, QueryFailure> {
    let refused =
        |problem: &str| QueryFailure::Other(SqlError::Refused { problem: problem.to_owned() });
    match connection.kind(sql)? {
        StatementKind::Select => {}
        StatementKind::Nothing => return Err(refused("this is not a SELECT")),
        StatementKind::Several => return Err(refused("these are several statements")),
        StatementKind::Other => return Err(refused("this statement does more")),
    }
    connection.execute(&format!("CREATE TEMP VIEW {ANSWER} AS {sql}")).map_err(|error| {
        // DuckDB rewrites some other statements, such as pragmas, to a SELECT.
        if error.message.starts_with("Parser Error") {
            refused("this statement does more")
        } else {
            error.into()
        }
    })?;
    let mut columns = Vec::new();
    connection.rows(
        &format!("SELECT column_name, column_type FROM (DESCRIBE {ANSWER})"),
        |row| {
            if let [DuckdbValue::Text(name), DuckdbValue::Text(kind)] = row.as_slice() {
                columns.push((name.clone(), Form::of(kind)));
            }
            true
        },
    )?;
    let readable: Vec<String> = columns.iter().map(|(name, form)| form.sql(name)).collect();
    let (mut rows, mut size, mut is_whole) = (Vec::new(), AnswerSize::default(), true);
    let query = format!("SELECT {} FROM {ANSWER} LIMIT {}", readable.join(", "), MOST_ROWS + 1);
    connection.rows(&query, |row| {
        let row: Vec<Value> =
            row.into_iter().zip(&columns).map(|(value, (_, form))| form.cell(value)).collect();
        is_whole = size.has_room_for(&row);
        if is_whole {
            rows.push(row);
        }
        is_whole
    })?;
    if !is_whole {
        return Err(QueryFailure::Other(SqlError::TooLong));
    }
    Ok(SqlAnswer { columns: columns.into_iter().map(|(name, _)| name).collect(), rows })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Boolean,
    Integer,
    /// A whole number that may not fit into 64 bits.
    Wide,
    Double,
    Bytes,
    Text,
}

impl Form {
    fn of(kind: &str) -> Self {
        match kind {
            "BOOLEAN" => Self::Boolean,
            "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "UTINYINT" | "USMALLINT"
            | "UINTEGER" => Self::Integer,
            "UBIGINT" | "HUGEINT" | "UHUGEINT" => Self::Wide,
            "FLOAT" | "DOUBLE" => Self::Double,
            "BLOB" => Self::Bytes,
            decimal if decimal.starts_with("DECIMAL(") && !decimal.ends_with(']') => Self::Double,
            _ => Self::Text,
        }
    }

    /// Returns SQL that casts the column `name` to a type that this module can read.
    fn sql(self, name: &str) -> String {
        let name = format!("\"{}\"", name.replace('"', "\"\""));
        match self {
            Self::Boolean => name,
            Self::Integer => format!("CAST({name} AS BIGINT)"),
            Self::Double => format!("CAST({name} AS DOUBLE)"),
            Self::Bytes => format!("octet_length({name}) || ' bytes'"),
            Self::Wide | Self::Text => format!("CAST({name} AS VARCHAR)"),
        }
    }

    fn cell(self, value: DuckdbValue) -> Value {
        match value {
            DuckdbValue::Null => Value::Null,
            DuckdbValue::Boolean(value) => value.into(),
            DuckdbValue::Integer(number) => number.into(),
            DuckdbValue::Double(number) => number.into(), // Null where it is not finite.
            DuckdbValue::Text(text) if self == Self::Wide => {
                let whole = text.parse::<i64>().map(Value::from);
                whole.or_else(|_| text.parse::<f64>().map(Value::from)).unwrap_or(Value::Null)
            }
            DuckdbValue::Text(text) => text.into(),
        }
    }
}

/// Returns each view with its columns.
fn tables(connection: &DuckdbConnection) -> Result<Vec<String>, DuckdbError> {
    let mut tables = Vec::new();
    for view in VIEWS {
        let mut columns = Vec::new();
        connection.rows(&format!("SELECT column_name FROM (DESCRIBE {view})"), |row| {
            columns.extend(row.into_iter().filter_map(|value| match value {
                DuckdbValue::Text(name) => Some(name),
                _ => None,
            }));
            true
        })?;
        tables.push(format!("{view}({})", columns.join(", ")));
    }
    Ok(tables)
}

#[cfg(test)]
mod tests;
