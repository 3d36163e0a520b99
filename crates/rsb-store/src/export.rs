//! Rows of the history as CSV and JSON. The columns are a contract: more may be added at the end, none goes.

use std::io::Write;

use rsb_model::format::FORMAT_VERSION;
use rsb_model::shown::to_cell;
use rsb_model::{BenchmarkResult, Run};
use serde_json::{Value, json};

use crate::history::HistoryRow;
use crate::index::better_text;
use crate::select::SqlAnswer;

/// The columns of [`write_csv`], in order.
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

/// Writes `rows` as CSV with a header. What is unknown is empty; no text is a formula.
///
/// # Errors
/// When `out` does not take it.
pub fn write_csv(rows: &[HistoryRow], out: impl Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for row in rows {
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
            text(row.better.map(better_text)),
            &value,
        ];
        writer.write_record(cells.map(to_cell))?;
    }
    writer.flush()
}

/// Writes an answer as CSV with a header. Null is empty; no text is a formula.
///
/// # Errors
/// When `out` does not take it.
pub fn write_answer(answer: &SqlAnswer, out: impl Write) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(answer.columns.iter().map(|name| to_cell(name)))?;
    for row in &answer.rows {
        let cell = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => to_cell(text),
            other => other.to_string(),
        };
        writer.write_record(row.iter().map(cell))?;
    }
    writer.flush()
}

fn text(value: Option<&str>) -> &str {
    value.unwrap_or_default()
}

/// The document `{format_version, rows: […]}` with the columns of the CSV as names.
pub fn to_json(rows: &[HistoryRow]) -> Value {
    json!({ "format_version": FORMAT_VERSION, "rows": rows })
}

/// The rows of one run: as the history has them once the run is stored.
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
