//! Tests of change points: their positions, series without any, and the agreement of gate and
//! trend.

mod common;

use std::time::Duration;

use proptest::prelude::*;
use rsb_model::record::{AlertBasis, SeriesTrend, Severity, TrendShape};
use rsb_model::{Better, Timestamp, Verdict};
use rsb_stats::compare::ErrorRates;
use rsb_stats::history::{Question, QuestionRole, Rule, judge};
use rsb_stats::rng::Rng;
use rsb_stats::trend::change_point::detect;
use rsb_stats::trend::{ChangeMethod, TrendSettings};
use rsb_stats::{SeriesInput, trend, trend_with};

const DAY: i64 = 86_400;

fn input(better: Option<Better>, values: &[f64], every: i64) -> SeriesInput {
    let time = |at: usize| {
        let seconds = 1_790_000_000 + i64::try_from(at).unwrap_or_default() * every;
        Timestamp::from_second(seconds).unwrap_or_default()
    };
    SeriesInput {
        id: "gemm".into(),
        metric: "time_ms".into(),
        unit: "ms".into(),
        better,
        points: values.iter().enumerate().map(|(at, &value)| (time(at), value)).collect(),
    }
}

fn daily(values: &[f64]) -> SeriesTrend {
    trend(&[input(Some(Better::Lower), values, DAY)]).series.remove(0)
}

/// Returns values with a coefficient of variation of `cv` around `level`.
fn noisy(seed: u64, count: usize, cv: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..count).map(|at| level(at) * (1.0 + cv * rng.normal())).collect()
}

fn places(values: &[f64], method: ChangeMethod) -> Vec<usize> {
    let settings = TrendSettings { method, ..TrendSettings::DEFAULT };
    detect(values, &settings).confirmed.iter().map(|change| change.index).collect()
}

#[test]
fn a_lone_last_run_is_suspected_and_not_a_change() {
    for (factor, direction) in [(3.0, "worse"), (1.3, "worse"), (0.6, "better")] {
        let mut values = noisy(1, 40, 0.02, |_| 100.0);
        values[39] *= factor;
        let found = daily(&values);
        assert!(found.change_points.is_empty(), "{found:?}");
        let [suspected] = found.suspected.as_slice() else { panic!("{found:?}") };
        assert_eq!((suspected.index, suspected.points), (39, 1));
        let [alert] = found.alerts.as_slice() else { panic!("{:?}", found.alerts) };
        assert_eq!((alert.basis, alert.direction.as_str()), (AlertBasis::Suspected, direction));
        assert_ne!(alert.severity, Severity::Critical, "one run must not give a critical alert");
        assert!(
            alert.description.starts_with("suspected") && alert.message.contains("gemm"),
            "{alert:?}"
        );
        // The next run is like the earlier ones, which clears the suspicion.
        values.push(100.0);
        assert!(daily(&values).suspected.is_empty() && daily(&values).change_points.is_empty());
    }
}

#[test]
fn a_series_with_outliers_is_not_suspected_of_another() {
    let mut values = noisy(2, 80, 0.02, |_| 100.0);
    for at in [7, 31, 52, 66, 79] {
        values[at] = 130.0;
    }
    let found = daily(&values);
    assert!(found.suspected.is_empty() && found.change_points.is_empty(), "{found:?}");
}

#[test]
fn a_level_is_confirmed_when_enough_points_hold_it() {
    for (points, is_confirmed) in [(2, false), (3, false), (4, false), (5, true), (12, true)] {
        let found = daily(&noisy(3, 40 + points, 0.01, |at| if at < 40 { 100.0 } else { 112.0 }));
        let [change] =
            if is_confirmed { &found.change_points } else { &found.suspected }.as_slice()
        else {
            panic!("{points} points: {found:?}")
        };
        assert_eq!((change.index, change.points), (40, points));
        assert_eq!(found.change_points.len() + found.suspected.len(), 1, "{points} points");
        assert!(change.p_value <= 0.005 && change.q_value.is_some_and(|q| q <= 0.05));
    }
}

#[test]
fn several_levels_are_found_where_they_are() {
    let level = |at: usize| match at {
        0..60 => 100.0,
        60..110 => 115.0,
        110..118 => 90.0,
        _ => 104.0,
    };
    let found = daily(&noisy(4, 180, 0.015, level));
    let indices: Vec<usize> = found.change_points.iter().map(|change| change.index).collect();
    assert_eq!((indices.as_slice(), found.shape), ([60, 110, 118].as_slice(), TrendShape::Step));
}

#[test]
fn a_spike_hides_no_step_and_a_step_hides_no_smaller_one() {
    let mut values = noisy(5, 120, 0.02, |at| if at < 40 { 100.0 } else { 150.0 });
    values[20] = 900.0;
    values[80] = 1.0;
    values[100..].iter_mut().for_each(|value| *value *= 1.08);
    assert_eq!(places(&values, ChangeMethod::Exact), [40, 100]);
}

