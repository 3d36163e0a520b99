//! Tests of the gate against stored runs: the history judges speed, the gate everything else.

#![allow(clippy::unwrap_used)] // In a test a failed step is a failed test.

mod common;

use common::{bare, now, run, steady, valued};
use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{BenchmarkResult, CaseId, Fields, Outcome, ReasonCode, Run, Timestamp, Verdict};
use rsb_stats::policy::{Control, WhenMoved};
use rsb_stats::{AcceptedLevel, Policy, StoredRuns, exit_code, gate_history};

/// Returns the start time of the stored run with the number `at`.
fn moment(at: u32) -> Timestamp {
    Timestamp::from_second(now().as_second() + 60 * i64::from(at)).unwrap()
}

/// Returns a value within 1 % of `time`.
fn wobbling(time: f64, at: u32) -> f64 {
    time * (1.0 + 0.01 * (f64::from(at * 7 % 13) / 6.0 - 1.0))
}

/// Builds `runs` runs of two cases, with three processes each.
fn stored(runs: u32) -> Vec<Run> {
    (0..runs)
        .map(|at| {
            at_moment(
                at,
                vec![case("gemm", wobbling(1e6, at)), case("copy", wobbling(3e6, at + 5))],
            )
        })
        .collect()
}

fn at_moment(at: u32, benchmarks: Vec<BenchmarkResult>) -> Run {
    Run { started: moment(at), ..run(&format!("run-{at:03}"), benchmarks) }
}

fn case(name: &str, time_ns: f64) -> BenchmarkResult {
    steady(name, &[time_ns, time_ns * 1.01, time_ns * 0.99])
}

fn judged(runs: &[Run], accepted: &[AcceptedLevel], current: &[Run]) -> ComparisonResult {
    gate_history(&StoredRuns { runs, accepted }, current, &Policy::default(), &[], moment(1000))
}

/// Builds the newest run, in which `gemm` takes this many times its usual time.
fn newest(factor: f64) -> Run {
    at_moment(500, vec![case("gemm", 1e6 * factor), case("copy", 3e6)])
}

fn of<'a>(result: &'a ComparisonResult, name: &str) -> &'a Comparison {
    result.comparisons.iter().find(|comparison| comparison.id.as_str().contains(name)).unwrap()
}

#[test]
fn speed_is_judged_from_the_history_and_only_the_slow_case_is_named() {
    for (factor, verdict, exit) in
        [(1.0, Verdict::Unchanged, 0), (1.25, Verdict::Regressed, 3), (0.8, Verdict::Improved, 0)]
    {
        let result = judged(&stored(50), &[], &[newest(factor)]);
        assert_eq!(
            (of(&result, "gemm").verdict, of(&result, "copy").verdict),
            (verdict, Verdict::Unchanged)
        );
        assert_eq!(exit_code(&result), exit, "{factor}");
    }
    let result = judged(&stored(50), &[], &[newest(1.25)]);
    let slow = of(&result, "gemm");
    assert!(
        slow.reason.contains("slower than the 15 runs before (95 % interval "),
        "{}",
        slow.reason
    );
    assert!(slow.reason.ends_with("above the threshold of 10 %"), "{}", slow.reason);
    assert_eq!((slow.metric.as_str(), slow.unit.as_str()), ("time_ms", "ms"));
    assert!(
        (slow.current_value.unwrap() - 1.25).abs() < 0.02
            && (slow.baseline_value.unwrap() - 1.0).abs() < 0.02
    );
    let [low, high] = slow.confidence_interval.unwrap();
    assert!(low < slow.difference_percent.unwrap() && slow.difference_percent.unwrap() < high);
    assert_eq!(result.baseline_run_id, "run-000..run-049");
    assert!(
        result.comparison_id.starts_with("run-500-vs-run-000..run-049-"),
        "{}",
        result.comparison_id
    );
    assert_eq!((result.summary.total_degraded, result.summary.total_unchanged), (1, 1));
}

#[test]
fn what_looks_slow_and_is_not_clear_asks_to_be_repeated() {
    let mut runs = stored(50);
    runs[44].benchmarks[0] = case("gemm", 1.4e6);
    let first = judged(&runs, &[], &[newest(1.25)]);
    let slow = of(&first, "gemm");
    assert_eq!((slow.verdict, slow.reason_code), (Verdict::Inconclusive, ReasonCode::TooNoisy));
    assert!(slow.reason.contains("repeat the run at this commit"), "{}", slow.reason);
    assert_eq!(exit_code(&first), 4);
    let repeat = |name: &str| Run { run_id: rsb_model::RunId(name.into()), ..newest(1.26) };
    let second = judged(&runs, &[], &[newest(1.25), repeat("second"), repeat("third")]);
    assert_eq!(
        (of(&second, "gemm").verdict, of(&second, "copy").verdict),
        (Verdict::Regressed, Verdict::Unchanged)
    );
    assert!(
        of(&second, "gemm").reason.starts_with("2 repeats together 2"),
        "{}",
        of(&second, "gemm").reason
    );
}

