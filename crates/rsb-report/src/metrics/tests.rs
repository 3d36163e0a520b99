use super::*;

fn case(name: &str, verdict: Option<Verdict>) -> CaseMetrics {
    CaseMetrics {
        case: name.to_owned(),
        machine: "cpu-16".to_owned(),
        seconds: 1234.5 / 1e9,
        measured: Timestamp::from_second(1_767_225_600).unwrap(),
        verdict,
    }
}

fn alert(state: &str, severity: &str) -> TrackedAlert {
    let point = serde_json::json!({ "timestamp": "2026-01-01T00:00:00Z", "run_id": "r" });
    let document = serde_json::json!({
        "id": "a", "state": state, "machine": "cpu-16", "direction": "worse", "severity": severity,
        "range": { "last_before": point, "first_after": point }, "moves": [],
        "first_seen": "2026-01-01T00:00:00Z",
    });
    serde_json::from_value(document).unwrap()
}

fn campaign() -> CampaignMetrics {
    let counts = |states: [&str; 2]| states.map(|state| (state.to_owned(), 1)).into();
    CampaignMetrics {
        campaign: "weekly".to_owned(),
        jobs: counts(["done", "running"]),
        nodes: counts(["ok", "slow"]),
        node_states: [("n1", "ok"), ("n2\"} 1\nrsb_forged 1", "slow")]
            .map(|(node, state)| (node.to_owned(), state.to_owned()))
            .into(),
    }
}

fn input(cases: Vec<CaseMetrics>) -> MetricsInput {
    MetricsInput {
        version: "1.0.0",
        machines: vec![MachineMetrics {
            machine: "cpu-16".to_owned(),
            runs: 7,
            newest: Timestamp::from_second(1_767_225_600).unwrap(),
            counts: Counts { measured: 2, skipped: 1, failed: 0, simulated: 0 },
        }],
        cases,
        alerts: vec![alert("new", "critical"), alert("fixed", "warning")],
        running: RunningMetrics { runs: 1, done: 3, planned: 12 },
        campaign: Some(campaign()),
        max_series: DEFAULT_MAX_SERIES,
    }
}

#[test]
fn metrics_of_a_store_with_hostile_names() {
    let cases = vec![
        case("gemm/cpu:0/f32", Some(Verdict::Regressed)),
        case("x\"} 1\nrsb_forged 1\r\\\u{0}\u{1b}[31m\u{202e}", None),
    ];
    insta::assert_snapshot!(metrics(&input(cases), MetricsFormat::Prometheus));
}

#[test]
fn formats_differ_only_in_the_last_line() {
    let input = input(vec![case("a", None)]);
    let prometheus = metrics(&input, MetricsFormat::Prometheus);
    assert_eq!(metrics(&input, MetricsFormat::OpenMetrics), prometheus + "# EOF\n");
}

#[test]
fn regressed_cases_are_kept_and_dropped_cases_are_counted() {
    let cases = vec![case("a", None), case("b", None), case("c", Some(Verdict::Regressed))];
    let input = MetricsInput { max_series: 9, ..input(cases) };
    let text = metrics(&input, MetricsFormat::Prometheus);
    for (line, is_expected) in [
        ("rsb_dropped_cases 1\n", true),
        ("rsb_case_time_seconds{case=\"a\",", true),
        ("rsb_case_time_seconds{case=\"b\",", false),
        ("rsb_case_verdict{case=\"c\",machine=\"cpu-16\",verdict=\"Regressed\"} 1\n", true),
        ("rsb_cases{machine=\"cpu-16\",verdict=\"none\"} 2\n", true),
    ] {
        assert_eq!(text.contains(line), is_expected, "{line}\n{text}");
    }
}

#[test]
fn a_store_without_runs_has_metrics() {
    let empty = MetricsInput { machines: Vec::new(), alerts: Vec::new(), ..input(Vec::new()) };
    let text = metrics(&empty, MetricsFormat::OpenMetrics);
    assert!(text.contains("rsb_dropped_cases 0\n") && !text.contains("rsb_runs"), "{text}");
}

#[test]
fn openmetrics_is_sent_only_if_it_is_accepted() {
    for (accept, expected) in [
        ("", MetricsFormat::Prometheus),
        ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", MetricsFormat::Prometheus),
        (
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
            MetricsFormat::OpenMetrics,
        ),
        ("text/html, Application/OpenMetrics-Text", MetricsFormat::OpenMetrics),
    ] {
        assert_eq!(MetricsFormat::accepted_by(accept), expected, "{accept}");
    }
}
