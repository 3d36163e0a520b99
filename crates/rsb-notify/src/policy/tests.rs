use super::*;
use crate::alert::tests::change;
use crate::alert::{LastMeasured, NodeProblem, ProblemNode};

/// Returns `hours` after the alerts of [`change`] began.
fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + 3600 * hours).unwrap()
}

/// A receiver whose messages are decided one after another.
struct Receiver {
    rule: ReceiverRule,
    state: ReceiverState,
    silences: Vec<Silence>,
}

impl Receiver {
    fn new(rule: ReceiverRule) -> Self {
        Self { rule, state: ReceiverState::default(), silences: Vec::new() }
    }

    fn decide(&mut self, hours: i64, alerts: &[NotifyAlert]) -> Decision {
        let input = PolicyInput {
            receiver: "team",
            rule: &self.rule,
            silences: &self.silences,
            clock: NotifyClock { now: at(hours), minute: (60 * hours.rem_euclid(24)) as u16 },
            alerts,
        };
        let decision = decide(&self.state, &input);
        self.state = decision.state.clone();
        decision
    }

    /// Returns the events of the messages for `alerts`.
    fn events(&mut self, hours: i64, alerts: &[NotifyAlert]) -> Vec<NotifyEvent> {
        self.decide(hours, alerts).notifications.iter().map(|message| message.event).collect()
    }
}

fn with_state(alert: &NotifyAlert, state: NotifyState) -> NotifyAlert {
    NotifyAlert { state, ..alert.clone() }
}

#[test]
fn an_alert_is_sent_once_repeated_updated_and_closed_by_a_verdict() {
    struct Step {
        hours: i64,
        percent: f64,
        state: NotifyState,
        expected: Option<NotifyEvent>,
    }
    let step = |hours, percent, state, expected| Step { hours, percent, state, expected };
    let mut receiver = Receiver::new(ReceiverRule::default());
    for step in [
        step(0, 15.0, NotifyState::New, Some(NotifyEvent::New)),
        step(12, 16.0, NotifyState::New, None),
        step(23, 21.0, NotifyState::New, None),
        step(24, 16.0, NotifyState::New, Some(NotifyEvent::Reminder)),
        step(30, 23.0, NotifyState::New, Some(NotifyEvent::Update)),
        step(36, 19.0, NotifyState::New, None),
        step(70, 23.0, NotifyState::Acknowledged, None),
        step(200, 60.0, NotifyState::Acknowledged, None),
        step(201, 23.0, NotifyState::Recovered, Some(NotifyEvent::Recovered)),
        step(202, 23.0, NotifyState::Recovered, None),
        step(300, 23.0, NotifyState::New, Some(NotifyEvent::New)),
        step(301, 23.0, NotifyState::Withdrawn, Some(NotifyEvent::Withdrawn)),
    ] {
        let alert = with_state(&change("a-1", step.percent), step.state);
        let found = receiver.events(step.hours, &[alert]);
        assert_eq!(found.first().copied(), step.expected, "at {} h", step.hours);
        assert!(found.len() <= 1);
    }
}

#[test]
fn a_missing_alert_is_neither_closed_nor_repeated() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    assert_eq!(receiver.events(0, &[change("a-1", 15.0)]), [NotifyEvent::New]);
    assert!(receiver.events(100, &[]).is_empty());
    assert_eq!(receiver.events(101, &[change("a-1", 15.0)]), [NotifyEvent::Reminder]);
}

#[test]
fn an_unreported_alert_is_not_closed_and_an_old_change_is_not_reported() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let alert = change("a-1", 15.0);
    for state in [NotifyState::Acknowledged, NotifyState::Recovered, NotifyState::Withdrawn] {
        assert!(receiver.events(0, &[with_state(&alert, state)]).is_empty());
    }
    let mut minor = alert.clone();
    minor.severity = Severity::Info;
    assert!(receiver.events(0, &[minor]).is_empty());
    // The alert is reported once it is severe enough or no longer held, however late.
    assert_eq!(receiver.events(24 * 8, std::slice::from_ref(&alert)), [NotifyEvent::New]);
    let mut new = Receiver::new(ReceiverRule::default());
    // A first analysis finds changes that are years old.
    let found = NotifyAlert { first_seen: at(24 * 8), ..alert.clone() };
    assert!(new.events(24 * 8, &[found]).is_empty(), "it is a week old");
    assert!(new.events(24 * 9, &[with_state(&alert, NotifyState::Recovered)]).is_empty());
    let again = NotifyAlert { since: at(24 * 9), ..alert };
    assert_eq!(new.events(24 * 9, &[again]), [NotifyEvent::New]);
}

