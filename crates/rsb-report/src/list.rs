//! Lists of stored items. The rows are plain data, filled by the caller.

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
    /// Run id.
    pub run_id: String,
    /// End time of the case.
    pub timestamp: Timestamp,
    /// Commit that was measured.
    pub commit: Option<String>,
    /// Case id.
    pub id: String,
    /// Metric; `None` if the case has no value.
    pub metric: Option<String>,
    /// Unit of the metric.
    pub unit: Option<String>,
    /// Value.
    pub value: Option<f64>,
    /// Outcome of the case.
    pub outcome: Outcome,
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRow {
    /// Run id.
    pub run_id: String,
    /// Start time.
    pub started: Timestamp,
    /// End time; `None` if the run was cut off.
    pub finished: Option<Timestamp>,
    /// Suite.
    pub suite: String,
    /// Profile.
    pub profile: String,
    /// Commit that was measured.
    pub commit: Option<String>,
    /// Branch of that commit.
    pub branch: Option<String>,
    /// Short description of the machine, or its slug.
    pub machine: String,
    /// Number of measured cases.
    pub measured: usize,
    /// Number of skipped cases.
    pub skipped: usize,
    /// Number of failed cases.
    pub failed: usize,
}

/// A saved baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineRow {
    /// Name.
    pub name: String,
    /// Time when it was saved.
    pub created: Timestamp,
    /// Commit that was measured.
    pub commit: Option<String>,
    /// Slug of the machine's fingerprint.
    pub machine: String,
    /// Number of measured cases.
    pub cases: usize,
    /// Smallest number of replicates of a measured case.
    pub replicates: usize,
}

/// A stored comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Comparison id.
    pub comparison_id: String,
    /// Time of the comparison.
    pub timestamp: Timestamp,
    /// Baseline side.
    pub baseline: String,
    /// Current side.
    pub current: String,
    /// Verdict.
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

/// Formats metrics over time for a terminal.
pub fn history(rows: &[HistoryTableRow], style: Style) -> String {
    or_nothing(&history_table(rows), style, "No stored results match.")
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

/// Formats stored runs for a terminal.
pub fn runs(rows: &[RunRow], style: Style) -> String {
    let nothing = "No runs are stored yet. `rusty-stack-bench run` makes the first.";
    or_nothing(&runs_table(rows), style, nothing)
}

/// Returns a table of stored runs, with a row for each of `rows`.
pub fn runs_table(rows: &[RunRow]) -> Table {
    Table::of(
        rows,
        &[
            (Column::left("run"), &|row| Cell::from(&row.run_id)),
            (Column::left("began"), &|row| format_moment(row.started).into()),
            (Column::left("suite"), &|row| Cell::from(&row.suite)),
            (Column::left("profile").optional(), &|row| Cell::from(&row.profile)),
            (Column::right("measured"), &|row| match row.finished {
                Some(_) => count_cell(row.measured, Tone::Plain),
                None => Cell::with_tone(format!("{}, interrupted", row.measured), Tone::Caution),
            }),
            (Column::right("skipped"), &|row| count_cell(row.skipped, Tone::Caution)),
            (Column::right("failed"), &|row| count_cell(row.failed, Tone::Bad)),
            (Column::elided("machine"), &|row| Cell::with_tone(&row.machine, Tone::Dim)),
        ],
    )
}

fn count_cell(count: usize, tone: Tone) -> Cell {
    Cell::with_tone(count.to_string(), if count > 0 { tone } else { Tone::Dim })
}

/// Formats saved baselines for a terminal.
pub fn baselines(rows: &[BaselineRow], style: Style) -> String {
    let nothing =
        "No baselines are saved yet. `rusty-stack-bench baseline save NAME` saves the latest run.";
    or_nothing(&baselines_table(rows), style, nothing)
}

/// Returns a table of saved baselines, with a row for each of `rows`.
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

/// Formats stored comparisons for a terminal.
pub fn comparisons(rows: &[ComparisonRow], style: Style) -> String {
    let nothing = "No comparisons are stored yet. `rusty-stack-bench gate` makes the first.";
    or_nothing(&comparisons_table(rows), style, nothing)
}

/// Returns a table of stored comparisons, with a row for each of `rows`.
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