#[test]
fn one_fast_repeat_of_a_clearly_slow_run_is_not_green() {
    let repeat = |name: &str| Run { run_id: rsb_model::RunId(name.into()), ..newest(1.0) };
    let once = judged(&stored(50), &[], &[newest(1.25), repeat("second")]);
    let slow = of(&once, "gemm");
    assert_eq!((slow.verdict, exit_code(&once)), (Verdict::Inconclusive, 4), "{slow:#?}");
    assert!(
        slow.reason.starts_with("1 of 2 runs is clearly slower and the others are not: repeat"),
        "{}",
        slow.reason
    );
    let twice = judged(&stored(50), &[], &[newest(1.25), repeat("second"), repeat("third")]);
    assert_eq!(exit_code(&twice), 0, "most runs are at the usual level");
}

#[test]
fn too_few_runs_are_no_verdict_and_the_sentence_counts_them() {
    for (runs, words) in [(14, "only 14 earlier runs"), (1, "only 1 earlier run of")] {
        let result = judged(&stored(runs), &[], &[newest(2.0)]);
        assert_eq!(exit_code(&result), 4);
        assert!(of(&result, "gemm").reason.contains(words), "{}", of(&result, "gemm").reason);
    }
    assert_eq!(
        exit_code(&judged(&[], &[], &[newest(1.0)])),
        4,
        "without runs to compare there is no verdict"
    );
}

#[test]
fn what_vanished_or_failed_is_said_as_against_a_baseline() {
    let vanished = at_moment(500, vec![case("copy", 3e6)]);
    let result = judged(&stored(50), &[], &[vanished]);
    assert_eq!((of(&result, "gemm").reason_code, exit_code(&result)), (ReasonCode::Missing, 4));
    let failed = at_moment(500, vec![bare("gemm", Outcome::Failed), case("copy", 3e6)]);
    let mut runs = stored(50);
    assert_eq!(
        of(&judged(&runs, &[], std::slice::from_ref(&failed)), "gemm").reason_code,
        ReasonCode::CaseFailed
    );
    // A failure in the previous run does not remove the case.
    runs.push(at_moment(50, failed.benchmarks.clone()));
    assert_eq!(exit_code(&judged(&runs, &[], &[failed])), 4);
    let with_new = at_moment(500, vec![case("gemm", 1e6), case("copy", 3e6), case("new", 1e6)]);
    let result = judged(&stored(50), &[], &[with_new]);
    assert_eq!((result.new.len(), exit_code(&result)), (1, 0));
}

#[test]
fn an_accepted_level_is_not_judged_by_what_was_before() {
    let mut runs = stored(50);
    for (run, at) in runs.iter_mut().zip(0..).skip(47) {
        run.benchmarks[0] = case("gemm", wobbling(1.3e6, at));
    }
    let accepted = |id: &str, metric: Option<&str>| {
        [AcceptedLevel { id: id.to_owned(), metric: metric.map(str::to_owned), since: moment(47) }]
    };
    let gemm = common::id("gemm");
    let verdict = |accepted: &[AcceptedLevel], factor: f64| {
        of(&judged(&runs, accepted, &[newest(factor)]), "gemm").verdict
    };
    assert_eq!(verdict(&[], 1.3), Verdict::Inconclusive);
    for metric in [None, Some("time_ms")] {
        assert_eq!(verdict(&accepted(gemm.as_str(), metric), 1.3), Verdict::Unchanged);
        assert_eq!(verdict(&accepted(gemm.as_str(), metric), 1.7), Verdict::Regressed);
    }
    assert_eq!(
        verdict(&accepted(gemm.as_str(), Some("memory_used_mb")), 1.3),
        Verdict::Inconclusive
    );
    assert_eq!(verdict(&accepted("another", None), 1.3), Verdict::Inconclusive);
}

#[test]
fn rates_without_samples_have_a_history_too_and_memory_is_compared_by_value() {
    let with = |at: u32, rate: f64, memory: f64| {
        let mut fields = Fields::new();
        fields.set("tokens_per_second", rate);
        fields.set("memory_used_mb", memory);
        at_moment(at, vec![valued("llm", fields)])
    };
    let runs: Vec<Run> = (0..50).map(|at| with(at, wobbling(500.0, at), 100.0)).collect();
    let rows = |rate: f64, memory: f64| {
        let result = judged(&runs, &[], &[with(500, rate, memory)]);
        result.comparisons.iter().map(|row| (row.metric.clone(), row.verdict)).collect::<Vec<_>>()
    };
    let expected = |rate, memory| {
        vec![("tokens_per_second".to_owned(), rate), ("memory_used_mb".to_owned(), memory)]
    };
    assert_eq!(rows(500.0, 100.0), expected(Verdict::Unchanged, Verdict::Unchanged));
    assert_eq!(rows(400.0, 200.0), expected(Verdict::Regressed, Verdict::Regressed));
}

