//! Metrics that are counted, not timed.

mod common;

use common::{check, compared, times};
use rsb_model::record::{INSTRUCTIONS_NOT_COUNTED, not_counted_key};
use rsb_model::{BenchmarkResult, Fields, Obstacle, Reason, ReasonCode, Verdict};
use rsb_stats::Policy;

#[test]
fn instructions_are_compared_by_value_where_one_thing_counted_them() {
    let counted = |count: f64, source: &str| {
        let fields = Fields::new().with("instructions", count).with("instructions_source", source);
        BenchmarkResult { results: vec![fields], ..times(1.0) }
    };
    let uncounted = || {
        let mut result = times(1.0);
        let reason = serde_json::json!({ "what": "instructions", "why": "no Valgrind", "cure": "install valgrind" });
        result.metadata.insert(INSTRUCTIONS_NOT_COUNTED.into(), reason);
        result
    };
    let thousand = || counted(1000.0, "callgrind");
    for (before, after, verdict, code, said) in [
        (
            thousand(),
            counted(1019.0, "callgrind"),
            Verdict::Unchanged,
            ReasonCode::BelowThreshold,
            "1019 after 1000",
        ),
        (
            thousand(),
            counted(1021.0, "callgrind"),
            Verdict::Regressed,
            ReasonCode::AboveThreshold,
            "time is not worse",
        ),
        (
            thousand(),
            counted(970.0, "callgrind"),
            Verdict::Improved,
            ReasonCode::BetterThanThreshold,
            "beyond",
        ),
        (
            thousand(),
            counted(1000.0, "perf"),
            Verdict::NotComparable,
            ReasonCode::UnlikeUnit,
            "callgrind and perf",
        ),
        (thousand(), times(1.0), Verdict::Inconclusive, ReasonCode::Missing, "the run does not"),
        (
            thousand(),
            uncounted(),
            Verdict::Inconclusive,
            ReasonCode::CaseSkipped,
            "install valgrind",
        ),
        (
            uncounted(),
            thousand(),
            Verdict::Inconclusive,
            ReasonCode::CaseSkipped,
            "of the baseline were not counted",
        ),
        (
            uncounted(),
            uncounted(),
            Verdict::Inconclusive,
            ReasonCode::CaseSkipped,
            "were not counted",
        ),
    ] {
        let result = compared(vec![before], vec![after], &Policy::default());
        let row = &result.comparisons[1];
        check(row, verdict, code);
        assert!(
            row.metric == "instructions" && row.reason.contains(said),
            "{}: {}",
            row.metric,
            row.reason
        );
    }
    let result = compared(vec![times(1.0)], vec![thousand()], &Policy::default());
    assert_eq!(
        result.comparisons.len(),
        1,
        "a metric that the baseline lacks must not be required"
    );
}

#[test]
fn equal_counts_are_unchanged_and_two_percent_more_is_a_regression() {
    let counted = |name: &'static str, count: f64| BenchmarkResult {
        results: vec![Fields::new().with(name, count)],
        ..times(1.0)
    };
    for (name, before, after, verdict, code) in [
        ("allocations_per_iteration", 3.0, 3.0, Verdict::Unchanged, ReasonCode::WithinNoise),
        ("allocations_per_iteration", 0.0, 1.0, Verdict::Regressed, ReasonCode::AboveThreshold),
        ("allocations_per_iteration", 50.0, 54.0, Verdict::Unchanged, ReasonCode::BelowThreshold),
        ("allocations_per_iteration", 50.0, 56.0, Verdict::Regressed, ReasonCode::AboveThreshold),
        ("allocated_bytes_per_iteration", 0.0, 9.0, Verdict::Unchanged, ReasonCode::WithinNoise),
        ("peak_heap_bytes", 5000.0, 5200.0, Verdict::Unchanged, ReasonCode::WithinNoise),
        ("peak_heap_bytes", 50_000.0, 52_000.0, Verdict::Regressed, ReasonCode::AboveThreshold),
        ("code_size_bytes", 1e6, 1.01e6, Verdict::Unchanged, ReasonCode::BelowThreshold),
        ("estimated_cycles", 1e6, 0.9e6, Verdict::Improved, ReasonCode::BetterThanThreshold),
    ] {
        let [before, after] = [before, after].map(|count| vec![counted(name, count)]);
        let result = compared(before, after, &Policy::default());
        let row = &result.comparisons[1];
        assert_eq!(row.metric, name);
        check(row, verdict, code);
    }
    let mut uncounted = times(1.0);
    let reason = Reason::new("one", "it has its own allocator", "judge it by time");
    uncounted.metadata.insert(not_counted_key("peak_heap_bytes"), serde_json::json!(reason));
    let before = counted("peak_heap_bytes", 5000.0);
    let result = compared(vec![before], vec![uncounted], &Policy::default());
    let row = &result.comparisons[1];
    check(row, Verdict::Inconclusive, ReasonCode::CaseSkipped);
    assert!(row.reason.starts_with("the peak heap bytes of the run were not"), "{}", row.reason);
}

#[test]
fn instructions_that_the_budget_left_uncounted_are_not_measured() {
    let fields = Fields::new().with("instructions", 1000.0);
    let counted = BenchmarkResult { results: vec![fields], ..times(1.0) };
    let cure = "allow more time with `--budget`";
    let reason = Reason::new("instructions", "the budget ran out", cure).of(Obstacle::NotReached);
    let mut uncounted = times(1.0);
    uncounted.metadata.insert(INSTRUCTIONS_NOT_COUNTED.into(), serde_json::json!(reason));
    let result = compared(vec![counted], vec![uncounted], &Policy::default());
    let row = &result.comparisons[1];
    check(row, Verdict::Inconclusive, ReasonCode::NotMeasured);
    assert!(row.reason.contains(cure), "{}", row.reason);
}