#[test]
fn an_outlier_is_not_reported_and_a_change_is_with_its_second_run() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let tentative = NotifyAlert { is_tentative: true, ..change("a-1", 15.0) };
    let decision = receiver.decide(0, std::slice::from_ref(&tentative));
    assert!(decision.notifications.is_empty());
    assert_eq!(decision.held[0].why, "only one run shows it");
    assert!(receiver.events(1, &[with_state(&tentative, NotifyState::Withdrawn)]).is_empty());
    assert_eq!(receiver.events(2, &[change("a-1", 15.0)]), [NotifyEvent::New]);
    assert!(receiver.events(48, std::slice::from_ref(&tentative)).is_empty());
    assert_eq!(
        receiver.events(49, &[with_state(&tentative, NotifyState::Withdrawn)]),
        [NotifyEvent::Withdrawn]
    );
}

#[test]
fn an_alert_that_becomes_severe_enough_is_sent_then() {
    let mut receiver =
        Receiver::new(ReceiverRule { severity: Severity::Critical, ..ReceiverRule::default() });
    assert!(receiver.events(0, &[change("a-1", 15.0)]).is_empty());
    assert_eq!(receiver.events(6, &[change("a-1", 25.0)]), [NotifyEvent::New]);
    assert_eq!(
        receiver.events(7, &[with_state(&change("a-1", 15.0), NotifyState::Recovered)]),
        [NotifyEvent::Recovered],
        "a closing is sent at any severity"
    );
}

#[test]
fn alerts_of_one_run_are_one_message_unless_each_needs_its_own() {
    let alerts = [change("a-1", 15.0), change("a-2", 30.0)];
    let mut receiver = Receiver::new(ReceiverRule::default());
    let decision = receiver.decide(0, &alerts);
    assert_eq!(decision.notifications.len(), 1);
    let keys: Vec<&str> =
        decision.notifications[0].alerts.iter().map(|alert| alert.key.as_str()).collect();
    assert_eq!(keys, ["a-2", "a-1"], "the worst comes first");
    let mut other = alerts.clone();
    other[1].run = Some("r8".to_owned());
    assert_eq!(Receiver::new(ReceiverRule::default()).decide(0, &other).notifications.len(), 2);
    let single = ReceiverRule { is_per_alert: true, ..ReceiverRule::default() };
    assert_eq!(Receiver::new(single).decide(0, &alerts).notifications.len(), 2);
}

#[test]
fn a_storm_becomes_a_digest_and_then_waits() {
    let storm = |from: usize| -> Vec<NotifyAlert> {
        let each = (from..from + 20).map(|at| {
            let mut alert = change(&format!("a-{at}"), 15.0);
            alert.run = Some(format!("r{at}"));
            alert
        });
        each.collect()
    };
    let mut receiver = Receiver::new(ReceiverRule { max_per_hour: 3, ..ReceiverRule::default() });
    let decision = receiver.decide(0, &storm(0));
    let sizes: Vec<usize> =
        decision.notifications.iter().map(|message| message.alerts.len()).collect();
    assert_eq!(sizes, [1, 1, 18]);
    assert_eq!(decision.notifications[2].event, NotifyEvent::Digest);
    let decision = receiver.decide(0, &storm(100));
    assert!(decision.notifications.is_empty() && decision.held.len() == 20);
    assert_eq!(receiver.decide(2, &storm(100)).notifications.len(), 3, "nothing is lost");
}