/// Judges a run after fifty runs of a dozen cases and the control set: all cases take `slower`
/// times as long, the control set `control` times.
fn machine_moved(policy: &Policy, slower: f64, control: f64) -> ComparisonResult {
    let at = |at: u32, slower: f64, control: f64| {
        let cases = (0..12)
            .map(|index| case(&format!("case-{index}"), slower * wobbling(1e6, at + 5 * index)));
        let controls = (0..3).map(|index| {
            let time = control * wobbling(2e6, at + 3 * index);
            let id = CaseId::from_segments(&[
                "cpu_performance",
                "control",
                "cpu:0",
                &format!("{index}KiB"),
            ]);
            BenchmarkResult { benchmark_id: id, ..case("control", time) }
        });
        at_moment(at, cases.chain(controls).collect())
    };
    let runs: Vec<Run> = (0..50).map(|run| at(run, 1.0, 1.0)).collect();
    gate_history(
        &StoredRuns { runs: &runs, accepted: &[] },
        &[at(500, slower, control)],
        policy,
        &[],
        moment(1000),
    )
}

#[test]
fn what_all_cases_have_in_common_is_a_row_of_its_own_and_the_control_set_is_heard() {
    let correct = {
        let mut policy = Policy::default();
        policy
            .set_control(
                "control",
                Control { when_moved: WhenMoved::Correct, ..Control::default() },
            )
            .unwrap();
        policy
    };
    let refuse = Policy::default();
    for (policy, slower, control, verdict, exit) in [
        (&refuse, 1.0, 1.0, Verdict::Unchanged, 0),
        (&refuse, 1.3, 1.0, Verdict::Regressed, 3),
        (&refuse, 1.3, 1.3, Verdict::Inconclusive, 4),
        (&refuse, 1.0, 0.7, Verdict::Inconclusive, 4),
        (&correct, 1.3, 1.3, Verdict::Unchanged, 0),
        (&correct, 1.7, 1.3, Verdict::Regressed, 3),
    ] {
        let result = machine_moved(policy, slower, control);
        let common = of(&result, "all-cases");
        assert_eq!(
            (common.verdict, exit_code(&result)),
            (verdict, exit),
            "{slower} {control}: {common:#?}"
        );
        let is_moved = verdict == Verdict::Inconclusive;
        assert_eq!(
            common.reason_code == ReasonCode::MachineMoved,
            is_moved,
            "{slower} {control}: {common:#?}"
        );
        assert!(common.reason.starts_with("median of all 12 cases: "), "{}", common.reason);
        assert_eq!(
            common.reason.contains("the control set moved too"),
            is_moved,
            "{}",
            common.reason
        );
    }
    let taken_out = machine_moved(&correct, 1.3, 1.3);
    let reason = &of(&taken_out, "case-3").reason;
    assert!(reason.ends_with("of the control set subtracted"), "{reason}");
    // The reported change of a case includes the 30 % that all cases share, unless the machine
    // explains them.
    let slower = machine_moved(&refuse, 1.3, 1.0);
    assert!((of(&slower, "case-3").difference_percent.unwrap() - 30.0).abs() < 3.0);
}

#[test]
fn on_runners_of_unlike_speed_a_slow_case_is_named_by_what_it_changed_beyond_the_others() {
    let at = |at: u32, runner: f64, slower: f64| {
        let time = |index: u32| {
            runner * wobbling(1e6, at + 5 * index) * if index == 2 { slower } else { 1.0 }
        };
        at_moment(at, (0..12).map(|index| case(&format!("case-{index}"), time(index))).collect())
    };
    let runs: Vec<Run> =
        (0..50).map(|run| at(run, 1.0 + 0.2 * f64::from(run * 5 % 11) / 11.0, 1.0)).collect();
    let judged = |runner: f64, slower: f64| judged(&runs, &[], &[at(500, runner, slower)]);
    let result = judged(1.1, 1.2);
    let regressed: Vec<&str> = result
        .comparisons
        .iter()
        .filter(|row| row.verdict == Verdict::Regressed)
        .map(|row| row.id.as_str())
        .collect();
    assert_eq!((regressed, exit_code(&result)), (vec![common::id("case-2").as_str()], 3));
    let reason = &of(&result, "case-2").reason;
    assert!(
        reason.contains("beyond what the other cases changed, both, above the threshold of 10 %"),
        "{reason}"
    );
    let hidden = judged(0.9, 1.2);
    let reason = &of(&hidden, "case-2").reason;
    assert!(reason.contains("which a faster machine may hide: repeat the run"), "{reason}");
    assert_eq!(exit_code(&hidden), 4);
    let unchanged = judged(1.15, 1.0);
    assert_eq!(exit_code(&unchanged), 0);
    assert!(
        unchanged.comparisons.iter().all(|row| row.detectable_percent.is_some_and(f64::is_finite))
    );
}
