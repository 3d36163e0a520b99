//! Runs that are being measured, updated between cases.

use rsb_model::BenchmarkResult;
use rsb_model::run::ReplicateProgress;
use rsb_model::shown::short_hash;
use rsb_report::html::element::{class, escape};
use rsb_report::label::{Shortener, headline_text, time_text};
use rsb_report::number::format_count;
use rsb_report::{Tone, run::outcome_cell};

use crate::address::PageView;
use crate::cards::{CardColumn, CardTable, number, text};
use crate::names;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::source::{LiveRun, SourceResult};

/// Path of the server's event stream, which reports the end of each case.
pub const EVENTS: &str = "live-events";

pub(super) fn page<'v>(site: &Site<'_>, view: &'v PageView) -> SourceResult<Sheet<'v>> {
    let runs = site.source().live()?;
    let mut sheet = Sheet::new("Live", Some(view));
    sheet.push("<div id=\"live-runs\">\n");
    if runs.is_empty() {
        sheet.say(Tone::Strong, "No run is in progress in this directory.");
        if let Some(last) = site.runs().first() {
            let link = site.run_link(&last.run_id, &site.run_name(last));
            sheet.push(&format!("<p>The last run: {link}.</p>\n"));
        }
    }
    for run in &runs {
        sheet.push(&run_section(site, run));
    }
    sheet.push("</div>\n");
    sheet.push(&format!(
        "<p class=\"note\" id=\"live\" data-events=\"{EVENTS}\" role=\"status\">Nothing is sent \
         while a case is timed: results appear here \
         after each replicate, and the next run when it begins. Without scripts, reload the \
         page.</p>\n"
    ));
    Ok(sheet)
}

fn run_section(site: &Site<'_>, live: &LiveRun) -> String {
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
    let bar = format!("<p class=\"progress\">{replicates}{cases} with a result</p>\n");
    let commit = run.environment.git.as_ref().map(|git| names::short_commit(&git.commit));
    let parts =
        [Some(site.moment(run.started)), commit.map(str::to_owned), Some(run.suite.clone())];
    let title = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let head = format!("profile {}, id {}", run.profile, run.run_id);
    format!(
        "<section aria-labelledby=\"live-{0}\"><h2 \
         id=\"live-{0}\">{1}</h2>\n<p>{2}</p>\n{bar}{3}</section>\n",
        escape(&run.run_id.0),
        escape(&title),
        escape(&head),
        so_far(&run.run_id.0, &run.benchmarks),
    )
}

const COLUMNS: &[CardColumn] = &[text("case"), number("time"), number("value"), text("outcome")];

/// Returns the table of results, the newest first. Rows have ids, by which the script replaces only
/// those that changed.
fn so_far(run: &str, results: &[BenchmarkResult]) -> String {
    let names = Shortener::of(results.iter().map(|result| &result.benchmark_id));
    let mut table = CardTable::new("Finished cases", COLUMNS);
    for result in results.iter().rev() {
        let outcome = outcome_cell(result.outcome);
        let class = class(outcome.tone).unwrap_or_default();
        let id = &result.benchmark_id;
        table.push_as(
            &format!("row-{}", short_hash(&format!("{run} {id}"))),
            &[
                format!(
                    "<span title=\"{}\">{}</span>",
                    escape(id.as_str()),
                    escape(&names.full(id))
                ),
                escape(&time_text(result)),
                escape(&headline_text(result)),
                format!("<span class=\"{class}\">{}</span>", escape(&outcome.text)),
            ],
        );
    }
    table.html()
}
