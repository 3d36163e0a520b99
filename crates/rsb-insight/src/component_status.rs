//! Status of a component: its latest results and the targets that apply to it. Pure.

use rsb_model::record::{
    Comparison, ComponentResults, ComponentStatus, Latency, MemoryUse, Scalability, ThresholdCheck,
    Throughput,
};
use rsb_model::{
    BenchmarkResult, BenchmarkType, CaseId, ComparisonResult, ComponentBenchmarkResult, Field,
    Outcome, Verdict,
};

use rsb_catalog::frameworks::Component;

/// Rate fields, the most significant first.
const RATES: [&str; 6] = [
    "tokens_per_second",
    "requests_per_second",
    "throughput_samples_per_second",
    "tflops",
    "bandwidth_gb_s",
    "throughput_gb_s",
];

/// Returns the record of `component` from the results of a run; `None` if none of its cases ran.
pub fn record(
    component: &Component,
    results: &[BenchmarkResult],
    checks: &[ThresholdCheck],
) -> Option<ComponentBenchmarkResult> {
    let ran = ran(component, results);
    let checks: Vec<ThresholdCheck> =
        checks.iter().filter(|check| concerns(check, &ran)).cloned().collect();
    let status = match ran.as_slice() {
        [] => return None,
        all if all.iter().any(|result| result.outcome == Outcome::Failed) => {
            ComponentStatus::Failed
        }
        _ if checks.iter().any(|check| check.passed != Some(true)) => ComponentStatus::Warning,
        _ => ComponentStatus::Passed,
    };
    let text =
        |name: &str| ran.iter().find_map(|result| Some(result.fields()?.text(name)?.to_owned()));
    Some(ComponentBenchmarkResult {
        component_id: component.name.to_owned(),
        component_name: None,
        version: text("component_version"),
        benchmark_type: BenchmarkType::ComponentSpecific,
        results: figures(&ran),
        status,
        threshold_checks: checks,
    })
}

/// Comparison of a component's cases with the baseline of its machine and suite.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AgainstBaseline {
    /// Run or baseline compared against.
    pub baseline_run_id: String,
    /// Worst verdict of any case.
    pub verdict: Verdict,
    /// Number of cases that got faster.
    pub improved: usize,
    /// Number of cases that got slower.
    pub regressed: usize,
    /// Number of unchanged cases.
    pub unchanged: usize,
    /// Number of cases without a verdict.
    pub no_verdict: usize,
    /// Case whose time grew most.
    pub slowest_case: Option<CaseId>,
    /// Growth of its time, in percent.
    pub time_change_percent: Option<f64>,
}

/// Summarizes the times of `component` in `compared`; returns `None` if it contains no case of it.
pub fn against_baseline(
    component: &Component,
    compared: &ComparisonResult,
) -> Option<AgainstBaseline> {
    let rows: Vec<&Comparison> = compared
        .comparisons
        .iter()
        .filter(|row| row.metric == "time_ms" && row.id.benchmark() == Some(component.name))
        .collect();
    let slowest = rows.iter().copied().max_by(|a, b| {
        let a = a.difference_percent.unwrap_or(f64::NEG_INFINITY);
        a.total_cmp(&b.difference_percent.unwrap_or(f64::NEG_INFINITY))
    });
    // Worst first.
    let ranks = [
        Verdict::Regressed,
        Verdict::NotComparable,
        Verdict::Inconclusive,
        Verdict::Unchanged,
        Verdict::Improved,
    ];
    let verdict = ranks.into_iter().find(|verdict| count_rows(&rows, &[*verdict]) > 0)?;
    Some(AgainstBaseline {
        baseline_run_id: compared.baseline_run_id.clone(),
        verdict,
        improved: count_rows(&rows, &[Verdict::Improved]),
        regressed: count_rows(&rows, &[Verdict::Regressed]),
        unchanged: count_rows(&rows, &[Verdict::Unchanged]),
        no_verdict: count_rows(&rows, &[Verdict::Inconclusive, Verdict::NotComparable]),
        slowest_case: slowest.map(|row| row.id.clone()),
        time_change_percent: slowest.and_then(|row| row.difference_percent),
    })
}

fn count_rows(rows: &[&Comparison], verdicts: &[Verdict]) -> usize {
    rows.iter().filter(|row| verdicts.contains(&row.verdict)).count()
}

