//! The parts of a trend analysis, checked against SciPy or by hand: slopes and tests by ranks,
//! forecasts, anomalies, rolling statistics.

use rsb_model::Timestamp;
use rsb_stats::multiple_testing::benjamini_hochberg;
use rsb_stats::rng::Rng;
use rsb_stats::trend::anomaly::anomalies;
use rsb_stats::trend::forecast::{ForecastInput, predict_future};
use rsb_stats::trend::monotone::{mann_kendall, theil_sen};
use rsb_stats::trend::rolling::{rolling_mean, rolling_median};

const X: [f64; 8] = [0.0, 1.0, 2.0, 3.5, 4.0, 6.0, 7.0, 9.25];
const RISING: [f64; 8] = [10.2, 10.1, 10.9, 11.0, 11.6, 11.4, 12.3, 12.2];
const LEVEL: [f64; 8] = [5.1, 4.9, 5.0, 5.3, 4.8, 5.2, 5.05, 4.95];

#[track_caller]
fn same(ours: f64, theirs: f64) {
    assert!(
        (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1e-3),
        "{ours}, but SciPy says {theirs}"
    );
}

fn points(values: &[f64]) -> Vec<(Timestamp, f64)> {
    let time = |day: i64| Timestamp::from_second(1_790_000_000 + day * 86_400).unwrap_or_default();
    (0..).zip(values).map(|(day, &value)| (time(day), value)).collect()
}

#[test]
fn slopes_by_order_are_scipy_s() {
    // SciPy 1.16.3: scipy.stats.theilslopes(y, x).slope
    same(theil_sen(&X, &RISING).expect("a slope"), 0.250_349_650_349_650_2);
    assert_eq!((theil_sen(&[1.0], &[2.0]), theil_sen(&[1.0; 5], &LEVEL[..5])), (None, None));
    // A long series uses only some of the pairs, and outliers among them have no effect.
    let mut rng = Rng::new(1);
    let x: Vec<f64> = (0..2000).map(f64::from).collect();
    let wild = |rng: &mut Rng| if rng.uniform() < 0.1 { 1e6 } else { 0.0 };
    let y: Vec<f64> = x.iter().map(|x| 0.5 * x + rng.normal() + wild(&mut rng)).collect();
    assert!((theil_sen(&x, &y).expect("a slope") - 0.5).abs() < 1e-3);
}

#[test]
fn mann_kendall_is_that_of_the_textbook() {
    // S, Kendall's tau-b of scipy.stats.kendalltau, and 2 * norm.sf((|S| - 1) / sqrt(variance with
    // ties)), SciPy 1.16.3.
    let mixed = [3.1, 2.7, 9.5, 3.3, 2.9, 3.0, 3.4, 2.8, 3.2, 50.0];
    let tied = [1.0, 2.0, 2.0, 3.0, 3.0, 5.0, 4.0, 4.0, 6.0, 6.0];
    for (values, s, tau, p_value) in [
        (RISING.as_slice(), 22.0, 0.785_714_285_714_285_6, 0.009_374_768_459_434_876),
        (mixed.as_slice(), 9.0, 0.2, 0.474_274_350_767_329_5),
        (tied.as_slice(), 37.0, 0.861_397_364_782_479_7, 0.001_065_152_002_572_327_5),
    ] {
        let test = mann_kendall(values, 1.0).expect("a test");
        same(test.s, s);
        same(test.tau, tau);
        same(test.p_value, p_value);
    }
    // With an autocorrelation of 0.5 the variance is three times as large.
    same(mann_kendall(&RISING, 3.0).expect("a test").p_value, 0.133_614_402_537_716_14);
    assert!(mann_kendall(&[1.0, 2.0], 1.0).is_none() && mann_kendall(&[4.0; 9], 1.0).is_none());
}

#[test]
fn false_discoveries_are_controlled_as_scipy_does() {
    // scipy.stats.false_discovery_control(p)
    for (ours, theirs) in benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005, 0.2])
        .into_iter()
        .zip([0.025, 0.05, 0.05, 0.025, 0.2])
    {
        same(ours, theirs);
    }
    assert_eq!((benjamini_hochberg(&[]), benjamini_hochberg(&[f64::NAN])), (vec![], vec![1.0]));
}

