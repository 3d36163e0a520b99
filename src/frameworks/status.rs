//! How a component stands: what its last results say, beside the targets that concern it. Pure.

use rsb_model::record::{ComponentResults, ComponentStatus, Latency, MemoryUse, ThresholdCheck, Throughput};
use rsb_model::{BenchmarkResult, BenchmarkType, ComponentBenchmarkResult, Field, Outcome};

use super::catalogue::Component;

/// Rates, the one that says most first.
const RATES: [&str; 6] = [
    "tokens_per_second",
    "requests_per_second",
    "throughput_samples_per_second",
    "tflops",
    "bandwidth_gb_s",
    "throughput_gb_s",
];

/// The record of `component` from the results of a run; nothing where none of its cases ran.
pub fn record(
    component: &Component,
    results: &[BenchmarkResult],
    checks: &[ThresholdCheck],
) -> Option<ComponentBenchmarkResult> {
    let own = |result: &&BenchmarkResult| {
        result.benchmark_type == BenchmarkType::ComponentSpecific && result.category.as_deref() == Some(component.name)
    };
    let ran: Vec<&BenchmarkResult> =
        results.iter().filter(own).filter(|result| result.outcome != Outcome::Skipped).collect();
    let checks: Vec<ThresholdCheck> = checks.iter().filter(|check| concerns(check, &ran)).cloned().collect();
    let status = match ran.as_slice() {
        [] => return None,
        all if all.iter().any(|result| result.outcome == Outcome::Failed) => ComponentStatus::Failed,
        _ if checks.iter().any(|check| check.passed != Some(true)) => ComponentStatus::Warning,
        _ => ComponentStatus::Passed,
    };
    let text = |name: &str| ran.iter().find_map(|result| Some(result.fields()?.text(name)?.to_owned()));
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

/// A check names the case that it was made of.
fn concerns(check: &ThresholdCheck, ran: &[&BenchmarkResult]) -> bool {
    ran.iter().any(|result| check.name.ends_with(&format!(" of {}", result.benchmark_id)))
}

/// Rate and delay of the first case that has a rate, and the most memory of any.
fn figures(ran: &[&BenchmarkResult]) -> ComponentResults {
    let rate = |result: &BenchmarkResult| {
        let fields = result.fields()?;
        RATES.iter().find_map(|name| Some((Field::find(name)?, fields.number(name)?)))
    };
    let leading = ran.iter().find_map(|result| Some((*result, rate(result)?)));
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
    let most = |name: &str| {
        let of_cases = ran.iter().filter_map(|result| result.fields()?.number(name));
        of_cases.reduce(f64::max)
    };
    let memory = most("memory_used_mb").map(|peak| MemoryUse {
        peak_mb: Some(peak),
        average_mb: most("memory_average_mb"),
        efficiency_percent: most("memory_fragmentation_percent").map(|unused| 100.0 - unused),
    });
    ComponentResults { throughput, latency, memory, scalability: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_model::{CaseId, Fields, Reason, Timestamp};

    fn result(case: &str, outcome: Outcome, fields: Fields) -> BenchmarkResult {
        let reason = (outcome != Outcome::Measured).then(|| Reason::new("case", "it broke", "mend it"));
        BenchmarkResult {
            benchmark_id: CaseId::from_segments(&["component_specific", "pytorch", "cpu:0", case]),
            timestamp: Timestamp::UNIX_EPOCH,
            benchmark_type: BenchmarkType::ComponentSpecific,
            category: Some("pytorch".to_owned()),
            outcome,
            reason,
            device_type: None,
            environment: rsb_model::record::EnvironmentSummary::default(),
            results: vec![fields],
            statistics: None,
            samples: Vec::new(),
            metadata: serde_json::Map::new(),
        }
    }

    fn of(results: &[BenchmarkResult], checks: &[ThresholdCheck]) -> Option<ComponentBenchmarkResult> {
        record(crate::frameworks::find("pytorch").unwrap(), results, checks)
    }

    #[test]
    fn a_component_is_as_good_as_its_worst_case_and_its_targets() {
        let fields = Fields::new().with("tflops", 2.5).with("memory_used_mb", 7.0).with("component_version", "2.9");
        let good = result("matmul", Outcome::Measured, fields);
        let check = |passed| ThresholdCheck {
            name: format!("tflops of {}", good.benchmark_id),
            expected: "> 2".to_owned(),
            actual: "2.5".to_owned(),
            passed,
            reference: None,
        };
        let passed = of(std::slice::from_ref(&good), &[check(Some(true))]).unwrap();
        assert_eq!((passed.status, passed.version.as_deref()), (ComponentStatus::Passed, Some("2.9")));
        assert_eq!(passed.results.throughput.map(|rate| rate.value), Some(2.5));
        assert_eq!(passed.results.memory.unwrap().peak_mb, Some(7.0));
        let warned = of(std::slice::from_ref(&good), &[check(Some(false))]).unwrap();
        assert_eq!((warned.status, warned.threshold_checks.len()), (ComponentStatus::Warning, 1));
        let broken = result("attention", Outcome::Failed, Fields::new());
        assert_eq!(of(&[good, broken], &[]).unwrap().status, ComponentStatus::Failed);
    }

    #[test]
    fn what_was_only_skipped_has_no_record() {
        assert_eq!(of(&[result("matmul", Outcome::Skipped, Fields::new())], &[]), None);
        assert_eq!(of(&[], &[]), None);
    }
}
