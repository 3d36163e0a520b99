//! Tests of trends: lines, steps, and series with neither.

mod common;

use rsb_model::record::{Direction, SeriesTrend, Severity};
use rsb_model::{Better, Timestamp};
use rsb_stats::rng::Rng;
use rsb_stats::{SeriesInput, trend};

const DAY: i64 = 86_400;

fn series(better: Option<Better>, points: Vec<(Timestamp, f64)>) -> SeriesInput {
    SeriesInput { id: "gemm".into(), metric: "time_ms".into(), unit: "ms".into(), better, points }
}

fn at(day: usize) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + i64::try_from(day).unwrap_or_default() * DAY)
        .unwrap_or_default()
}

fn daily(values: &[f64]) -> SeriesTrend {
    let points = values.iter().enumerate().map(|(day, &value)| (at(day), value)).collect();
    trend(&[series(Some(Better::Lower), points)]).series.remove(0)
}

/// Returns `n` values with 1 % of noise around `level`.
fn noisy(seed: u64, n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|day| level(day) * (1.0 + 0.01 * rng.normal())).collect()
}

#[test]
fn a_climb_is_a_line_with_a_forecast_and_not_a_staircase() {
    let found = daily(&noisy(1, 40, |day| 100.0 + day as f64));
    assert_eq!(found.direction, Direction::Increasing);
    assert!((found.slope_per_day.unwrap() - 1.0).abs() < 0.1);
    assert!((found.intercept.unwrap() - 100.0).abs() < 2.0);
    assert!((found.forecast.unwrap().value - 146.0).abs() < 3.0);
    assert!(found.change_points.is_empty(), "{:?}", found.change_points);
    let alert = &found.alerts[0];
    assert_eq!((alert.direction.as_str(), alert.severity), ("worse", Severity::Critical));
    assert_eq!(daily(&noisy(2, 40, |day| 140.0 - day as f64)).direction, Direction::Decreasing);
}

#[test]
fn a_step_is_found_where_it_is() {
    let found = daily(&noisy(3, 60, |day| if day < 33 { 100.0 } else { 112.0 }));
    let [step] = found.change_points.as_slice() else { panic!("{:?}", found.change_points) };
    assert_eq!((step.index, step.timestamp), (33, at(33)));
    assert!((step.change_percent - 12.0).abs() < 1.0 && step.p_value < 0.01, "{step:?}");
    let alert = &found.alerts[0];
    assert_eq!((alert.direction.as_str(), alert.severity), ("worse", Severity::Warning));
    assert!(alert.description.contains("(+1"), "{}", alert.description);
    assert!(!alert.recommendation.is_empty());
}

#[test]
fn steps_up_and_down_are_told_apart() {
    let found = daily(&noisy(4, 90, |day| if (30..60).contains(&day) { 120.0 } else { 100.0 }));
    let indices: Vec<usize> = found.change_points.iter().map(|step| step.index).collect();
    assert_eq!(indices, [30, 60]);
    assert_eq!(
        (found.alerts[0].direction.as_str(), found.alerts[0].severity),
        ("better", Severity::Info)
    );
}

#[test]
fn a_spike_is_no_level_and_noise_is_no_trend() {
    let mut values = noisy(5, 50, |_| 100.0);
    values[20] = 400.0;
    values[41] = 900.0;
    let found = daily(&values);
    assert!(
        found.change_points.is_empty()
            && found.direction == Direction::Stable
            && found.alerts.is_empty(),
        "{found:?}"
    );
    let levels = (0..200)
        .filter(|&seed| !daily(&noisy(1000 + seed, 40, |_| 100.0)).change_points.is_empty())
        .count();
    assert!(levels <= 6, "{levels} of 200 level series have a change");
}

#[test]
fn the_direction_of_better_decides_what_an_alert_says() {
    let points = |factor: f64| {
        (0..40).map(|day| (at(day), if day < 20 { 100.0 } else { 100.0 * factor })).collect()
    };
    for (better, factor, direction, severity) in [
        (Some(Better::Lower), 1.3, "worse", Severity::Critical),
        (Some(Better::Higher), 1.3, "better", Severity::Info),
        (Some(Better::Higher), 0.9, "worse", Severity::Warning),
        (None, 1.3, "changed", Severity::Warning),
    ] {
        let found = trend(&[series(better, points(factor))]).series.remove(0);
        assert_eq!(
            (found.alerts[0].direction.as_str(), found.alerts[0].severity),
            (direction, severity)
        );
    }
}

#[test]
fn what_has_no_line_is_stable() {
    for values in [vec![1.0], vec![1.0, 2.0], vec![5.0; 20], vec![0.0; 20], vec![0.1; 3]] {
        let found = daily(&values);
        assert_eq!(
            (found.direction, found.slope_per_day, found.p_value),
            (Direction::Stable, None, None),
            "{values:?}"
        );
        assert!(
            found.forecast.is_none() && found.alerts.is_empty() && found.change_points.is_empty()
        );
        assert_eq!(found.n, values.len());
    }
    let same_time = series(None, (0..20).map(|value| (at(0), f64::from(value))).collect());
    assert_eq!(trend(&[same_time]).series[0].slope_per_day, None);
    assert!(
        trend(&[series(None, vec![]), series(None, vec![(at(0), f64::NAN)])]).series.is_empty()
    );
}

#[test]
fn seconds_are_not_extrapolated_to_days() {
    let every = |seconds: i64| {
        let values = noisy(6, 40, |step| 100.0 + step as f64);
        let time = |step: i64| Timestamp::from_second(1_790_000_000 + step * seconds).unwrap();
        let points = (0..).zip(values).map(|(step, value)| (time(step), value)).collect();
        trend(&[series(Some(Better::Lower), points)]).series.remove(0)
    };
    let (short, long) = (every(2), every(DAY / 39));
    assert_eq!((short.direction, long.direction), (Direction::Increasing, Direction::Increasing));
    assert_eq!((short.slope_per_day, short.forecast.is_some()), (None, false));
    assert!(
        short.r_squared.is_some() && short.alerts[0].description.contains("within less than a day"),
        "{short:?}"
    );
    assert_eq!(long.slope_per_day, None, "39 steps rounded down to seconds are shorter than a day");
    assert!(every(DAY / 39 + 1).slope_per_day.is_some());
}

#[test]
fn points_may_come_in_any_order() {
    let mut points: Vec<(Timestamp, f64)> =
        (0..10).map(|day| (at(day), day as f64 + 1.0)).collect();
    points.reverse();
    points.push((at(3), f64::INFINITY));
    let found = trend(&[series(None, points)]).series.remove(0);
    assert_eq!(
        (found.n, found.first.to_string(), found.last.to_string()),
        (10, "1".into(), "10".into())
    );
    assert!((found.r_squared.unwrap() - 1.0).abs() < 1e-12 && found.p_value.unwrap() < 1e-9);
    assert!((found.last_change_percent.unwrap() - 100.0 / 9.0).abs() < 1e-9);
    assert_eq!(
        daily(&[0.0, 1.0]).last_change_percent,
        None,
        "a change from zero has no percentage"
    );
}
