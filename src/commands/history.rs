//! `history`: lists stored runs, the values of a case in each run, or comparisons, limited to the
//! latest.

use rsb_app::ProjectContext;
use rsb_app::history::{self, commit, cut};
use rsb_report::number::format_count;
use rsb_report::{Style, list};
use rsb_store::HistoryQuestion;

use super::answer;
use crate::cli::{HistoryArgs, HistoryVerb};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `history`.
///
/// # Errors
/// If the results cannot be read.
pub fn run(args: &HistoryArgs, style: Style) -> CliResult {
    if let Some(verb) = &args.question {
        return named_question(verb, style);
    }
    let store = ProjectContext::open(&args.places.paths_to_read()?)?.store(&mut console::tell)?;
    let filter = args.filter.filter();
    let text = if args.comparisons {
        let rows = latest(history::comparisons(&store)?, args, |row| row.comparison_id.as_str());
        if args.json {
            rsb_report::document("comparisons", &rows)?
        } else {
            list::comparisons(&rows, style)
        }
    } else if filter.is_given() {
        let mut rows = history::values(&store, &filter)?;
        if let Some(branch) = &args.branch {
            let runs = history::runs_of(&store, Some(branch))?;
            rows.retain(|row| runs.iter().any(|run| run.run_id == row.run_id));
        }
        let rows = latest(rows, args, |row| row.run_id.as_str());
        if args.json {
            rsb_report::document("history", &rows)?
        } else {
            list::history(&rows, style)
        }
    } else {
        let rows = history::runs_of(&store, args.branch.as_deref())?;
        let rows = latest(rows, args, |row| row.run_id.as_str());
        if args.json { rsb_report::document("runs", &rows)? } else { list::runs(&rows, style) }
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

/// Prints the result of a built-in query, or its SQL.
fn named_question(verb: &HistoryVerb, style: Style) -> CliResult {
    let question = match verb {
        HistoryVerb::Regressed { since, .. } => {
            HistoryQuestion::Regressed { since: since.moment()? }
        }
        HistoryVerb::Slowest { limit, .. } => HistoryQuestion::Slowest { limit: *limit },
        HistoryVerb::Unmeasured { since, .. } => {
            HistoryQuestion::Unmeasured { since: since.moment()? }
        }
        HistoryVerb::Between { before, after, .. } => {
            HistoryQuestion::Between { before: commit(before)?, after: commit(after)? }
        }
    };
    let sql = question.sql();
    if verb.named_args().sql {
        show::text(&sql)?;
        return Ok(Exit::Pass);
    }
    answer::show(&sql, &verb.named_args().answer, style)
}

/// Returns the rows of the latest runs or comparisons, up to the limit, and prints how many others
/// are left out. `name` returns the id of a row's run or comparison.
fn latest<R>(mut rows: Vec<R>, args: &HistoryArgs, name: impl Fn(&R) -> &str) -> Vec<R> {
    let (end, left_out) = cut(rows.iter().map(name), args.limit as usize);
    if left_out > 0 {
        let count = if args.comparisons {
            format_count(left_out, "earlier comparison is", "earlier comparisons are")
        } else {
            format_count(left_out, "earlier run is", "earlier runs are")
        };
        console::say(&format!(
            "note: {count} not shown; show more with --limit {}",
            args.limit as usize + left_out
        ));
    }
    rows.truncate(end);
    rows
}
