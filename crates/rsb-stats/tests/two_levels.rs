//! Tests of noise with two levels, shuffled histories, and series that change together: which
//! changes are detected, and in how many series.

use rsb_model::record::{LevelPart, SeriesTrend};
use rsb_model::{Better, Timestamp};
use rsb_stats::rng::Rng;
use rsb_stats::{SeriesInput, trend};

fn input(id: &str, values: &[f64]) -> SeriesInput {
    let time = |day: i64| Timestamp::from_second(1_790_000_000 + day * 86_400).unwrap_or_default();
    SeriesInput {
        id: id.into(),
        metric: "time_ms".into(),
        unit: "ms".into(),
        better: Some(Better::Lower),
        points: (0..).zip(values).map(|(day, &value)| (time(day), value)).collect(),
    }
}

fn daily(values: &[f64]) -> SeriesTrend {
    trend(&[input("gemm", values)]).series.remove(0)
}

/// Returns a series that is at 130 with probability `share(at)`, otherwise at 100, times
/// `factor(at)`, with a coefficient of variation of 1 %.
fn mixed(
    seed: u64,
    count: usize,
    share: impl Fn(usize) -> f64,
    factor: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    let mut value = |at: usize| {
        let level = if rng.uniform() < share(at) { 130.0 } else { 100.0 };
        level * factor(at) * (1.0 + 0.01 * rng.normal())
    };
    (0..count).map(&mut value).collect()
}

#[test]
fn two_levels_that_alternate_are_named_and_no_change() {
    for (share, count) in [(0.2, 100), (0.3, 100), (0.5, 100), (0.3, 130)] {
        let all: Vec<SeriesTrend> =
            (0..50).map(|seed| daily(&mixed(seed, count, |_| share, |_| 1.0))).collect();
        let changed = all.iter().filter(|found| !found.change_points.is_empty()).count();
        assert!(changed <= 1, "share {share}: {changed} of 50 have a change of level");
        let named = all.iter().filter_map(|found| found.two_levels.as_ref()).filter(|levels| {
            (levels.lower - 100.0).abs() < 1.0
                && (levels.upper - 130.0).abs() < 2.0
                && (levels.upper_share - share).abs() < 0.2
        });
        assert!(named.count() >= 48, "share {share}");
        let alerted = all.iter().filter(|found| !found.alerts.is_empty()).count();
        assert!(alerted <= 2, "share {share}: {alerted} of 50 alert");
    }
    assert_eq!(daily(&mixed(1, 100, |_| 0.0, |_| 1.0)).two_levels, None, "one level");
    let step = daily(&mixed(2, 100, |at| f64::from(u8::from(at >= 50)), |_| 1.0));
    assert_eq!(
        (step.two_levels, step.change_points.len()),
        (None, 1),
        "levels that last are change points"
    );
}

#[test]
fn a_change_of_the_share_or_of_a_level_is_found() {
    let late = |at: usize| at >= 60;
    let found = daily(&mixed(3, 120, |at| if late(at) { 0.7 } else { 0.1 }, |_| 1.0));
    let [change] = found.change_points.as_slice() else { panic!("{found:?}") };
    assert!(change.part == Some(LevelPart::Share) && change.index.abs_diff(60) <= 5, "{change:?}");
    let both = daily(&mixed(4, 120, |_| 0.3, |at| if late(at) { 1.1 } else { 1.0 }));
    let [change] = both.change_points.as_slice() else { panic!("{both:?}") };
    assert!(matches!(change.part, Some(LevelPart::Lower | LevelPart::Upper)), "{change:?}");
    assert!(
        change.index.abs_diff(60) <= 5 && (change.change_percent - 10.0).abs() < 2.0,
        "{change:?}"
    );
}

#[test]
fn shuffled_histories_have_no_change() {
    let mut rng = Rng::new(9);
    // 60 series over three generations of machines, with 20 different levels of noise.
    let history: Vec<Vec<f64>> = (0..60)
        .map(|series| {
            let cv = 0.01 + 0.002 * f64::from(series % 20);
            let level = |at: usize| [100.0, 117.0, 92.0][at * 3 / 88];
            (0..88).map(|at| level(at) * (1.0 + cv * rng.normal())).collect()
        })
        .collect();
    let reports = (0..20).filter(|_| {
        let mut order: Vec<usize> = (0..88).collect();
        rng.shuffle(&mut order);
        let shuffled =
            history.iter().map(|values| order.iter().map(|&at| values[at]).collect::<Vec<f64>>());
        let inputs: Vec<SeriesInput> = shuffled.map(|values| input("case", &values)).collect();
        trend(&inputs).series.iter().any(|found| !found.change_points.is_empty())
    });
    let reports = reports.count();
    assert!(reports <= 1, "{reports} of 20 shufflings report a change");
}

#[test]
fn a_change_survives_among_many_series() {
    let mut rng = Rng::new(10);
    let mut quiet = || (0..40).map(|_| 100.0 * (1.0 + 0.02 * rng.normal())).collect::<Vec<f64>>();
    let mut all: Vec<SeriesInput> = (0..88).map(|_| input("quiet", &quiet())).collect();
    let stepped: Vec<f64> = quiet()
        .into_iter()
        .enumerate()
        .map(|(at, value)| if at < 20 { value } else { 1.1 * value })
        .collect();
    all.push(input("stepped", &stepped));
    let found = trend(&all);
    let changed: Vec<&str> = found
        .series
        .iter()
        .filter(|one| !one.change_points.is_empty())
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(changed, ["stepped"]);
    assert!(found.common_changes.is_empty());
}

#[test]
fn series_that_step_together_are_one_finding() {
    let mut rng = Rng::new(11);
    let mut stepping = |id: &str, at: usize, factor: f64| {
        let value = |day: usize| if day < at { 100.0 } else { 100.0 * factor } * (1.0 + 0.01 * rng.normal());
        input(id, &(0..60).map(value).collect::<Vec<f64>>())
    };
    let mut all: Vec<SeriesInput> =
        [("a", 30, 1.15), ("b", 31, 1.2), ("c", 32, 1.12), ("d", 30, 0.8), ("e", 50, 1.3)]
            .into_iter()
            .map(|(id, at, factor)| stepping(id, at, factor))
            .collect();
    let found = trend(&all);
    let [common] = found.common_changes.as_slice() else { panic!("{:?}", found.common_changes) };
    let ids: Vec<&str> = common.series.iter().map(|one| one.id.as_str()).collect();
    assert_eq!((common.direction.as_str(), ids), ("worse", vec!["a", "b", "c"]));
    all.remove(0);
    assert!(trend(&all).common_changes.is_empty(), "two series are too few for a common change");
}
