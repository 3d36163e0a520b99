//! Overall verdict, counts, and significant changes of a list of comparisons.

use rsb_model::Verdict;
use rsb_model::record::{
    Comparison, ComparisonSummary, OverallStatus, Severity, SignificantChange, ThresholdCheck,
};

use super::timed::TIME;
use crate::compare::LARGEST;
use crate::policy::Policy;

/// Returns the overall verdict; Inconclusive if there are no comparisons.
pub fn overall(comparisons: &[Comparison]) -> Verdict {
    let decided = comparisons.iter().filter(|comparison| comparison.verdict.is_decided()).count();
    if has_verdict(comparisons, Verdict::Regressed) {
        Verdict::Regressed
    } else if has_verdict(comparisons, Verdict::NotComparable)
        && decided == 0
        && !has_verdict(comparisons, Verdict::Inconclusive)
    {
        Verdict::NotComparable
    } else if decided < comparisons.len() || comparisons.is_empty() {
        Verdict::Inconclusive
    } else if has_verdict(comparisons, Verdict::Improved) {
        Verdict::Improved
    } else {
        Verdict::Unchanged
    }
}

fn has_verdict(comparisons: &[Comparison], verdict: Verdict) -> bool {
    comparisons.iter().any(|comparison| comparison.verdict == verdict)
}

/// Returns the counts and the overall status.
pub(crate) fn summarize(
    comparisons: &[Comparison],
    checks: &[ThresholdCheck],
    policy: &Policy,
) -> ComparisonSummary {
    let count =
        |verdict| comparisons.iter().filter(|comparison| comparison.verdict == verdict).count();
    let (regressed, improved, unchanged) =
        (count(Verdict::Regressed), count(Verdict::Improved), count(Verdict::Unchanged));
    let without = comparisons.len() - regressed - improved - unchanged;
    let missed = checks.iter().any(|check| check.passed == Some(false));
    ComparisonSummary {
        total_improved: improved,
        total_degraded: regressed,
        total_unchanged: unchanged,
        total_no_verdict: without,
        weighted_change_percent: weighted_change(comparisons, policy),
        overall_status: if regressed > 0 {
            OverallStatus::Critical
        } else if without > 0 || missed || comparisons.is_empty() {
            OverallStatus::Warning
        } else {
            OverallStatus::Healthy
        },
        significant_changes: significant(comparisons, policy),
        metric_weights: policy.metric_weights().clone(),
    }
}

/// Returns the geometric mean of the changes of time, weighted by the policy's weight of each case.
/// The control set, which measures the machine, is left out.
fn weighted_change(comparisons: &[Comparison], policy: &Policy) -> Option<f64> {
    let timed =
        comparisons.iter().filter(|row| row.metric == TIME && !policy.is_control(row.id.as_str()));
    let (mut sum, mut weights) = (0.0, 0.0);
    for (row, percent) in timed.filter_map(|row| Some((row, row.difference_percent?))) {
        let weight = policy.weight_of(row.id.as_str());
        sum += weight * (percent / 100.0).ln_1p();
        weights += weight;
    }
    (weights > 0.0).then(|| 100.0 * (sum / weights).exp_m1())
}

/// Returns the substitute for an infinite change, from a baseline of zero: the largest value that a
/// document can contain.
fn from_nothing(comparison: &Comparison) -> Option<f64> {
    comparison
        .baseline_value
        .filter(|before| *before == 0.0)
        .and(comparison.current_value)
        .map(|_| 100.0 * LARGEST)
}

/// Returns the regressions, the largest change first, then the improvements.
fn significant(comparisons: &[Comparison], policy: &Policy) -> Vec<SignificantChange> {
    let mut found: Vec<SignificantChange> = comparisons
        .iter()
        .filter(|comparison| matches!(comparison.verdict, Verdict::Regressed | Verdict::Improved))
        .filter_map(|comparison| {
            let change_percent =
                comparison.difference_percent.or_else(|| from_nothing(comparison))?;
            let severity = if comparison.verdict == Verdict::Improved {
                Severity::Info
            } else if change_percent.abs()
                >= policy.critical_factor() * comparison.threshold_percent
            {
                Severity::Critical
            } else {
                Severity::Warning
            };
            let metric = format!("{} {}", comparison.id, comparison.metric);
            Some(SignificantChange { metric, change_percent, severity })
        })
        .collect();
    found.sort_by(|a, b| {
        (b.severity != Severity::Info)
            .cmp(&(a.severity != Severity::Info))
            .then(b.change_percent.abs().total_cmp(&a.change_percent.abs()))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::testing::row;

    #[test]
    fn what_came_of_nothing_is_the_most_significant_change() {
        let failed = Comparison {
            metric: "failed_runs_percent".to_owned(),
            baseline_value: Some(0.0),
            current_value: Some(100.0),
            difference_percent: None,
            ..row("b", Verdict::Regressed, 0.0)
        };
        let found = significant(&[row("a", Verdict::Regressed, 50.0), failed], &Policy::default());
        let names: Vec<&str> = found.iter().map(|change| change.metric.as_str()).collect();
        assert_eq!(
            names,
            [
                "cpu_performance/gemm/cpu:0/b failed_runs_percent",
                "cpu_performance/gemm/cpu:0/a time_ms"
            ]
        );
        assert_eq!(found[0].severity, Severity::Critical);
    }
}
