//! The study's tables, in Markdown.

use std::fmt::Write as _;

use rsb_model::{Samples, Verdict};
use rsb_stats::distribution::share_at_most;
use rsb_stats::estimate::{mean, median, quantile};
use rsb_stats::rng::Rng;
use rsb_stats::trimmed::{Cut, trimmed_mean};

use super::criterion_rule;
use super::recording::{RecordedCase, Recording};
use super::replay::{self, CaseVerdict, Change, Mode, SuiteVerdicts};

const STEP: usize = 3;

const FACTORS: [f64; 6] = [1.05, 1.08, 1.12, 1.15, 1.2, 1.5];

impl Mode {
    const ALL: [Self; 7] = [
        Self::Paired,
        Self::KeptProgram,
        Self::BuiltRevision,
        Self::Baseline,
        Self::LaterBaseline,
        Self::Apart,
        Self::ApartWithPast,
    ];

    const fn title(self) -> &'static str {
        match self {
            Self::Paired => "`gate --against REV`: pairs, budget 3 min",
            Self::KeptProgram => {
                "`gate`, the baseline's program kept: 10 and 5 processes, then suspects in pairs"
            }
            Self::BuiltRevision => {
                "`gate`, a baseline committed half a recording earlier, its revision built: the \
                 same"
            }
            Self::Baseline => "`gate`, its program not kept: 10 and 5 processes, budget 3 min",
            Self::LaterBaseline => "the stored baseline only, half a recording later",
            Self::Apart => "three saved runs per side, nothing remeasured",
            Self::ApartWithPast => "the same, with the noise of four earlier runs",
        }
    }
}

/// Judges suites of consecutive rounds, one starting at every third round.
fn suites(recording: &Recording, mode: Mode, change: Change) -> Vec<SuiteVerdicts> {
    (0..recording.rounds())
        .step_by(STEP)
        .map(|start| replay::suite(recording, mode, change, start))
        .collect()
}

fn count(of: &[CaseVerdict], wanted: Verdict) -> usize {
    of.iter().filter(|found| found.verdict == wanted).count()
}

/// Returns the table of verdicts of each mode on unchanged functions in two builds.
pub(super) fn unchanged_table(recording: &Recording) -> String {
    let mut text = "## Unchanged functions, in two builds\n\nEach suite begins three rounds after \
                    the previous one and takes consecutive rounds; bounds are exact, 95 %, \
                    one-sided, and those of suites count only suites that share no round (before \
                    anything is remeasured).\n\n| mode | cases | Regressed | at most | suites with \
                    one | disjoint suites | at most | suites without verdict | cases undecided (by \
                    their median alone) | median time \
                    |\n|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for mode in Mode::ALL {
        let ended = suites(recording, mode, Change::None);
        let all: Vec<CaseVerdict> =
            ended.iter().flat_map(|each| each.untouched.iter().copied()).collect();
        let regressed = count(&all, Verdict::Regressed);
        let disjoint: Vec<&SuiteVerdicts> =
            ended.iter().step_by(mode.length().div_ceil(STEP)).collect();
        let disjoint = &disjoint[..disjoint.len().min(recording.rounds() / mode.length()).max(1)];
        let wrong = ended.iter().filter(|each| is_wrong(each)).count();
        let of_disjoint = disjoint.iter().filter(|each| is_wrong(each)).count();
        let undecided = ended
            .iter()
            .filter(|each| !is_wrong(each) && count(&each.untouched, Verdict::Inconclusive) > 0);
        let by_median = all.iter().filter(|one| one.is_median_worse).count();
        let seconds: Vec<f64> = ended.iter().map(|each| each.seconds).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {regressed} ({}) | {} | {wrong} of {} | {} | {} | {} | {} ({}) | {:.0} s \
             |",
            mode.title(),
            all.len(),
            percent(regressed, all.len()),
            bound(regressed, all.len()),
            ended.len(),
            disjoint.len(),
            bound(of_disjoint, disjoint.len()),
            percent(undecided.count(), ended.len()),
            percent(count(&all, Verdict::Inconclusive), all.len()),
            percent(by_median, all.len()),
            median(&seconds).unwrap_or_default(),
        );
    }
    text
}

/// Returns whether the gate called an unchanged function Regressed.
fn is_wrong(suite: &SuiteVerdicts) -> bool {
    count(&suite.untouched, Verdict::Regressed) > 0
}

/// Returns the table of verdicts of each mode on functions slowed in the source.
pub(super) fn slowed_table(recording: &Recording) -> String {
    let mut text = "## Functions that do part of their work twice\n\n| case | really slower, by \
                    the median of all pairs |\n|---|---|\n"
        .to_owned();
    for case in recording.cases.iter().filter(|case| case.is_slowed) {
        let slower = median(&ratios(case)).unwrap_or_default().exp_m1();
        let _ = writeln!(text, "| {} | {:+.1} % |", case.result.benchmark_id, 100.0 * slower);
    }
    text += "\n| mode | tries | found | at least | missed (Unchanged) | undecided | with separate \
             processes: found | other cases Regressed |\n|---|---|---|---|---|---|---|---|\n";
    for mode in Mode::ALL {
        let ended = suites(recording, mode, Change::InSource);
        let slowed: Vec<CaseVerdict> =
            ended.iter().flat_map(|each| each.slowed.iter().copied()).collect();
        let others: Vec<CaseVerdict> =
            ended.iter().flat_map(|each| each.untouched.iter().copied()).collect();
        let separate: Vec<CaseVerdict> =
            slowed.iter().copied().filter(|one| one.is_separate).collect();
        let found = count(&slowed, Verdict::Regressed);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} of {} | {} |",
            mode.title(),
            slowed.len(),
            percent(found, slowed.len()),
            least(found, slowed.len()),
            percent(count(&slowed, Verdict::Unchanged), slowed.len()),
            percent(count(&slowed, Verdict::Inconclusive), slowed.len()),
            percent(count(&separate, Verdict::Regressed), separate.len()),
            separate.len(),
            percent(count(&others, Verdict::Regressed), others.len()),
        );
    }
    text
}

