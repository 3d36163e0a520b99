//! What was measured before: runs, the values of a case, comparisons.

use rsb_model::{Outcome, Verdict};
use rsb_report::{ComparisonRow, HistoryRow, RunRow, Style, list};
use rsb_store::{HistoryFilter, Store};

use super::{judge, settings};
use crate::cli::HistoryArgs;
use crate::exit::{Ended, Exit};
use crate::show;

/// The verb `history`.
///
/// # Errors
/// When the results cannot be read.
pub fn run(args: &HistoryArgs, style: Style) -> Ended {
    let (_, folders) = settings::load(&args.places)?;
    let store = judge::open(&folders)?;
    let text = if args.comparisons {
        let rows = comparisons(&store, args.limit)?;
        if args.json { rsb_report::document("comparisons", &rows)? } else { list::comparisons(&rows, style) }
    } else if args.case.is_some() {
        let rows = values(&store, args)?;
        if args.json { rsb_report::document("history", &rows)? } else { list::history(&rows, style) }
    } else {
        let rows = runs(&store, args.limit)?;
        if args.json { rsb_report::document("runs", &rows)? } else { list::runs(&rows, style) }
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

fn runs(store: &Store, limit: usize) -> anyhow::Result<Vec<RunRow>> {
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
    Ok(store.runs()?.into_iter().take(limit).map(row).collect())
}

fn values(store: &Store, args: &HistoryArgs) -> anyhow::Result<Vec<HistoryRow>> {
    let filter = HistoryFilter { cases: args.case.as_deref().map(settings::anywhere), ..HistoryFilter::default() };
    let row = |row: rsb_store::HistoryRow| HistoryRow {
        run_id: row.run_id.0,
        timestamp: row.timestamp,
        commit: row.commit,
        id: row.benchmark_id,
        metric: row.metric,
        unit: row.unit,
        value: row.value,
        outcome: outcome(&row.outcome),
    };
    Ok(store.history(&filter)?.into_iter().take(args.limit).map(row).collect())
}

fn outcome(text: &str) -> Outcome {
    match text {
        "measured" => Outcome::Measured,
        "skipped" => Outcome::Skipped,
        "simulated" => Outcome::Simulated,
        _ => Outcome::Failed,
    }
}

fn comparisons(store: &Store, limit: usize) -> anyhow::Result<Vec<ComparisonRow>> {
    let all = [Verdict::Improved, Verdict::Regressed, Verdict::Unchanged, Verdict::NotComparable];
    let row = |row: rsb_store::ComparisonSummaryRow| ComparisonRow {
        comparison_id: row.comparison_id,
        timestamp: row.timestamp,
        baseline: row.baseline_run_id,
        current: row.current_run_id,
        verdict: all.into_iter().find(|verdict| verdict.as_str() == row.verdict).unwrap_or(Verdict::Inconclusive),
    };
    Ok(store.comparisons()?.into_iter().take(limit).map(row).collect())
}