#[test]
fn silences_and_quiet_hours_hold_an_alert_until_they_end() {
    let mut receiver = Receiver::new(ReceiverRule {
        quiet: QuietHours::parse("22:00-7:00"),
        ..ReceiverRule::default()
    });
    let pattern = "gemm/*-1".to_owned();
    receiver.silences.push(Silence { pattern, until: at(12), because: None });
    let alerts = [change("a-1", 15.0), change("a-2", 15.0)];
    let held = receiver.decide(3, &alerts).held;
    assert_eq!(held.iter().filter(|one| one.why == "quiet hours").count(), 1, "{held:?}");
    assert!(held.iter().any(|one| one.why.starts_with("silenced until")), "{held:?}");
    let day = receiver.decide(8, &alerts);
    assert_eq!(day.notifications[0].alerts[0].key, "a-2");
    assert_eq!(day.held.len(), 1);
    assert_eq!(receiver.events(13, &alerts), [NotifyEvent::New]);
    // Opened and closed at night: nothing to report.
    let mut brief = change("b-1", 15.0);
    brief.first_seen = at(24);
    assert!(receiver.events(24, std::slice::from_ref(&brief)).is_empty());
    assert!(receiver.events(32, &[with_state(&brief, NotifyState::Recovered)]).is_empty());
}

#[test]
fn a_silence_of_one_case_does_not_hide_an_alert_of_several() {
    let silence =
        |pattern: &str| Silence { pattern: pattern.to_owned(), until: at(1), because: None };
    let mut alert = change("a-1", 15.0);
    alert.series.extend(change("b-2", 15.0).series);
    for (pattern, expected) in
        [("a-1", true), ("b-2", false), ("gemm/", true), ("gemm/*-*", true), ("ep*c", true)]
    {
        assert_eq!(silence(pattern).matches(&alert), expected, "{pattern}");
    }
}

