//! A year of runs, twice a day, analyzed by the real `trend`: how many messages a receiver gets.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rsb_insight::trends::{self, SeriesPlaces, TrackRequest};
use rsb_model::Better;
use rsb_model::random::Generator;
use rsb_model::record::{AlertState, Severity, TrackedAlert};
use rsb_notify::policy::{PolicyInput, ReceiverRule, ReceiverState, decide};
use rsb_notify::{AnalysisContext, NotifyAlert, NotifyClock, NotifyEvent};
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

/// Returns the values of a series. Its noise has a coefficient of variation of at most 2 %. It
/// consists of 0.5 to 1.5 % per run, a drift of 0.5 %, a factor of each run that all series share,
/// and one value in 200 that is 8 % too high.
fn values(
    series: usize,
    planted: &[Planted],
    shared: &[f64],
    random: &mut Generator,
) -> Vec<SeriesPoint> {
    let spread = 0.005 + 0.005 * (series % 3) as f64;
    let mut wander = 0.0;
    let mut points = Vec::new();
    for (run, factor) in shared.iter().enumerate() {
        wander = 0.9 * wander + 0.005 * f64::sqrt(1.0 - 0.9 * 0.9) * normal(random);
        let outlier = if random.unit() < 0.005 { 1.08 } else { 1.0 };
        let slow = planted
            .iter()
            .find(|one| one.series == series && (one.from..one.to).contains(&run))
            .map_or(1.0, |one| one.factor);
        let noise = 1.0 + wander + spread * normal(random);
        let value = 10.0 * slow * outlier * factor * noise;
        points.push(SeriesPoint { timestamp: time(run), value, run_id: None, commit: None });
    }
    points
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

#[test]
fn a_year_has_one_message_per_change_and_recovery_and_few_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_for_writing(dir.path()).unwrap();
    let planted = planted();
    let mut random = Generator::new(51);
    let shared: Vec<f64> = (0..RUNS).map(|_| 1.0 + 0.004 * normal(&mut random)).collect();
    let all: Vec<Vec<SeriesPoint>> =
        (0..SERIES).map(|series| values(series, &planted, &shared, &mut random)).collect();
    let rule = ReceiverRule {
        severity: Severity::Warning,
        repeat: SignedDuration::from_hours(24),
        max_per_hour: 10,
        quiet: None,
        is_mirror: false,
        is_per_alert: false,
    };
    let mut state = ReceiverState::default();
    let (mut reported, mut recovered, mut others) = (vec![None; 10], vec![0; 10], Vec::new());
    for run in 20..RUNS {
        let alerts = analyze(&store, &all, run);
        let clock = NotifyClock { now: time(run), minute: 720 };
        let input =
            PolicyInput { receiver: "team", rule: &rule, silences: &[], clock, alerts: &alerts };
        let decision = decide(&state, &input);
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
                        let state = AlertState::Acknowledged;
                        trends::decide(&store, &alert.key, state, "seen").unwrap();
                    }
                    (NotifyEvent::Recovered, Some(at)) => recovered[at] += 1,
                    (event, _) => others.push(format!("run {run}: {event:?} {}", alert.headline())),
                }
            }
        }
    }
    assert!(reported.iter().all(|delay| delay.is_some_and(|runs| runs <= 2)), "{reported:?}");
    assert_eq!(recovered, [1; 10]);
    assert!(others.len() <= 15, "{}\n{}", others.len(), others.join("\n"));
}
