//! One run: measured cases, cases that were not measured, and the counts.

use rsb_model::{BenchmarkResult, Better, DeviceRef, Fields, Outcome, Run};

use crate::document::{ReportError, csv, csv_number};
use crate::environment;
use crate::label::{
    Shortener, benchmark_of, device_of, headline_text, instructions_text, roofline_text,
    spread_text, time_text,
};
use crate::names::shorten_names;
use crate::number::format_time;
use crate::style::{Style, Tone, clean, columns};
use crate::table::{Cell, Column, Table};
use crate::{backends, unmeasured};

/// Formats the run for a terminal: the run, the machine, one row per result, cases that were not
/// measured, the counts.
pub fn text(run: &Run, style: Style) -> String {
    with_unmeasured(run, style, &unmeasured::text(run, style))
}

/// Formats as [`text`] does, with one line for all missing backends.
pub fn brief(run: &Run, style: Style) -> String {
    with_unmeasured(run, style, &unmeasured::brief(run, style))
}

fn with_unmeasured(run: &Run, style: Style, unmeasured: &str) -> String {
    let mut out = head(run, style);
    let table = table(run);
    if !table.is_empty() {
        out.push_str(&table.text(style));
        out.push('\n');
    }
    out.push_str(&backends::text(run, style));
    out.push_str(unmeasured);
    for note in &run.notes {
        out.push_str(&style.line(Tone::Caution, &format!("note: {note}")));
    }
    out.push_str(&counts_text(run, style));
    out
}

/// Formats one case during a run: benchmark and case, value, spread, or its outcome.
pub fn line(result: &BenchmarkResult, style: Style) -> String {
    const VALUE: usize = 20;
    const SPREAD: usize = 9;
    let id = &result.benchmark_id;
    let names = if device_of(id) == Some(DeviceRef::CPU) {
        Shortener::of([id])
    } else {
        Shortener::default()
    };
    let name = clean(&names.full(id));
    let (value, spread) = match (result.outcome, headline_text(result)) {
        (Outcome::Measured, value) if value.is_empty() => (time_text(result), spread_text(result)),
        (Outcome::Measured, value) => (value, spread_text(result)),
        (outcome, _) => return format!("{name}: {}", why(result, outcome)),
    };
    let room = style.width.min(NAME_WIDTH + VALUE + SPREAD).saturating_sub(VALUE + SPREAD);
    let short = shorten_names([name.as_str()], room);
    let name = short.get(&name).unwrap_or(&name);
    let name = format!("{name}{:>1$}", "", room.saturating_sub(columns(name)));
    format!("{name}{value:>VALUE$}{spread:>SPREAD$}").trim_end().to_owned()
}

fn why(result: &BenchmarkResult, outcome: Outcome) -> String {
    let reason = result
        .reason
        .as_ref()
        .map(|reason| format!(": {}: {}", clean(&reason.what), clean(&reason.why)));
    format!("{outcome}{}", reason.unwrap_or_default())
}

/// Width of the name in [`line()`].
const NAME_WIDTH: usize = 56;

fn head(run: &Run, style: Style) -> String {
    let mut parts = vec![format!("suite {}", run.suite), format!("profile {}", run.profile)];
    parts.extend(device_note(run));
    parts.extend(duration(run));
    let title = clean(&format!("Run {}", run.run_id));
    let parts = clean(&parts.join(" · "));
    let is_wide = columns(&title) + 3 + columns(&parts) > style.width;
    let parts =
        if is_wide { format!("\n{}", style.wrap(&parts, 0)) } else { format!(" · {parts}\n") };
    let title = style.paint(Tone::Strong, &title);
    format!("{title}{parts}{}\n", style.wrap(&environment::line(&run.environment), 0))
}

fn device_note(run: &Run) -> Option<String> {
    Shortener::of_run(run).device().map(|device| format!("device {device}"))
}

/// Formats the duration of the run; `None` if it is not finished or was interrupted.
pub(crate) fn duration(run: &Run) -> Option<String> {
    let seconds = run.finished?.duration_since(run.started).as_secs_f64();
    (seconds >= 0.0).then(|| format_time(seconds * 1e9))
}

