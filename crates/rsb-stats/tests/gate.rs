//! Tests of the gate's rules, at least one case for each.

mod common;

use std::slice::from_ref;

use common::{BASE, bare, check, compared, id, now, run, steady, times, valued};
use rsb_model::record::{ChangeStatus, Comparison, OverallStatus, Severity, Statistics};
use rsb_model::{BenchmarkResult, DeviceType, Fields, Outcome, ReasonCode, Run, Samples, Verdict};
use rsb_stats::policy::{Override, Target, TargetEffect, TargetOp};
use rsb_stats::remeasure::AGAINST_BASELINE;
use rsb_stats::{FirstCall, Policy, exit_code, gate, gate_paired};

fn one(baseline: BenchmarkResult, current: BenchmarkResult) -> Comparison {
    let result = compared(vec![baseline], vec![current], &Policy::default());
    assert_eq!(result.comparisons.len(), 1, "{result:#?}");
    result.comparisons[0].clone()
}

#[test]
fn the_change_decides_by_the_table() {
    for (factor, verdict, code, status, exit) in [
        (1.0, Verdict::Unchanged, ReasonCode::WithinNoise, ChangeStatus::Unchanged, 0),
        (1.04, Verdict::Unchanged, ReasonCode::BelowThreshold, ChangeStatus::Unchanged, 0),
        (1.08, Verdict::Unchanged, ReasonCode::BelowThreshold, ChangeStatus::Degraded, 0),
        (1.15, Verdict::Regressed, ReasonCode::AboveThreshold, ChangeStatus::Degraded, 3),
        (0.93, Verdict::Unchanged, ReasonCode::BelowThreshold, ChangeStatus::Improved, 0),
        (0.80, Verdict::Improved, ReasonCode::BetterThanThreshold, ChangeStatus::Improved, 0),
    ] {
        let result = compared(vec![times(1.0)], vec![times(factor)], &Policy::default());
        let comparison = &result.comparisons[0];
        check(comparison, verdict, code);
        assert_eq!(comparison.change_status, Some(status), "{factor}");
        assert_eq!((result.verdict, exit_code(&result)), (verdict, exit), "{factor}");
        let [low, high] = comparison.confidence_interval.unwrap();
        let difference = comparison.difference_percent.unwrap();
        assert!(low < difference && difference < high, "{comparison:#?}");
        assert!((difference - 100.0 * (factor - 1.0)).abs() < 1e-6);
        assert!((comparison.baseline_value.unwrap() - 0.001).abs() < 1e-6, "milliseconds");
    }
}

#[test]
fn a_sentence_gives_the_figures_and_then_a_reason_that_cases_share() {
    for (factor, figures, why) in [
        (1.15, "15 % slower (95 % interval 11.8 to 18.3 %)", "above the threshold of 10 %"),
        (0.8, "20 % faster (95 % interval 17.7 to 22.3 %)", "beyond the threshold of 10 %"),
        (1.04, "4 % slower (95 % interval 1.1 to 7 %)", "within 10 %"),
        (1.0, "no change (95 % interval 2.8 % faster to 2.9 % slower)", "within the noise"),
    ] {
        let comparison = one(times(1.0), times(factor));
        assert_eq!(comparison.reason, format!("{figures}, {why}"));
        assert_eq!(comparison.why(), why);
    }
}

