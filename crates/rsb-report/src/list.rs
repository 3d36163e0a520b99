//! Lists of what is stored. The caller fills the rows; they are plain data.

use rsb_model::{Outcome, Timestamp, Verdict};
use serde::Serialize;

use crate::comparison::tone;
use crate::document::{ReportError, csv, csv_number};
use crate::number::{format_moment, format_quantity};
use crate::run::outcome_cell;
use crate::style::{Style, Tone};
use crate::table::{Cell, Column, Table};
use crate::trend::short;

/// One metric of one case in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryTableRow {
    /// The run.
    pub run_id: String,
    /// When the case ended.
    pub timestamp: Timestamp,
    /// The source that was measured.
    pub commit: Option<String>,
    /// The case.
    pub id: String,
    /// The metric; none when the case has no figure.
    pub metric: Option<String>,
    /// The metric's unit.
    pub unit: Option<String>,
    /// The figure.
    pub value: Option<f64>,
    /// How the case ended.
    pub outcome: Outcome,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// Its name.
    pub run_id: String,
    /// When it began.
    pub started: Timestamp,
    /// The suite.
    pub suite: String,
    /// The profile.
    pub profile: String,
    /// The source that was measured.
    pub commit: Option<String>,
    /// The machine in a few words, or its slug.
    pub machine: String,
    /// Cases measured.
    pub measured: usize,
    /// Cases skipped.
    pub skipped: usize,
    /// Cases that failed.
    pub failed: usize,
}

/// A saved baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineRow {
    /// Its name.
    pub name: String,
    /// When it was saved.
    pub created: Timestamp,
    /// The source that was measured.
    pub commit: Option<String>,
    /// The slug of the machine's fingerprint.
    pub machine: String,
    /// Cases measured in it.
    pub cases: usize,
    /// Replicates of the measured case with the fewest.
    pub replicates: usize,
}

/// A stored comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Its name.
    pub comparison_id: String,
    /// When.
    pub timestamp: Timestamp,
    /// What was compared with.
    pub baseline: String,
    /// What was compared.
    pub current: String,
    /// The conclusion.
    pub verdict: Verdict,
}

const SHORT_COMMIT: usize = 9;

fn commit(commit: Option<&str>) -> Cell {
    Cell::with_tone(
        commit.unwrap_or_default().chars().take(SHORT_COMMIT).collect::<String>(),
        Tone::Dim,
    )
}

fn or_nothing(table: &Table, style: Style, nothing: &str) -> String {
    if table.is_empty() { format!("{nothing}\n") } else { table.text(style) }
}

/// Metrics over time, for a terminal.
pub fn history(rows: &[HistoryTableRow], style: Style) -> String {
    or_nothing(&history_table(rows), style, "No results are stored that match.")
}

/// As [`history`], in Markdown.
pub fn history_markdown(rows: &[HistoryTableRow]) -> String {
    history_table(rows).markdown()
}

fn history_table(rows: &[HistoryTableRow]) -> Table {
    let mut table = Table::new([
        Column::left("time"),
        Column::left("commit"),
        Column::elided("case"),
        Column::left("metric"),
        Column::right("value"),
        Column::left("outcome"),
    ]);
    for row in rows {
        let unit = row.unit.as_deref().unwrap_or_default();
        table.push([
            Cell::from(format_moment(row.timestamp)),
            commit(row.commit.as_deref()),
            Cell::from(short(&row.id)),
            Cell::from(row.metric.as_deref().unwrap_or_default()),
            Cell::from(row.value.map_or_else(String::new, |value| format_quantity(value, unit))),
            outcome_cell(row.outcome),
        ]);
    }
    table
}

/// Metrics over time with every digit.
///
/// # Errors
/// Never for data that the rows can hold.
pub fn history_csv(rows: &[HistoryTableRow]) -> Result<String, ReportError> {
    let header =
        ["run_id", "timestamp", "commit", "benchmark_id", "outcome", "metric", "unit", "value"];
    let rows = rows.iter().map(|row| {
        vec![
            row.run_id.clone(),
            row.timestamp.to_string(),
            row.commit.clone().unwrap_or_default(),
            row.id.clone(),
            row.outcome.to_string(),
            row.metric.clone().unwrap_or_default(),
            row.unit.clone().unwrap_or_default(),
            csv_number(row.value),
        ]
    });
    csv(&header, rows)
}

/// Stored runs, for a terminal.
pub fn runs(rows: &[RunRow], style: Style) -> String {
    or_nothing(
        &runs_table(rows),
        style,
        "No runs are stored yet. `rusty-stack-bench run` makes the first.",
    )
}

/// Stored runs: a row for each of `rows`.
pub fn runs_table(rows: &[RunRow]) -> Table {
    let mut table = Table::new([
        Column::left("run"),
        Column::left("began"),
        Column::left("suite"),
        Column::left("profile").optional(),
        Column::right("measured"),
        Column::right("skipped"),
        Column::right("failed"),
        Column::elided("machine"),
    ]);
    for row in rows {
        table.push([
            Cell::from(&row.run_id),
            Cell::from(format_moment(row.started)),
            Cell::from(&row.suite),
            Cell::from(&row.profile),
            count_cell(row.measured, Tone::Plain),
            count_cell(row.skipped, Tone::Caution),
            count_cell(row.failed, Tone::Bad),
            Cell::with_tone(&row.machine, Tone::Dim),
        ]);
    }
    table
}

fn count_cell(count: usize, tone: Tone) -> Cell {
    Cell::with_tone(count.to_string(), if count > 0 { tone } else { Tone::Dim })
}

/// Saved baselines, for a terminal.
pub fn baselines(rows: &[BaselineRow], style: Style) -> String {
    or_nothing(
        &baselines_table(rows),
        style,
        "No baselines are saved yet. `rusty-stack-bench baseline save NAME` saves the latest run.",
    )
}

/// Saved baselines: a row for each of `rows`.
pub fn baselines_table(rows: &[BaselineRow]) -> Table {
    let mut table = Table::new([
        Column::left("baseline"),
        Column::left("saved"),
        Column::left("commit"),
        Column::right("cases"),
        Column::right("replicates"),
        Column::elided("machine"),
    ]);
    for row in rows {
        table.push([
            Cell::from(&row.name),
            Cell::from(format_moment(row.created)),
            commit(row.commit.as_deref()),
            Cell::from(row.cases.to_string()),
            Cell::from(row.replicates.to_string()),
            Cell::with_tone(&row.machine, Tone::Dim),
        ]);
    }
    table
}

/// Stored comparisons, for a terminal.
pub fn comparisons(rows: &[ComparisonRow], style: Style) -> String {
    or_nothing(
        &comparisons_table(rows),
        style,
        "No comparisons are stored yet. `rusty-stack-bench gate` makes the first.",
    )
}

/// Stored comparisons: a row for each of `rows`.
pub fn comparisons_table(rows: &[ComparisonRow]) -> Table {
    let mut table = Table::new([
        Column::left("time"),
        Column::left("verdict"),
        Column::elided("baseline"),
        Column::elided("current"),
    ]);
    for row in rows {
        table.push([
            Cell::from(format_moment(row.timestamp)),
            Cell::with_tone(row.verdict.as_str(), tone(row.verdict)),
            Cell::from(&row.baseline),
            Cell::from(&row.current),
        ]);
    }
    table
}
