//! Tests of the common change of the cases of a run, and of the change of a case relative to the
//! others.

use super::*;

/// Builds `cases` cases measured on runners with different speeds: the common speed of a run varies
/// by 8 %, and each case by another 1 %. The judged run is on a runner of median speed, with case
/// `at` slower by the factor `slowed(at)`.
fn suite(cases: usize, seed: u64, slowed: impl Fn(usize) -> f64) -> Vec<Question> {
    let mut rng = Rng::new(seed);
    let runners: Vec<f64> = (0..RUNS).map(|_| (0.08 * rng.normal()).exp()).collect();
    let series = |at: usize| {
        let before =
            runners.iter().map(|runner| 100.0 * runner * (0.01 * rng.normal()).exp()).collect();
        Question { role: QuestionRole::Case, ..question(before, &[100.0 * slowed(at)]) }
    };
    (0..cases).map(series).collect()
}

fn judged(questions: &[Question]) -> HistoryVerdicts {
    judge(questions, &Rule::default(), ErrorRates::USUAL)
}

fn regressed(judged: &HistoryVerdicts) -> Vec<usize> {
    let each = judged.each.iter().enumerate();
    each.filter(|(_, found)| found.verdict == Verdict::Regressed).map(|(at, _)| at).collect()
}

fn is_green(judged: &HistoryVerdicts) -> bool {
    let all = judged.each.iter().chain(judged.common.as_ref().map(|(_, found)| found));
    all.into_iter().all(|found| matches!(found.verdict, Verdict::Unchanged | Verdict::Improved))
}

#[test]
fn one_slow_case_is_named_where_its_own_history_could_not_tell() {
    for (cases, seed) in [(5, 1), (12, 2), (30, 3)] {
        let questions = suite(cases, seed, |at| if at == 2 { 1.2 } else { 1.0 });
        let found = judged(&questions);
        assert_eq!(regressed(&found), [2], "{cases} cases");
        assert!((found.each[2].beyond_others.unwrap() - 0.2).abs() < 0.05, "{:?}", found.each[2]);
        let alone = one(Question { role: QuestionRole::Apart, ..questions[2].clone() });
        assert_eq!(alone.verdict, Verdict::Inconclusive, "{cases} cases: {alone:?}");
        assert!(alone.detectable > found.each[2].detectable, "{cases} cases");
    }
    let few = judged(&suite(4, 4, |at| if at == 2 { 1.2 } else { 1.0 }));
    assert_eq!(
        (regressed(&few).len(), few.each[2].beyond_others),
        (0, None),
        "three others are too few"
    );
}

#[test]
fn what_all_cases_have_in_common_is_a_metric_of_its_own() {
    let (_, unchanged) = judged(&suite(12, 5, |_| 1.0)).common.unwrap();
    for (slower, verdict) in
        [(1.0, Verdict::Unchanged), (1.22, Verdict::Inconclusive), (1.6, Verdict::Regressed)]
    {
        let found = judged(&suite(12, 5, |_| slower));
        let (mode, common) = found.common.clone().unwrap();
        assert_eq!(common.verdict, verdict, "{slower}: {common:?}");
        let factor = (1.0 + common.change) / (1.0 + unchanged.change);
        assert!(
            (factor - slower).abs() < 1e-9 && mode.before.len() == RUNS,
            "{slower}: {common:?}"
        );
        assert_eq!(is_green(&found), slower < 1.1, "{slower}");
    }
    assert!(judged(&suite(9, 5, |_| 1.6)).common.is_none());
    // A minority of slower cases does not move the median. A majority does, but the unchanged cases
    // are still not Regressed.
    for (slowed, verdict) in [(5, Verdict::Unchanged), (8, Verdict::Regressed)] {
        let found = judged(&suite(12, 6, |at| if at < slowed { 1.6 } else { 1.0 }));
        assert_eq!(found.common.as_ref().unwrap().1.verdict, verdict, "{slowed} of 12");
        assert!(
            regressed(&found).iter().all(|at| *at < slowed) && !is_green(&found),
            "{slowed} of 12"
        );
    }
}

#[test]
fn a_faster_machine_does_not_hide_a_slow_case() {
    let found = judged(&suite(12, 7, |at| if at == 2 { 1.02 } else { 0.85 }));
    let hidden = &found.each[2];
    assert_eq!(
        (hidden.verdict, hidden.reason),
        (Verdict::Inconclusive, ReasonCode::TooNoisy),
        "{hidden:?}"
    );
    assert!(hidden.change < 0.1 && hidden.beyond_others.unwrap() > 0.1);
    let others = found.each.iter().enumerate().filter(|(at, _)| *at != 2);
    assert!(others.into_iter().all(|(_, found)| found.verdict != Verdict::Regressed));
}

#[test]
fn a_run_that_lacks_a_case_is_in_its_place() {
    let mut questions = suite(12, 8, |at| if at == 2 { 1.2 } else { 1.0 });
    for (at, question) in questions.iter_mut().enumerate() {
        question.before[at * 3] = f64::NAN;
    }
    assert_eq!(regressed(&judged(&questions)), [2]);
}

#[test]
fn a_noisy_case_passes_only_while_half_again_as_slow_would_show() {
    for (wobble, now, verdict) in [
        (0.15, 104.0, Verdict::Unchanged), // Below T/2.
        (0.15, 109.0, Verdict::Unchanged), // One run in ten is as slow.
        (0.15, 111.0, Verdict::Inconclusive),
        (0.6, 100.0, Verdict::Inconclusive), // A run 1.5 times as slow may be as fast.
    ] {
        let found = one(question(around(50, wobble), &[now]));
        assert_eq!(found.verdict, verdict, "±{wobble} {now}: {found:?}");
    }
    // A change of more than half of the threshold and beyond the usual range of unchanged runs
    // needs a repeat.
    let spread: Vec<f64> = around(50, 0.02)
        .iter()
        .zip(0..)
        .map(|(time, at)| if at % 8 == 3 { time * 0.8 } else { *time })
        .collect();
    assert_eq!(one(question(spread.clone(), &[108.0])).verdict, Verdict::Inconclusive);
    assert_eq!(one(question(spread, &[104.0])).verdict, Verdict::Unchanged);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_common_slow_down_is_never_green(seed in 0..1_000_u64, cases in 1..20_usize, slower in 1.1..3.0_f64) {
        // The median of the earlier runs is not exactly 100, so the judged run is computed from
        // that median.
        let mut questions = suite(cases, seed, |_| 1.0);
        for question in &mut questions {
            let level = one(question.clone()).baseline;
            question.now = vec![level * slower * 1.000_001];
        }
        prop_assert!(!is_green(&judged(&questions)));
    }

    #[test]
    fn a_pass_excludes_half_again_as_slow_whatever_the_noise(before in figures(15..60), now in 1.0..1000.0_f64) {
        let found = one(question(before, &[now]));
        if matches!(found.verdict, Verdict::Unchanged) {
            prop_assert!(found.change < 0.1 && found.interval.unwrap()[1] < 0.5, "{:?}", found);
        }
    }

    #[test]
    fn the_order_of_cases_does_not_matter(seed in 0..1_000_u64, cases in 2..20_usize, slow in 0..20_usize) {
        let questions = suite(cases, seed, |at| if at == slow { 1.2 } else { 1.0 });
        let turned: Vec<Question> = questions.iter().rev().cloned().collect();
        let (plain, mut other) = (judged(&questions), judged(&turned));
        other.each.reverse();
        prop_assert_eq!(plain, other);
    }
}
