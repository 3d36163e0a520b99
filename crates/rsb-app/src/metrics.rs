//! Metrics of a store for Prometheus: the last time and verdict of each case, the runs, the alerts,
//! the progress of runs, and the states of a campaign.

use std::collections::{BTreeMap, HashMap};

use rsb_model::Verdict;
use rsb_model::record::Comparison;
use rsb_model::run::ReplicateProgress;
use rsb_model::unit::Unit;
use rsb_report::metrics::{
    CampaignMetrics, CaseMetrics, MachineMetrics, MetricsFormat, MetricsInput, RunningMetrics,
};
use rsb_store::{AlertBook, NewestValue, RunSummary, Store};

use crate::AppError;
use crate::trend::TIMES;

pub use rsb_report::metrics::DEFAULT_MAX_SERIES;

/// Number of the newest comparisons that are searched for verdicts.
const MAX_COMPARISONS: usize = 50;

/// Returns the metrics of `store`, with at most `max_series` time series of single cases.
///
/// # Errors
/// If the index or the alerts cannot be read.
pub fn stored(store: &Store, max_series: usize) -> Result<MetricsInput, AppError> {
    let runs = store.runs()?;
    Ok(MetricsInput {
        version: env!("CARGO_PKG_VERSION"),
        machines: machines(&runs),
        cases: cases(store, &runs)?,
        alerts: AlertBook::read(store.results_dir()).map_err(AppError::usage)?.alerts,
        running: RunningMetrics::default(),
        campaign: None,
        max_series,
    })
}

/// Returns the text of `stored` in `format`, with the progress of the runs that are being measured
/// into `store`, and the states of `campaign`.
pub fn text(
    stored: MetricsInput,
    store: &Store,
    campaign: Option<CampaignMetrics>,
    format: MetricsFormat,
) -> String {
    let input = MetricsInput { running: running(store), campaign, ..stored };
    rsb_report::metrics(&input, format)
}

/// Returns the progress of the runs that are being measured into `store`.
fn running(store: &Store) -> RunningMetrics {
    let journals = store.progress();
    let progress = journals.iter().filter_map(|journal| journal.progress);
    let mut running = RunningMetrics { runs: journals.len(), ..RunningMetrics::default() };
    for ReplicateProgress { done, total } in progress {
        running.done += done;
        running.planned += total;
    }
    running
}

/// Returns the machines of `runs`, which are sorted newest first.
fn machines(runs: &[RunSummary]) -> Vec<MachineMetrics> {
    let mut machines: BTreeMap<&str, MachineMetrics> = BTreeMap::new();
    for run in runs {
        let newest = || MachineMetrics {
            machine: run.slug.clone(),
            runs: 0,
            newest: run.started,
            counts: run.counts,
        };
        machines.entry(&run.slug).or_insert_with(newest).runs += 1;
    }
    machines.into_values().collect()
}

fn cases(store: &Store, runs: &[RunSummary]) -> Result<Vec<CaseMetrics>, AppError> {
    let verdicts = newest_verdicts(store, runs)?;
    let mut cases = BTreeMap::new();
    for value in store.newest_values(&TIMES)? {
        let Some(seconds) = seconds(&value) else { continue };
        let key = CaseKey { machine: value.machine.clone(), case: value.case.clone() };
        let verdict = verdicts.get(&key).copied();
        let NewestValue { case, machine, started, .. } = value;
        // Values of a case are sorted by time, so the newest one is kept.
        cases.insert(key, CaseMetrics { case, machine, seconds, measured: started, verdict });
    }
    Ok(cases.into_values().collect())
}

/// A case on a machine.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CaseKey {
    machine: String,
    case: String,
}

/// Returns the value in seconds; `None` if its unit is not a time.
fn seconds(value: &NewestValue) -> Option<f64> {
    let per_second = match Unit::ALL.into_iter().find(|unit| unit.symbol() == value.unit)? {
        Unit::Nanoseconds => 1e9,
        Unit::Microseconds => 1e6,
        Unit::Milliseconds => 1e3,
        Unit::Seconds => 1.0,
        _ => return None,
    };
    Some(value.value / per_second)
}

/// Returns the last verdict on each case, from the newest comparisons of stored runs. Comparisons
/// whose file cannot be read are left out.
fn newest_verdicts(
    store: &Store,
    runs: &[RunSummary],
) -> Result<BTreeMap<CaseKey, Verdict>, AppError> {
    let machines: HashMap<&str, &str> =
        runs.iter().map(|run| (run.run_id.0.as_str(), run.slug.as_str())).collect();
    let mut verdicts = BTreeMap::new();
    for row in store.comparisons()?.iter().take(MAX_COMPARISONS) {
        let Some(machine) = machines.get(row.current_run_id.as_str()) else { continue };
        let Ok(Some(result)) = store.comparison(&row.comparison_id) else { continue };
        for (case, verdict) in worst_verdicts(&result.comparisons) {
            let key = CaseKey { machine: (*machine).to_owned(), case };
            verdicts.entry(key).or_insert(verdict);
        }
    }
    Ok(verdicts)
}

/// Returns the worst verdict on each case over its metrics.
fn worst_verdicts(comparisons: &[Comparison]) -> BTreeMap<String, Verdict> {
    let mut worst = BTreeMap::new();
    for comparison in comparisons {
        let known = worst.entry(comparison.id.to_string()).or_insert(comparison.verdict);
        if rank(comparison.verdict) > rank(*known) {
            *known = comparison.verdict;
        }
    }
    worst
}

/// Returns the rank of a verdict among those on one case, the worst highest.
const fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Unchanged => 0,
        Verdict::Improved => 1,
        Verdict::NotComparable => 2,
        Verdict::Inconclusive => 3,
        Verdict::Regressed => 4,
    }
}
