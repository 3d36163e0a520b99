//! Comparisons for tests.

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{Comparison, ComparisonResult, ComparisonSummary};
use rsb_model::{
    BenchmarkResult, BenchmarkType, Better, CaseId, Outcome, ReasonCode, Samples, Timestamp,
    Verdict,
};

/// Returns the time of the case `name`, compared with 1 ms.
pub(crate) fn row(name: &str, verdict: Verdict, percent: f64) -> Comparison {
    Comparison {
        id: CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", name]),
        metric: "time_ms".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Lower,
        baseline_value: Some(1.0),
        current_value: Some(1.0 + percent / 100.0),
        difference_percent: Some(percent),
        confidence_interval: Some([percent - 1.0, percent + 1.0]),
        detectable_percent: None,
        statistics: None,
        change_status: None,
        verdict,
        reason: String::new(),
        reason_code: ReasonCode::BelowThreshold,
        threshold_percent: 10.0,
    }
}

/// Returns a document of `comparisons`, without its overall verdict.
pub(crate) fn verdicts(comparisons: impl IntoIterator<Item = Comparison>) -> ComparisonResult {
    ComparisonResult {
        format_version: FORMAT_VERSION,
        comparison_id: "a-b".to_owned(),
        baseline_run_id: "a".to_owned(),
        current_run_id: "b".to_owned(),
        timestamp: Timestamp::UNIX_EPOCH,
        verdict: Verdict::Inconclusive,
        threshold_percent: 10.0,
        comparisons: comparisons.into_iter().collect(),
        missing: Vec::new(),
        new: Vec::new(),
        threshold_checks: Vec::new(),
        notes: Vec::new(),
        summary: ComparisonSummary::default(),
    }
}

/// Returns a measured case with its `samples`.
pub(crate) fn measured_case(name: &str, samples: Vec<Samples>) -> BenchmarkResult {
    BenchmarkResult {
        benchmark_id: CaseId::from_segments(&["cpu_performance", name]),
        timestamp: Timestamp::UNIX_EPOCH,
        benchmark_type: BenchmarkType::CpuPerformance,
        category: None,
        outcome: Outcome::Measured,
        reason: None,
        device_type: None,
        environment: rsb_model::record::EnvironmentSummary::default(),
        results: Vec::new(),
        statistics: None,
        samples,
        factors: None,
        metadata: serde_json::Map::new(),
    }
}
