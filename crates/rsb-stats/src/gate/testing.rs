//! Comparisons for tests.

use rsb_model::format::FORMAT_VERSION;
use rsb_model::record::{Comparison, ComparisonResult, ComparisonSummary};
use rsb_model::{
    BenchmarkResult, Better, CaseId, Outcome, ReasonCode, Samples, Timestamp, Verdict,
};

/// Returns the time of the case `name`, compared with 1 ms.
pub(crate) fn row(name: &str, verdict: Verdict, percent: f64) -> Comparison {
    Comparison {
        baseline_value: Some(1.0),
        current_value: Some(1.0 + percent / 100.0),
        difference_percent: Some(percent),
        confidence_interval: Some([percent - 1.0, percent + 1.0]),
        verdict,
        reason_code: ReasonCode::BelowThreshold,
        threshold_percent: 10.0,
        ..Comparison::new(
            CaseId::from_segments(&["cpu_performance", "gemm", "cpu:0", name]),
            "time_ms",
            "ms",
            Better::Lower,
        )
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
        samples,
        ..BenchmarkResult::new(
            CaseId::from_segments(&["cpu_performance", name]),
            Timestamp::UNIX_EPOCH,
            Outcome::Measured,
        )
    }
}