#[test]
fn predictions_have_the_interval_of_least_squares() {
    let past = |values| ForecastInput { days: &X, values, inflation: 1.0, significance: 0.05 };
    // By scipy.stats.linregress and t.ppf: a line, and a constant level without a trend.
    let line = predict_future(past(&RISING), 7, 0.95);
    let week = line.last().expect("a week");
    assert_eq!(
        (line.len(), line[0].days.to_string(), week.days.to_string()),
        (7, "1".into(), "7".into())
    );
    same(week.value, 14.165_296_292_147_417);
    same(week.low, 12.732_928_810_053_679);
    same(week.high, 15.597_663_774_241_155);
    for day in predict_future(past(&LEVEL), 3, 0.95) {
        same(day.value, 5.0375);
        same(day.low, 4.631_147_389_135_541);
        same(day.high, 5.443_852_610_864_458);
    }
    let constant = predict_future(
        ForecastInput { days: &X[..3], values: &[2.0; 3], inflation: 1.0, significance: 0.05 },
        1,
        0.9,
    );
    assert!((constant[0].low - 2.0).abs() < 1e-12 && (constant[0].high - 2.0).abs() < 1e-12);
    assert!(
        predict_future(
            ForecastInput {
                days: &X[..2],
                values: &[1.0, 2.0],
                inflation: 1.0,
                significance: 0.05
            },
            7,
            0.95
        )
        .is_empty()
    );
}

#[test]
fn intervals_hold_the_next_value_as_often_as_they_say() {
    let days: Vec<f64> = (0..30).map(f64::from).collect();
    let holds = |seed: u64, slope: f64| {
        let mut rng = Rng::new(seed);
        let mut value = |day: f64| 100.0 + slope * day + 2.0 * rng.normal();
        let values: Vec<f64> = days.iter().map(|day| value(*day)).collect();
        let next = value(36.0);
        let past =
            ForecastInput { days: &days, values: &values, inflation: 1.0, significance: 0.05 };
        let told = *predict_future(past, 7, 0.95).last().expect("a week");
        (told.low..=told.high).contains(&next)
    };
    for slope in [0.0, 1.0] {
        let held = (0..2000).filter(|&seed| holds(seed, slope)).count();
        // 95 % of the series, minus about one in twenty whose slope is significant by chance.
        assert!((1860..=1940).contains(&held), "slope {slope}: {held} of 2000");
    }
}

#[test]
fn anomalies_are_far_by_both_measures() {
    let mut values = vec![10.0, 10.2, 9.9, 10.1, 9.8, 10.0, 10.3, 9.9, 10.1, 10.0, 10.2, 9.9];
    values[8] = 14.0;
    let found = anomalies(&points(&values), 10, 2.5);
    let indices: Vec<usize> = found.iter().map(|one| one.index).collect();
    assert_eq!(indices, [8]);
    // (14 - mean) / std_dev(ddof=1) and (14 - median) / (1.4826 MAD) of the eight before.
    same(found[0].z_score.expect("z"), 23.816_001_408_232_324);
    same(found[0].robust_z_score.expect("robust z"), 26.979_630_379_063_902);
    // After equal values any different value is an anomaly; another equal value is not.
    let mut flat = vec![3.0; 20];
    assert!(anomalies(&points(&flat), 10, 2.5).is_empty());
    flat[15] = 3.1;
    assert_eq!(
        anomalies(&points(&flat), 10, 2.5)
            .iter()
            .map(|one| (one.index, one.z_score))
            .collect::<Vec<_>>(),
        [(15, None)]
    );
    assert!(
        anomalies(&points(&[1.0, 900.0, 2.0]), 10, 2.5).is_empty(),
        "too few points to compare with"
    );
}

#[test]
fn rolling_figures_begin_with_what_there_is() {
    let values = [1.0, 5.0, 3.0, 100.0, 2.0, 4.0];
    let close =
        |ours: Vec<f64>, theirs: [f64; 6]| ours.iter().zip(theirs).for_each(|(a, b)| same(*a, b));
    close(rolling_median(&values, 3), [1.0, 3.0, 3.0, 5.0, 3.0, 4.0]);
    close(rolling_mean(&values, 3), [1.0, 3.0, 3.0, 36.0, 35.0, 106.0 / 3.0]);
    close(rolling_median(&values, 0), values);
    assert!(rolling_mean(&[], 5).is_empty() && rolling_median(&[], 5).is_empty());
}
