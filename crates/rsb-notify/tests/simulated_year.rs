//! A year of runs, twice a day, analyzed by the real `trend`: how many messages a receiver gets.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use rsb_insight::trends::{self, DecisionRequest, SeriesPlaces, TrackRequest};
use rsb_model::Better;
use rsb_model::random::Generator;
use rsb_model::record::{AlertDecision, AlertState, TrackedAlert};
use rsb_notify::policy::{PolicyInput, ReceiverRule, ReceiverState, decide};
use rsb_notify::{AnalysisContext, NotifyAlert, NotifyClock, NotifyEvent};
use rsb_stats::estimate::{median, std_dev};
use rsb_stats::{SeriesInput, TrendSettings, trend_with};
use rsb_store::{AlertBook, Series, SeriesPoint, Store};

const SERIES: usize = 200;
const RUNS: usize = 730;

/// Number of runs that an analysis reads.
const WINDOW: usize = 80;

/// A slowdown of one series for 15 days.
struct Planted {
    series: usize,
    from: usize,
    to: usize,
    factor: f64,
}

fn planted() -> Vec<Planted> {
    let each = (0..10).map(|at| Planted {
        series: 17 * at + 3,
        from: 60 + 60 * at,
        to: 90 + 60 * at,
        factor: 1.2 + 0.03 * at as f64,
    });
    each.collect()
}

fn id(series: usize) -> String {
    format!("case-{series:03}")
}

fn time(run: usize) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + 43_200 * i64::try_from(run).unwrap()).unwrap()
}

/// Returns an approximately normal number with mean 0 and standard deviation 1.
fn normal(random: &mut Generator) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// Returns the points of a series with the given `noise`, a factor per run.
fn points(series: usize, planted: &[Planted], noise: &[f64]) -> Vec<SeriesPoint> {
    let mut points = Vec::new();
    for (run, factor) in noise.iter().enumerate() {
        let slow = planted
            .iter()
            .find(|one| one.series == series && (one.from..one.to).contains(&run))
            .map_or(1.0, |one| one.factor);
        let value = 10.0 * slow * factor;
        points.push(SeriesPoint { timestamp: time(run), value, run_id: None, commit: None });
    }
    points
}

/// Returns made-up noise with a coefficient of variation of at most 2 %. It consists of 0.5 to
/// 1.5 % per run, a drift of 0.5 %, a factor of each run that all series share, and one value in
/// 200 that is 8 % too high.
fn made_up_noise(series: usize, shared: &[f64], random: &mut Generator) -> Vec<f64> {
    let spread = 0.005 + 0.005 * (series % 3) as f64;
    let mut wander = 0.0;
    let mut noise = Vec::new();
    for factor in shared {
        wander = 0.9 * wander + 0.005 * f64::sqrt(1.0 - 0.9 * 0.9) * normal(random);
        let outlier = if random.unit() < 0.005 { 1.08 } else { 1.0 };
        noise.push(outlier * factor * (1.0 + wander + spread * normal(random)));
    }
    noise
}

/// Reads the series of at least 200 runs that CI machines recorded. Returns how far each value was
/// from the median of its neighbors, as a fraction; `None` if the file is missing.
fn recorded_deviations() -> Option<Vec<Vec<f64>>> {
    let path = test_needs::capture("../series/github-runners.csv")?;
    let text = std::fs::read_to_string(path).unwrap();
    let mut recorded: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut cells = line.rsplitn(4, ',').skip(1);
        let value = cells.next().unwrap().parse().unwrap();
        recorded.entry(cells.nth(1).unwrap()).or_default().push(value);
    }
    let long = recorded.into_values().filter(|values| values.len() >= 200);
    let deviations = |values: Vec<f64>| {
        let of = |at: usize| {
            let near = &values[at.saturating_sub(5)..values.len().min(at + 6)];
            values[at] / median(near).unwrap() - 1.0
        };
        (0..values.len()).map(of).collect()
    };
    Some(long.map(deviations).collect())
}

/// Returns recorded noise, scaled to a coefficient of variation of 0.5 to 2 %.
fn recorded_noise(series: usize, recorded: &[Vec<f64>]) -> Vec<f64> {
    let deviations = &recorded[series % recorded.len()];
    let scale = 0.005 * (1 + series % 4) as f64 / std_dev(deviations).unwrap();
    let from = 37 * series;
    (from..from + RUNS).map(|at| 1.0 + scale * deviations[at % deviations.len()]).collect()
}

/// Returns the input of the decision after `run`.
fn input<'a>(run: usize, rule: &'a ReceiverRule, alerts: &'a [NotifyAlert]) -> PolicyInput<'a> {
    let clock = NotifyClock { now: time(run), minute: 720 };
    PolicyInput { receiver: "team", rule, silences: &[], clock, alerts }
}