#[test]
fn a_case_without_a_verdict_is_never_green() {
    use ReasonCode::{
        CaseFailed, CaseSimulated, CaseSkipped, TooFewSamples, UnlikeUnit, Unreadable,
    };
    use Verdict::{Inconclusive, NotComparable};
    let unreadable = |times_ns: Vec<f64>, iters: Vec<u64>| BenchmarkResult {
        samples: vec![Samples { replicate: 0, iters, times_ns }],
        ..bare("gemm", Outcome::Measured)
    };
    let simulated = BenchmarkResult { device_type: Some(DeviceType::Simulated), ..times(1.0) };
    let other_unit = BenchmarkResult {
        statistics: Some(Statistics { unit: "s".into(), ..Statistics::default() }),
        ..times(1.0)
    };
    let known_unit = BenchmarkResult {
        statistics: Some(Statistics { unit: "ms".into(), ..Statistics::default() }),
        ..times(1.0)
    };
    for (baseline, current, verdict, code) in vec![
        (times(1.0), bare("gemm", Outcome::Failed), Inconclusive, CaseFailed),
        (times(1.0), bare("gemm", Outcome::Skipped), Inconclusive, CaseSkipped),
        (times(1.0), bare("gemm", Outcome::Simulated), NotComparable, CaseSimulated),
        (times(1.0), simulated.clone(), NotComparable, CaseSimulated),
        (simulated.clone(), simulated, NotComparable, CaseSimulated),
        (times(1.0), unreadable(vec![f64::NAN], vec![1]), Inconclusive, Unreadable),
        (times(1.0), unreadable(vec![-5.0], vec![1]), Inconclusive, Unreadable),
        (times(1.0), unreadable(vec![5.0], vec![]), Inconclusive, Unreadable),
        (times(1.0), unreadable(vec![], vec![]), Inconclusive, Unreadable),
        (unreadable(vec![0.0], vec![1]), times(1.0), Inconclusive, Unreadable),
        (
            bare("gemm", Outcome::Measured),
            bare("gemm", Outcome::Measured),
            Inconclusive,
            Unreadable,
        ),
        (times(1.0), bare("gemm", Outcome::Measured), Inconclusive, Unreadable),
        (bare("gemm", Outcome::Measured), times(1.0), Inconclusive, Unreadable),
        (known_unit, other_unit, NotComparable, UnlikeUnit),
        (steady("gemm", &[1000.0]), steady("gemm", &[1000.0]), Inconclusive, TooFewSamples),
    ] {
        let result = compared(vec![baseline], vec![current], &Policy::default());
        let [comparison] = result.comparisons.as_slice() else { panic!("{result:#?}") };
        check(comparison, verdict, code);
        assert_eq!((comparison.change_status, exit_code(&result)), (None, 4), "{code:?}");
        assert_eq!(result.summary.overall_status, OverallStatus::Warning);
        assert!(!comparison.reason.is_empty());
    }
}

#[test]
fn a_vanished_case_has_no_verdict_and_a_new_one_changes_nothing() {
    let result =
        compared(vec![times(1.0), steady("copy", &BASE)], vec![times(1.0)], &Policy::default());
    assert_eq!((result.missing.clone(), exit_code(&result)), (vec![id("copy")], 4));
    check(&result.comparisons[1], Verdict::Inconclusive, ReasonCode::Missing);
    let result =
        compared(vec![times(1.0)], vec![times(1.0), steady("copy", &BASE)], &Policy::default());
    assert_eq!((result.new.clone(), exit_code(&result)), (vec![id("copy")], 0));
    assert_eq!(result.comparisons.len(), 1);
}

#[test]
fn what_the_baseline_skipped_is_not_expected() {
    let before = vec![times(1.0), bare("copy", Outcome::Skipped)];
    let result = compared(
        before.clone(),
        vec![times(1.0), bare("copy", Outcome::Skipped)],
        &Policy::default(),
    );
    assert_eq!((result.comparisons.len(), exit_code(&result)), (1, 0));
    let result = compared(before, vec![times(1.0), steady("copy", &BASE)], &Policy::default());
    assert_eq!(result.new, [id("copy")], "a case measured for the first time is new");
}

#[test]
fn what_failed_or_was_unreadable_in_the_baseline_has_no_verdict_and_is_not_new() {
    let before = vec![times(1.0), bare("copy", Outcome::Failed)];
    for now in [steady("copy", &BASE), bare("copy", Outcome::Failed)] {
        let result = compared(before.clone(), vec![times(1.0), now], &Policy::default());
        assert_eq!((result.new.len(), exit_code(&result)), (0, 4));
        check(&result.comparisons[1], Verdict::Inconclusive, ReasonCode::CaseFailed);
        assert!(
            result.comparisons[1].reason.contains("failed in the baseline"),
            "{}",
            result.comparisons[1].reason
        );
    }
}

