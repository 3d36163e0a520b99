//! Rows of the history as CSV and JSON. The columns are stable: columns may be appended, but none
//! may be removed.

use std::io::Write;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::shown::to_cell;
use rsb_model::{BenchmarkResult, Better, Run};
use serde_json::{Value, json};

use crate::history::HistoryRow;
use crate::select::SqlAnswer;

/// Columns of [`csv_header`], in order.
pub const COLUMNS: [&str; 11] = [
    "run_id",
    "timestamp",
    "commit",
    "benchmark_id",
    "benchmark_type",
    "outcome",
    "device_type",
    "metric",
    "unit",
    "better",
    "value",
];

/// Returns the header line of the history as CSV.
///
/// # Errors
/// Never, because the output is text in memory.
pub fn csv_header() -> std::io::Result<String> {
    lines(|writer| Ok(writer.write_record(COLUMNS)?))
}

/// Formats `rows` as the CSV lines below [`csv_header`]. Unknown values are empty, and text is
/// escaped so that spreadsheets do not run it as a formula.
///
/// # Errors
/// Never, because the output is text in memory.
pub fn csv_lines(rows: &[HistoryRow]) -> std::io::Result<String> {
    lines(|writer| rows.iter().try_for_each(|row| line(row, writer)))
}

fn lines(
    write: impl FnOnce(&mut csv::Writer<&mut Vec<u8>>) -> std::io::Result<()>,
) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut bytes);
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

fn line(row: &HistoryRow, writer: &mut csv::Writer<impl Write>) -> std::io::Result<()> {
    let value = row.value.map(|value| value.to_string()).unwrap_or_default();
    let timestamp = row.timestamp.to_string();
    let cells = [
        row.run_id.0.as_str(),
        &timestamp,
        text(row.commit.as_deref()),
        &row.benchmark_id,
        row.benchmark_type.as_str(),
        row.outcome.as_str(),
        text(row.device_type.map(rsb_model::DeviceType::as_str)),
        text(row.metric.as_deref()),
        text(row.unit.as_deref()),
        text(row.better.map(Better::as_str)),
        &value,
    ];
    Ok(writer.write_record(cells.map(to_cell))?)
}

/// Writes an answer as CSV with a header. Null is empty, and text is escaped so that spreadsheets
/// do not run it as a formula.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_answer(answer: &SqlAnswer, out: impl Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(answer.columns.iter().map(|name| to_cell(name)))?;
    for row in &answer.rows {
        writer.write_record(row.iter().map(cell_text))?;
    }
    writer.flush()
}

fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => to_cell(text),
        other => other.to_string(),
    }
}

fn text(value: Option<&str>) -> &str {
    value.unwrap_or_default()
}

/// Returns the document `{format_version, rows: […]}` with the CSV columns as keys.
pub fn to_json(rows: &[HistoryRow]) -> Value {
    json!({ "format_version": FORMAT_VERSION, "rows": rows })
}

/// Returns the rows of one run, as the history will return them once the run is stored.
pub fn rows_of(run: &Run) -> Vec<HistoryRow> {
    run.benchmarks.iter().flat_map(|result| rows_of_result(run, result)).collect()
}

fn rows_of_result(run: &Run, result: &BenchmarkResult) -> Vec<HistoryRow> {
    let bare = HistoryRow {
        run_id: run.run_id.clone(),
        timestamp: run.started,
        commit: run.environment.git.as_ref().map(|git| git.commit.clone()),
        benchmark_id: result.benchmark_id.to_string(),
        benchmark_type: result.benchmark_type,
        outcome: result.outcome,
        device_type: result.device_type,
        metric: None,
        unit: None,
        better: None,
        value: None,
    };
    let metrics = result.fields().into_iter().flat_map(rsb_model::Fields::metrics);
    let mut rows: Vec<HistoryRow> = metrics
        .map(|(field, value)| HistoryRow {
            metric: Some(field.name.to_owned()),
            unit: Some(field.unit.to_string()),
            better: field.better(),
            value: Some(value),
            ..bare.clone()
        })
        .collect();
    rows.sort_by(|a, b| a.metric.cmp(&b.metric));
    if rows.is_empty() { vec![bare] } else { rows }
}
