//! Metrics that vary from process to process: the time of an iteration or, if no samples were kept,
//! a rate or latency.
//!
//! All rates of a case are derived from the same time, so only the time is compared, as `time_ms`.

use itertools::Itertools as _;
use rsb_model::field::FIELDS;
use rsb_model::record::Comparison;
use rsb_model::samples::{Samples, SamplesError};
use rsb_model::{BenchmarkResult, Better, CaseId, Field, ReasonCode, Unit, Verdict};

use super::{Row, exact, percentiles, reason, row_without_values};
use crate::compare::{Pair, Side};
use crate::conclusion::CaseConclusion;
use crate::estimate::{location, median};
use crate::policy::Policy;
use crate::trimmed::{Cut, trimmed_mean};

/// Metric name for the time of an iteration.
pub(super) const TIME: &str = "time_ms";

/// How the processes of the two sides were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairing {
    /// Independent: each side was measured separately.
    Independent,
    /// The n-th process of one side was measured next to the n-th of the other, and their samples
    /// were interleaved.
    Paired,
    /// The n-th replicate of one side consists of several processes that took turns with those of
    /// the other; their samples do not correspond one to one.
    Turns,
}

/// Returns the row for the speed of a case, or for the reason why it cannot be compared. Empty if
/// the policy ignores the metric.
pub(super) fn rows(
    id: &CaseId,
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
    policy: &Policy,
    pairing: Pairing,
) -> Vec<Row> {
    if baseline.iter().chain(current).all(|result| is_idle(result)) {
        return Vec::new();
    }
    if let Some(units) = unlike_units(baseline, current) {
        return vec![row_without_values(
            id,
            Verdict::NotComparable,
            ReasonCode::UnlikeUnit,
            &units,
            policy,
        )];
    }
    let sampled =
        [baseline, current].map(|results| results.iter().any(|result| !result.samples.is_empty()));
    // A case with samples on one side only is handled as if its samples were unreadable.
    let question = if sampled == [false, false] {
        match common_metric(baseline, current, policy) {
            Ok(found) => found.map(|field| {
                let better = field.better().unwrap_or(Better::Lower);
                (field.name, field.unit, better, values(field, baseline), values(field, current))
            }),
            Err(sentence) => {
                return vec![row_without_values(
                    id,
                    Verdict::NotComparable,
                    ReasonCode::UnlikeUnit,
                    &sentence,
                    policy,
                )];
            }
        }
    } else {
        let [before, after] = [baseline, current].map(|results| times(results, pairing));
        Some((TIME, Unit::Milliseconds, Better::Lower, before, after))
    };
    let Some((metric, unit, better, before, after)) = question else { return Vec::new() };
    if policy.ignores_metric(metric) {
        return Vec::new();
    }
    match (before, after) {
        (Err(why), _) => vec![unreadable_row(id, "the baseline", &why, policy)],
        (_, Err(why)) => vec![unreadable_row(id, "the run", &why, policy)],
        (Ok(before), Ok(after)) => {
            if let Some(sentence) = uneven(&before, &after) {
                return vec![row_without_values(
                    id,
                    Verdict::Inconclusive,
                    ReasonCode::TooFewSamples,
                    &sentence,
                    policy,
                )];
            }
            let threshold = policy.threshold_percent_for(id.as_str(), metric) / 100.0;
            let ratios = match pairing {
                Pairing::Independent => None,
                Pairing::Paired => ratios(baseline, current, ratio),
                Pairing::Turns => ratios(baseline, current, ratio_of_floors),
            };
            let pair = Pair { baseline: before, current: after, ratios, unit, better, threshold };
            let mut rows = vec![Row::Asked { id: id.clone(), metric, pair }];
            if sampled == [true, true] {
                rows.extend(percentiles::rows(id, [baseline, current], policy, pairing));
            }
            rows
        }
    }
}

fn unreadable_row(id: &CaseId, side: &str, why: &str, policy: &Policy) -> Row {
    let sentence = format!("the samples of {side} cannot be read: {why}; measure it again");
    row_without_values(id, Verdict::Inconclusive, ReasonCode::Unreadable, &sentence, policy)
}