#[test]
fn a_single_sample_beside_many_is_named_and_never_green() {
    let mut cut_off = steady("copy", &BASE);
    cut_off.samples.truncate(1);
    let only = cut_off.samples[0].times_ns[0];
    (cut_off.samples[0].times_ns, cut_off.samples[0].iters) =
        (vec![only], vec![cut_off.samples[0].iters[0]]);
    let whole = steady("copy", &BASE);
    for (before, after, side) in [(&whole, &cut_off, "the run"), (&cut_off, &whole, "the baseline")]
    {
        let result = compared(vec![before.clone()], vec![after.clone()], &Policy::default());
        check(&result.comparisons[0], Verdict::Inconclusive, ReasonCode::TooFewSamples);
        assert!(result.comparisons[0].reason.starts_with(side), "{}", result.comparisons[0].reason);
        assert_eq!(exit_code(&result), 4);
    }
}

#[test]
fn more_iterations_than_can_be_counted_are_unreadable() {
    let samples = vec![Samples { replicate: 0, iters: vec![u64::MAX], times_ns: vec![5e19] }];
    let row = one(times(1.0), BenchmarkResult { samples, ..bare("gemm", Outcome::Measured) });
    check(&row, Verdict::Inconclusive, ReasonCode::Unreadable);
    assert!(row.reason.contains("2^53"), "{}", row.reason);
}

#[test]
fn few_samples_beside_ten_times_as_many_are_never_green() {
    // Samples are counted over all processes of a side.
    for (few, many, refused) in [(2, 100, true), (9, 90, true), (10, 100, false), (9, 89, false)] {
        let of = |count: usize, processes: usize| {
            let part = |at: usize| count / processes + usize::from(at < count % processes);
            let samples = |at: usize| {
                let mut samples = Samples::new(u32::try_from(at).unwrap());
                (0..part(at)).for_each(|sample| {
                    samples.push(1, 1000.0 + sample as f64 / 10.0 + at as f64 / 100.0);
                });
                samples
            };
            BenchmarkResult {
                samples: (0..processes).map(samples).collect(),
                ..bare("copy", Outcome::Measured)
            }
        };
        for (before, after, side) in
            [(of(many, 4), of(few, 2), "the run"), (of(few, 2), of(many, 4), "the baseline")]
        {
            let row = one(before, after);
            assert_eq!(
                row.reason_code == ReasonCode::TooFewSamples,
                refused,
                "{few} of {many}: {row:#?}"
            );
            assert!(
                !refused || row.reason.starts_with(&format!("{side} has {few} samples")),
                "{}",
                row.reason
            );
        }
    }
}

#[test]
fn a_case_that_some_of_the_runs_lack_has_no_verdict_and_they_are_named() {
    let with = |name: &str| run(name, vec![times(1.0), steady("copy", &BASE)]);
    let lacking = |name: &str| run(name, vec![steady("copy", &BASE)]);
    let skipping =
        |name: &str| run(name, vec![bare("gemm", Outcome::Skipped), steady("copy", &BASE)]);
    for (current, named) in [
        (vec![with("a"), lacking("b"), lacking("c")], Some("not in b, c:")),
        (vec![skipping("a"), with("b")], Some("not in a:")),
        (vec![with("a"), with("b")], None),
    ] {
        let result =
            gate(&[with("before"), lacking("old")], &current, &Policy::default(), &[], now());
        let row = &result.comparisons[0];
        match named {
            Some(named) => {
                check(row, Verdict::Inconclusive, ReasonCode::Missing);
                assert!(row.reason.contains(named), "{}", row.reason);
                assert_eq!((exit_code(&result), result.missing.len()), (4, 0));
            }
            None => assert_eq!(
                exit_code(&result),
                0,
                "a case that some baseline runs lack is judged by the others"
            ),
        }
    }
}