/// Returns the change in percent of the rate that the record reports, computed from the change in
/// time of the same case.
pub fn rate_change(
    component: &Component,
    results: &[BenchmarkResult],
    compared: &ComparisonResult,
) -> Option<f64> {
    let ran = ran(component, results);
    let (leading, _) = leading(&ran)?;
    let row = compared
        .comparisons
        .iter()
        .find(|row| row.id == leading.benchmark_id && row.metric == "time_ms")?;
    Some((100.0 / (1.0 + row.difference_percent? / 100.0)) - 100.0)
}

/// Returns whether a check is for one of the cases in `ran`.
fn concerns(check: &ThresholdCheck, ran: &[&BenchmarkResult]) -> bool {
    ran.iter().any(|result| check.id == result.benchmark_id.as_str())
}

/// Returns the cases of `component` that were not skipped.
fn ran<'r>(component: &Component, results: &'r [BenchmarkResult]) -> Vec<&'r BenchmarkResult> {
    results
        .iter()
        .filter(|result| {
            result.benchmark_type == BenchmarkType::ComponentSpecific
                && result.category.as_deref() == Some(component.name)
                && result.outcome != Outcome::Skipped
        })
        .collect()
}

/// Returns the first case that has a rate, with that rate.
fn leading<'r>(
    ran: &[&'r BenchmarkResult],
) -> Option<(&'r BenchmarkResult, (&'static Field, f64))> {
    ran.iter().find_map(|result| Some((*result, rate_of(result)?)))
}

fn rate_of(result: &BenchmarkResult) -> Option<(&'static Field, f64)> {
    let fields = result.fields()?;
    RATES.iter().find_map(|name| Some((Field::find(name)?, fields.number(name)?)))
}

/// Returns the scaling of the work over ranks, if any case has more than one: the efficiency of
/// splitting one task, and the communication overhead of training together.
fn scalability(ran: &[&BenchmarkResult]) -> Option<Scalability> {
    let shared = ran.iter().filter_map(|result| result.fields());
    let shared: Vec<_> = shared
        .filter(|fields| fields.number("num_ranks").is_some_and(|ranks| ranks > 1.0))
        .collect();
    let overhead = shared.iter().find_map(|fields| fields.number("communication_overhead_percent"));
    let found = Scalability {
        strong_scaling: shared.iter().find_map(|fields| fields.number("efficiency")),
        weak_scaling: None,
        communication_overhead_percent: overhead,
    };
    (found != Scalability::default()).then_some(found)
}

/// Returns rate and latency of the first case that has a rate, and the highest memory use of any
/// case.
fn figures(ran: &[&BenchmarkResult]) -> ComponentResults {
    let leading = leading(ran);
    let throughput = leading.map(|(_, (field, value))| Throughput {
        value,
        unit: field.unit.symbol().to_owned(),
        comparison_to_baseline: None,
    });
    let first = leading.map(|(result, _)| result).or_else(|| ran.first().copied());
    let latency = first.and_then(|result| result.statistics.as_ref()).map(|times| Latency {
        mean_ms: Some(times.mean),
        p50_ms: Some(times.percentiles.p50),
        p99_ms: Some(times.percentiles.p99),
        std_dev_ms: Some(times.std_dev),
    });
    let memory = highest(ran, "memory_used_mb").map(|peak| MemoryUse {
        peak_mb: Some(peak),
        average_mb: highest(ran, "memory_average_mb"),
        efficiency_percent: highest(ran, "memory_fragmentation_percent")
            .map(|unused| 100.0 - unused),
    });
    ComponentResults { throughput, latency, memory, scalability: scalability(ran) }
}