/// Returns whether the samples are sensor readings of an idle GPU, whose times do not measure the
/// GPU.
fn is_idle(result: &BenchmarkResult) -> bool {
    result.fields().is_some_and(|fields| fields.text("load") == Some("idle"))
}

/// Returns the logarithm of current over baseline for each pair of replicates that were measured
/// side by side. `None` if the replicates of the sides do not correspond one by one.
fn ratios(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
    ratio: impl Fn(&Samples, &Samples) -> Option<f64>,
) -> Option<Vec<f64>> {
    let ([baseline], [current]) = (baseline, current) else { return None };
    if baseline.samples.len() != current.samples.len() {
        return None;
    }
    baseline
        .samples
        .iter()
        .zip(&current.samples)
        .map(|(before, after)| ratio(before, after))
        .collect()
}

/// Computes the ratio from neighboring samples, because a disturbance that lasts longer than a
/// sample affects both.
fn ratio(before: &Samples, after: &Samples) -> Option<f64> {
    let (before, after) = (before.per_iteration().ok()?, after.per_iteration().ok()?);
    if before.len() != after.len() {
        return None;
    }
    let ratios: Vec<f64> =
        before.iter().zip(&after).map(|(before, after)| (after / before).ln()).collect();
    trimmed_mean(&ratios, Cut::QUARTERS).map(|found| found.mean)
}

/// Computes the ratio of the lowest times of both sides: if one process of a side was slowed as a
/// whole, another was not.
fn ratio_of_floors(before: &Samples, after: &Samples) -> Option<f64> {
    Some((after.floor().ok()? / before.floor().ok()?).ln())
}

/// Creates the comparison of a pair from the conclusion `found`.
pub(super) fn comparison(
    id: CaseId,
    metric: &str,
    pair: &Pair,
    found: &CaseConclusion,
    context: reason::ReasonContext,
) -> Comparison {
    let mut row = Comparison {
        verdict: found.verdict,
        reason: reason::of_finding(pair, found, context),
        reason_code: found.reason,
        threshold_percent: 100.0 * pair.threshold,
        ..Comparison::new(id, metric, pair.unit.symbol(), pair.better)
    };
    found.write_to(&mut row);
    row
}

/// Number of samples below which a side is not compared if the other side has at least [`MANY`]
/// times as many.
const FEW: usize = 10;

/// Ratio of the two numbers of samples from which they are too uneven to compare.
const MANY: usize = 10;

/// Returns the sentence for a side that has far fewer samples than the other, because it was cut
/// off. `None` if both sides have a single sample, as from tools that print one value per case: the
/// other cases show how much such values vary.
fn uneven(before: &Side, after: &Side) -> Option<String> {
    let [before, after] = [before, after].map(|side| side.facts().samples);
    let (side, few, many) =
        if before < after { ("the baseline", before, after) } else { ("the run", after, before) };
    match few {
        1 if many > 1 => {
            Some(format!("{side} has a single sample, which shows no spread: measure it again"))
        }
        _ if few > 1 && few < FEW && many >= MANY * few => Some(format!(
            "{side} has {few} samples and the other side has {many}: it was interrupted, or \
             measured with other settings; measure both sides the same way"
        )),
        _ => None,
    }
}

/// Returns one side of a case, with one time in milliseconds for each replicate, and the median of
/// each process. If the processes were not measured sample by sample, the time is the floor of the
/// samples, because the comparison uses the minimum of each side.
fn times(results: &[&BenchmarkResult], pairing: Pairing) -> Result<Side, String> {
    let (mut times, mut medians) = (Vec::new(), Vec::new());
    for replicate in results.iter().flat_map(|result| by_process(&result.samples)) {
        let time = match pairing {
            Pairing::Independent | Pairing::Turns => replicate.floor(),
            Pairing::Paired => location(&replicate),
        };
        times.push(time.map_err(|error| error.to_string())? / 1e6);
        let each = replicate.per_iteration().map_err(|error| error.to_string())?;
        medians.extend(median(&each).map(|time| time / 1e6));
    }
    let past = results.iter().map(|result| result.past_processes()).find(|past| !past.is_empty());
    Side::of_results(results, times, medians)
        .map(|side| side.with_past(past.unwrap_or_default()))
        .ok_or_else(|| SamplesError::Empty.to_string())
}