#[test]
fn what_few_processes_call_slower_is_measured_again() {
    let before = vec![steady("copy", &[100.0, 100.1, 99.9, 100.2, 99.8])];
    for (processes, again) in [(1, 1), (4, 1), (5, 0)] {
        let after =
            run("after", vec![steady("copy", &[200.0, 200.1, 199.9, 200.2, 199.8][..processes])]);
        let result = gate(
            &[run("before", before.clone())],
            from_ref(&after),
            &Policy::default(),
            &[],
            now(),
        );
        check(&result.comparisons[0], Verdict::Regressed, ReasonCode::AboveThreshold);
        assert_eq!(
            rsb_stats::undecided_cases(&result, &after, AGAINST_BASELINE).len(),
            again,
            "{processes} processes"
        );
        assert_eq!(result.comparisons[0].reason.contains("the run is one process"), processes == 1);
    }
}

#[test]
fn the_same_samples_twice_are_one_measurement_and_no_verdict() {
    let (one, two, three) = (times(1.0), times(1.0), times(1.0));
    let side = |name: &str, cases: &[&BenchmarkResult]| -> Vec<Run> {
        cases.iter().map(|case| run(name, vec![(*case).clone()])).collect()
    };
    for (before, after, same) in [
        (vec![&one], vec![&one], true),
        (vec![&one, &two], vec![&three, &two], true),
        (vec![&one, &one], vec![&two], true),
        (vec![&one], vec![&two, &two], true),
        (vec![&one], vec![&two, &three], false),
    ] {
        let result =
            gate(&side("before", &before), &side("after", &after), &Policy::default(), &[], now());
        let expected =
            if same { (ReasonCode::SameSamples, 4) } else { (ReasonCode::WithinNoise, 0) };
        assert_eq!(
            (result.comparisons[0].reason_code, exit_code(&result)),
            expected,
            "{result:#?}"
        );
    }
    // Interleaved pairs come from two processes by construction, so equal samples do not count as a
    // copy.
    let side = run("side", vec![one]);
    assert_eq!(exit_code(&gate_paired(&side, &side, &Policy::default(), now())), 0);
}

#[test]
fn nothing_to_compare_is_no_verdict() {
    let skipped = || vec![bare("gemm", Outcome::Skipped)];
    for (before, after) in [(vec![], vec![]), (vec![], vec![times(1.0)]), (skipped(), skipped())] {
        let result = compared(before, after, &Policy::default());
        assert_eq!((result.verdict, exit_code(&result)), (Verdict::Inconclusive, 4));
    }
    assert_eq!(exit_code(&gate(&[], &[], &Policy::default(), &[], now())), 4);
}

#[test]
fn other_hardware_is_named_and_makes_every_case_not_comparable() {
    let before = run("before", vec![times(1.0)]);
    let mut after = run("after", vec![times(1.0)]);
    after.environment.gpus.push(rsb_model::environment::Gpu::default());
    let result = gate(
        from_ref(&before),
        &[run("again", vec![times(1.0)]), after],
        &Policy::default(),
        &[],
        now(),
    );
    check(&result.comparisons[0], Verdict::NotComparable, ReasonCode::UnlikeMachine);
    assert_eq!((result.verdict, exit_code(&result)), (Verdict::NotComparable, 4));
    assert!(
        result.comparisons[0].reason.contains("gpu_count (0 before, 1 now)"),
        "{}",
        result.comparisons[0].reason
    );
    let vulkan = |kind| BenchmarkResult { device_type: Some(kind), ..times(1.0) };
    check(
        &one(vulkan(DeviceType::Cpu), vulkan(DeviceType::Gpu)),
        Verdict::NotComparable,
        ReasonCode::UnlikeMachine,
    );
}

