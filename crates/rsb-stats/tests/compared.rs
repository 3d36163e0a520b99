//! The statistics of a comparison, checked against SciPy 1.17.1 and NumPy 2.4.6; each line names
//! the call.

mod common;

use common::{bare, now, run};
use rsb_model::record::{BothSides, ComparisonStatistics, TTest};
use rsb_model::{BenchmarkResult, Outcome, Samples};
use rsb_stats::{Policy, gate, with_statistics};

/// Nanoseconds of one iteration, one row per process.
const BEFORE: [[f64; 6]; 4] = [
    [1000.0, 1010.0, 1005.0, 1002.0, 1400.0, 1001.0],
    [1020.0, 1015.0, 1030.0, 1018.0, 1019.0, 1022.0],
    [990.0, 995.0, 992.0, 991.0, 1100.0, 993.0],
    [1005.0, 1004.0, 1009.0, 1003.0, 1007.0, 1006.0],
];
const AFTER: [[f64; 6]; 4] = [
    [1050.0, 1060.0, 1055.0, 1052.0, 1054.0, 1051.0],
    [1070.0, 1065.0, 1080.0, 1068.0, 1069.0, 1900.0],
    [1010.0, 1015.0, 1012.0, 1011.0, 1013.0, 1014.0],
    [1045.0, 1044.0, 1049.0, 1043.0, 1300.0, 1046.0],
];

fn case(processes: &[[f64; 6]]) -> BenchmarkResult {
    let samples = processes.iter().zip(0..).map(|(times, replicate)| Samples {
        replicate,
        iters: vec![10; 6],
        times_ns: times.iter().map(|time| time * 10.0).collect(),
    });
    BenchmarkResult { samples: samples.collect(), ..bare("gemm", Outcome::Measured) }
}

fn compared(before: BenchmarkResult, after: BenchmarkResult) -> Option<ComparisonStatistics> {
    let sides = [run("before", vec![before]), run("after", vec![after])];
    let [before, after] = sides.each_ref().map(std::slice::from_ref);
    let judged = gate(before, after, &Policy::default(), &[], now());
    assert!(
        judged.comparisons.iter().all(|row| row.statistics.is_none()),
        "the gate itself must not add statistics"
    );
    let shown = with_statistics(judged.clone(), before, after);
    assert_eq!(
        (shown.verdict, &shown.summary),
        (judged.verdict, &judged.summary),
        "statistics must not change the verdict"
    );
    shown.comparisons.first().and_then(|row| row.statistics.as_deref().cloned())
}

#[track_caller]
fn same(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 * theirs.abs(), "{ours}, but SciPy says {theirs}");
}

#[track_caller]
fn same_test(ours: TTest, [t, degrees_of_freedom, p, low, high]: [f64; 5]) {
    same(ours.t, t);
    same(ours.degrees_of_freedom, degrees_of_freedom);
    same(ours.p, p);
    same(ours.confidence_interval[0], low);
    same(ours.confidence_interval[1], high);
}

#[test]
fn tests_and_effect_sizes_rest_on_one_median_for_each_process() {
    let found = compared(case(&BEFORE), case(&AFTER)).expect("statistics");
    assert_eq!(found.replicates, BothSides { baseline: 4, current: 4 });
    // b, c = [numpy.median(process) for process in side], in milliseconds.
    // scipy.stats.ttest_ind(c, b, equal_var=False): statistic, df, pvalue, confidence_interval()
    let welch = [
        3.021_875_910_642_819_5,
        4.229_363_327_823_314_5,
        0.036_376_975_076_959_14,
        4.008_991_034_521_089e-6,
        7.574_100_896_547_888e-5,
    ];
    same_test(found.welch_t.expect("a test"), welch);
    // scipy.stats.ttest_rel(c, b)
    let paired = [
        5.685_862_009_610_609,
        3.0,
        0.010_782_450_498_657_18,
        1.755_647_622_846_044_7e-5,
        6.219_352_377_153_94e-5,
    ];
    same_test(found.paired_t.expect("a test"), paired);
    // scipy.stats.mannwhitneyu(c, b, method='exact')
    let u = found.mann_whitney_u.expect("a test");
    same(u.u, 15.0);
    same(u.p, 0.057_142_857_142_857_14);
    // (mean(c) - mean(b)) / sqrt((var(b, ddof=1) + var(c, ddof=1)) / 2)
    same(found.cohens_d.expect("d"), 2.136_788_948_319_811_3);
    // numpy.mean(numpy.sign(c[:, None] - b[None, :]))
    same(found.cliffs_delta.expect("delta"), 0.875);
}

#[test]
fn outliers_and_percentiles_rest_on_all_samples() {
    let found = compared(case(&BEFORE), case(&AFTER)).expect("statistics");
    let counts = |side: rsb_model::record::OutlierCounts| [side.samples, side.iqr, side.mad];
    // Outliers are outside numpy.quantile(x, [.25, .75]) by 1.5 times their distance, or farther
    // from numpy.median(x) than 3.5 times 1.4826 * scipy.stats.median_abs_deviation(x).
    assert_eq!([found.outliers.baseline, found.outliers.current].map(counts), [[24, 2, 2]; 2]);
    // 100 * (numpy.quantile(current, p) / numpy.quantile(baseline, p) - 1)
    let changes = found.percentile_changes;
    same(changes.p50, 4.475_385_380_407_77);
    same(changes.p90, 4.807_318_022_576_879);
    same(changes.p95, 16.291_877_007_801_702);
    same(changes.p99, 32.381_667_918_857_99);
}

#[test]
fn what_the_figures_cannot_tell_is_left_out() {
    let unlike = compared(case(&BEFORE), case(&AFTER[..3])).expect("statistics");
    assert!(unlike.paired_t.is_none() && unlike.welch_t.is_some(), "{unlike:?}");
    let of = |iters: u32| {
        let samples = |replicate| Samples {
            replicate,
            iters: vec![iters.into(); 5],
            times_ns: vec![1000.0 * f64::from(iters); 5],
        };
        BenchmarkResult {
            samples: (0..3).map(samples).collect(),
            ..bare("gemm", Outcome::Measured)
        }
    };
    let constant = compared(of(1), of(2)).expect("statistics");
    assert!(
        constant.welch_t.is_none() && constant.paired_t.is_none() && constant.cohens_d.is_none(),
        "{constant:?}"
    );
    assert_eq!(constant.mann_whitney_u, None);
    assert_eq!((constant.cliffs_delta, constant.percentile_changes.p99), (Some(0.0), 0.0));
    let json = serde_json::to_string(&constant).expect("a document");
    assert!(!json.contains("null") && !json.contains("welch_t"), "{json}");
    assert_eq!(compared(case(&BEFORE), bare("gemm", Outcome::Failed)), None);
}