#[test]
fn drift_step_and_ramp_are_told_apart() {
    type Level = fn(usize) -> f64;
    let cases: [(Level, TrendShape); 4] = [
        (|_| 100.0, TrendShape::Stable),
        (|at| if at < 50 { 100.0 } else { 120.0 }, TrendShape::Step),
        (|at| 100.0 + 0.4 * at as f64, TrendShape::Drift),
        (|at| 100.0 + 2.0 * (at.clamp(30, 55) - 30) as f64, TrendShape::Ramp),
    ];
    for (level, shape) in cases {
        for seed in 0..5 {
            let found = daily(&noisy(10 + seed, 90, 0.02, level));
            // About one in twenty noisy series looks like a drift of a few percent.
            assert!(found.shape == shape || shape == TrendShape::Stable, "{found:?}");
            assert_eq!(found.alerts.is_empty(), shape == TrendShape::Stable, "{:?}", found.alerts);
        }
    }
    let found = daily(&noisy(10, 90, 0.02, cases[3].0));
    let ramp = found.ramp.expect("a ramp");
    assert!(ramp.from_index.abs_diff(30) <= 6 && ramp.to_index.abs_diff(55) <= 6, "{ramp:?}");
    assert_eq!(found.alerts[0].basis, AlertBasis::Ramp);
}

#[test]
fn a_screened_search_agrees_with_the_exact_one() {
    for seed in 0..6 {
        let mut rng = Rng::new(100 + seed);
        let (mut level, mut values) = (100.0, Vec::new());
        while values.len() < 3000 {
            level *=
                1.0 + 0.05 * (if rng.uniform() < 0.5 { -1.0 } else { 1.0 }) * (1.0 + rng.uniform());
            let length = 20 + rng.below(400);
            values.extend((0..length).map(|_| level * (1.0 + 0.02 * rng.normal())));
        }
        let (exact, screened) =
            (places(&values, ChangeMethod::Exact), places(&values, ChangeMethod::Screened));
        assert!(exact.len() >= 5, "{exact:?}");
        let common = exact
            .iter()
            .filter(|at| screened.iter().any(|other| other.abs_diff(**at) <= 1))
            .count();
        assert!(common * 20 >= exact.len() * 19, "{exact:?} {screened:?}");
        assert!(screened.len() <= exact.len() + 1, "{exact:?} {screened:?}");
    }
}

#[test]
fn autocorrelated_noise_is_no_staircase() {
    let found = (0..200).filter(|&seed| {
        let mut rng = Rng::new(5000 + seed);
        let mut last = rng.normal();
        let next = |_| {
            last = 0.5 * last + 0.75_f64.sqrt() * rng.normal();
            100.0 + 2.0 * last
        };
        let values: Vec<f64> = (0..200).map(next).collect();
        !detect(&values, &TrendSettings::DEFAULT).confirmed.is_empty()
    });
    let found = found.count();
    assert!(found <= 10, "{found} of 200");
}

#[test]
fn few_points_gaps_ties_and_constants_behave() {
    let steps: Vec<f64> = (0..40).map(|at| if at < 20 { 10.0 } else { 11.0 }).collect();
    assert_eq!(
        places(&steps, ChangeMethod::Auto),
        [20],
        "without noise, every change is a change point"
    );
    let ties: Vec<f64> = (0..60).map(|at| if at % 7 == 3 { 11.0 } else { 10.0 }).collect();
    let levels: Vec<Vec<f64>> =
        vec![vec![], vec![1.0], vec![1.0, 2.0], vec![5.0; 5], vec![0.0; 40], vec![1e300; 12], ties];
    for values in levels {
        let found = detect(&values, &TrendSettings::DEFAULT);
        assert!(found.confirmed.is_empty() && found.suspected.is_none(), "{values:?}: {found:?}");
    }
    // Neither a gap of a year nor a series with a single time has a change.
    let mut gap = input(None, &noisy(6, 30, 0.02, |_| 100.0), DAY);
    gap.points.iter_mut().skip(15).for_each(|point| point.0 += a_year());
    let at_once = input(None, &noisy(6, 30, 0.02, |_| 100.0), 0);
    for series in trend(&[gap, at_once]).series {
        assert!(series.change_points.is_empty() && series.alerts.is_empty(), "{series:?}");
    }
}

/// Returns the duration of a year.
fn a_year() -> Duration {
    Duration::from_hours(365 * 24)
}

#[test]
fn what_is_old_is_told_as_information_and_nothing_is_dropped() {
    let values = noisy(7, 90, 0.01, |at| if at < 30 { 100.0 } else { 130.0 });
    let alert = |days: f64| {
        let settings = TrendSettings { lookback_days: days, ..TrendSettings::DEFAULT };
        let found =
            trend_with(&[input(Some(Better::Lower), &values, DAY)], &settings).series.remove(0);
        assert_eq!((found.n, found.change_points.len(), found.alerts.len()), (90, 1, 1));
        found.alerts[0].clone()
    };
    assert_eq!((alert(30.0).severity, alert(90.0).severity), (Severity::Info, Severity::Critical));
    assert!(alert(30.0).description.contains("more than 30 days before"));
}