#[test]
fn quiet_hours_may_span_midnight() {
    let night = QuietHours::parse("22:00-07:30").unwrap();
    for (minute, expected) in [(22 * 60, true), (0, true), (7 * 60 + 29, true), (450, false)] {
        assert_eq!(night.contains(minute), expected, "{minute}");
    }
    let noon = QuietHours::parse("12:00-13:00").unwrap();
    assert!(noon.contains(720) && !noon.contains(780) && !noon.contains(0));
    for wrong in ["", "22:00", "24:00-07:00", "7-8", "08:00-08:00", "22:00-07:60"] {
        assert_eq!(QuietHours::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_mirror_gets_all_open_alerts_each_time_and_each_closing_once() {
    let mut receiver = Receiver::new(ReceiverRule { is_mirror: true, ..ReceiverRule::default() });
    let alerts = [change("a-1", 15.0), change("a-2", 15.0)];
    for hours in [0, 1, 2] {
        let decision = receiver.decide(hours, &alerts);
        assert_eq!(decision.notifications.len(), 1);
        assert_eq!(decision.notifications[0].alerts.len(), 2);
    }
    let known = [with_state(&alerts[0], NotifyState::Acknowledged), alerts[1].clone()];
    assert_eq!(receiver.decide(3, &known).notifications[0].alerts.len(), 2, "both are open");
    let closed = [with_state(&alerts[0], NotifyState::Recovered)];
    assert_eq!(receiver.decide(4, &closed).notifications[0].alerts.len(), 1);
    assert!(receiver.decide(5, &closed).notifications.is_empty());
    // In a receiver that keeps the state, another severity is another alert.
    let worse = receiver.decide(6, &[change("a-2", 30.0)]);
    let states: Vec<_> =
        worse.notifications[0].alerts.iter().map(|alert| (alert.severity, alert.state)).collect();
    assert_eq!(
        states,
        [(Severity::Critical, NotifyState::New), (Severity::Warning, NotifyState::Withdrawn)]
    );
    for state in [NotifyState::New, NotifyState::Recovered] {
        let smaller = receiver.decide(7, &[with_state(&change("a-2", 15.0), state)]);
        let alerts = &smaller.notifications[0].alerts;
        assert_eq!((alerts.len(), alerts[0].severity), (1, Severity::Critical), "it never falls");
    }
}

/// Returns a verdict of a gate in which `regressed` are the cases that regressed, and `decided` are
/// all decided cases with their threshold.
fn gate(regressed: &[&str], decided: &[&str], threshold: f64) -> NotifyAlert {
    let series = |case: &&str| change(case, 15.0).series.remove(0);
    NotifyAlert {
        key: "gate-1".to_owned(),
        kind: AlertKind::Gate,
        state: if regressed.is_empty() { NotifyState::Recovered } else { NotifyState::New },
        series: regressed.iter().map(series).collect(),
        decided: decided.iter().map(|case| (series(case).hash(), threshold)).collect(),
        ..change("x", 15.0)
    }
}

#[test]
fn a_gate_is_reported_again_when_another_case_regresses() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let [one, other] = ["x", "y"].map(|case| gate(&[case], &[case], 5.0));
    assert_eq!(receiver.events(0, std::slice::from_ref(&one)), [NotifyEvent::New]);
    assert!(receiver.events(1, &[one]).is_empty());
    assert_eq!(receiver.events(2, &[other]), [NotifyEvent::Update]);
}

#[test]
fn an_acknowledged_gate_is_not_repeated_until_another_case_regresses() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let (one, both) = (gate(&["a"], &["a", "b"], 5.0), gate(&["a", "b"], &["a", "b"], 5.0));
    assert_eq!(receiver.events(0, std::slice::from_ref(&one)), [NotifyEvent::New]);
    assert_eq!(receiver.events(25, std::slice::from_ref(&one)), [NotifyEvent::Reminder]);
    for alert in receiver.state.alerts.values_mut() {
        alert.acknowledged = Some("known".to_owned());
    }
    assert_eq!(receiver.events(50, std::slice::from_ref(&one)), []);
    assert_eq!(receiver.events(51, std::slice::from_ref(&both)), [NotifyEvent::Update]);
    assert_eq!(receiver.events(76, &[both]), [NotifyEvent::Reminder]);
    let passes = with_state(&gate(&[], &["a", "b"], 5.0), NotifyState::Recovered);
    assert_eq!(receiver.events(77, &[passes]), [NotifyEvent::Recovered]);
    assert_eq!(receiver.events(78, &[one]), [NotifyEvent::New]);
}

#[test]
fn a_gate_recovers_only_by_a_verdict_on_all_reported_cases() {
    struct Row {
        decided: &'static [&'static str],
        threshold: f64,
        expected: &'static [NotifyEvent],
    }
    for Row { decided, threshold, expected } in [
        Row { decided: &["x", "y"], threshold: 5.0, expected: &[NotifyEvent::Recovered] },
        Row { decided: &["x", "y"], threshold: 3.0, expected: &[NotifyEvent::Recovered] },
        Row { decided: &["x", "y"], threshold: 50.0, expected: &[] },
        Row { decided: &["x", "z"], threshold: 5.0, expected: &[] },
        Row { decided: &[], threshold: 5.0, expected: &[] },
    ] {
        let mut receiver = Receiver::new(ReceiverRule::default());
        assert_eq!(receiver.events(0, &[gate(&["x", "y"], &["x", "y"], 5.0)]), [NotifyEvent::New]);
        let passed = gate(&[], decided, threshold);
        assert_eq!(receiver.events(1, &[passed]), expected, "{decided:?} {threshold}");
    }
}

#[test]
fn the_21st_case_counts_but_is_not_named() {
    let cases: Vec<String> = (0..30).map(|at| format!("c{at}")).collect();
    let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
    let mut receiver = Receiver::new(ReceiverRule::default());
    let message = receiver.decide(0, &[gate(&cases, &cases, 5.0)]).notifications.remove(0);
    assert_eq!(message.alerts[0].series.len(), crate::alert::MAX_SERIES);
    assert!(message.alerts[0].decided.is_empty());
    assert!(receiver.events(1, &[gate(&[], &cases[..25], 5.0)]).is_empty());
    assert_eq!(receiver.events(2, &[gate(&[], &cases, 5.0)]), [NotifyEvent::Recovered]);
}