fn highest(ran: &[&BenchmarkResult], name: &str) -> Option<f64> {
    ran.iter().filter_map(|result| result.fields()?.number(name)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{CaseId, Fields, Reason, Timestamp};

    fn result(case: &str, outcome: Outcome, fields: Fields) -> BenchmarkResult {
        let reason =
            (outcome != Outcome::Measured).then(|| Reason::new("case", "it broke", "mend it"));
        BenchmarkResult {
            benchmark_type: BenchmarkType::ComponentSpecific,
            category: Some("pytorch".to_owned()),
            reason,
            results: vec![fields],
            ..BenchmarkResult::new(
                CaseId::from_segments(&["component_specific", "pytorch", "cpu:0", case]),
                Timestamp::UNIX_EPOCH,
                outcome,
            )
        }
    }

    fn of(
        results: &[BenchmarkResult],
        checks: &[ThresholdCheck],
    ) -> Option<ComponentBenchmarkResult> {
        record(rsb_catalog::frameworks::find("pytorch").unwrap(), results, checks)
    }

    #[test]
    fn a_component_is_as_good_as_its_worst_case_and_its_targets() {
        let fields = Fields::new()
            .with("tflops", 2.5)
            .with("memory_used_mb", 7.0)
            .with("component_version", "2.9");
        let good = result("matmul", Outcome::Measured, fields);
        let passed = of(std::slice::from_ref(&good), &[check(&good, Some(true))]).unwrap();
        assert_eq!(
            (passed.status, passed.version.as_deref()),
            (ComponentStatus::Passed, Some("2.9"))
        );
        assert_eq!(passed.results.throughput.map(|rate| rate.value), Some(2.5));
        assert_eq!(passed.results.memory.unwrap().peak_mb, Some(7.0));
        let warned = of(std::slice::from_ref(&good), &[check(&good, Some(false))]).unwrap();
        assert_eq!((warned.status, warned.threshold_checks.len()), (ComponentStatus::Warning, 1));
        let broken = result("attention", Outcome::Failed, Fields::new());
        assert_eq!(of(&[good, broken], &[]).unwrap().status, ComponentStatus::Failed);
    }

    fn check(result: &BenchmarkResult, passed: Option<bool>) -> ThresholdCheck {
        ThresholdCheck {
            name: format!("tflops of {}", result.benchmark_id),
            metric: "tflops".to_owned(),
            id: result.benchmark_id.to_string(),
            better: rsb_model::Better::Higher,
            expected: 2.0,
            actual: Some(2.5),
            unit: None,
            simulated: false,
            passed,
            reference: None,
        }
    }

    fn row(case: &str, verdict: Verdict, difference_percent: f64) -> Comparison {
        Comparison {
            baseline_value: Some(1.0),
            current_value: Some(1.0 + difference_percent / 100.0),
            difference_percent: Some(difference_percent),
            verdict,
            reason_code: rsb_model::ReasonCode::Missing,
            threshold_percent: 10.0,
            ..Comparison::new(
                CaseId::from_segments(&["component_specific", "pytorch", "cpu:0", case]),
                "time_ms",
                "ms",
                rsb_model::Better::Lower,
            )
        }
    }

    fn comparison_result(rows: Vec<Comparison>) -> ComparisonResult {
        let mut result =
            rsb_stats::gate(&[], &[], &rsb_stats::Policy::default(), &[], Timestamp::UNIX_EPOCH);
        result.comparisons = rows;
        result
    }

    #[test]
    fn the_worst_case_speaks_for_a_component_against_its_baseline() {
        let component = rsb_catalog::frameworks::find("pytorch").unwrap();
        let rows = vec![
            row("matmul", Verdict::Improved, -50.0),
            row("attention", Verdict::Regressed, 25.0),
            row("layer-norm", Verdict::Inconclusive, 40.0),
        ];
        let found = against_baseline(component, &comparison_result(rows.clone())).unwrap();
        assert_eq!(found.verdict, Verdict::Regressed);
        assert_eq!(
            (found.improved, found.regressed, found.unchanged, found.no_verdict),
            (1, 1, 0, 1)
        );
        assert_eq!(found.time_change_percent, Some(40.0));
        let other = rsb_catalog::frameworks::find("triton").unwrap();
        assert_eq!(against_baseline(other, &comparison_result(rows.clone())), None);
        let matmul = result("matmul", Outcome::Measured, Fields::new().with("tflops", 2.0));
        let change =
            rate_change(component, std::slice::from_ref(&matmul), &comparison_result(rows))
                .unwrap();
        assert!((change - 100.0).abs() < 1e-9, "half the time must give twice the rate: {change}");
        assert_eq!(rate_change(component, &[matmul], &comparison_result(Vec::new())), None);
    }

    #[test]
    fn cases_of_several_ranks_tell_how_a_component_scales() {
        let alone = result(
            "one",
            Outcome::Measured,
            Fields::new().with("num_ranks", 1).with("efficiency", 1.0),
        );
        let two = Fields::new().with("num_ranks", 2).with("efficiency", 0.75);
        let shared = result("two", Outcome::Measured, two);
        let scalability = of(&[alone.clone(), shared], &[]).unwrap().results.scalability.unwrap();
        assert_eq!((scalability.strong_scaling, scalability.weak_scaling), (Some(0.75), None));
        assert_eq!(of(&[alone], &[]).unwrap().results.scalability, None);
    }

    #[test]
    fn what_was_only_skipped_has_no_record() {
        assert_eq!(of(&[result("matmul", Outcome::Skipped, Fields::new())], &[]), None);
        assert_eq!(of(&[], &[]), None);
    }
}
