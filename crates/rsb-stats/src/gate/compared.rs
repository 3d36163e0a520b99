//! Textbook statistics of each case, added for readers who know them after all verdicts are
//! decided: no verdict depends on them.
//!
//! Tests and effect sizes use the median of each process, because the samples of one process are
//! not independent of each other; outliers and percentiles use all samples of a side.

use rsb_model::record::{
    BothSides, ComparisonResult, ComparisonStatistics, OutlierCounts, PercentileChanges, TTest,
    UTest,
};
use rsb_model::{CaseId, Outcome, Run};

use super::timed::{TIME, by_process};
use crate::effect::{cliffs_delta, cohens_d};
use crate::estimate::{OutlierRule, median, outliers, quantile};
use crate::hypothesis::{TestResult, mann_whitney, paired_t, welch_t};
use crate::interval::{Interval, difference_interval, mean_interval};

/// Error rate of the intervals reported with the t tests.
const ALPHA: f64 = 0.05;
/// Tukey's inner fences.
const IQR: OutlierRule = OutlierRule::Iqr(1.5);
const MAD: OutlierRule = OutlierRule::Mad(3.5);

/// Returns `result`, a comparison of these runs, with statistics added for every case that has
/// times on both sides.
pub fn with_statistics(
    result: ComparisonResult,
    baseline: &[Run],
    current: &[Run],
) -> ComparisonResult {
    let mut result = result;
    for row in result
        .comparisons
        .iter_mut()
        .filter(|row| row.metric == TIME && row.difference_percent.is_some())
    {
        let sides = [baseline, current].map(|runs| Times::of(runs, &row.id));
        if let [Some(before), Some(after)] = &sides {
            row.statistics = statistics(before, after).map(Box::new);
        }
    }
    result
}

/// Times of one iteration on one side, in milliseconds.
struct Times {
    all: Vec<f64>,
    /// One median per process.
    medians: Vec<f64>,
}

impl Times {
    /// Collects the times of a case. `None` if there are none, or if one cannot be read.
    fn of(runs: &[Run], id: &CaseId) -> Option<Self> {
        let mut times = Self { all: Vec::new(), medians: Vec::new() };
        let measured = runs
            .iter()
            .flat_map(|run| &run.benchmarks)
            .filter(|result| result.benchmark_id == *id && result.outcome == Outcome::Measured);
        for result in measured {
            for process in by_process(&result.samples) {
                let ms: Vec<f64> =
                    process.per_iteration().ok()?.iter().map(|ns| ns / 1e6).collect();
                times.medians.push(median(&ms)?);
                times.all.extend(ms);
            }
        }
        (!times.all.is_empty()).then_some(times)
    }

    fn outliers(&self) -> OutlierCounts {
        OutlierCounts {
            samples: self.all.len(),
            iqr: count_outliers(&self.all, IQR),
            mad: count_outliers(&self.all, MAD),
        }
    }
}

fn count_outliers(values: &[f64], rule: OutlierRule) -> usize {
    outliers(values, rule).into_iter().filter(|marked| *marked).count()
}

fn statistics(before: &Times, after: &Times) -> Option<ComparisonStatistics> {
    let (a, b) = (before.medians.as_slice(), after.medians.as_slice());
    let differences =
        || (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<_>>());
    Some(ComparisonStatistics {
        replicates: BothSides { baseline: a.len(), current: b.len() },
        welch_t: welch_t(b, a).and_then(|test| t_test(test, difference_interval(a, b, ALPHA)?)),
        paired_t: paired_t(b, a)
            .and_then(|test| t_test(test, mean_interval(&differences()?, ALPHA)?)),
        mann_whitney_u: mann_whitney(b, a).map(|test| UTest { u: test.statistic, p: test.p_value }),
        cohens_d: cohens_d(a, b).filter(|d| d.is_finite()),
        cliffs_delta: cliffs_delta(a, b),
        outliers: BothSides { baseline: before.outliers(), current: after.outliers() },
        percentile_changes: PercentileChanges {
            p50: change(before, after, 0.5)?,
            p90: change(before, after, 0.9)?,
            p95: change(before, after, 0.95)?,
            p99: change(before, after, 0.99)?,
        },
    })
}

/// Converts a test to its form in the document; `None` if a value overflowed or is not finite.
fn t_test(test: TestResult, Interval { low, high }: Interval) -> Option<TTest> {
    let (t, p, degrees_of_freedom) = (test.statistic, test.p_value, test.degrees_of_freedom?);
    let known = [t, p, degrees_of_freedom, low, high].iter().all(|figure| figure.is_finite());
    known.then_some(TTest { t, degrees_of_freedom, p, confidence_interval: [low, high] })
}

/// Returns the relative change, in percent, of the quantile `share`.
fn change(before: &Times, after: &Times, share: f64) -> Option<f64> {
    let percent = 100.0 * (quantile(&after.all, share)? / quantile(&before.all, share)? - 1.0);
    percent.is_finite().then_some(percent)
}
