use proptest::prelude::*;
use rsb_model::{ReasonCode, Verdict};

use super::*;
use crate::rng::Rng;

/// Returns `runs` values around 100 that vary by at most `wobble`, the same for every test.
fn around(runs: usize, wobble: f64) -> Vec<f64> {
    (0..runs).map(|at| 100.0 * (1.0 + wobble * ((at * 7 % 13) as f64 / 6.0 - 1.0))).collect()
}

/// Returns a series in which every third run was measured on a runner that is 20 % slower.
fn two_runners(runs: usize) -> Vec<f64> {
    around(runs, 0.01)
        .into_iter()
        .enumerate()
        .map(|(at, time)| if at % 3 == 0 { time * 1.2 } else { time })
        .collect()
}

fn question(before: Vec<f64>, now: &[f64]) -> Question {
    Question {
        before,
        accepted_from: None,
        now: now.to_vec(),
        better: Better::Lower,
        threshold: 0.1,
        slack: 0.0,
        role: QuestionRole::Apart,
    }
}

fn one(question: Question) -> CaseConclusion {
    judge(&[question], &Rule::default(), ErrorRates::USUAL).each.remove(0)
}

fn verdict(before: Vec<f64>, now: &[f64]) -> (Verdict, ReasonCode) {
    let found = one(question(before, now));
    (found.verdict, found.reason)
}

#[test]
fn the_next_run_of_a_steady_series_is_judged_by_the_table() {
    use ReasonCode::{AboveThreshold, BelowThreshold, BetterThanThreshold, TooNoisy, WithinNoise};
    for (now, verdict, reason) in [
        (100.3, Verdict::Unchanged, WithinNoise),
        (104.0, Verdict::Unchanged, BelowThreshold),
        (109.0, Verdict::Unchanged, BelowThreshold),
        (120.0, Verdict::Regressed, AboveThreshold),
        (85.0, Verdict::Improved, BetterThanThreshold),
        (96.0, Verdict::Unchanged, BelowThreshold),
    ] {
        let found = one(question(around(50, 0.01), &[now]));
        assert_eq!((found.verdict, found.reason), (verdict, reason), "{now}: {found:?}");
        let [low, high] = found.interval.unwrap();
        assert!(low < found.change && found.change < high, "{now}: {found:?}");
        assert!(
            (found.current - now).abs() < 1e-9 && (found.baseline - 100.0).abs() < 1.0,
            "{now}: {found:?}"
        );
    }
    assert_eq!(verdict(around(50, 0.06), &[112.0]), (Verdict::Inconclusive, TooNoisy));
}