#[test]
fn several_runs_of_a_side_are_replicates() {
    let runs = |factor: f64| BASE.map(|time| run("one", vec![steady("gemm", &[time * factor])]));
    let result = gate(&runs(1.0), &runs(1.15), &Policy::default(), &[], now());
    check(&result.comparisons[0], Verdict::Regressed, ReasonCode::AboveThreshold);
    let mut broken = runs(1.0);
    broken[2].benchmarks[0] = bare("gemm", Outcome::Failed);
    let result = gate(&runs(1.0), &broken, &Policy::default(), &[], now());
    check(&result.comparisons[0], Verdict::Inconclusive, ReasonCode::CaseFailed);
}

#[test]
fn two_lists_of_one_process_are_one_replicate() {
    let doubled = || {
        let mut doubled = steady("gemm", &[1000.0]);
        doubled.samples.push(doubled.samples[0].clone());
        doubled
    };
    check(&one(doubled(), doubled()), Verdict::Inconclusive, ReasonCode::TooFewSamples);
}

#[test]
fn one_run_a_side_borrows_from_ten_cases() {
    let suite = |factor: f64, count: usize| -> Vec<BenchmarkResult> {
        let wobble = |at: usize| 1.0 + 0.01 * ((at * 7 % 11) as f64 - 5.0) / 5.0;
        (0..count)
            .map(|at| steady(&format!("case{at}"), &[1000.0 * wobble(at).powf(factor) * factor]))
            .collect()
    };
    let result = compared(suite(1.0, 9), suite(1.3, 9), &Policy::default());
    assert!(result.comparisons.iter().all(|c| c.reason_code == ReasonCode::TooFewSamples));
    let result = compared(suite(1.0, 10), suite(1.0, 10), &Policy::default());
    assert_eq!(exit_code(&result), 0, "ratios without any variance must be judged");
    let result = compared(suite(1.0, 12), suite(1.3, 12), &Policy::default());
    let regressed = result.comparisons.iter().filter(|c| c.verdict == Verdict::Regressed).count();
    assert!(
        result.comparisons[0].reason.ends_with("one process per side: repeat it with replicates")
    );
    assert_eq!(
        regressed, 12,
        "a slowdown of all cases must not be removed: {:#?}",
        result.comparisons
    );
}

#[test]
fn an_error_within_the_rounding_of_its_type_is_no_worse() {
    let case = |error: f64| BenchmarkResult {
        results: vec![Fields::new().with("dtype", "f16").with("accuracy_error", error)],
        ..times(1.0)
    };
    // Half a step of f16 is 4.9e-4.
    for (after, verdict) in [(3.7e-4, Verdict::Unchanged), (9e-4, Verdict::Regressed)] {
        let result = compared(vec![case(3.2e-4)], vec![case(after)], &Policy::default());
        let row = result.comparisons.iter().find(|row| row.metric == "accuracy_error").unwrap();
        assert_eq!(row.verdict, verdict, "{after}: {}", row.reason);
    }
}

#[test]
fn figures_that_do_not_vary_are_compared_by_value() {
    let fields = |error: f64, memory: f64| {
        Fields::new().with("accuracy_error", error).with("memory_used_mb", memory)
    };
    let case =
        |error, memory| BenchmarkResult { results: vec![fields(error, memory)], ..times(1.0) };
    let result = compared(vec![case(1e-7, 100.0)], vec![case(2e-7, 150.0)], &Policy::default());
    let told: Vec<_> = result
        .comparisons
        .iter()
        .map(|c| (c.metric.as_str(), c.verdict, c.reason.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "time_ms",
                Verdict::Unchanged,
                "no change (95 % interval 2.8 % faster to 2.9 % slower), within the noise"
            ),
            (
                "memory_used_mb",
                Verdict::Regressed,
                "150 MB after 100 MB: above the threshold of 10 %"
            ),
            (
                "accuracy_error",
                Verdict::Unchanged,
                "2e-7 after 1e-7: below the smallest change that counts"
            ),
        ]
    );
    let result = compared(vec![case(1e-7, 100.0)], vec![times(1.0)], &Policy::default());
    assert_eq!(exit_code(&result), 4, "a metric that disappeared has no verdict");
    let null = BenchmarkResult { results: vec![fields(f64::NAN, 100.0)], ..times(1.0) };
    let result = compared(vec![case(1e-7, 100.0)], vec![null], &Policy::default());
    check(&result.comparisons[2], Verdict::Inconclusive, ReasonCode::Unreadable);
}

