//! What was measured before: runs, the values of a case in each run, comparisons. Of many the latest are shown.

use rsb_engine::gate;
use rsb_report::number::format_count;
use rsb_report::{ComparisonRow, HistoryTableRow, RunRow, Style, list};
use rsb_store::{HistoryFilter, Store};

use super::settings;
use crate::cli::HistoryArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// The verb `history`.
///
/// # Errors
/// When the results cannot be read.
pub fn run(args: &HistoryArgs, style: Style) -> CliResult {
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let text = if args.comparisons {
        let rows = latest(comparisons(&store)?, args, |row| row.comparison_id.as_str());
        if args.json { rsb_report::document("comparisons", &rows)? } else { list::comparisons(&rows, style) }
    } else if args.case.is_some() {
        let rows = latest(values(&store, args)?, args, |row| row.run_id.as_str());
        if args.json { rsb_report::document("history", &rows)? } else { list::history(&rows, style) }
    } else {
        let rows = latest(runs(&store)?, args, |row| row.run_id.as_str());
        if args.json { rsb_report::document("runs", &rows)? } else { list::runs(&rows, style) }
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

/// The rows of the latest runs or comparisons, as many as were asked for; how many others there are is said. `name` is
/// that of the run or comparison which a row is of.
fn latest<R>(mut rows: Vec<R>, args: &HistoryArgs, name: impl Fn(&R) -> &str) -> Vec<R> {
    let (end, left_out) = cut(rows.iter().map(name), args.limit as usize);
    if left_out > 0 {
        let count = if args.comparisons {
            format_count(left_out, "earlier comparison is", "earlier comparisons are")
        } else {
            format_count(left_out, "earlier run is", "earlier runs are")
        };
        console::say(&format!("note: {count} left out; show more with --limit {}", args.limit as usize + left_out));
    }
    rows.truncate(end);
    rows
}

/// Where the rows of the first `limit` names end, and how many names follow. The rows of one name stand together.
fn cut<'n>(names: impl Iterator<Item = &'n str>, limit: usize) -> (usize, usize) {
    let (mut end, mut count, mut last) = (0, 0, None);
    for name in names {
        if last != Some(name) {
            (count, last) = (count + 1, Some(name));
        }
        end += usize::from(count <= limit);
    }
    (end, count.saturating_sub(limit))
}

fn runs(store: &Store) -> anyhow::Result<Vec<RunRow>> {
    let row = |run: rsb_store::RunSummary| RunRow {
        run_id: run.run_id.0,
        started: run.started,
        suite: run.suite,
        profile: run.profile,
        commit: run.commit,
        machine: run.slug,
        measured: run.counts.measured,
        skipped: run.counts.skipped,
        failed: run.counts.failed,
    };
    Ok(store.runs()?.into_iter().map(row).collect())
}

fn values(store: &Store, args: &HistoryArgs) -> anyhow::Result<Vec<HistoryTableRow>> {
    let filter = HistoryFilter { cases: args.case.as_deref().map(settings::anywhere), ..HistoryFilter::default() };
    let row = |row: rsb_store::HistoryRow| HistoryTableRow {
        run_id: row.run_id.0,
        timestamp: row.timestamp,
        commit: row.commit,
        id: row.benchmark_id,
        metric: row.metric,
        unit: row.unit,
        value: row.value,
        outcome: row.outcome,
    };
    Ok(store.history(&filter)?.into_iter().map(row).collect())
}

fn comparisons(store: &Store) -> anyhow::Result<Vec<ComparisonRow>> {
    let row = |row: rsb_store::ComparisonSummaryRow| ComparisonRow {
        comparison_id: row.comparison_id,
        timestamp: row.timestamp,
        baseline: row.baseline_run_id,
        current: row.current_run_id,
        verdict: row.verdict,
    };
    Ok(store.comparisons()?.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn runs_are_counted_and_never_cut_in_the_middle() {
        let rows = || ["c", "c", "c", "b", "a", "a"].into_iter();
        assert_eq!(cut(rows(), 1), (3, 2));
        assert_eq!(cut(rows(), 2), (4, 1));
        assert_eq!(cut(rows(), 3), (6, 0));
        assert_eq!(cut(rows(), 20), (6, 0));
        assert_eq!(cut(std::iter::empty(), 20), (0, 0));
    }
}