#[test]
fn throughput_is_judged_in_its_own_direction() {
    for (now, verdict) in
        [(80.0, Verdict::Regressed), (99.5, Verdict::Unchanged), (120.0, Verdict::Improved)]
    {
        let found = one(Question { better: Better::Higher, ..question(around(50, 0.01), &[now]) });
        assert_eq!(found.verdict, verdict, "{now}: {found:?}");
        assert!((found.change - (1.0 - now / found.baseline)).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn few_runs_are_no_history() {
    for runs in 0..LEVEL {
        let found = one(question(around(runs, 0.01), &[150.0]));
        assert_eq!(
            (found.verdict, found.reason),
            (Verdict::Inconclusive, ReasonCode::TooFewSamples),
            "{runs}"
        );
        assert_eq!(found.interval, None);
    }
    assert_eq!(verdict(around(LEVEL, 0.01), &[150.0]).0, Verdict::Regressed);
    assert_eq!(verdict(around(50, 0.01), &[]).1, ReasonCode::TooFewSamples);
    assert_eq!(verdict(around(50, 0.01), &[f64::NAN]).1, ReasonCode::TooFewSamples);
}

#[test]
fn a_level_seen_before_is_no_regression() {
    assert_eq!(verdict(two_runners(50), &[120.0]), (Verdict::Inconclusive, ReasonCode::TooNoisy));
    assert_eq!(
        verdict(two_runners(50), &[120.0, 100.0]).0,
        Verdict::Unchanged,
        "a repeat at the usual level clears the case"
    );
    assert_eq!(
        verdict(two_runners(50), &[120.0; 3]).0,
        Verdict::Inconclusive,
        "three slow runners in a row are possible by chance"
    );
    assert_eq!(
        verdict(two_runners(50), &[144.0]).0,
        Verdict::Regressed,
        "slower than the slow runner, too"
    );
    assert_eq!(verdict(two_runners(50), &[100.0]).0, Verdict::Unchanged);
}

#[test]
fn a_spike_blunts_the_first_look_and_not_the_repeats() {
    let mut before = around(50, 0.01);
    before[45] *= 10.0;
    assert_eq!(verdict(before.clone(), &[125.0]), (Verdict::Inconclusive, ReasonCode::TooNoisy));
    let confirmed = one(question(before.clone(), &[125.0, 124.0, 126.0]));
    assert_eq!((confirmed.verdict, confirmed.evidence), (Verdict::Regressed, Evidence::Repeats(2)));
    assert!((confirmed.current - 125.0).abs() < 1e-2, "the first look is left out: {confirmed:?}");
    assert_eq!(
        verdict(before.clone(), &[125.0, 100.0]).0,
        Verdict::Unchanged,
        "a single spike that the repeat does not show"
    );
    assert_eq!(
        one(question(before.clone(), &[100.0, 101.0, 100.0])).evidence,
        Evidence::Runs(3),
        "without a suspect, all runs count"
    );
    let old = [before.split_off(30), before].concat();
    assert_eq!(
        verdict(old, &[125.0]).0,
        Verdict::Regressed,
        "a spike long ago must not hide a regression"
    );
}

#[test]
fn a_minority_of_fast_repeats_does_not_acquit_a_clearly_slow_run() {
    for (now, verdict) in [
        (&[125.0, 100.0][..], Verdict::Inconclusive),
        (&[112.0, 100.0], Verdict::Inconclusive),
        (&[125.0, 80.0], Verdict::Inconclusive),
        (&[100.0, 125.0], Verdict::Inconclusive),
        (&[125.0, 100.0, 112.0, 100.0], Verdict::Inconclusive),
        (&[125.0, 100.0, 100.5], Verdict::Unchanged),
        (&[125.0, 126.0], Verdict::Regressed),
    ] {
        assert_eq!(one(question(around(50, 0.01), now)).verdict, verdict, "{now:?}");
    }
    let split = one(question(around(50, 0.01), &[125.0, 100.0]));
    assert_eq!(split.evidence, Evidence::Split { slow: 1, runs: 2 });
}

#[test]
fn repeats_are_corrected_over_the_suspects_alone() {
    let mut spiky = around(50, 0.01);
    spiky[45] *= 10.0;
    let suite = |now: &[f64]| {
        let mut questions = vec![question(around(50, 0.01), &vec![100.0; now.len()]); 54];
        questions.push(question(spiky.clone(), now));
        judge(&questions, &Rule::default(), ErrorRates::USUAL).each.pop().unwrap().verdict
    };
    assert_eq!(suite(&[125.0]), Verdict::Inconclusive);
    assert_eq!(
        suite(&[125.0, 126.0]),
        Verdict::Inconclusive,
        "two slow runs are too few: one earlier run was as slow"
    );
    assert_eq!(suite(&[125.0, 126.0, 124.0]), Verdict::Regressed);
    assert_eq!(
        suite(&[125.0, 126.0, 100.0]),
        Verdict::Inconclusive,
        "repeats that disagree give no verdict"
    );
}

#[test]
fn the_level_is_that_of_the_last_runs() {
    let after_a_drop =
        [around(35, 0.01).iter().map(|time| time * 1.6).collect(), around(LEVEL, 0.01)].concat();
    assert_eq!(verdict(after_a_drop.clone(), &[100.0]).0, Verdict::Unchanged);
    assert_eq!(verdict(after_a_drop, &[160.0]).0, Verdict::Regressed);
    let drifting: Vec<f64> =
        around(50, 0.01).iter().zip(0..).map(|(time, at)| time * 1.003_f64.powi(at)).collect();
    let next = 100.0 * 1.003_f64.powi(50);
    assert_eq!(verdict(drifting.clone(), &[next]).0, Verdict::Unchanged);
    assert_eq!(verdict(drifting, &[next * 1.25]).0, Verdict::Regressed);
}

#[test]
fn an_accepted_level_is_the_level_from_its_first_run_on() {
    let stepped =
        [around(40, 0.01), around(3, 0.01).iter().map(|time| time * 1.3).collect()].concat();
    let judged = |accepted_from, now: f64| {
        one(Question { accepted_from, ..question(stepped.clone(), &[now]) })
    };
    assert_eq!(judged(None, 130.0).verdict, Verdict::Inconclusive);
    assert_eq!(judged(Some(40), 130.0).verdict, Verdict::Unchanged);
    assert_eq!(judged(Some(40), 160.0).verdict, Verdict::Regressed);
    assert_eq!(judged(Some(0), 130.0).verdict, judged(None, 130.0).verdict);
    for never_seen in [43, 44] {
        assert_eq!(judged(Some(never_seen), 130.0).reason, ReasonCode::TooFewSamples);
    }
}

#[test]
fn among_many_cases_a_first_look_must_be_clearer() {
    let among = |cases: usize, now: f64| {
        let mut questions = vec![question(around(50, 0.03), &[100.0]); cases - 1];
        questions.push(question(around(50, 0.03), &[now]));
        judge(&questions, &Rule::default(), ErrorRates::USUAL).each.pop().unwrap()
    };
    assert_eq!(among(1, 112.0).verdict, Verdict::Regressed);
    let doubtful = among(1000, 112.0);
    assert_eq!((doubtful.verdict, doubtful.reason), (Verdict::Inconclusive, ReasonCode::TooNoisy));
    assert!(
        doubtful.interval.unwrap()[0] > 0.05,
        "the interval of the case is clear on its own: {doubtful:?}"
    );
    assert_eq!(among(1000, 130.0).verdict, Verdict::Regressed);
}

/// Returns the share of next runs that are Regressed if the true change is `factor`, each judged
/// from the 50 runs before it.
fn share_regressed(series: &[f64], factor: f64) -> f64 {
    let questions = (LEVEL..series.len())
        .map(|at| question(series[at.saturating_sub(RUNS)..at].to_vec(), &[series[at] * factor]));
    let found: Vec<CaseConclusion> = questions.map(one).collect();
    found.iter().filter(|found| found.verdict == Verdict::Regressed).count() as f64
        / found.len() as f64
}

#[test]
fn unlike_kinds_of_noise_give_few_false_alarms() {
    let mut rng = Rng::new(20);
    let mut series = |step: &mut dyn FnMut(&mut Rng, usize) -> f64| -> Vec<f64> {
        (0..1000).map(|at| 100.0 * step(&mut rng, at)).collect()
    };
    let quiet = series(&mut |rng, _| (0.02 * rng.normal()).exp());
    let wide = series(&mut |rng, _| (0.08 * rng.normal()).exp());
    let runners = series(
        &mut |rng, _| if rng.uniform() < 0.4 { 1.25 } else { 1.0 } * (0.01 * rng.normal()).exp(),
    );
    let spikes = series(&mut |rng, _| {
        if rng.uniform() < 0.05 { 1.0 + rng.uniform() } else { (0.01 * rng.normal()).exp() }
    });
    let mut level = 0.0;
    let walk = series(&mut |rng, _| {
        level += 0.01 * rng.normal();
        (level + 0.01 * rng.normal()).exp()
    });
    for (name, series, most, least) in [
        ("quiet", &quiet, 0.0, 0.95),
        ("wide", &wide, 0.01, 0.1),
        ("two runners", &runners, 0.001, 0.0),
        ("spikes", &spikes, 0.04, 0.4),
        ("walk", &walk, 0.002, 0.8),
    ] {
        let (false_alarms, found) = (share_regressed(series, 1.0), share_regressed(series, 1.2));
        assert!(false_alarms <= most, "{name}: {false_alarms} false");
        assert!(found >= least, "{name}: {found} found");
    }
}

fn figures(runs: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(1.0..1000.0_f64, runs)
}

/// Returns the rank of a verdict from best to worst; an undecided verdict is between Unchanged and
/// Regressed.
fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Improved => 0,
        Verdict::Unchanged => 1,
        Verdict::Inconclusive | Verdict::NotComparable => 2,
        Verdict::Regressed => 3,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_unit_changes_no_verdict(before in figures(15..60), now in figures(1..6), unit in 1e-6..1e6_f64) {
        let scaled = |values: &[f64]| values.iter().map(|value| value * unit).collect::<Vec<_>>();
        let (plain, other) = (one(question(before.clone(), &now)), one(question(scaled(&before), &scaled(&now))));
        prop_assert_eq!(plain.verdict, other.verdict);
        prop_assert!((plain.change - other.change).abs() <= 1e-6 * (1.0 + plain.change.abs()));
    }

    #[test]
    fn slower_is_never_judged_better(
        before in figures(15..60), first in 1.0..1000.0_f64, repeats in figures(0..5), factor in 1.0..3.0_f64,
    ) {
        // The first run decides whether it counts itself, so it is not slowed if there are others.
        let of_first = if repeats.is_empty() { factor } else { 1.0 };
        let plain = [vec![first], repeats.clone()].concat();
        let slower = [vec![first * of_first], repeats.iter().map(|value| value * factor).collect()].concat();
        let [plain, slower] = [plain, slower].map(|now| one(question(before.clone(), &now)));
        prop_assert!(badness(plain.verdict) <= badness(slower.verdict), "{:?} {:?}", plain, slower);
    }

    #[test]
    fn the_order_of_repeats_does_not_matter(before in figures(15..60), now in figures(1..6)) {
        let (first, repeats) = now.split_at(1);
        let turned: Vec<f64> = first.iter().chain(repeats.iter().rev()).copied().collect();
        prop_assert_eq!(one(question(before.clone(), &now)), one(question(before, &turned)));
    }

    #[test]
    fn no_figures_panic(
        before in proptest::collection::vec(proptest::num::f64::ANY, 0..40),
        now in proptest::collection::vec(proptest::num::f64::ANY, 0..4),
        accepted_from in proptest::option::of(0..50_usize),
    ) {
        for better in [Better::Lower, Better::Higher] {
            let found = one(Question { accepted_from, better, ..question(before.clone(), &now) });
            prop_assert!(found.interval.is_none_or(|[low, high]| low <= high || low.is_nan()), "{:?}", found);
        }
    }
}

mod together;