#[test]
fn results_without_samples_are_compared_by_a_common_metric() {
    let rate = |value: f64| {
        run("one", vec![valued("serve", Fields::new().with("tokens_per_second", value))])
    };
    let side = |factor: f64| BASE.map(|value| rate(value * factor));
    let result = gate(&side(1.0), &side(0.85), &Policy::default(), &[], now());
    let comparison = &result.comparisons[0];
    check(comparison, Verdict::Regressed, ReasonCode::AboveThreshold);
    assert_eq!(comparison.metric, "tokens_per_second");
    assert!((comparison.difference_percent.unwrap() + 15.0).abs() < 1e-6);
    assert_eq!(
        comparison.reason,
        "15 % lower (95 % interval 12.5 to 17.4 %), above the threshold of 10 %"
    );
    let [low, high] = comparison.confidence_interval.unwrap();
    assert!(low < -15.0 && -15.0 < high);
    let result = gate(&side(1.0), &side(0.0), &Policy::default(), &[], now());
    check(&result.comparisons[0], Verdict::Inconclusive, ReasonCode::Unreadable);
    let other = [run("two", vec![valued("serve", Fields::new().with("ttft_ms", 3.0))])];
    let result = gate(&side(1.0), &other, &Policy::default(), &[], now());
    check(&result.comparisons[0], Verdict::NotComparable, ReasonCode::UnlikeUnit);
}

#[test]
fn a_median_is_not_compared_with_a_mean() {
    let side = |estimator: Option<&str>| {
        let mut value = valued("copy", Fields::new().with("time_ms", 1.0));
        if let Some(estimator) = estimator {
            value.metadata.insert("estimator".to_owned(), estimator.into());
        }
        BASE.map(|_| run("one", vec![value.clone()]))
    };
    let unlike = gate(&side(Some("mean")), &side(Some("median")), &Policy::default(), &[], now());
    check(&unlike.comparisons[0], Verdict::NotComparable, ReasonCode::UnlikeUnit);
    assert!(unlike.comparisons[0].reason.contains("the mean in the baseline"), "{unlike:?}");
    for before in [Some("median"), None] {
        let alike = gate(&side(before), &side(Some("median")), &Policy::default(), &[], now());
        assert_ne!(alike.comparisons[0].verdict, Verdict::NotComparable, "{alike:?}");
    }
}

#[test]
fn the_policy_sets_thresholds_and_leaves_out() {
    let mut policy = Policy::default();
    let strict =
        Override { id: Some("*/gemm/*".into()), metric: Some("time_ms".into()), percent: 5.0 };
    policy.add_override("threshold[0]", strict).unwrap();
    let result = compared(vec![times(1.0)], vec![times(1.08)], &policy);
    check(&result.comparisons[0], Verdict::Regressed, ReasonCode::AboveThreshold);
    assert!((result.comparisons[0].threshold_percent - 5.0).abs() < 1e-9);
    policy.ignore_metric("ignore.metrics[0]", "time_ms").unwrap();
    assert!(compared(vec![times(1.0)], vec![times(2.0)], &policy).comparisons.is_empty());
    let mut policy = Policy::default();
    policy.ignore_cases("ignore.cases[0]", "*/gemm/*".into()).unwrap();
    let result =
        compared(vec![times(1.0), steady("copy", &BASE)], vec![steady("copy", &BASE)], &policy);
    assert_eq!((result.missing.len(), result.comparisons.len(), exit_code(&result)), (0, 1, 0));
}

