//! Functions checked against SciPy 1.17.1 and NumPy 2.4.6; each line names the call.

use rsb_stats::estimate::{
    OutlierRule, median_absolute_deviation, outliers, quantile, statistics, std_dev,
};
use rsb_stats::hypothesis::{TestResult, mann_whitney, paired_t, welch_t};
use rsb_stats::interval::{difference_interval, mean_interval};
use rsb_stats::multiple_testing::holm;
use rsb_stats::{effect, trend};

const A: [f64; 6] = [10.1, 9.8, 10.4, 10.0, 9.7, 10.2];
const B: [f64; 5] = [10.9, 11.2, 10.6, 11.5, 10.8];
const V: [f64; 10] = [3.1, 2.7, 9.5, 3.3, 2.9, 3.0, 3.4, 2.8, 3.2, 50.0];

#[track_caller]
fn same(ours: impl Into<Option<f64>>, theirs: f64) {
    let ours = ours.into().unwrap_or(f64::NAN);
    assert!(
        (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1e-3),
        "{ours}, but SciPy says {theirs}"
    );
}

#[track_caller]
fn same_test(ours: Option<TestResult>, statistic: f64, p_value: f64) {
    same(ours.map(|test| test.statistic), statistic);
    same(ours.map(|test| test.p_value), p_value);
}

#[test]
fn estimators() {
    // numpy.quantile(v, p), whose default is type 7.
    for (p, value) in
        [(0.0, 2.7), (0.1, 2.79), (0.25, 2.925), (0.5, 3.15), (0.9, 13.55), (1.0, 50.0)]
    {
        same(quantile(&V, p), value);
    }
    same(std_dev(&V), 14.761_695_927_862_31); // numpy.std(v, ddof=1)
    same(median_absolute_deviation(&V), 0.370_65); // 1.4826 * scipy.stats.median_abs_deviation(v)
    let spread = statistics(&V.map(|ms| ms * 1e6)).expect("statistics");
    same(spread.percentiles.p90, 13.55);
    same(spread.mean, 8.39);
    assert_eq!(
        (spread.unit.as_str(), spread.min.to_string(), spread.max.to_string()),
        ("ms", "2.7".into(), "50".into())
    );
}

#[test]
fn outliers_are_marked_and_nothing_else() {
    let marked = [false, false, true, false, false, false, false, false, false, true];
    assert_eq!(outliers(&V, OutlierRule::Iqr(1.5)), marked);
    assert_eq!(outliers(&V, OutlierRule::Mad(3.5)), marked);
    assert_eq!(outliers(&[1.0; 4], OutlierRule::Mad(3.5)), [false; 4]);
    assert_eq!(outliers(&[], OutlierRule::Iqr(1.5)), Vec::<bool>::new());
}

#[test]
fn t_tests() {
    // scipy.stats.ttest_ind(a, b, equal_var=False) and its confidence_interval()
    same_test(welch_t(&A, &B), -5.086_936_511_980_771, 0.001_300_117_147_050_494);
    same(welch_t(&A, &B).and_then(|test| test.degrees_of_freedom), 7.206_823_027_718_552);
    let interval = difference_interval(&A, &B, 0.05).expect("an interval");
    same(interval.low, 0.519_919_901_329_673_5);
    same(interval.high, 1.413_413_432_003_658_4);
    // scipy.stats.ttest_rel(a, c)
    let c = [10.3, 9.9, 10.9, 10.1, 9.6, 10.8];
    same_test(paired_t(&A, &c), -2.150_032_908_818_829_5, 0.084_241_519_629_392_79);
    // scipy.stats.t.interval(0.95, 5, loc=mean(a), scale=sem(a))
    let interval = mean_interval(&A, 0.05).expect("an interval");
    same(interval.low, 9.762_370_216_251_089);
    same(interval.high, 10.304_296_450_415_578);
}

