//! Error rates of the gate on synthetic machines with known changes.

#![allow(clippy::expect_used, missing_docs)]

mod common;

use common::{Noise, noisy, now, run};
use rsb_model::record::Comparison;
use rsb_model::{ReasonCode, Run, Verdict};
use rsb_stats::rng::Rng;
use rsb_stats::{Policy, gate};

const CASES: usize = 30;

/// Returns the noise of case `at`. Its processes vary by 1 to 3 %, depending on the case.
fn noise(at: usize) -> Noise {
    Noise { between: 0.01 + 0.02 * at as f64 / (CASES - 1) as f64, within: 0.01, spikes: 0.15 }
}

/// Builds a suite in which the first `changed` cases take `factor` times as long.
fn suite(rng: &mut Rng, replicates: u32, changed: usize, factor: f64) -> Vec<Run> {
    let each = (0..CASES).map(|at| {
        let time = 1000.0 * (at + 1) as f64 * if at < changed { factor } else { 1.0 };
        noisy(rng, &format!("case{at:02}"), time, replicates, noise(at))
    });
    let benchmarks = each.collect();
    vec![run("run", benchmarks)]
}

/// Shares of verdicts among the first `of` cases of `rounds` comparisons, and share of suites
/// called Regressed. Cases that are undecided only because of the median check are counted
/// separately.
#[derive(Debug)]
struct Rates {
    regressed: f64,
    undecided: f64,
    median_worse: f64,
    suites: f64,
}

/// Returns whether only the median check prevents a pass.
fn is_median_worse(row: &Comparison) -> bool {
    row.reason_code == ReasonCode::MedianWorse
}

fn rates(seed: u64, rounds: usize, replicates: u32, (changed, factor): (usize, f64)) -> Rates {
    let mut rng = Rng::new(seed);
    let (mut regressed, mut undecided, mut median_worse, mut suites) = (0, 0, 0, 0);
    let of = if changed == 0 { CASES } else { changed };
    for _ in 0..rounds {
        let baseline = suite(&mut rng, replicates, 0, 1.0);
        let current = suite(&mut rng, replicates, changed, factor);
        let result = gate(&baseline, &current, &Policy::default(), &[], now());
        let count =
            |verdict| result.comparisons.iter().take(of).filter(|c| c.verdict == verdict).count();
        regressed += count(Verdict::Regressed);
        let worse = result.comparisons.iter().take(of).filter(|row| is_median_worse(row)).count();
        undecided += count(Verdict::Inconclusive) - worse;
        median_worse += worse;
        suites += usize::from(result.verdict == Verdict::Regressed);
    }
    let all = (rounds * of) as f64;
    let rates = Rates {
        regressed: regressed as f64 / all,
        undecided: undecided as f64 / all,
        median_worse: median_worse as f64 / all,
        suites: suites as f64 / rounds as f64,
    };
    println!("seed {seed}, {replicates} replicates, {changed} cases × {factor}: {rates:?}");
    rates
}

#[test]
fn identical_code_is_called_regressed_in_at_most_one_suite_in_twenty() {
    let rates = rates(11, 200, 3, (0, 1.0));
    assert!(rates.regressed <= 0.002 && rates.suites <= 0.05, "{rates:?}");
}

#[test]
fn fifteen_percent_is_found() {
    let rates = rates(12, 100, 3, (5, 1.15));
    assert!(rates.regressed >= 0.95 && rates.suites >= 0.99, "{rates:?}");
}

#[test]
fn a_shift_that_every_case_shares_is_found() {
    let rates = rates(13, 30, 3, (CASES, 1.2));
    assert!(rates.regressed >= 0.98, "{rates:?}");
}

#[test]
fn eight_percent_under_a_threshold_of_ten_is_seldom_called_regressed() {
    let rates = rates(14, 100, 5, (1, 1.08));
    assert!(rates.regressed <= 0.02, "{rates:?}");
}

#[test]
fn unchanged_suites_seldom_end_without_a_verdict() {
    let rates = rates(15, 100, 5, (0, 1.0));
    assert!(rates.undecided <= 0.002 && rates.median_worse <= 0.002, "{rates:?}");
}

