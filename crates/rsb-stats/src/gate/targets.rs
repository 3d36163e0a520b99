//! Absolute targets of the policy, compared with the measured values.

use rsb_model::record::{Comparison, ThresholdCheck};
use rsb_model::{
    BenchmarkResult, BenchmarkType, Better, CaseId, DeviceType, Field, ReasonCode, Unit, Verdict,
};

use super::cases::{CaseStatus, Cases};
use crate::estimate::median;
use crate::glob;
use crate::policy::{Policy, Target, TargetEffect, TargetOp};

/// Outcome of all targets.
pub(super) struct Checks {
    /// Every target with the value that was measured for it.
    pub(super) shown: Vec<ThresholdCheck>,
    /// Missed targets that fail the gate, or that leave it without a verdict.
    pub(super) misses: Vec<Comparison>,
}

/// Compares the measured values with the targets of `policy`, each target with every case whose id
/// it matches.
pub(super) fn check(current: &Cases<'_>, policy: &Policy) -> Checks {
    let mut checks = Checks { shown: Vec::new(), misses: Vec::new() };
    for target in policy.targets() {
        let Some(field) = Field::find(&target.metric) else { continue };
        let mut matched = false;
        let fits =
            |id: &&CaseId| glob::matches(&target.id_pattern, id.as_str()) && counts(current, id);
        for id in current.present().filter(fits) {
            matched = true;
            let achieved = achieved_value(current, id, field);
            let passed = achieved.map(|value| target.is_met(value));
            let mut check = build_check(target, field, id.as_str(), achieved);
            if let Some(value) = simulated_value(current, id, field) {
                (check.actual, check.simulated) = (Some(value), true);
            }
            checks.shown.push(check);
            if target.effect == TargetEffect::Fail && passed != Some(true) {
                checks.misses.push(miss(target, field, id, achieved, policy));
            }
        }
        if !matched && concerns(current, &target.id_pattern) {
            checks.shown.push(build_check(target, field, &target.id_pattern, None));
        }
        if !matched && target.effect == TargetEffect::Fail && is_owed(current, &target.id_pattern) {
            checks.misses.push(miss(
                target,
                field,
                &CaseId::from_segments(&[&target.id_pattern]),
                None,
                policy,
            ));
        }
    }
    checks
}

/// Returns whether the run has a case of the benchmark that `pattern` names, so that a target
/// without a value is worth a line.
fn concerns(current: &Cases<'_>, pattern: &str) -> bool {
    current.present().any(|id| names_benchmark(pattern, id) && counts(current, id))
}

/// Returns whether `pattern` names the kind and the benchmark of `id`, whatever the rest.
fn names_benchmark(pattern: &str, id: &CaseId) -> bool {
    let mut parts = pattern.split('/');
    let (kind, benchmark) = (parts.next().unwrap_or("*"), parts.next().unwrap_or("*"));
    // If a pattern has only one part, it is matched against both the kind and the benchmark.
    !pattern.contains('/')
        || glob::matches(kind, self::kind(id.as_str()))
            && glob::matches(benchmark, id.benchmark().unwrap_or_default())
}

/// Returns whether the run planned a case of the benchmark that `pattern` names, so that a value is
/// expected. Skipped cases count as planned, except GPU cases, which a machine without a GPU cannot
/// measure.
fn is_owed(current: &Cases<'_>, pattern: &str) -> bool {
    let skipped = current
        .skipped_cases()
        .filter(|id| self::kind(id.as_str()) != BenchmarkType::GpuPerformance.as_str());
    current.present().chain(skipped).any(|id| names_benchmark(pattern, id) && counts(current, id))
}

/// Returns whether targets apply to `id`. Targets for GPUs do not apply to a GPU case that a driver
/// ran on the CPU.
fn counts(current: &Cases<'_>, id: &CaseId) -> bool {
    if kind(id.as_str()) != BenchmarkType::GpuPerformance.as_str() {
        return true;
    }
    let Some(results) = current.measured_results(id) else { return true };
    !results.iter().all(|one| one.device_type == Some(DeviceType::Cpu))
}

fn kind(id: &str) -> &str {
    id.split('/').next().unwrap_or_default()
}

impl Target {
    fn is_met(&self, value: f64) -> bool {
        match self.op {
            TargetOp::Above => value > self.value,
            TargetOp::Below => value < self.value,
        }
    }

    const fn better(&self) -> Better {
        match self.op {
            TargetOp::Above => Better::Higher,
            TargetOp::Below => Better::Lower,
        }
    }
}

/// Returns the median over all runs; `None` if the case was not measured or a run has no value.
fn achieved_value(current: &Cases<'_>, id: &CaseId, field: &Field) -> Option<f64> {
    let CaseStatus::Measured(results) = current.standing(id) else { return None };
    middle(&results, field)
}

/// Returns the same median for a fake GPU. It is shown but does not count.
fn simulated_value(current: &Cases<'_>, id: &CaseId, field: &Field) -> Option<f64> {
    let CaseStatus::Simulated(results) = current.standing(id) else { return None };
    middle(&results, field)
}

fn middle(results: &[&BenchmarkResult], field: &Field) -> Option<f64> {
    let figures: Option<Vec<f64>> = results
        .iter()
        .map(|result| result.fields()?.number(field.name).filter(|value| value.is_finite()))
        .collect();
    median(&figures?)
}

fn build_check(target: &Target, field: &Field, id: &str, achieved: Option<f64>) -> ThresholdCheck {
    ThresholdCheck {
        name: format!("{} of {id}", field.name),
        metric: field.name.to_owned(),
        id: id.to_owned(),
        better: target.better(),
        expected: target.value,
        actual: achieved,
        unit: (field.unit != Unit::One).then_some(field.unit),
        simulated: false,
        passed: achieved.map(|value| target.is_met(value)),
        reference: target.reference.clone(),
    }
}

fn miss(
    target: &Target,
    field: &Field,
    id: &CaseId,
    achieved: Option<f64>,
    policy: &Policy,
) -> Comparison {
    let expected = build_check(target, field, id.as_str(), achieved).expected_text();
    let (verdict, reason_code, reason) = match achieved {
        Some(value) => (
            Verdict::Regressed,
            ReasonCode::TargetMissed,
            format!("{}, but the target is {expected}", field.unit.quantity(value)),
        ),
        None => (
            Verdict::Inconclusive,
            ReasonCode::Missing,
            format!(
                "the target is {expected}, but there is no value: measure {}, or remove the target",
                field.name
            ),
        ),
    };
    Comparison {
        current_value: achieved,
        verdict,
        reason,
        reason_code,
        threshold_percent: policy.threshold_percent_for(id.as_str(), field.name),
        ..Comparison::new(id.clone(), field.name, field.unit.symbol(), target.better())
    }
}
