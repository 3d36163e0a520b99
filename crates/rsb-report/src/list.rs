//! Lists of what is stored. The caller fills the rows; they are plain data.

use rsb_model::{Outcome, Timestamp, Verdict};
use serde::Serialize;

use crate::comparison::tone;
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
    let short: String = commit.unwrap_or_default().chars().take(SHORT_COMMIT).collect();
    Cell::with_tone(short, Tone::Dim)
}

fn or_nothing(table: &Table, style: Style, nothing: &str) -> String {
    if table.is_empty() { format!("{nothing}\n") } else { table.text(style) }
}

/// Metrics over time, for a terminal.
pub fn history(rows: &[HistoryTableRow], style: Style) -> String {
    or_nothing(&history_table(rows), style, "No results are stored that match.")
}

fn history_table(rows: &[HistoryTableRow]) -> Table {
    let value = |row: &HistoryTableRow| {
        let unit = row.unit.as_deref().unwrap_or_default();
        row.value.map_or_else(String::new, |value| format_quantity(value, unit))
    };
    Table::of(
        rows,
        &[
            (Column::left("time"), &|row| format_moment(row.timestamp).into()),
            (Column::left("commit"), &|row| commit(row.commit.as_deref())),
            (Column::elided("case"), &|row| short(&row.id).into()),
            (Column::left("metric"), &|row| row.metric.as_deref().unwrap_or_default().into()),
            (Column::right("value"), &|row| value(row).into()),
            (Column::left("outcome"), &|row| outcome_cell(row.outcome)),
        ],
    )
}

/// Stored runs, for a terminal.
pub fn runs(rows: &[RunRow], style: Style) -> String {
    let nothing = "No runs are stored yet. `rusty-stack-bench run` makes the first.";
    or_nothing(&runs_table(rows), style, nothing)
}

/// Stored runs: a row for each of `rows`.
pub fn runs_table(rows: &[RunRow]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("run"), &|row| Cell::from(&row.run_id)),
            (Column::left("began"), &|row| format_moment(row.started).into()),
            (Column::left("suite"), &|row| Cell::from(&row.suite)),
            (Column::left("profile").optional(), &|row| Cell::from(&row.profile)),
            (Column::right("measured"), &|row| count_cell(row.measured, Tone::Plain)),
            (Column::right("skipped"), &|row| count_cell(row.skipped, Tone::Caution)),
            (Column::right("failed"), &|row| count_cell(row.failed, Tone::Bad)),
            (Column::elided("machine"), &|row| Cell::with_tone(&row.machine, Tone::Dim)),
        ],
    )
}

fn count_cell(count: usize, tone: Tone) -> Cell {
    Cell::with_tone(count.to_string(), if count > 0 { tone } else { Tone::Dim })
}

/// Saved baselines, for a terminal.
pub fn baselines(rows: &[BaselineRow], style: Style) -> String {
    let nothing =
        "No baselines are saved yet. `rusty-stack-bench baseline save NAME` saves the latest run.";
    or_nothing(&baselines_table(rows), style, nothing)
}

/// Saved baselines: a row for each of `rows`.
pub fn baselines_table(rows: &[BaselineRow]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("baseline"), &|row| Cell::from(&row.name)),
            (Column::left("saved"), &|row| format_moment(row.created).into()),
            (Column::left("commit"), &|row| commit(row.commit.as_deref())),
            (Column::right("cases"), &|row| row.cases.to_string().into()),
            (Column::right("replicates"), &|row| row.replicates.to_string().into()),
            (Column::elided("machine"), &|row| Cell::with_tone(&row.machine, Tone::Dim)),
        ],
    )
}

/// Stored comparisons, for a terminal.
pub fn comparisons(rows: &[ComparisonRow], style: Style) -> String {
    let nothing = "No comparisons are stored yet. `rusty-stack-bench gate` makes the first.";
    or_nothing(&comparisons_table(rows), style, nothing)
}

/// Stored comparisons: a row for each of `rows`.
pub fn comparisons_table(rows: &[ComparisonRow]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("time"), &|row| format_moment(row.timestamp).into()),
            (Column::left("verdict"), &|row| {
                Cell::with_tone(row.verdict.as_str(), tone(row.verdict))
            }),
            (Column::elided("baseline"), &|row| Cell::from(&row.baseline)),
            (Column::elided("current"), &|row| Cell::from(&row.current)),
        ],
    )
}
