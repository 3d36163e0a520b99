//! Metrics that one run determines as well as ten: errors, memory, counts. They are compared by
//! value; changes up to a floor do not count.

use rsb_model::field::FIELDS;
use rsb_model::record::Comparison;
use rsb_model::{BenchmarkResult, Better, CaseId, Dtype, Field, ReasonCode, Verdict};

use super::instructions::{self, INSTRUCTIONS};
use super::reason;
use crate::compare::LARGEST;
use crate::conclusion::band;
use crate::estimate::median;
use crate::policy::Policy;

/// Metrics that are not derived from time.
const EXACT: [&str; 17] = [
    ACCURACY_ERROR,
    "allocated_bytes_per_iteration",
    "allocations_per_iteration",
    "cache_hit_percent",
    "code_size_bytes",
    "device_memory_leaked_bytes",
    "estimated_cycles",
    FAILED_RUNS,
    "gpu_memory_peak_mb",
    INSTRUCTIONS,
    "memory_average_mb",
    "memory_fragmentation_percent",
    "memory_leaked_bytes",
    "memory_used_mb",
    "native_memory_leaked_bytes",
    "occupancy_percent",
    "peak_heap_bytes",
];

/// Largest error of a result against its reference, relative to the largest element of the
/// reference.
const ACCURACY_ERROR: &str = "accuracy_error";

/// Share of failed runs. Not compared if nothing failed on either side.
const FAILED_RUNS: &str = "failed_runs_percent";

/// Returns whether `metric` is compared by value.
pub(super) fn is_exact(metric: &str) -> bool {
    EXACT.contains(&metric)
}

/// Returns one comparison for each metric compared by value that the baseline has.
pub(super) fn rows<'a>(
    id: &'a CaseId,
    baseline: &'a [&'a BenchmarkResult],
    current: &'a [&'a BenchmarkResult],
    policy: &'a Policy,
) -> impl Iterator<Item = Comparison> + 'a {
    FIELDS
        .iter()
        .filter(|field| is_exact(field.name) && !policy.ignores_metric(field.name))
        .filter_map(move |field| row(id, field, [baseline, current], policy))
}

fn row(
    id: &CaseId,
    field: &Field,
    sides: [&[&BenchmarkResult]; 2],
    policy: &Policy,
) -> Option<Comparison> {
    let [before, after] = sides.map(|results| Values::of(field.name, results));
    let refusal = instructions::refusal(field.name, sides);
    let is_nothing = before == Values::Absent && refusal.is_none();
    if is_nothing || (field.name == FAILED_RUNS && before.are_zero() && after.are_zero()) {
        return None;
    }
    let better = field.better()?;
    let threshold_percent = policy.threshold_percent_for(id.as_str(), field.name);
    let question = Question {
        better,
        threshold: threshold_percent / 100.0,
        floor: policy.floor(field.name).max(rounding(field.name, sides)),
    };
    let judged = match (&before, &after, &refusal) {
        (.., Some((verdict, code, _))) => {
            ValuesConclusion { change: None, verdict: *verdict, code: *code }
        }
        (Values::Known(before), Values::Known(after), None) => question.judge(before, after),
        (_, Values::Absent, None) => ValuesConclusion::without(ReasonCode::Missing),
        _ => ValuesConclusion::without(ReasonCode::Unreadable),
    };
    Some(Comparison {
        baseline_value: before.center(),
        current_value: after.center(),
        difference_percent: judged.change.map(|change| {
            100.0
                * match better {
                    Better::Lower => change,
                    Better::Higher => -change,
                }
        }),
        change_status: judged.change.filter(|_| judged.verdict.is_decided()).map(band),
        verdict: judged.verdict,
        reason: refusal.map_or_else(
            || {
                reason::of_values(
                    field,
                    [before.center(), after.center()],
                    judged,
                    threshold_percent,
                )
            },
            |(.., sentence)| sentence,
        ),
        reason_code: judged.code,
        threshold_percent,
        ..Comparison::new(id.clone(), field.name, field.unit.symbol(), better)
    })
}

/// Returns the largest error that rounding of the output can cause: half a step of its data type.
/// An error that grows by less may come from another element. 0 for metrics other than the error.
fn rounding(metric: &str, sides: [&[&BenchmarkResult]; 2]) -> f64 {
    if metric != ACCURACY_ERROR {
        return 0.0;
    }
    let fields = sides.into_iter().flatten().filter_map(|result| result.fields());
    let dtypes = fields.filter_map(|fields| {
        fields.text("output_dtype").or_else(|| fields.text("dtype"))?.parse::<Dtype>().ok()
    });
    dtypes.map(|dtype| dtype.epsilon() / 2.0).fold(0.0, f64::max)
}

/// Values of one metric in the results of one side.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    /// No result has the metric.
    Absent,
    /// A result has a value that is not a number of at least zero.
    Unreadable,
    /// One value for each result that has the metric.
    Known(Vec<f64>),
}

