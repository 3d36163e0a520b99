//! Asks the stored results in SQL: read, and nothing else.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rsb_gate::gate;
use rsb_model::unit;
use rsb_report::{Cell, Column, Style, Table};
use rsb_store::{SqlAnswer, SqlError, Store, export};
use serde_json::{Map, Value, json};

use super::settings;
use crate::cli::{AnswerArgs, QueryArgs, QueryEngine};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `query`.
///
/// # Errors
/// When the results cannot be read, or the question has no answer.
pub fn run(args: &QueryArgs, style: Style) -> CliResult {
    match args.engine {
        QueryEngine::Sqlite => answer(&args.sql, &args.answer, style),
        QueryEngine::Duckdb => {
            let answer = by_duckdb(&open(&args.answer)?, &args.sql, args.answer.timeout)?;
            shown_as(&answer, &args.answer, style)
        }
    }
}

/// Shows the answer to `sql`.
pub(super) fn answer(sql: &str, args: &AnswerArgs, style: Style) -> CliResult {
    let store = open(args)?;
    let waiting = wait(args.timeout);
    let answer = store.select(sql, args.timeout).map_err(of_sql)?;
    drop(waiting);
    shown_as(&answer, args, style)
}

fn open(args: &AnswerArgs) -> Result<Store, CliError> {
    let (_, directories) = settings::load(&args.places)?;
    gate::open(&directories, &mut console::tell)
}

/// A wrong question, or one that asks for too much, is the user's.
pub(super) fn of_sql(error: SqlError) -> CliError {
    match error {
        SqlError::Store(error) => CliError::from(anyhow::Error::new(error)),
        broken @ SqlError::Engine { .. } => CliError::from(anyhow::Error::new(broken)),
        wrong => CliError::usage(wrong),
    }
}

#[cfg(feature = "duckdb")]
fn by_duckdb(store: &Store, sql: &str, limit: Duration) -> Result<SqlAnswer, CliError> {
    let library = rsb_store::duckdb::library().map_err(of_sql)?;
    let exported = super::export::cached_export(store)?;
    let waiting = wait(limit);
    let answer = rsb_store::duckdb::select(&library, &exported.path, sql, limit).map_err(of_sql)?;
    drop(waiting);
    Ok(answer)
}

#[cfg(not(feature = "duckdb"))]
fn by_duckdb(_: &Store, _: &str, _: Duration) -> Result<SqlAnswer, CliError> {
    Err(super::export::without("DuckDB", "duckdb", "--engine sqlite and `export`"))
}

fn shown_as(answer: &SqlAnswer, args: &AnswerArgs, style: Style) -> CliResult {
    if args.json {
        show::json(&document(answer))?;
    } else if args.csv {
        let mut bytes = Vec::new();
        export::write_answer(answer, &mut bytes)?;
        show::text(&String::from_utf8_lossy(&bytes))?;
    } else if answer.rows.is_empty() {
        show::text("no rows")?;
    } else {
        show::text(&table(answer).text(style))?;
    }
    Ok(Exit::Pass)
}

/// How long after its time an answer may still come.
const GRACE: Duration = Duration::from_secs(1);

/// Ends the program where nobody drops what this gives soon after `limit`: the clock is looked at
/// between the steps of a database, and one step may take for ever. Nothing is lost with a program
/// that only reads.
fn wait(limit: Duration) -> mpsc::Sender<()> {
    let (waiting, answered) = mpsc::channel();
    thread::spawn(move || {
        if answered.recv_timeout(limit.saturating_add(GRACE)) == Err(RecvTimeoutError::Timeout) {
            console::say(&format!("error: {}", SqlError::TimedOut { limit }));
            std::process::exit(Exit::Usage as i32);
        }
    });
    waiting
}

/// The names of the columns; of equal ones the second has `_2` behind it, and so on.
fn unique(columns: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let numbered = (2..).map(|number| format!("{column}_{number}"));
        let free =
            std::iter::once(column.clone()).chain(numbered).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// `{format_version, columns, rows: [{column: value, …}, …]}`.
fn document(answer: &SqlAnswer) -> Value {
    let columns = unique(&answer.columns);
    let rows: Vec<Map<String, Value>> = answer
        .rows
        .iter()
        .map(|row| columns.iter().cloned().zip(row.iter().cloned()).collect())
        .collect();
    json!({ "format_version": rsb_model::format::FORMAT_VERSION, "columns": columns, "rows": rows })
}

/// Numbers stand to the right, in as many digits as people read.
fn table(answer: &SqlAnswer) -> Table {
    let columns = answer.columns.iter().enumerate().map(|(at, name)| match name.as_str() {
        name if is_number_column(answer, at) => Column::right(name),
        "benchmark_id" | "id" | "run_id" => Column::elided(name),
        name => Column::left(name),
    });
    let mut table = Table::new(columns);
    for row in &answer.rows {
        table.push(row.iter().map(|value| Cell::from(cell_text(value))));
    }
    table
}

/// Whether a column has values, and only numbers.
fn is_number_column(answer: &SqlAnswer, column: usize) -> bool {
    let mut values = answer
        .rows
        .iter()
        .filter_map(|row| row.get(column))
        .filter(|value| !value.is_null())
        .peekable();
    values.peek().is_some() && values.all(Value::is_number)
}

fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            unit::figure(number.as_f64().unwrap_or(f64::NAN))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_equal_names_stay_apart() {
        let columns = ["value", "value", "value_2", "value"].map(str::to_owned);
        assert_eq!(unique(&columns), ["value", "value_2", "value_2_2", "value_3"]);
    }

    #[test]
    fn answers_are_tables_for_people_and_documents_for_programs() {
        let answer = SqlAnswer {
            columns: vec!["run_id".to_owned(), "value".to_owned(), "nothing".to_owned()],
            rows: vec![
                vec![json!("a"), json!(1.234_567_89), Value::Null],
                vec![json!("b\u{1b}[31m"), json!(20), Value::Null],
            ],
        };
        let style = Style { color: rsb_report::Color::Never, width: 80 };
        let text = table(&answer).text(style);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["a", "1.235", "–"]), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let rows = &document(&answer)["rows"];
        assert_eq!((&rows[0]["value"], &rows[1]["nothing"]), (&json!(1.234_567_89), &Value::Null));
    }
}