#[test]
fn alerts_explain_themselves() {
    let values = noisy(8, 60, 0.01, |at| if at < 40 { 100.0 } else { 115.0 });
    let found = daily(&values);
    let [alert] = found.alerts.as_slice() else { panic!("{:?}", found.alerts) };
    let before: f64 = values[..40].iter().sum::<f64>() / 40.0;
    assert!(
        (alert.baseline_mean - before).abs() < 1e-9
            && (alert.current_value - values[59]).abs() < 1e-9
    );
    let deviation = 100.0 * (values[59] / before - 1.0);
    assert!(alert.deviation_percent.is_some_and(|percent| (percent - deviation).abs() < 1e-9));
    assert!(
        alert.message.contains(&alert.description) && alert.message.contains(&alert.recommendation)
    );
    // A change below the threshold is a change point without an alert.
    let small = daily(&noisy(9, 60, 0.01, |at| if at < 40 { 100.0 } else { 106.0 }));
    assert!(small.change_points.len() == 1 && small.alerts.is_empty(), "{small:?}");
    let asked = TrendSettings { alert_threshold_percent: 3.0, ..TrendSettings::DEFAULT };
    let told = trend_with(&[input(Some(Better::Higher), &values, DAY)], &asked).series.remove(0);
    assert_eq!(
        (told.alerts[0].direction.as_str(), told.alerts[0].severity),
        ("better", Severity::Info)
    );
}

#[test]
fn many_series_pay_for_being_many() {
    let quiet = |seed: u64| input(None, &noisy(seed, 40, 0.05, |_| 100.0), DAY);
    // A step that would be just significant in a single series.
    let step = input(None, &noisy(77, 46, 0.05, |at| if at < 40 { 100.0 } else { 110.0 }), DAY);
    let q = |others: u64| {
        let mut all: Vec<SeriesInput> = (0..others).map(|seed| quiet(9000 + seed)).collect();
        all.push(step.clone());
        let found = trend(&all).series.pop().expect("the last");
        found
            .change_points
            .iter()
            .chain(&found.suspected)
            .filter_map(|change| change.q_value)
            .fold(1.0, f64::min)
    };
    let (alone, among) = (q(0), q(200));
    assert!(alone <= 0.005 && among > 5.0 * alone, "{alone} {among}");
}

/// Returns the gate's verdict on the last `runs` of `values`, as runs of one revision.
fn verdict(values: &[f64], runs: usize) -> Verdict {
    let (before, now) = values.split_at(values.len() - runs);
    let question = Question {
        before: before[before.len().saturating_sub(50)..].to_vec(),
        accepted_from: None,
        now: now.to_vec(),
        better: Better::Lower,
        threshold: 0.1,
        slack: 0.0,
        role: QuestionRole::Case,
    };
    judge(&[question], &Rule::DEFAULT, ErrorRates::USUAL).each[0].verdict
}

/// Gate and trend agree: if the gate's history rule calls a quiet series unchanged, the trend
/// seldom finds a step in it.
#[test]
fn what_the_gate_calls_unchanged_is_seldom_a_step() {
    const SERIES: u64 = 400;
    let (mut unchanged, mut steps) = (0, 0);
    for seed in 0..SERIES {
        let mut rng = Rng::new(70_000 + seed);
        let (count, runs) = (25 + rng.below(95), 1 + rng.below(7));
        let (cv, slow) = (0.002 + 0.058 * rng.uniform(), 0.05 * rng.uniform());
        // Ordinary noise: normal, with an occasional slower run.
        let mut value = |_| {
            100.0 * (1.0 + cv * rng.normal() + if rng.uniform() < slow { 8.0 * cv } else { 0.0 })
        };
        let values: Vec<f64> = (0..count).map(&mut value).collect();
        if verdict(&values, runs) != Verdict::Unchanged {
            continue;
        }
        unchanged += 1;
        let found = daily(&values);
        steps += usize::from(found.change_points.iter().any(|change| change.index + runs >= count));
    }
    assert!(unchanged >= 200 && steps * 100 <= unchanged, "{steps} of {unchanged}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The unit and the sign of a series do not affect its change points.
    #[test]
    fn scale_and_sign_move_nothing(seed in 0..500_u64, factor in 1e-6..1e6_f64, offset in -10.0..10.0_f64) {
        let values = noisy(seed, 80, 0.03, |at| if at < 50 { 100.0 } else { 112.0 });
        let moved: Vec<f64> = values.iter().map(|value| -factor * (value + 100.0 * offset)).collect();
        prop_assert_eq!(places(&values, ChangeMethod::Auto), places(&moved, ChangeMethod::Auto));
    }
}