#[test]
fn targets_are_shown_and_fail_only_when_asked_to() {
    let target = |value, effect| Target {
        id_pattern: "*/gemm/*".into(),
        metric: "gflops".into(),
        op: TargetOp::Above,
        value,
        effect,
        reference: None,
    };
    let case =
        || BenchmarkResult { results: vec![Fields::new().with("gflops", 104.23)], ..times(1.0) };
    for (value, effect, passed, exit) in [
        (100.0, TargetEffect::Fail, true, 0),
        (120.0, TargetEffect::Show, false, 0),
        (120.0, TargetEffect::Fail, false, 3),
    ] {
        let mut policy = Policy::default();
        policy.add_target("target[0]", target(value, effect)).unwrap();
        let result = compared(vec![case()], vec![case()], &policy);
        let check = &result.threshold_checks[0];
        assert_eq!((check.passed, exit_code(&result)), (Some(passed), exit));
        assert_eq!(
            (check.actual_text().as_str(), check.name.as_str()),
            ("104.2 GFLOP/s", "gflops of cpu_performance/gemm/cpu:0")
        );
        assert_eq!(
            (check.expected_text(), check.actual),
            (format!("> {value} GFLOP/s"), Some(104.23))
        );
        assert_eq!(result.summary.overall_status == OverallStatus::Healthy, passed);
    }
    let mut policy = Policy::default();
    policy.add_target("target[0]", target(1.0, TargetEffect::Show)).unwrap();
    let result = compared(vec![steady("copy", &BASE)], vec![steady("copy", &BASE)], &policy);
    assert!(result.threshold_checks.is_empty(), "the run has no case of this benchmark");
    assert_eq!(exit_code(&result), 0);
}

#[test]
fn the_summary_counts_and_puts_the_worst_first() {
    let suite = |factors: [f64; 5]| -> Vec<BenchmarkResult> {
        factors
            .iter()
            .enumerate()
            .map(|(at, f)| steady(&format!("case{at}"), &BASE.map(|time| time * f)))
            .collect()
    };
    let result = compared(suite([1.0; 5]), suite([1.0, 1.15, 1.5, 0.5, 0.8]), &Policy::default());
    let summary = &result.summary;
    assert_eq!(
        (
            summary.total_improved,
            summary.total_degraded,
            summary.total_unchanged,
            summary.total_no_verdict
        ),
        (2, 2, 1, 0)
    );
    let changes: Vec<_> = summary
        .significant_changes
        .iter()
        .map(|c| (c.change_percent.round(), c.severity))
        .collect();
    let expected = [
        (50.0, Severity::Critical),
        (15.0, Severity::Warning),
        (-50.0, Severity::Info),
        (-20.0, Severity::Info),
    ];
    assert_eq!(changes, expected);
    assert_eq!((summary.overall_status, exit_code(&result)), (OverallStatus::Critical, 3));
    assert_eq!(result.comparison_id, "after-vs-before-1790000000");
}

/// Processes that took turns agree by chance more often than interleaved samples, so they need more
/// pairs.
#[test]
fn pairs_of_processes_give_a_verdict_from_a_number_that_depends_on_the_change() {
    struct Row {
        level: f64,
        count: usize,
        verdict: Verdict,
        reason: ReasonCode,
    }
    let row = |level, count, verdict, reason| Row { level, count, verdict, reason };
    let side = |level: f64, pairs: usize| {
        let times: Vec<f64> =
            (0..pairs).map(|pair| 1000.0 * level * (1.0 + 0.001 * pair as f64)).collect();
        run("side", vec![steady("gemm", &times)])
    };
    for Row { level, count: pairs, verdict, reason } in [
        row(1.3, 6, Verdict::Inconclusive, ReasonCode::TooFewSamples),
        row(1.3, 7, Verdict::Regressed, ReasonCode::AboveThreshold),
        row(1.7, 4, Verdict::Inconclusive, ReasonCode::TooFewSamples),
        row(1.7, 5, Verdict::Regressed, ReasonCode::AboveThreshold),
        row(1.0, 2, Verdict::Inconclusive, ReasonCode::TooFewSamples),
        row(1.0, 3, Verdict::Unchanged, ReasonCode::WithinNoise),
        row(0.8, 2, Verdict::Unchanged, ReasonCode::TooFewSamples),
        row(0.8, 6, Verdict::Unchanged, ReasonCode::TooFewSamples),
        row(0.8, 7, Verdict::Improved, ReasonCode::BetterThanThreshold),
        row(0.5, 4, Verdict::Unchanged, ReasonCode::TooFewSamples),
        row(0.5, 5, Verdict::Improved, ReasonCode::BetterThanThreshold),
    ] {
        let (before, after) = (side(1.0, pairs), side(level, pairs));
        let result = rsb_stats::gate_in_turns(&before, &after, &Policy::default(), now());
        let found = &result.comparisons[0];
        assert_eq!(
            (found.verdict, found.reason_code),
            (verdict, reason),
            "{level}, {pairs}: {}",
            found.reason
        );
    }
}

