//! Percentiles of the times of samples, each compared separately if the policy requests it. They
//! show a tail that became slower while the fast half stayed the same.

use rsb_model::record::Comparison;
use rsb_model::{BenchmarkResult, Better, CaseId, ReasonCode, Unit, Verdict};

use super::timed::{Pairing, by_process};
use super::{Row, row_without_values};
use crate::compare::{Pair, Side};
use crate::policy::{Percentile, Policy};

/// Returns one row for each percentile of the policy.
pub(super) fn rows(
    id: &CaseId,
    sides: [&[&BenchmarkResult]; 2],
    policy: &Policy,
    pairing: Pairing,
) -> Vec<Row> {
    let percentiles = policy
        .percentiles()
        .iter()
        .filter(|percentile| !policy.ignores_metric(percentile.metric()));
    percentiles.map(|percentile| row(id, sides, *percentile, policy, pairing)).collect()
}

fn row(
    id: &CaseId,
    sides: [&[&BenchmarkResult]; 2],
    percentile: Percentile,
    policy: &Policy,
    pairing: Pairing,
) -> Row {
    let metric = percentile.metric();
    let [before, after] = sides.map(|results| values(results, percentile));
    let (Some(before), Some(after)) = (before, after) else {
        return too_few(id, percentile, policy);
    };
    let has_pairs =
        pairing != Pairing::Independent && before.replicates().len() == after.replicates().len();
    let pairs = before.replicates().iter().zip(after.replicates());
    let ratios = has_pairs.then(|| pairs.map(|(before, after)| (after / before).ln()).collect());
    let threshold = policy.threshold_percent_for(id.as_str(), metric) / 100.0;
    let pair = Pair {
        baseline: before,
        current: after,
        ratios,
        unit: Unit::Milliseconds,
        better: Better::Lower,
        threshold,
    };
    Row::Asked { id: id.clone(), metric, pair }
}

fn too_few(id: &CaseId, percentile: Percentile, policy: &Policy) -> Row {
    let (metric, needed) = (percentile.metric(), percentile.samples_needed());
    let sentence = format!(
        "{metric} needs {needed} samples of each process: measure with `--runs {needed}`, or leave \
         it out of the policy"
    );
    match row_without_values(
        id,
        Verdict::Inconclusive,
        ReasonCode::TooFewSamples,
        &sentence,
        policy,
    ) {
        Row::Ready(row) => Row::Ready(Comparison { metric: metric.to_owned(), ..row }),
        row @ Row::Asked { .. } => row,
    }
}

/// Returns one value in milliseconds for each fresh process; `None` if a process has too few
/// samples.
fn values(results: &[&BenchmarkResult], percentile: Percentile) -> Option<Side> {
    let processes = results.iter().flat_map(|result| by_process(&result.samples));
    let figures: Option<Vec<f64>> = processes
        .map(|samples| percentile.of(&samples).ok().flatten().map(|time| time / 1e6))
        .collect();
    let figures = figures?;
    Side::of_results(results, figures.clone(), figures)
}
