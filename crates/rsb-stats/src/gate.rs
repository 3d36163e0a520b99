//! The gate: turns two sets of runs and a policy into verdicts, reasons and an exit code.
//!
//! A case without a verdict never passes: a case of the baseline that is missing, failed, cannot be
//! read or ran on another machine is listed with its reason and affects the exit code.

mod cases;
mod compared;
pub(crate) mod control;
mod evidence;
mod exact;
mod held_back;
mod instructions;
mod machine;
mod paired;
mod percentiles;
mod reason;
mod same;
pub(crate) mod summary;
mod targets;
#[cfg(test)]
pub(crate) mod testing;
mod timed;
mod turns;

use itertools::Itertools as _;
use rsb_model::format::FORMAT_VERSION;
use rsb_model::ids::RunId;
use rsb_model::record::{
    Comparison, ComparisonNote, ComparisonNoteCode, ComparisonResult, ThresholdCheck, comparison_id,
};
use rsb_model::{BenchmarkResult, CaseId, Outcome, Reason, ReasonCode, Run, Timestamp, Verdict};

pub use compared::with_statistics;
pub use paired::with_paired;
pub use summary::overall;
pub use turns::{FirstCall, gate_in_turns, gate_in_turns_confirmed};

use crate::compare::Pair;
use crate::policy::Policy;
use cases::{CaseStatus, Cases};
use timed::Pairing;

/// Compares `current` with `baseline`. Each run is a set of replicates, and the replicates of
/// several runs of a side are pooled.
///
/// Runs must share their hardware. A case is comparable if its factors agree, except those in
/// `across`, whose change is under test. `now` is the time of the comparison.
pub fn gate(
    baseline: &[Run],
    current: &[Run],
    policy: &Policy,
    across: &[String],
    now: Timestamp,
) -> ComparisonResult {
    let sides = Sides { baseline, current, pairing: Pairing::Independent };
    judge(&sides, policy, across, now)
}

/// Compares two runs whose replicates were interleaved on one machine, the n-th of one with the
/// n-th of the other.
pub fn gate_paired(
    baseline: &Run,
    current: &Run,
    policy: &Policy,
    now: Timestamp,
) -> ComparisonResult {
    let (baseline, current) = (std::slice::from_ref(baseline), std::slice::from_ref(current));
    judge(&Sides { baseline, current, pairing: Pairing::Paired }, policy, &[], now)
}

/// Input of a comparison.
struct Sides<'a> {
    baseline: &'a [Run],
    current: &'a [Run],
    pairing: Pairing,
}

fn judge(
    sides: &Sides<'_>,
    policy: &Policy,
    across: &[String],
    now: Timestamp,
) -> ComparisonResult {
    let Sides { baseline, current, pairing } = *sides;
    let (before, after) = (Cases::of(baseline, policy), Cases::of(current, policy));
    let unlike = machine::hardware_difference(baseline, current);
    let mut rows: Vec<Row> = Vec::new();
    for id in before.expected_cases() {
        match &unlike {
            Some(sentence) => {
                rows.push(row_without_values(
                    id,
                    Verdict::NotComparable,
                    ReasonCode::UnlikeMachine,
                    sentence,
                    policy,
                ));
            }
            None => {
                rows.extend(rows_of(id, [&before, &after], &RowRules { policy, pairing, across }));
            }
        }
    }
    let mut notes: Vec<ComparisonNote> = evidence::note(&rows).into_iter().collect();
    let each: Vec<&BenchmarkResult> =
        baseline.iter().chain(current).flat_map(|run| &run.benchmarks).collect();
    let attempted = each.iter().copied().filter(|result| result.outcome != Outcome::Skipped);
    notes.extend(policy.notes(&unique_ids(each.iter().copied()), &unique_ids(attempted)));
    let mut comparisons = decide(rows, policy);
    instructions::beside_time(&mut comparisons);
    notes.splice(0..0, name_causes(&mut comparisons, &before, &after));
    let checks = targets::check(&after, policy);
    comparisons.extend(checks.misses);
    let ids = (join_run_ids(baseline), RunId(join_run_ids(current)));
    ComparisonResult {
        format_version: FORMAT_VERSION,
        comparison_id: comparison_id(&ids.0, &ids.1, now),
        baseline_run_id: ids.0,
        current_run_id: ids.1.0,
        timestamp: now,
        verdict: summary::overall(&comparisons),
        threshold_percent: policy.threshold_percent(),
        missing: before.expected_cases().filter(|id| after.find(id).is_none()).cloned().collect(),
        new: after.present().filter(|id| !before.expects(id)).cloned().collect(),
        summary: summary::summarize(&comparisons, &checks.shown, policy),
        threshold_checks: checks.shown,
        notes,
        comparisons,
    }
}

/// Returns the ids of `results` in ascending order, without duplicates.
fn unique_ids<'a>(results: impl Iterator<Item = &'a BenchmarkResult>) -> Vec<&'a str> {
    results.map(|result| result.benchmark_id.as_str()).sorted_unstable().dedup().collect_vec()
}