/// Runs `trend` over the last runs up to `run`, and returns all alerts.
fn analyze(store: &Store, all: &[Vec<SeriesPoint>], run: usize) -> Vec<NotifyAlert> {
    let from = (run + 1).saturating_sub(WINDOW);
    let (mut series, mut inputs) = (Vec::new(), Vec::new());
    for (at, points) in all.iter().enumerate() {
        let points = points[from..=run].to_vec();
        let (metric, unit) = ("time_ms".to_owned(), "ms".to_owned());
        let better = Some(Better::Lower);
        inputs.push(SeriesInput {
            id: id(at),
            metric: metric.clone(),
            unit: unit.clone(),
            better,
            points: points.iter().map(|point| (point.timestamp, point.value)).collect(),
        });
        series.push(Series { id: id(at), metric, unit, better, points });
    }
    let document = trend_with(&inputs, &TrendSettings::DEFAULT);
    let request = TrackRequest {
        series: &series,
        trends: &document,
        settings: &TrendSettings::DEFAULT,
        now: time(run),
    };
    let tracked = trends::track(store, &request, Path::new(".")).unwrap();
    let places = SeriesPlaces::new(&series);
    let book = AlertBook::read(store.results_dir()).unwrap();
    let convert = |alert: &TrackedAlert| {
        let is_repeated = tracked.is_repeated(&alert.id, &places);
        let analysis = AnalysisContext { measured: SERIES, is_repeated, critical_percent: 20.0 };
        NotifyAlert::from_tracked(alert, analysis)
    };
    book.alerts.iter().map(convert).collect()
}

/// Checks the messages of a year with the given noise of each series.
fn check_year(noise: &mut dyn FnMut(usize) -> Vec<f64>) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let planted = planted();
    let all: Vec<Vec<SeriesPoint>> =
        (0..SERIES).map(|series| points(series, &planted, &noise(series))).collect();
    let rule = ReceiverRule::default();
    let mut state = ReceiverState::default();
    let (mut reported, mut recovered, mut others) = (vec![None; 10], vec![0; 10], Vec::new());
    for run in 20..RUNS {
        let alerts = analyze(&store, &all, run);
        let decision = decide(&state, &input(run, &rule, &alerts));
        state = decision.state;
        for message in decision.notifications {
            for alert in &message.alerts {
                let place = planted.iter().position(|one| {
                    (one.from..one.to + 20).contains(&run)
                        && alert.series.iter().any(|series| series.id == id(one.series))
                });
                match (message.event, place) {
                    (NotifyEvent::New, Some(at)) if reported[at].is_none() => {
                        reported[at] = Some(run - planted[at].from);
                        // A person acknowledges it, so that there are no reminders.
                        let decision = AlertDecision {
                            state: AlertState::Acknowledged,
                            because: "seen".to_owned(),
                            author: "Ada".to_owned(),
                            at: alert.first_seen,
                            caused_by: None,
                        };
                        let request =
                            DecisionRequest { alert: &alert.key, decision, found: &[], seen: None };
                        trends::decide(store.results_dir(), &request).unwrap();
                    }
                    (NotifyEvent::Recovered, Some(at)) => recovered[at] += 1,
                    (event, _) => others.push(format!("run {run}: {event:?} {}", alert.headline())),
                }
            }
        }
    }
    println!("delays in runs: {reported:?}; other messages: {others:#?}");
    assert!(reported.iter().all(|delay| delay.is_some_and(|runs| runs <= 2)), "{reported:?}");
    assert_eq!(recovered, [1; 10]);
    assert!(others.len() <= 15, "{}", others.len());
}

#[test]
fn a_year_has_one_message_per_change_and_recovery_and_few_others() {
    let mut random = Generator::new(51);
    let shared: Vec<f64> = (0..RUNS).map(|_| 1.0 + 0.004 * normal(&mut random)).collect();
    check_year(&mut |series| made_up_noise(series, &shared, &mut random));
}

#[test]
fn a_year_with_recorded_noise_has_one_message_per_change_and_recovery_and_few_others() {
    let Some(recorded) = recorded_deviations() else { return };
    check_year(&mut |series| recorded_noise(series, &recorded));
}

/// Returns the messages about a slowdown of 25 % in `length` runs, reminders excluded.
fn messages_about(length: usize, seed: u64) -> Vec<NotifyEvent> {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let slow = [Planted { series: 0, from: 40, to: 40 + length, factor: 1.25 }];
    let noise = made_up_noise(0, &[1.0; 70], &mut Generator::new(seed));
    let all = [points(0, &slow, &noise)];
    let rule = ReceiverRule::default();
    let mut state = ReceiverState::default();
    let mut events = Vec::new();
    for run in 38..70 {
        let alerts = analyze(&store, &all, run);
        let decision = decide(&state, &input(run, &rule, &alerts));
        state = decision.state;
        events.extend(decision.notifications.iter().map(|message| message.event));
    }
    events.retain(|event| *event != NotifyEvent::Reminder);
    events
}

#[test]
fn a_slowdown_of_at_least_five_runs_is_one_message_and_recovers_with_one() {
    for (length, seed) in [5, 6, 8].into_iter().flat_map(|length| [(length, 0), (length, 1)]) {
        let events = messages_about(length, seed);
        let expected = [NotifyEvent::New, NotifyEvent::Recovered];
        assert_eq!(events, expected, "{length} runs, seed {seed}");
    }
}