#[test]
fn mann_whitney_u() {
    // scipy.stats.mannwhitneyu(a, b, method='exact')
    same_test(mann_whitney(&A, &B), 0.0, 0.004_329_004_329_004_329);
    let (x, y) = ([1.0, 4.0, 2.0, 8.0, 5.0], [3.0, 7.0, 6.0, 9.0, 10.0, 12.0]);
    same_test(mann_whitney(&x, &y), 5.0, 0.082_251_082_251_082_26);
    // scipy.stats.mannwhitneyu(x, y, method='asymptotic')
    let (x, y) =
        ([1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 7.0, 7.0]);
    same_test(mann_whitney(&x, &y), 13.5, 0.031_758_957_148_063_71);
    let x: Vec<f64> = (0..31).map(|i| f64::from(i * 7 % 31)).collect();
    let y: Vec<f64> = (0..37).map(|i| f64::from(i * 5 % 37) + 6.5).collect();
    same_test(mann_whitney(&x, &y), 300.0, 0.000_774_901_611_329_718_8);
}

#[test]
fn effect_sizes_and_correction() {
    // (mean(b) - mean(a)) / sqrt((5 var(a, ddof=1) + 4 var(b, ddof=1)) / 9)
    same(effect::cohens_d(&A, &B), 3.176_790_833_529_964);
    same(effect::cliffs_delta(&A, &B), 1.0);
    same(effect::cliffs_delta(&[1.0, 2.0, 3.0], &[2.0, 2.0]), 0.0);
    same(effect::cliffs_delta(&[1.0, 2.0, 3.0], &[3.0]), 2.0 / 3.0);
    let chances = [0.01, 0.04, 0.03, 0.005, 0.2];
    // Holm (1979) by hand: 0.005·5, 0.01·4, 0.03·3, then never decreasing.
    for (ours, theirs) in holm(&chances).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.2]) {
        same(ours, theirs);
    }
    assert_eq!(holm(&[f64::NAN]), [1.0]);
}

#[test]
fn lines() {
    // scipy.stats.linregress(x, y): slope, intercept, rvalue ** 2, pvalue
    let x = [0.0, 1.0, 2.0, 3.5, 4.0, 6.0, 7.0, 9.25];
    let rising = [10.2, 10.1, 10.9, 11.0, 11.6, 11.4, 12.3, 12.2];
    let level = [5.1, 4.9, 5.0, 5.3, 4.8, 5.2, 5.05, 4.95];
    for (y, slope, intercept, r_squared, p_value) in [
        (
            rising,
            0.242_903_551_024_980_46,
            10.218_113_587_991_486,
            0.866_530_764_744_945_1,
            0.000_783_481_367_933_257_4,
        ),
        (
            level,
            0.000_134_423_658_563_924_7,
            5.036_949_703_147_753,
            6.858_349_926_731_744e-6,
            0.995_089_687_792_374_5,
        ),
    ] {
        let points = x.into_iter().zip(y).map(|(day, value)| {
            (
                rsb_model::Timestamp::from_second(1_700_000_000 + (day * 86_400.0) as i64)
                    .expect("a time"),
                value,
            )
        });
        let series = trend::SeriesInput {
            id: "id".into(),
            metric: "time_ms".into(),
            unit: "ms".into(),
            better: None,
            points: points.collect(),
        };
        let document = trend(&[series]);
        let found = document.series.first().expect("a series");
        assert!((found.slope_per_day.expect("a slope") - slope).abs() < 1e-12);
        same(found.intercept, intercept);
        assert!((found.r_squared.expect("r squared") - r_squared).abs() < 1e-9);
        same(found.p_value, p_value);
    }
}

#[test]
fn what_cannot_be_estimated_is_none() {
    assert!(statistics(&[]).is_none() && statistics(&[f64::NAN]).is_none());
    assert!(quantile(&[], 0.5).is_none() && std_dev(&[1.0]).is_none());
    assert!(welch_t(&[1.0, 1.0], &[2.0, 2.0]).is_none() && welch_t(&[1.0], &[1.0, 2.0]).is_none());
    assert!(
        paired_t(&[1.0, 2.0], &[1.0]).is_none() && paired_t(&[2.0, 3.0], &[1.0, 2.0]).is_none()
    );
    assert!(mann_whitney(&[], &[1.0]).is_none() && mann_whitney(&[f64::NAN], &[1.0]).is_none());
    assert!(mann_whitney(&[1.0; 9], &[1.0; 9]).is_none());
    assert!(
        mean_interval(&[1.0], 0.05).is_none()
            && difference_interval(&[1.0; 2], &[1.0; 2], 0.05).is_none()
    );
    assert!(
        effect::cohens_d(&[1.0, 1.0], &[1.0, 1.0]).is_none()
            && effect::cliffs_delta(&[], &[1.0]).is_none()
    );
}