/// Merges the lists of samples of a run that belong to the same process, because they are one
/// replicate.
pub(super) fn by_process(samples: &[Samples]) -> Vec<Samples> {
    let mut merged: Vec<Samples> = Vec::new();
    for part in samples {
        match merged.iter_mut().find(|known| known.replicate == part.replicate) {
            Some(known) => {
                known.iters.extend(&part.iters);
                known.times_ns.extend(&part.times_ns);
            }
            None => merged.push(part.clone()),
        }
    }
    merged
}

/// Returns one value for each run.
fn values(field: &Field, results: &[&BenchmarkResult]) -> Result<Side, String> {
    let found: Option<Vec<f64>> =
        results.iter().map(|result| result.fields()?.number(field.name)).collect();
    found
        .and_then(|values| Side::of_results(results, values.clone(), values))
        .ok_or_else(|| format!("`{}` must be a finite value above zero", field.name))
}

/// Returns the first varying metric in the table that every result has. `Ok(None)` if neither side
/// has any.
///
/// # Errors
/// If both sides have varying metrics but none in common, or if the sides estimate them
/// differently. The message names the metrics or estimators of both sides.
fn common_metric(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
    policy: &Policy,
) -> Result<Option<&'static Field>, String> {
    if let Some(sentence) = unlike_estimators(baseline, current) {
        return Err(sentence);
    }
    let common = varying_fields(policy)
        .find(|field| is_reported(field, baseline) && is_reported(field, current));
    if let Some(field) = common {
        return Ok(Some(field));
    }
    let (before, after) = (name_metrics(baseline, policy), name_metrics(current, policy));
    if before == after {
        return Ok(None);
    }
    Err(format!(
        "the baseline has {before} and the run has {after}: no metric in common to compare"
    ))
}

/// Returns the metrics that vary from run to run, except those that the policy ignores.
fn varying_fields(policy: &Policy) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| {
        field.better().is_some()
            && !exact::is_exact(field.name)
            && !policy.ignores_metric(field.name)
    })
}

/// Returns whether all of `results` have `field`.
fn is_reported(field: &Field, results: &[&BenchmarkResult]) -> bool {
    results
        .iter()
        .all(|result| result.fields().is_some_and(|fields| fields.get(field.name).is_some()))
}

/// Returns the names of the varying metrics that all of `results` have.
fn name_metrics(results: &[&BenchmarkResult], policy: &Policy) -> String {
    let names: Vec<&str> = varying_fields(policy)
        .filter(|field| is_reported(field, results))
        .map(|field| field.name)
        .collect();
    if names.is_empty() { "no time or rate".to_owned() } else { names.join(", ") }
}

/// Returns the reason why values without samples cannot be compared: for example, one side has the
/// medians of a tool and the other its means. A side that does not name its estimator is accepted.
fn unlike_estimators(
    baseline: &[&BenchmarkResult],
    current: &[&BenchmarkResult],
) -> Option<String> {
    let [before, now] = [baseline, current].map(|results| {
        let named = results.iter().filter_map(|result| result.metadata.get("estimator")?.as_str());
        named.sorted_unstable().dedup().join(", ")
    });
    let differ = !before.is_empty() && !now.is_empty() && before != now;
    differ.then(|| {
        format!(
            "its value is the {before} in the baseline and the {now} in the run: measure both with \
             one version of the tool"
        )
    })
}

/// Returns the sentence for statistics in different units.
fn unlike_units(baseline: &[&BenchmarkResult], current: &[&BenchmarkResult]) -> Option<String> {
    let mut units = baseline
        .iter()
        .chain(current)
        .filter_map(|result| result.statistics.as_ref())
        .map(|statistics| &statistics.unit);
    let first = units.next()?;
    let other = units.find(|&unit| unit != first)?;
    Some(format!("the unit differs: {first} and {other}; save a new baseline"))
}