/// Returns `result` with the cases that exist on one side only and were therefore not measured. A
/// case that vanished has no verdict.
pub fn with_one_sided(
    result: ComparisonResult,
    vanished: &[CaseId],
    new: &[CaseId],
    policy: &Policy,
) -> ComparisonResult {
    let sentence =
        "the baseline has this case and the current side does not, so it cannot be judged";
    let (verdict, code) = (Verdict::Inconclusive, ReasonCode::Missing);
    let mut result = with_rows(result, vanished, verdict, code, sentence, policy);
    result.missing.extend(vanished.iter().filter(|id| !policy.ignores_case(id.as_str())).cloned());
    result.new.extend(new.iter().cloned());
    result
}

/// Returns `result` with the cases that should have been measured on both sides but were not
/// reached on one of them. They have no verdict, and are neither missing nor new.
pub fn with_unmeasured(
    result: ComparisonResult,
    unmeasured: &[CaseId],
    policy: &Policy,
) -> ComparisonResult {
    let mut result = result;
    result.comparisons.retain(|row| !unmeasured.contains(&row.id));
    result.missing.retain(|id| !unmeasured.contains(id));
    result.new.retain(|id| !unmeasured.contains(id));
    let sentence = "not measured before the budget ran out: allow more with --budget, or name \
                    fewer benchmarks";
    with_rows(result, unmeasured, Verdict::Inconclusive, ReasonCode::NotMeasured, sentence, policy)
}

/// Returns `result` with the cases that were not measured because both sides execute the same
/// machine code.
pub fn with_same_code(
    result: ComparisonResult,
    ids: &[CaseId],
    policy: &Policy,
) -> ComparisonResult {
    let sentence = "both sides execute the same machine code, so nothing was measured";
    with_rows(result, ids, Verdict::Unchanged, ReasonCode::SameMachineCode, sentence, policy)
}

/// Returns `result` with a row without values for each of `ids`, and an updated summary.
fn with_rows(
    result: ComparisonResult,
    ids: &[CaseId],
    verdict: Verdict,
    code: ReasonCode,
    sentence: &str,
    policy: &Policy,
) -> ComparisonResult {
    let mut result = result;
    for id in ids.iter().filter(|id| !policy.ignores_case(id.as_str())) {
        if let Row::Ready(row) = row_without_values(id, verdict, code, sentence, policy) {
            result.comparisons.push(row);
        }
    }
    result.verdict = summary::overall(&result.comparisons);
    result.summary = summary::summarize(&result.comparisons, &result.threshold_checks, policy);
    result
}

/// Compares `runs` with each absolute target of `policy`, without a baseline.
pub fn threshold_checks(runs: &[Run], policy: &Policy) -> Vec<ThresholdCheck> {
    targets::check(&Cases::of(runs, policy), policy).shown
}

/// Returns the exit code of `gate`: 3 if anything regressed, otherwise 4 if anything has no
/// verdict, otherwise 0.
pub fn exit_code(result: &ComparisonResult) -> u8 {
    match result.verdict {
        Verdict::Regressed => 3,
        Verdict::Inconclusive | Verdict::NotComparable => 4,
        Verdict::Improved | Verdict::Unchanged => 0,
    }
}

/// A finished comparison, or a pair that is still to be judged together with all others.
enum Row {
    Ready(Comparison),
    Asked { id: CaseId, metric: &'static str, pair: Pair },
}

/// Policy, pairing and factors under test for the rows of a case.
struct RowRules<'a> {
    policy: &'a Policy,
    pairing: Pairing,
    across: &'a [String],
}