#[test]
fn unmeasured_cases_are_reported_once_and_closed_by_new_values_or_after_60_days() {
    let case = |id: &str, days: i64| LastMeasured { id: id.to_owned(), at: at(24 * days) };
    let of = |cases: &[LastMeasured], days: i64| {
        NotifyAlert::from_unmeasured("epyc", cases, at(24 * days), 14.0)
    };
    let missing = of(&[case("a", 20), case("b", 1)], 20);
    let mut receiver = Receiver::new(ReceiverRule::default());
    assert_eq!(receiver.events(24 * 20, std::slice::from_ref(&missing)), [NotifyEvent::New]);
    assert!(receiver.events(24 * 22, &[missing]).is_empty(), "no reminder");
    let mut other =
        Receiver { state: receiver.state.clone(), ..Receiver::new(ReceiverRule::default()) };
    let measured = of(&[case("a", 23), case("b", 23)], 23);
    assert_eq!(receiver.events(24 * 23, &[measured]), [NotifyEvent::Recovered]);
    let retired = of(&[case("a", 62), case("b", 1)], 62);
    let message = other.decide(24 * 62, &[retired]).notifications.remove(0);
    assert_eq!(
        message.title(),
        "withdrawn: cases on epyc not measured for 60 days; no longer expected"
    );
}

fn problem(name: &'static str, nodes: &[&str], healthy: &[&str]) -> NotifyAlert {
    let node = |name: &&str| ProblemNode {
        name: (*name).to_owned(),
        slower_percent: None,
        reason: "is slow".to_owned(),
    };
    let problem = NodeProblem {
        campaign: "c1".to_owned(),
        problem: name,
        nodes: nodes.iter().map(node).collect(),
        healthy: healthy.iter().map(|name| (*name).to_owned()).collect(),
        causes: Vec::new(),
    };
    NotifyAlert::from_nodes(&problem, at(0))
}

#[test]
fn nodes_are_one_message_per_campaign_and_problem_until_each_is_judged_healthy() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let both = [problem("slow", &["n1", "n2"], &["n3"]), problem("failed", &["n4"], &["n3"])];
    assert_eq!(receiver.events(0, &both), [NotifyEvent::New, NotifyEvent::New]);
    assert_eq!(receiver.events(1, &both), []);
    let fewer = problem("slow", &["n2"], &["n1", "n3"]);
    assert_eq!(receiver.events(2, &[fewer]), []);
    assert_eq!(receiver.events(3, &[problem("slow", &["n2", "n5"], &[])]), [NotifyEvent::Update]);
    let undecided = problem("slow", &[], &["n1", "n3", "n5"]);
    assert_eq!(receiver.events(4, &[undecided]), [], "nothing is known about n2");
    let healthy = problem("slow", &[], &["n1", "n2", "n3", "n5"]);
    assert_eq!(receiver.events(5, &[healthy]), [NotifyEvent::Recovered]);
}

#[test]
fn ids_do_not_repeat_after_the_state_is_lost() {
    let alert = change("a-1", 15.0);
    let of = |hours| {
        let mut receiver = Receiver::new(ReceiverRule::default());
        receiver.decide(hours, std::slice::from_ref(&alert)).notifications.remove(0).id
    };
    assert_ne!(of(0), of(1));
}

#[test]
fn messages_about_one_alert_form_a_thread_with_stable_ids() {
    let mut receiver = Receiver::new(ReceiverRule::default());
    let alert = change("a-1", 15.0);
    let first = receiver.decide(0, std::slice::from_ref(&alert)).notifications.remove(0);
    let second = receiver.decide(24, std::slice::from_ref(&alert)).notifications.remove(0);
    assert_eq!(first.reply_to, None);
    assert_eq!(second.reply_to.as_ref(), Some(&first.id));
    let closed = with_state(&alert, NotifyState::Recovered);
    let last = receiver.decide(25, &[closed]).notifications.remove(0);
    assert_eq!(last.reply_to.as_ref(), Some(&first.id));
    let again = receiver.decide(26, std::slice::from_ref(&alert)).notifications.remove(0);
    assert!(again.reply_to.is_none() && again.id != first.id);
    // The same decision gives the same id, so that a receiver can tell duplicates.
    let repeated =
        Receiver::new(ReceiverRule::default()).decide(0, &[alert]).notifications.remove(0);
    assert_eq!(repeated, first);
}
