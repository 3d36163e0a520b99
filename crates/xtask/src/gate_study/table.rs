//! The study's tables, in Markdown.

use std::fmt::Write as _;

use rsb_model::Verdict;
use rsb_stats::estimate::{median, quantile};
use rsb_stats::rng::Rng;
use rsb_stats::trimmed::{Cut, trimmed};

use super::criterion_rule;
use super::recording::{RecordedCase, Recording};
use super::replay::{self, BASELINE_REPLICATES, Mode, SuiteVerdicts};

/// Error rates of one way to compare.
pub(super) fn of_modes(recording: &Recording, mode: Mode, suites: usize, factors: &[f64]) -> String {
    let title = match mode {
        Mode::Paired => "## `gate --against REV`: pairs, at its default budget of 3 min\n\n".to_owned(),
        Mode::Baseline => format!(
            "## A baseline of {BASELINE_REPLICATES} processes whose program is not kept, at a budget of 3 min\n\n"
        ),
        Mode::LaterBaseline => {
            "## The same record, the baseline from the first half of the recording and the run from the second\n\n"
                .to_owned()
        }
        Mode::KeptProgram => {
            "## `gate` where the program that made the baseline is kept: the same halves, suspects in pairs\n\n"
                .to_owned()
        }
    };
    let mut text = title
        + "| slow-down of a tenth of the cases | found | missed (Unchanged) | undecided | untouched cases Regressed | \
           suites with such a case | suites without verdict | median time to verdict |\n|---|---|---|---|---|---|---|---|\n";
    for &factor in factors {
        let ended: Vec<SuiteVerdicts> =
            (0..suites).map(|suite| replay::suite(recording, mode, factor, seed(suite, factor))).collect();
        let slowed: Vec<Verdict> = ended.iter().flat_map(|each| each.slowed.iter().copied()).collect();
        let untouched: Vec<Verdict> = ended.iter().flat_map(|each| each.untouched.iter().copied()).collect();
        let suites_where = |wanted: Verdict| {
            let has = |each: &&SuiteVerdicts| each.untouched.contains(&wanted);
            percent(ended.iter().filter(has).count(), ended.len())
        };
        let seconds: Vec<f64> = ended.iter().map(|each| each.seconds).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.0} s |",
            change(factor),
            share(&slowed, Verdict::Regressed),
            share(&slowed, Verdict::Unchanged),
            share(&slowed, Verdict::Inconclusive),
            share(&untouched, Verdict::Regressed),
            suites_where(Verdict::Regressed),
            suites_where(Verdict::Inconclusive),
            median(&seconds).unwrap_or_default(),
        );
    }
    text
}

/// Criterion's own rule on one process a side.
pub(super) fn of_criterion(recording: &Recording, suites: usize, factors: &[f64]) -> String {
    let mut text = "## Criterion's own rule on one process a side, the same samples\n\n\
                    | slow-down | called regressed |\n|---|---|\n"
        .to_owned();
    for &factor in factors {
        let mut rng = Rng::new(seed(1, factor));
        // A whole suite costs many resamples; a tenth as many tell the rate well enough.
        let tries = recording.cases.len() * suites.div_ceil(10);
        let mut regressed = 0;
        for n in 0..tries {
            let case = &recording.cases[n % recording.cases.len()];
            let mut process = || &case.pairs[rng.below(case.pairs.len())][rng.below(2)];
            let (before, after) = (process(), process());
            regressed += usize::from(criterion_rule::is_regressed(before, after, factor, &mut rng));
        }
        let _ = writeln!(text, "| {} | {} |", change(factor), percent(regressed, tries));
    }
    text
}

/// The smallest slow-down that so many pairs find in 95 % of tries at 1 % false alarms.
pub(super) fn of_resolution(recording: &Recording) -> String {
    const PAIRS: [usize; 2] = [5, 10];
    let mut text = "## Resolution of pairs: the smallest slow-down found in 95 % of tries at 1 % false alarms\n\n\
                    | case | 5 pairs | 10 pairs | a pair takes |\n|---|---|---|---|\n"
        .to_owned();
    for case in &recording.cases {
        let [few, many] = PAIRS.map(|count| 100.0 * resolution(case, count));
        let _ = writeln!(text, "| {} | {few:.1} % | {many:.1} % | {:.2} s |", case.result.benchmark_id, case.seconds);
    }
    text
}

fn resolution(case: &RecordedCase, pairs: usize) -> f64 {
    let ratios: Vec<f64> = case
        .pairs
        .iter()
        .filter_map(|[one, other]| {
            let (one, other) = (one.per_iteration().ok()?, other.per_iteration().ok()?);
            let ratios: Vec<f64> = one.iter().zip(&other).map(|(one, other)| (other / one).ln()).collect();
            Some(trimmed(&ratios, Cut::QUARTERS)?.mean)
        })
        .collect();
    let mut rng = Rng::new(7);
    let mut center = || {
        let drawn: Vec<f64> =
            (0..pairs).map(|_| ratios[rng.below(ratios.len())] * if rng.below(2) == 1 { -1.0 } else { 1.0 }).collect();
        trimmed(&drawn, Cut::both_ends(pairs)).map_or(0.0, |found| found.mean)
    };
    let centers: Vec<f64> = (0..10_000).map(|_| center()).collect();
    let at = |p| quantile(&centers, p).unwrap_or_default();
    (at(0.99) - at(0.05)).exp_m1()
}

fn seed(suite: usize, factor: f64) -> u64 {
    (suite as u64) << 16 | (factor * 1000.0) as u64
}

fn change(factor: f64) -> String {
    if factor > 1.0 { format!("+{:.0} %", 100.0 * (factor - 1.0)) } else { "none".to_owned() }
}

fn share(verdicts: &[Verdict], wanted: Verdict) -> String {
    percent(verdicts.iter().filter(|&&verdict| verdict == wanted).count(), verdicts.len())
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.2} %", 100.0 * part as f64 / whole as f64) }
}