/// Returns the rows of one case that the baseline expects, one per metric.
fn rows_of(id: &CaseId, [before, after]: [&Cases<'_>; 2], rules: &RowRules<'_>) -> Vec<Row> {
    let &RowRules { policy, pairing, across } = rules;
    let refusal = |verdict, code, sentence: &str| {
        vec![row_without_values(id, verdict, code, sentence, policy)]
    };
    let Some(baseline) = before.measured_results(id) else {
        if let CaseStatus::Failed(why) = before.standing(id) {
            let how = reason::not_measured("failed in the baseline", why);
            return refusal(
                Verdict::Inconclusive,
                ReasonCode::CaseFailed,
                &format!("{how}; save a baseline that has it"),
            );
        }
        let sentence =
            "the baseline ran on a fake GPU, which is never gated: save one from a real device";
        return refusal(Verdict::NotComparable, ReasonCode::CaseSimulated, sentence);
    };
    match after.standing(id) {
        CaseStatus::Measured(current) => {
            if let Some(sentence) = machine::device_difference(baseline, &current) {
                return refusal(Verdict::NotComparable, ReasonCode::UnlikeMachine, &sentence);
            }
            let factors = [before.factors(id), after.factors(id)].concat();
            if let Some(sentence) = machine::software_difference(&factors, across) {
                return refusal(Verdict::NotComparable, ReasonCode::UnlikeMachine, &sentence);
            }
            let own: Vec<_> =
                baseline.iter().copied().filter(|result| !after.was_accepted(result)).collect();
            let copied =
                if pairing == Pairing::Independent { same::sentence(&own, &current) } else { None };
            if let Some(sentence) = copied {
                return refusal(Verdict::Inconclusive, ReasonCode::SameSamples, &sentence);
            }
            let mut rows = timed::rows(id, baseline, &current, policy, pairing);
            rows.extend(exact::rows(id, baseline, &current, policy).map(Row::Ready));
            if rows.is_empty() && is_blank(baseline) {
                let sentence =
                    "there are no samples and no metric to compare: measure the case again";
                rows.push(row_without_values(
                    id,
                    Verdict::Inconclusive,
                    ReasonCode::Unreadable,
                    sentence,
                    policy,
                ));
            }
            rows
        }
        CaseStatus::Failed(why) => refusal(
            Verdict::Inconclusive,
            ReasonCode::CaseFailed,
            &reason::not_measured("failed", why),
        ),
        CaseStatus::Skipped(why) => refusal(
            Verdict::Inconclusive,
            ReasonCode::CaseSkipped,
            &reason::not_measured("was skipped", why),
        ),
        CaseStatus::Simulated(_) => {
            let sentence = "it ran on a fake GPU, which is never gated: run it on a real device";
            refusal(Verdict::NotComparable, ReasonCode::CaseSimulated, sentence)
        }
        CaseStatus::Partial(without) => {
            let runs: Vec<&str> = without.iter().map(|run| run.0.as_str()).collect();
            let sentence = format!(
                "it was measured in some of the runs and not in {}: judge runs that all have it, \
                 or measure it there",
                runs.join(", ")
            );
            refusal(Verdict::Inconclusive, ReasonCode::Missing, &sentence)
        }
        CaseStatus::Missing => {
            let sentence = "the baseline has it and the run does not: run it, or save a new \
                            baseline if it is gone for good";
            refusal(Verdict::Inconclusive, ReasonCode::Missing, sentence)
        }
    }
}

/// Returns whether a case has no values at all. A case with values but without rows is excluded by
/// the policy instead.
fn is_blank(results: &[&rsb_model::BenchmarkResult]) -> bool {
    results.iter().all(|result| {
        result.samples.is_empty()
            && result.fields().is_none_or(|fields| fields.metrics().next().is_none())
    })
}

/// Judges all pairs together and returns the comparisons in the order of `rows`.
fn decide(rows: Vec<Row>, policy: &Policy) -> Vec<Comparison> {
    let questions: Vec<control::ControlQuestion<'_>> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Asked { id, pair, .. } => Some((id, pair)),
            Row::Ready(_) => None,
        })
        .collect();
    let pairs = questions.len();
    let mut answers = control::judge(&questions, policy).into_iter();
    rows.into_iter()
        .filter_map(|row| match row {
            Row::Ready(comparison) => Some(comparison),
            Row::Asked { id, metric, pair } => answers.next().map(|answer| {
                let context = reason::ReasonContext { pairs, alpha: policy.alpha() };
                let mut comparison = timed::comparison(id, metric, &pair, &answer.finding, context);
                if let Some(remark) = answer.remark {
                    comparison.reason = format!("{}, {remark}", comparison.reason);
                }
                comparison
            }),
        })
        .collect()
}

/// Prefixes the reason of each regression that the machine explains with that explanation, and
/// counts these regressions in a note.
fn name_causes(
    rows: &mut [Comparison],
    before: &Cases<'_>,
    after: &Cases<'_>,
) -> Option<ComparisonNote> {
    let regressed = rows.iter_mut().filter(|row| row.verdict == Verdict::Regressed);
    let (mut all, mut explained) = (0, 0);
    for row in regressed {
        all += 1;
        let (Some(baseline), CaseStatus::Measured(current)) =
            (before.measured_results(&row.id), after.standing(&row.id))
        else {
            continue;
        };
        if let Some(cause) = held_back::cause(row, [baseline, &current]) {
            explained += 1;
            row.reason = format!("{cause}; {}", row.reason);
        }
    }
    let text = format!(
        "machine, not code: in {explained} of {all} regressions the GPU ran at a lower clock or \
         was held back; check cooling, \
         power cap and other load, and measure again"
    );
    (explained > 0).then(|| ComparisonNote::new(ComparisonNoteCode::MachineState, text))
}

/// Creates a comparison without values.
fn row_without_values(
    id: &CaseId,
    verdict: Verdict,
    reason_code: ReasonCode,
    sentence: &str,
    policy: &Policy,
) -> Row {
    Row::Ready(Comparison {
        verdict,
        reason: sentence.to_owned(),
        reason_code,
        threshold_percent: policy.threshold_percent_for(id.as_str(), timed::TIME),
        ..Comparison::new(
            id.clone(),
            timed::TIME,
            rsb_model::Unit::Milliseconds.symbol(),
            rsb_model::Better::Lower,
        )
    })
}

fn join_run_ids(runs: &[Run]) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.run_id.0.as_str()).collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(",") }
}

/// Recorded reason why a result was not measured.
type Why<'a> = Option<&'a Reason>;