/// One pair without a large change, or overlapping times of the two sides, makes the case
/// undecided.
#[test]
fn a_large_change_is_called_early_only_if_every_pair_shows_it() {
    let before = [1000.0, 1010.0, 990.0, 1005.0, 1700.0];
    for (after, verdict) in [
        ([1800.0, 20_000.0, 1850.0, 1750.0, 9000.0], Verdict::Regressed),
        ([1800.0, 20_000.0, 1400.0, 1750.0, 9000.0], Verdict::Inconclusive),
        ([1800.0, 20_000.0, 1850.0, 1600.0, 9000.0], Verdict::Inconclusive),
    ] {
        let sides = [&before, &after].map(|times| run("side", vec![steady("gemm", times)]));
        let result = rsb_stats::gate_in_turns_confirmed(
            &sides[0],
            &sides[1],
            &std::collections::BTreeMap::new(),
            &Policy::default(),
            now(),
        );
        let row = &result.comparisons[0];
        assert_eq!(row.verdict, verdict, "{after:?}: {}", row.reason);
        if verdict == Verdict::Regressed {
            let figures = "86.9 % slower (74.1 to 1880 % in each of 5 pairs)";
            assert_eq!(row.reason, format!("{figures}, above the threshold of 10 %"));
            assert_eq!(row.why(), "above the threshold of 10 %");
        }
    }
}

/// A slowdown counts once the pairs after its first call confirm it.
#[test]
fn a_slower_time_counts_when_later_pairs_repeat_it() {
    struct Confirmation {
        later: f64,
        pairs: usize,
        code: u8,
        reason: &'static str,
    }
    let row = |later, pairs, code, reason| Confirmation { later, pairs, code, reason };
    let time = |level: f64, pair: usize| 1000.0 * level * (1.0 + 0.001 * pair as f64);
    for Confirmation { later, pairs, code, reason } in [
        row(1.2, 5, 3, "above the threshold"),
        row(1.2, 4, 4, "only 4 of the 5 pairs"),
        row(1.04, 5, 4, "5 pairs measured later show +4.0 %"),
        row(0.9, 5, 4, "5 pairs measured later show -10.0 %"),
    ] {
        let side = |first: f64, later: f64| {
            let first = (0..29).map(|pair| time(first, pair));
            let all: Vec<f64> = first.chain((0..pairs).map(|pair| time(later, pair))).collect();
            run("side", vec![steady("gemm", &all)])
        };
        let (before, after) = (side(1.0, 1.0), side(1.2, later));
        let case = before.benchmarks[0].benchmark_id.clone();
        let judge = |called: usize| {
            let first = FirstCall { verdict: Verdict::Regressed, pairs: called };
            let called = [(case.clone(), first)].into();
            rsb_stats::gate_in_turns_confirmed(&before, &after, &called, &Policy::default(), now())
        };
        let result = judge(29);
        let row = &result.comparisons[0];
        assert!(row.reason.contains(reason), "{later} {pairs}: {}", row.reason);
        assert_eq!(exit_code(&result), code, "{later} {pairs}");
        assert_eq!(row.reason_code == ReasonCode::NotRepeated, code == 4);
        assert_eq!(
            exit_code(&judge(29 + pairs)),
            4,
            "without pairs after the first call there is no verdict"
        );
    }
}
