//! SQL queries of the stored results, read-only.

use std::time::Duration;

use rsb_engine::Listener;
use rsb_model::unit;
use rsb_report::{Cell, Column, Table};
use rsb_store::{SqlAnswer, Store, export};
use serde_json::{Map, Value, json};

use crate::AppError;

/// Returns DuckDB's answer to `sql`. The value returned by `watch` is dropped after the query.
///
/// # Errors
/// If DuckDB is not installed, the runs cannot be exported, or there is no answer within `limit`.
#[cfg(feature = "duckdb")]
pub fn by_duckdb<W>(
    store: &Store,
    sql: &str,
    limit: Duration,
    listener: &mut Listener<'_>,
    watch: impl FnOnce() -> W,
) -> Result<SqlAnswer, AppError> {
    let library = rsb_store::duckdb::library().map_err(crate::sql_error)?;
    let exported = crate::export::cached_export(store, listener)?;
    let _watch = watch();
    rsb_store::duckdb::select(&library, &exported.path, sql, limit).map_err(crate::sql_error)
}

/// Returns an error, because this build has no DuckDB.
///
/// # Errors
/// Always.
#[cfg(not(feature = "duckdb"))]
pub fn by_duckdb<W>(
    _: &Store,
    _: &str,
    _: Duration,
    _: &mut Listener<'_>,
    _: impl FnOnce() -> W,
) -> Result<SqlAnswer, AppError> {
    Err(crate::without_feature("DuckDB", "duckdb", "--engine sqlite and `export`"))
}

/// Returns `answer` as CSV.
///
/// # Errors
/// If it cannot be written.
pub fn csv(answer: &SqlAnswer) -> Result<String, AppError> {
    let mut bytes = Vec::new();
    export::write_answer(answer, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns unique column names: a second equal name gets the suffix `_2`, and so on.
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

/// Returns `{format_version, columns, rows: [{column: value, …}, …]}`.
pub fn document(answer: &SqlAnswer) -> Value {
    let columns = unique(&answer.columns);
    let rows: Vec<Map<String, Value>> = answer
        .rows
        .iter()
        .map(|row| columns.iter().cloned().zip(row.iter().cloned()).collect())
        .collect();
    json!({ "format_version": rsb_model::format::FORMAT_VERSION, "columns": columns, "rows": rows })
}

/// Returns `answer` as a table, with numbers aligned right and rounded for people.
pub fn table(answer: &SqlAnswer) -> Table {
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

/// Returns whether a column has values, and only numbers.
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
        let style = rsb_report::Style { color: rsb_report::Color::Never, width: 80 };
        let text = table(&answer).text(style);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["a", "1.235", "–"]), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let rows = &document(&answer)["rows"];
        assert_eq!((&rows[0]["value"], &rows[1]["nothing"]), (&json!(1.234_567_89), &Value::Null));
    }
}