impl Values {
    fn of(metric: &str, results: &[&BenchmarkResult]) -> Self {
        let carried = results.iter().filter_map(|result| result.fields()?.get(metric));
        let figures: Option<Vec<f64>> = carried
            .map(|value| value.as_f64().filter(|figure| figure.is_finite() && *figure >= 0.0))
            .collect();
        match figures {
            None => Self::Unreadable,
            Some(figures) if figures.is_empty() => Self::Absent,
            Some(figures) => Self::Known(figures),
        }
    }

    fn are_zero(&self) -> bool {
        matches!(self, Self::Known(figures) if figures.iter().all(|&figure| figure == 0.0))
    }

    fn center(&self) -> Option<f64> {
        match self {
            Self::Known(figures) => median(figures),
            Self::Absent | Self::Unreadable => None,
        }
    }
}

/// Conclusion from two lists of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValuesConclusion {
    /// Relative change in the bad direction; `None` if the baseline is zero.
    pub(super) change: Option<f64>,
    /// The conclusion.
    pub(super) verdict: Verdict,
    /// Why.
    pub(super) code: ReasonCode,
}

impl ValuesConclusion {
    const fn without(code: ReasonCode) -> Self {
        Self { change: None, verdict: Verdict::Inconclusive, code }
    }
}

/// Criteria for comparing two lists of values.
struct Question {
    better: Better,
    threshold: f64,
    floor: f64,
}

impl Question {
    /// Compares the medians. If the values of both sides overlap, a change above the threshold is
    /// Inconclusive.
    fn judge(&self, before: &[f64], after: &[f64]) -> ValuesConclusion {
        let sign = match self.better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
        };
        let (Some(old), Some(new)) = (median(before), median(after)) else {
            return ValuesConclusion::without(ReasonCode::Unreadable);
        };
        let worse = sign * (new - old);
        let relative = if worse == 0.0 { 0.0 } else { worse / old }; // Infinite against zero.
        let change = if old == 0.0 && relative.is_infinite() {
            None
        } else {
            Some(relative.clamp(-LARGEST, LARGEST))
        };
        let [before, after] = [before, after]
            .map(|values| values.iter().map(|value| sign * value).collect::<Vec<_>>());
        let (verdict, code) = if worse.abs() <= self.floor {
            (Verdict::Unchanged, ReasonCode::WithinNoise)
        } else if relative >= self.threshold {
            if all_above(&after, &before) {
                (Verdict::Regressed, ReasonCode::AboveThreshold)
            } else {
                (Verdict::Inconclusive, ReasonCode::TooNoisy)
            }
        } else if relative <= -self.threshold && all_above(&before, &after) {
            (Verdict::Improved, ReasonCode::BetterThanThreshold)
        } else {
            (Verdict::Unchanged, ReasonCode::BelowThreshold)
        };
        ValuesConclusion { change, verdict, code }
    }
}

fn all_above(high: &[f64], low: &[f64]) -> bool {
    high.iter().all(|high| low.iter().all(|low| high > low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_judged_by_threshold_floor_and_overlap() {
        use ReasonCode::{
            AboveThreshold, BelowThreshold, BetterThanThreshold, TooNoisy, WithinNoise,
        };
        let lower = Question { better: Better::Lower, threshold: 0.1, floor: 1e-6 };
        let higher = Question { better: Better::Higher, threshold: 0.1, floor: 1.0 };
        for (question, before, after, verdict, code) in [
            (&lower, vec![1e-7], vec![2e-7], Verdict::Unchanged, WithinNoise),
            (&lower, vec![1e-3], vec![2e-3], Verdict::Regressed, AboveThreshold),
            (&lower, vec![0.0], vec![2e-3], Verdict::Regressed, AboveThreshold),
            (&lower, vec![0.0], vec![0.0], Verdict::Unchanged, WithinNoise),
            (&lower, vec![2e-3], vec![0.0], Verdict::Improved, BetterThanThreshold),
            (&lower, vec![1e-3], vec![1.05e-3], Verdict::Unchanged, BelowThreshold),
            (&lower, vec![1.0, 2.0, 3.0], vec![2.5, 2.6, 2.7], Verdict::Inconclusive, TooNoisy),
            (&lower, vec![1.0, 2.0, 3.0], vec![3.5, 3.6, 3.7], Verdict::Regressed, AboveThreshold),
            (&lower, vec![2.5, 2.6, 2.7], vec![1.0, 2.0, 3.0], Verdict::Unchanged, BelowThreshold),
            (&higher, vec![99.0], vec![80.0], Verdict::Regressed, AboveThreshold),
            (&higher, vec![80.0], vec![99.0], Verdict::Improved, BetterThanThreshold),
            (&higher, vec![5.0], vec![4.2], Verdict::Unchanged, WithinNoise),
        ] {
            let judged = question.judge(&before, &after);
            assert_eq!((judged.verdict, judged.code), (verdict, code), "{before:?} {after:?}");
        }
        let against_subnormal = lower.judge(&[1e-310], &[2.0]);
        assert_eq!(against_subnormal.change, Some(LARGEST));
        assert_eq!(lower.judge(&[0.0], &[2.0]).change, None);
    }
}
