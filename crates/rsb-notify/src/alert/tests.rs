use rsb_model::record::{ChangeRange, ComparisonSummary, RunPoint, SeriesMove};
use rsb_model::{BenchmarkResult, Better, CaseId, Environment, Outcome, ReasonCode, Run, RunId};

use super::*;

/// Returns an open alert of one series, which began at second 1,000,000.
pub(crate) fn change(key: &str, percent: f64) -> NotifyAlert {
    let mut alert = NotifyAlert::test(Timestamp::from_second(1_000_000).unwrap());
    alert.key = key.to_owned();
    alert.kind = AlertKind::Change;
    alert.severity = if percent >= 20.0 { Severity::Critical } else { Severity::Warning };
    alert.machine = "epyc".to_owned();
    alert.run = Some("r7".to_owned());
    alert.direction = "worse".to_owned();
    alert.series = vec![SeriesChange::new(&format!("gemm/{key}"), "time_ms", Some(percent))];
    alert.series_count = 1;
    alert
}

fn hours(count: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + 3600 * count).unwrap()
}

fn tracked(state: AlertState, series: usize) -> TrackedAlert {
    let point = |run: &str| RunPoint {
        timestamp: hours(1),
        run_id: Some(RunId(run.to_owned())),
        commit: None,
    };
    let moves = (0..series).map(|at| SeriesMove {
        id: format!("case-{at}\u{1b}[31m"),
        metric: "time_ms".to_owned(),
        change_percent: 12.0,
        confirmed: false,
        range: None,
    });
    TrackedAlert {
        id: "a-1f2e3d4c".to_owned(),
        state,
        machine: "epyc".to_owned(),
        direction: "worse".to_owned(),
        severity: Severity::Warning,
        range: ChangeRange { last_before: point("r6"), first_after: point("r7") },
        moves: moves.collect(),
        environment_changes: Vec::new(),
        commits: vec!["0123456 subject".to_owned()],
        first_seen: hours(2),
        because: None,
        decisions: Vec::new(),
    }
}

fn analysis(measured: usize) -> AnalysisContext {
    AnalysisContext { measured, is_repeated: true, critical_percent: 20.0 }
}

#[test]
fn a_suspected_change_is_critical_by_its_size_once_two_runs_show_it() {
    let mut large = tracked(AlertState::New, 1);
    large.moves[0].change_percent = 22.0;
    let severity = |alert: &TrackedAlert, analysis| {
        let alert = NotifyAlert::from_tracked(alert, analysis);
        (alert.severity, alert.is_tentative)
    };
    assert_eq!(severity(&large, analysis(0)), (Severity::Critical, false));
    assert_eq!(severity(&large, AnalysisContext::NONE), (Severity::Warning, true));
    assert_eq!(severity(&tracked(AlertState::New, 1), analysis(0)), (Severity::Warning, false));
    large.direction = "better".to_owned();
    assert_eq!(severity(&large, analysis(0)), (Severity::Warning, false));
}

#[test]
fn states_of_trend_are_mapped() {
    for (state, expected) in [
        (AlertState::New, NotifyState::New),
        (AlertState::Acknowledged, NotifyState::Acknowledged),
        (AlertState::Downstream, NotifyState::Acknowledged),
        (AlertState::Fixed, NotifyState::Recovered),
        (AlertState::Invalid, NotifyState::Withdrawn),
    ] {
        assert_eq!(NotifyAlert::from_tracked(&tracked(state, 1), analysis(0)).state, expected);
    }
}

#[test]
fn many_series_of_one_run_are_one_alert_that_suspects_the_machine() {
    let alert = NotifyAlert::from_tracked(&tracked(AlertState::New, 54), analysis(88));
    assert_eq!(
        alert.headline(),
        "suspected: 54 of 88 series on epyc worse, up to +12.0 %, since run r7"
    );
    assert_eq!((alert.series.len(), alert.series_count), (54, 54));
    assert_eq!(alert.clone().for_message().series.len(), MAX_SERIES);
    let sections = alert.sections();
    assert_eq!(sections[0].heading, "Check the machine first");
    assert_eq!(sections[1].lines.last().unwrap(), "and 34 more");
    assert!(!alert.series[0].id.contains('\u{1b}'));
    assert!(
        !NotifyAlert::from_tracked(&tracked(AlertState::New, 2), analysis(3)).is_machine_wide()
    );
}

#[test]
fn an_unsafe_id_becomes_a_hash() {
    assert_eq!(safe_key("a-1f2e3d4c"), "a-1f2e3d4c");
    for id in ["", "--> <script>", "a\r\nb", &"x".repeat(65)] {
        assert!(safe_key(id).len() == 10 && safe_key(id).starts_with("a-"), "{id}");
    }
}

