//! What was measured before: runs, the values of a case in each run, comparisons. Of many the
//! latest are shown.

use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rsb_gate::{gate, revisions};
use rsb_report::number::format_count;
use rsb_report::{ComparisonRow, HistoryTableRow, RunRow, Style, list};
use rsb_store::{HistoryFilter, HistoryQuestion, Store};

use super::{query, settings};
use crate::cli::{HistoryArgs, HistoryVerb, Since};
use crate::exit::{CliError, CliResult, Exit};
use crate::{console, show};

/// The verb `history`.
///
/// # Errors
/// When the results cannot be read.
pub fn run(args: &HistoryArgs, style: Style) -> CliResult {
    if let Some(verb) = &args.question {
        return answer(verb, style);
    }
    let (_, directories) = settings::load(&args.places)?;
    let store = gate::open(&directories, &mut console::tell)?;
    let text = if args.comparisons {
        let rows = latest(comparisons(&store)?, args, |row| row.comparison_id.as_str());
        if args.json {
            rsb_report::document("comparisons", &rows)?
        } else {
            list::comparisons(&rows, style)
        }
    } else if args.filter.is_given() {
        let rows = latest(values(&store, args)?, args, |row| row.run_id.as_str());
        if args.json {
            rsb_report::document("history", &rows)?
        } else {
            list::history(&rows, style)
        }
    } else {
        let rows = latest(runs(&store)?, args, |row| row.run_id.as_str());
        if args.json { rsb_report::document("runs", &rows)? } else { list::runs(&rows, style) }
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

/// A question that has a name: its answer, or how SQL says it.
fn answer(verb: &HistoryVerb, style: Style) -> CliResult {
    let question = match verb {
        HistoryVerb::Regressed { since, .. } => {
            HistoryQuestion::Regressed { since: moment(*since)? }
        }
        HistoryVerb::Slowest { limit, .. } => HistoryQuestion::Slowest { limit: *limit },
        HistoryVerb::Unmeasured { since, .. } => {
            HistoryQuestion::Unmeasured { since: moment(*since)? }
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
    query::answer(&sql, &verb.named_args().answer, style)
}

fn moment(since: Since) -> Result<Timestamp, CliError> {
    let moment = match since {
        Since::Day(day) => day.to_zoned(TimeZone::UTC).map(|start| start.timestamp()),
        // Of years and months only a calendar knows how long they are.
        Since::Ago(span) => Timestamp::now()
            .to_zoned(TimeZone::UTC)
            .checked_sub(span)
            .map(|start| start.timestamp()),
    };
    moment.map_err(|error| CliError::usage(anyhow!("--since: {error}")))
}

/// The hash of a revision; what git does not know here may be the beginning of one that it no
/// longer has.
fn commit(revision: &str) -> Result<String, CliError> {
    let known = revisions::git(
        Path::new("."),
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ],
    );
    match known {
        Ok(hash) => Ok(hash.trim().to_owned()),
        Err(_) if revision.len() >= 4 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(revision.to_ascii_lowercase())
        }
        Err(_) => Err(CliError::usage(anyhow!(
            "`{revision}` is no revision here, nor the beginning of a hash; `rusty-stack-bench \
             history` lists the commits"
        ))),
    }
}

/// The rows of the latest runs or comparisons, as many as were asked for; how many others there are
/// is said. `name` is that of the run or comparison which a row is of.
fn latest<R>(mut rows: Vec<R>, args: &HistoryArgs, name: impl Fn(&R) -> &str) -> Vec<R> {
    let (end, left_out) = cut(rows.iter().map(name), args.limit as usize);
    if left_out > 0 {
        let count = if args.comparisons {
            format_count(left_out, "earlier comparison is", "earlier comparisons are")
        } else {
            format_count(left_out, "earlier run is", "earlier runs are")
        };
        console::say(&format!(
            "note: {count} left out; show more with --limit {}",
            args.limit as usize + left_out
        ));
    }
    rows.truncate(end);
    rows
}

/// Where the rows of the first `limit` names end, and how many names follow. The rows of one name
/// stand together.
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

/// Every stored run, the latest first.
pub(super) fn runs(store: &Store) -> anyhow::Result<Vec<RunRow>> {
    let mut rows = Vec::new();
    for run in store.runs()? {
        rows.push(RunRow {
            run_id: run.run_id.0,
            started: run.started,
            suite: run.suite,
            profile: run.profile,
            commit: run.commit,
            machine: run.slug,
            measured: run.counts.measured,
            skipped: run.counts.skipped,
            failed: run.counts.failed,
        });
    }
    Ok(rows)
}

fn values(store: &Store, args: &HistoryArgs) -> anyhow::Result<Vec<HistoryTableRow>> {
    let cases = args.filter.broadest().map(settings::anywhere);
    let filter = HistoryFilter { cases, ..HistoryFilter::default() };
    let mut rows = Vec::new();
    for row in store.history(&filter)? {
        if !args.filter.fits(&row.benchmark_id) {
            continue;
        }
        rows.push(HistoryTableRow {
            run_id: row.run_id.0,
            timestamp: row.timestamp,
            commit: row.commit,
            id: row.benchmark_id,
            metric: row.metric,
            unit: row.unit,
            value: row.value,
            outcome: row.outcome,
        });
    }
    Ok(rows)
}

fn comparisons(store: &Store) -> anyhow::Result<Vec<ComparisonRow>> {
    let mut rows = Vec::new();
    for row in store.comparisons()? {
        rows.push(ComparisonRow {
            comparison_id: row.comparison_id,
            timestamp: row.timestamp,
            baseline: row.baseline_run_id,
            current: row.current_run_id,
            verdict: row.verdict,
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn runs_are_counted_and_never_cut_in_the_middle() {
        let rows = ["c", "c", "c", "b", "a", "a"];
        assert_eq!(cut(rows.into_iter(), 1), (3, 2));
        assert_eq!(cut(rows.into_iter(), 2), (4, 1));
        assert_eq!(cut(rows.into_iter(), 3), (6, 0));
        assert_eq!(cut(rows.into_iter(), 20), (6, 0));
        assert_eq!(cut(std::iter::empty(), 20), (0, 0));
    }
}