/// Returns the table of verdicts of each mode on slowdowns multiplied into a tenth of the other
/// cases.
pub(super) fn multiplied_table(recording: &Recording) -> String {
    let names: Vec<String> =
        FACTORS.iter().map(|factor| format!("+{:.0} %", 100.0 * (factor - 1.0))).collect();
    let mut text = format!(
        "## Slowdowns multiplied into the samples of a tenth of the other cases: found, and \
         undecided\n\n| mode | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for mode in Mode::ALL {
        let cells = FACTORS.map(|factor| {
            let ended = suites(recording, mode, Change::Multiplied(factor));
            let slowed: Vec<CaseVerdict> =
                ended.iter().flat_map(|each| each.slowed.iter().copied()).collect();
            let found = percent(count(&slowed, Verdict::Regressed), slowed.len());
            let undecided = percent(count(&slowed, Verdict::Inconclusive), slowed.len());
            format!("{found}, {undecided}")
        });
        let _ = writeln!(text, "| {} | {} |", mode.title(), cells.join(" | "));
    }
    text
}

/// Returns the table of verdicts by Criterion's rule and by a limit of 5 % on the means, with one
/// process per side from consecutive rounds.
pub(super) fn simple_rules(recording: &Recording) -> String {
    let mut text = "## Criterion's own rule, and 5 % on the means, on one process per side of the \
                    same samples\n\n| cases | comparisons | called regressed by Criterion's rule | \
                    mean above 1.05 |\n|---|---|---|---|\n"
        .to_owned();
    let mut rng = Rng::new(1);
    for (name, is_slowed) in [("unchanged", false), ("part of the work twice", true)] {
        let cases = recording.cases.iter().filter(|case| case.is_slowed == is_slowed);
        let (mut comparisons, mut criterion, mut means) = (0, 0, 0);
        for case in cases {
            for sides in case.rounds.windows(2) {
                let (before, after) = (&sides[0][0], &sides[1][1]);
                comparisons += 1;
                criterion += usize::from(criterion_rule::is_regressed(before, after, &mut rng));
                means += usize::from(mean_of(after) > 1.05 * mean_of(before));
            }
        }
        let shares = [criterion, means].map(|regressed| percent(regressed, comparisons));
        let _ = writeln!(text, "| {name} | {comparisons} | {} |", shares.join(" | "));
    }
    text
}

fn mean_of(samples: &Samples) -> f64 {
    samples.per_iteration().ok().and_then(|times| mean(&times)).unwrap_or(f64::NAN)
}

/// Returns the table of the smallest slowdown that 5 or 10 pairs find in 95 % of tries at 1 % false
/// alarms.
pub(super) fn resolution(recording: &Recording) -> String {
    const PAIRS: [usize; 2] = [5, 10];
    let mut text = "## Resolution of pairs: the smallest slowdown found in 95 % of tries at 1 % \
                    false alarms\n\n| case | 5 pairs | 10 pairs | a pair takes \
                    |\n|---|---|---|---|\n"
        .to_owned();
    for case in &recording.cases {
        let [few, many] = PAIRS.map(|count| 100.0 * resolution_of(case, count));
        let _ = writeln!(
            text,
            "| {} | {few:.1} % | {many:.1} % | {:.2} s |",
            case.result.benchmark_id, case.seconds
        );
    }
    text
}

/// Returns the logarithm of the time ratio of each pair.
fn ratios(case: &RecordedCase) -> Vec<f64> {
    let each = case.rounds.iter().filter_map(|[one, other]| {
        let (one, other) = (one.per_iteration().ok()?, other.per_iteration().ok()?);
        let ratios: Vec<f64> =
            one.iter().zip(&other).map(|(one, other)| (other / one).ln()).collect();
        Some(trimmed_mean(&ratios, Cut::QUARTERS)?.mean)
    });
    each.collect()
}

fn resolution_of(case: &RecordedCase, pairs: usize) -> f64 {
    let ratios = ratios(case);
    let middle = median(&ratios).unwrap_or_default();
    let mut rng = Rng::new(7);
    let mut centers = Vec::with_capacity(10_000);
    for _ in 0..10_000 {
        let drawn: Vec<f64> = (0..pairs)
            .map(|_| {
                (ratios[rng.below(ratios.len())] - middle)
                    * if rng.below(2) == 1 { -1.0 } else { 1.0 }
            })
            .collect();
        let center = trimmed_mean(&drawn, Cut::both_ends(pairs)).map_or(0.0, |found| found.mean);
        centers.push(center);
    }
    let low = quantile(&centers, 0.05).unwrap_or_default();
    let high = quantile(&centers, 0.99).unwrap_or_default();
    (high - low).exp_m1()
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.1} %", 100.0 * part as f64 / whole as f64)
    }
}

fn bound(part: usize, whole: usize) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.2} %", 100.0 * share_at_most(part, whole, 0.95))
    }
}

fn least(part: usize, whole: usize) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.1} %", 100.0 * (1.0 - share_at_most(whole - part, whole, 0.95)))
    }
}
