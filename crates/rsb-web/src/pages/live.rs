//! Runs that are being measured, updated between cases.

use rsb_model::BenchmarkResult;
use rsb_model::run::ReplicateProgress;
use rsb_report::html::element::{escape, prose, table};
use rsb_report::label::{Shortener, headline_text, time_text};
use rsb_report::number::{format_count, format_moment};
use rsb_report::{Column, Table, Tone, run::outcome_cell};

use crate::address::PageView;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{LiveRun, SourceResult};

/// Path of the server's event stream, which reports the end of each case.
pub const EVENTS: &str = "live-events";

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let runs = site.source().live()?;
    let mut sheet = Sheet::new("Live", Some(view));
    if runs.is_empty() {
        sheet.say(Tone::Strong, "No run is in progress in this directory.");
    }
    for run in &runs {
        sheet.push(&run_section(run));
    }
    sheet.push(&format!(
        "<p class=\"note\" id=\"live\" data-events=\"{EVENTS}\" role=\"status\">Nothing is sent \
         while a case is timed: a message appears here \
         after each replicate. Reload the page for new results.</p>\n"
    ));
    Ok(sheet)
}

fn run_section(live: &LiveRun) -> String {
    let run = &live.run;
    let with_result = run.benchmarks.len();
    let cases = match live.planned {
        Some(planned) => format!("{with_result} of {}", format_count(planned, "case", "cases")),
        None => format_count(with_result, "case", "cases"),
    };
    let replicates = live.progress.map_or_else(String::new, |ReplicateProgress { done, total }| {
        let all = format_count(total, "replicate", "replicates");
        let bar = format!("<progress value=\"{done}\" max=\"{total}\">");
        format!("{bar}{done} of {total}</progress> {done} of {all}, ")
    });
    let bar = format!("<p>{replicates}{cases} with a result</p>\n");
    let began = format_moment(run.started);
    let head = format!("suite {}, profile {}, began {began}", run.suite, run.profile);
    format!(
        "<section aria-labelledby=\"live-{0}\"><h2 \
         id=\"live-{0}\">{0}</h2>\n<p>{1}</p>\n{bar}{2}</section>\n",
        escape(&run.run_id.0),
        prose(&head),
        table(&so_far(&run.benchmarks), "Finished cases"),
    )
}

/// Returns the table of results, the newest first.
fn so_far(results: &[BenchmarkResult]) -> Table {
    let name = |result: &BenchmarkResult| Shortener::default().full(&result.benchmark_id);
    Table::of(
        results.iter().rev(),
        &[
            (Column::elided("case"), &|result| name(result).into()),
            (Column::right("time"), &|result| time_text(result).into()),
            (Column::right("value"), &|result| headline_text(result).into()),
            (Column::left("outcome"), &|result| outcome_cell(result.outcome)),
        ],
    )
}