#[test]
fn one_run_a_side_gives_no_false_alarm_and_still_finds_half() {
    let quiet = rates(16, 200, 1, (0, 1.0));
    assert!(quiet.suites <= 0.05 && quiet.median_worse <= 0.005, "{quiet:?}");
    let slow = rates(17, 50, 1, (10, 1.5));
    assert!(slow.regressed >= 0.95, "changes in up to half of the cases must be found: {slow:?}");
}

/// Builds three runs per side of twelve cases, one of which takes `factor` times as long. A share
/// of the processes is slowed by up to 80 % for their whole life. In the other processes most
/// samples are disturbed, so that only the fastest samples are usable.
fn busy(rng: &mut Rng, share: f64, factor: f64) -> Vec<Run> {
    let mut case = |at: u32| {
        let time = 1000.0 * f64::from(at + 1) * if at == 0 { factor } else { 1.0 };
        let noise = Noise { between: 0.003, within: 0.01, spikes: 0.7 };
        let mut result = noisy(rng, &format!("case{at:02}"), time, 3, noise);
        for samples in &mut result.samples {
            let disturbed = if rng.uniform() < share { 1.1 + 0.7 * rng.uniform() } else { 1.0 };
            samples.times_ns.iter_mut().for_each(|time| *time *= disturbed);
        }
        result
    };
    vec![run("run", (0..12).map(&mut case).collect())]
}

/// Counts over 100 such comparisons. Of the 100 changed cases: those judged correctly, and those
/// called Unchanged. Of the 1100 unchanged cases: those that are undecided, those that would pass
/// without the median check, and those that are falsely Regressed. Finally, the comparisons with an
/// undecided unchanged case, not counting the median check.
#[derive(Debug)]
struct Busy {
    right: usize,
    missed: usize,
    undecided: usize,
    median_worse: usize,
    wrong: usize,
    suites_undecided: usize,
}

fn told(seed: u64, share: f64, factor: f64) -> Busy {
    let mut rng = Rng::new(seed);
    let mut busy_suite = |factor: f64| busy(&mut rng, share, factor);
    let mut told =
        Busy { right: 0, missed: 0, undecided: 0, median_worse: 0, wrong: 0, suites_undecided: 0 };
    for _ in 0..100 {
        let result = gate(&busy_suite(1.0), &busy_suite(factor), &Policy::default(), &[], now());
        let (first, others) = result.comparisons.split_first().expect("twelve cases");
        let expected = if factor > 1.0 { Verdict::Regressed } else { Verdict::Improved };
        let count = |verdict| others.iter().filter(|each| each.verdict == verdict).count();
        told.right += usize::from(first.verdict == expected);
        told.missed += usize::from(first.verdict == Verdict::Unchanged);
        let worse = others.iter().filter(|row| is_median_worse(row)).count();
        let undecided = count(Verdict::Inconclusive) - worse;
        told.undecided += undecided;
        told.median_worse += worse;
        told.suites_undecided += usize::from(undecided > 0);
        told.wrong += count(Verdict::Regressed);
    }
    println!("{share} disturbed, one case × {factor}: {told:?}");
    told
}

#[test]
fn three_runs_on_a_busy_machine_tell_a_fifth_from_nothing() {
    for factor in [1.2, 0.8] {
        let told = told(18, 1.0 / 8.0, factor);
        // In one of 500 comparisons all three processes of a side are disturbed, which cannot be
        // detected.
        assert!(
            told.right >= 80
                && told.undecided <= 20
                && told.suites_undecided <= 15
                && told.wrong <= 4,
            "{told:?}"
        );
        assert!(
            told.median_worse <= 100,
            "at most 100 cases may be undecided by the median alone: {told:?}"
        );
    }
}

#[test]
fn on_a_very_busy_machine_a_fifth_is_doubted_and_hardly_ever_denied() {
    let told = told(19, 1.0 / 3.0, 1.2);
    assert!(told.missed <= 5 && told.wrong <= 15 && told.undecided <= 230, "{told:?}");
}