/// Returns a table of all cases that were not skipped. Failures are listed among the measured
/// cases, so that they are noticed.
fn table(run: &Run) -> Table {
    let names = Shortener::of_run(run);
    let mut table = Table::new([
        Column::left("benchmark"),
        Column::elided("case"),
        Column::right("time"),
        Column::right("value"),
        Column::right("spread"),
        Column::right("roofline").optional(),
        Column::right("instructions").optional(),
        Column::left("outcome"),
    ]);
    let mut last = "";
    for result in run.benchmarks.iter().filter(|result| result.outcome != Outcome::Skipped) {
        let benchmark = benchmark_of(result);
        let shown = if benchmark == last { "" } else { benchmark };
        last = benchmark;
        let mut cells = vec![Cell::from(shown), Cell::from(names.case(&result.benchmark_id))];
        cells.extend(figures(result));
        table.push(cells);
    }
    table
}

/// Returns the cells of a result after its name: time, headline metric, spread, roofline,
/// instructions, outcome (empty if measured).
pub(crate) fn figures(result: &BenchmarkResult) -> [Cell; 6] {
    [
        Cell::from(time_text(result)),
        Cell::from(headline_text(result)),
        Cell::with_tone(spread_text(result), Tone::Dim),
        Cell::from(roofline_text(result)),
        Cell::from(instructions_text(result)),
        outcome_cell(result.outcome),
    ]
}

/// Returns the outcome of a case; empty if it was measured.
pub fn outcome_cell(outcome: Outcome) -> Cell {
    match outcome {
        Outcome::Measured => Cell::default(),
        Outcome::Failed => Cell::with_tone("failed", Tone::Bad),
        Outcome::Skipped => Cell::with_tone("skipped", Tone::Caution),
        Outcome::Simulated => Cell::with_tone("simulated", Tone::Caution),
    }
}

/// Returns the counts, such as `28 measured`, `3 skipped` and `1 failed`, with their colors.
fn counts(run: &Run) -> Vec<(String, Tone)> {
    let counts = run.counts();
    let all = [
        (counts.measured, "measured", Tone::Good),
        (counts.simulated, "simulated", Tone::Caution),
        (counts.skipped, "skipped", Tone::Caution),
        (counts.failed, "failed", Tone::Bad),
    ];
    all.into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(n, word, tone)| (format!("{n} {word}"), tone))
        .collect()
}

fn counts_text(run: &Run, style: Style) -> String {
    let counts = counts(run);
    if counts.is_empty() {
        return "No case matched; `rusty-stack-bench list` shows what can run here.\n".to_owned();
    }
    let painted: Vec<String> = counts.iter().map(|(text, tone)| style.paint(*tone, text)).collect();
    painted.join(" · ") + "\n"
}

/// Formats the counts as one line of plain text.
pub fn counts_line(run: &Run) -> String {
    counts_text(run, Style::PLAIN).trim_end().to_owned()
}

const COLUMNS: [&str; 11] = [
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

/// Formats the run as CSV: one row for each metric of each case. A case without metrics has one row
/// without a value.
///
/// # Errors
/// If the CSV writer fails, which the data of a run cannot cause.
pub fn csv_rows(run: &Run) -> Result<String, ReportError> {
    let commit = run.environment.git.as_ref().map_or("", |git| git.commit.as_str());
    let rows = run.benchmarks.iter().flat_map(|result| {
        let head = vec![
            run.run_id.0.clone(),
            result.timestamp.to_string(),
            commit.to_owned(),
            result.benchmark_id.to_string(),
            result.benchmark_type.to_string(),
            result.outcome.to_string(),
            result.device_type.map_or_else(String::new, |kind| kind.to_string()),
        ];
        metric_cells(result).into_iter().map(move |tail| [head.clone(), tail.to_vec()].concat())
    });
    csv(&COLUMNS, rows)
}

fn metric_cells(result: &BenchmarkResult) -> Vec<[String; 4]> {
    let metrics = result.results.iter().flat_map(Fields::metrics);
    let mut cells: Vec<[String; 4]> = metrics
        .map(|(field, value)| {
            let better = field.better().map_or("", Better::as_str);
            [
                field.name.to_owned(),
                field.unit.to_string(),
                better.to_owned(),
                csv_number(Some(value)),
            ]
        })
        .collect();
    if cells.is_empty() {
        cells.push(Default::default());
    }
    cells
}