fn comparison(verdict: Verdict, percent: f64) -> ComparisonResult {
    let row = Comparison {
        baseline_value: Some(1.0),
        current_value: Some(1.0 + percent / 100.0),
        difference_percent: Some(percent),
        verdict,
        reason_code: ReasonCode::AboveThreshold,
        threshold_percent: 10.0,
        ..Comparison::new(
            "cpu_performance/gemm/cpu:0/f32/64x64x64".parse().unwrap(),
            "time_ms",
            "ms",
            Better::Lower,
        )
    };
    ComparisonResult {
        format_version: 1,
        comparison_id: "c".to_owned(),
        baseline_run_id: "b".to_owned(),
        current_run_id: "r7".to_owned(),
        timestamp: hours(1),
        verdict,
        threshold_percent: 10.0,
        comparisons: vec![row],
        missing: Vec::new(),
        new: Vec::new(),
        threshold_checks: Vec::new(),
        notes: Vec::new(),
        summary: ComparisonSummary::default(),
    }
}

#[test]
fn a_gate_opens_on_a_regression_closes_on_a_pass_and_says_nothing_without_a_verdict() {
    let scope = |branch: &str| GateScope {
        machine: "epyc".to_owned(),
        reference: "main".to_owned(),
        branch: branch.to_owned(),
    };
    let of = |verdict, percent| {
        NotifyAlert::from_comparison(&comparison(verdict, percent), &scope("feature"))
    };
    let regressed = of(Verdict::Regressed, 25.0).unwrap();
    assert_eq!((regressed.state, regressed.severity), (NotifyState::New, Severity::Critical));
    assert_eq!(
        regressed.headline(),
        "gate: 1 case regressed on epyc against main: cpu_performance/gemm/cpu:0/f32/64x64x64 \
         time_ms +25.0 %"
    );
    assert_eq!(of(Verdict::Regressed, 12.0).unwrap().severity, Severity::Warning);
    let passed = of(Verdict::Unchanged, 1.0).unwrap();
    assert_eq!((passed.state, &passed.key), (NotifyState::Recovered, &regressed.key));
    let other = NotifyAlert::from_comparison(&comparison(Verdict::Unchanged, 1.0), &scope("x"));
    assert_ne!(other.unwrap().key, regressed.key, "another branch closes nothing");
    assert_eq!(of(Verdict::Inconclusive, 25.0), None);
    assert_eq!(of(Verdict::NotComparable, 25.0), None);
}

#[test]
fn a_case_without_values_is_an_alert_until_it_is_measured_or_retired() {
    let case = |id: &str, at: i64| LastMeasured { id: id.to_owned(), at: hours(at) };
    let of =
        |cases: &[LastMeasured]| NotifyAlert::from_unmeasured("epyc", cases, hours(24 * 100), 14.0);
    let alert = of(&[case("a", 24 * 99), case("b", 24 * 80), case("gone", 0)]);
    assert_eq!((alert.state, alert.series_count, alert.measured), (NotifyState::New, 1, 2));
    assert!(alert.headline().starts_with("1 of 2 cases on epyc not measured since 1970-04-02"));
    let again = of(&[case("a", 24 * 99), case("b", 24 * 99)]);
    assert_eq!((again.state, again.key), (NotifyState::Recovered, alert.key));
    let gone = of(&[case("gone", 0)]);
    assert!(gone.decided.is_empty() && gone.state == NotifyState::Recovered);
}

#[test]
fn a_failed_or_cut_off_run_is_an_alert_until_a_later_run_measures_the_case() {
    let id: CaseId = "cpu_performance/gemm/cpu:0/f32/64x64x64".parse().unwrap();
    let of = |finished, outcomes: &[Outcome]| {
        let environment = Environment::default();
        let mut run = Run::begin(RunId("r1".into()), hours(1), "quick", "quick", environment);
        run.finished = finished;
        let case = |outcome: &Outcome| BenchmarkResult::new(id.clone(), hours(1), *outcome);
        run.benchmarks = outcomes.iter().map(case).collect();
        NotifyAlert::from_run("epyc", &run)
    };
    let failed = of(Some(hours(2)), &[Outcome::Failed]);
    assert_eq!((failed.state, failed.series_count), (NotifyState::New, 1));
    assert!(failed.headline().starts_with("run r1 on epyc: 1 case failed: cpu_performance/gemm"));
    let cut = of(None, &[]);
    assert_eq!(cut.headline(), "run r1 on epyc was cut off after 0 cases");
    let measured = of(Some(hours(2)), &[Outcome::Measured]);
    assert_eq!((measured.state, &measured.key), (NotifyState::Recovered, &failed.key));
    assert_eq!(measured.decided, failed.decided);
}
