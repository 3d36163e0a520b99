//! Stored results: runs, the values of a case in each run, comparisons.

use std::collections::HashSet;
use std::path::Path;

use anyhow::anyhow;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rsb_gate::revisions;
use rsb_model::{BenchmarkResult, CaseId, Fingerprint, Outcome, Run};
use rsb_report::{ComparisonRow, HistoryTableRow, RunRow};
use rsb_store::{HistoryFilter, Store};

use crate::project::anywhere;
use crate::{AppError, CaseFilter};

/// Start of a period: a date, or a span before now.
#[derive(Debug, Clone, Copy)]
pub enum Since {
    /// The start of a day in UTC.
    Day(jiff::civil::Date),
    /// This span before now.
    Ago(jiff::Span),
}

impl Since {
    /// Returns the moment.
    ///
    /// # Errors
    /// If it is before the first supported year.
    pub fn moment(self) -> Result<Timestamp, AppError> {
        let moment = match self {
            Self::Day(day) => day.to_zoned(TimeZone::UTC).map(|start| start.timestamp()),
            // Years and months vary in length, so a calendar is needed.
            Self::Ago(span) => Timestamp::now()
                .to_zoned(TimeZone::UTC)
                .checked_sub(span)
                .map(|start| start.timestamp()),
        };
        moment.map_err(|error| AppError::usage(anyhow!("--since: {error}")))
    }
}

/// Returns the hash of a revision. Hexadecimal text that git cannot resolve is returned as is,
/// since it may be the beginning of a commit that no longer exists here.
///
/// # Errors
/// If git cannot resolve the revision and it is not hexadecimal.
pub fn commit(revision: &str) -> Result<String, AppError> {
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
        Err(_) => Err(AppError::usage(anyhow!(
            "`{revision}` is neither a revision of this repository nor the beginning of a hash; \
             `rusty-stack-bench history` lists the commits"
        ))),
    }
}

/// Returns the end of the rows of the first `limit` names, and how many names follow. Rows of one
/// name must be adjacent.
pub fn cut<'n>(names: impl Iterator<Item = &'n str>, limit: usize) -> (usize, usize) {
    let (mut end, mut count, mut last) = (0, 0, None);
    for name in names {
        if last != Some(name) {
            (count, last) = (count + 1, Some(name));
        }
        end += usize::from(count <= limit);
    }
    (end, count.saturating_sub(limit))
}

/// Returns every stored run, latest first.
///
/// # Errors
/// If the index cannot be read.
pub fn runs(store: &Store) -> anyhow::Result<Vec<RunRow>> {
    let mut rows = Vec::new();
    for run in store.runs()? {
        rows.push(RunRow {
            run_id: run.run_id.0,
            started: run.started,
            finished: run.finished,
            suite: run.suite,
            profile: run.profile,
            commit: run.commit,
            branch: run.branch,
            machine: run.slug,
            measured: run.counts.measured,
            skipped: run.counts.skipped,
            failed: run.counts.failed,
        });
    }
    Ok(rows)
}

/// Returns the stored runs like [`runs`], only those of `branch` if it is given.
///
/// # Errors
/// If the index cannot be read, or no run is of the branch.
pub fn runs_of(store: &Store, branch: Option<&str>) -> Result<Vec<RunRow>, AppError> {
    let mut rows = runs(store)?;
    if let Some(branch) = branch {
        check_branch(store, branch)?;
        rows.retain(|row| row.branch.as_deref() == Some(branch));
    }
    Ok(rows)
}

/// Checks that a stored run is of `branch`.
///
/// # Errors
/// If none is; the error names the branches.
pub fn check_branch(store: &Store, branch: &str) -> Result<(), AppError> {
    let branches = store.branches().map_err(AppError::usage)?;
    if branches.iter().any(|known| known == branch) {
        return Ok(());
    }
    let known = if branches.is_empty() { "none".to_owned() } else { branches.join(", ") };
    Err(AppError::usage(anyhow!(
        "no stored run has the branch `{branch}`; branches with runs: {known}"
    )))
}

/// The newest run of a machine.
#[derive(Debug, Clone)]
pub struct NewestRun {
    /// Slug of the machine.
    pub machine: String,
    /// Number of its stored runs.
    pub runs: usize,
    /// The run.
    pub run: Run,
}

/// Returns the newest run of each machine. `rows` are the stored runs, latest first.
///
/// # Errors
/// If a run cannot be read.
pub fn newest_by_machine(store: &Store, rows: &[RunRow]) -> Result<Vec<NewestRun>, AppError> {
    let mut machines: Vec<NewestRun> = Vec::new();
    for row in rows {
        if let Some(known) = machines.iter_mut().find(|known| known.machine == row.machine) {
            known.runs += 1;
        } else {
            let run = store.run(&row.run_id).map_err(AppError::usage)?;
            machines.push(NewestRun { machine: row.machine.clone(), runs: 1, run });
        }
    }
    Ok(machines)
}

/// Adds to `run` the newest result of each case that only other runs of its machine measured. Reads
/// at most `most` other runs.
///
/// # Errors
/// If the index cannot be read.
pub fn add_other_results(store: &Store, mut run: Run, most: usize) -> Result<Run, AppError> {
    let slugs = store.slugs_of(&Fingerprint::of(&run.environment)).map_err(AppError::usage)?;
    let own = run.benchmarks.iter().filter(|result| has_values(result));
    let mut known: HashSet<CaseId> = own.map(|result| result.benchmark_id.clone()).collect();
    let rows = runs(store)?;
    let others =
        rows.iter().filter(|row| slugs.contains(&row.machine) && row.run_id != run.run_id.0);
    let mut added = Vec::new();
    for row in others.take(most) {
        // A run whose file is gone is skipped.
        let Ok(other) = store.run(&row.run_id) else { continue };
        for result in other.benchmarks {
            if has_values(&result) && known.insert(result.benchmark_id.clone()) {
                added.push(result);
            }
        }
    }
    run.benchmarks.retain(|result| has_values(result) || !known.contains(&result.benchmark_id));
    run.benchmarks.extend(added);
    Ok(run)
}

fn has_values(result: &BenchmarkResult) -> bool {
    matches!(result.outcome, Outcome::Measured | Outcome::Simulated)
}

/// Returns the values of the cases that pass `filter` in every run, latest first.
///
/// # Errors
/// If the index cannot be read.
pub fn values(store: &Store, filter: &CaseFilter) -> anyhow::Result<Vec<HistoryTableRow>> {
    let cases = filter.broadest().map(anywhere);
    let wanted = HistoryFilter { cases, ..HistoryFilter::default() };
    let mut rows = Vec::new();
    for row in store.history(&wanted)? {
        if !filter.fits(&row.benchmark_id) {
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

/// Returns every stored comparison, latest first.
///
/// # Errors
/// If the index cannot be read.
pub fn comparisons(store: &Store) -> anyhow::Result<Vec<ComparisonRow>> {
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
