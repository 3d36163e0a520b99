//! Judges every run of a series against the runs before it.

use rsb_model::{Better, Verdict};
use rsb_stats::CaseConclusion;
use rsb_stats::compare::ErrorRates;
use rsb_stats::estimate::{mean, median, std_dev};
use rsb_stats::history::{LEVEL, Question, QuestionRole, RUNS, Rule, judge};

use super::series::{Part, RecordedSeries};
use super::whole::format_bounded_share;

/// Threshold of the gate if the policy sets none.
pub(super) const THRESHOLD: f64 = 0.1;

/// A rule that decides whether a run is Regressed.
#[derive(Debug, Clone, Copy)]
pub(super) enum RegressionRule {
    /// The gate's rule, with `repeats` runs after the judged one as its repeats.
    History { rule: Rule, repeats: usize },
    /// Worse than the previous run by more than this factor.
    Previous(f64),
    /// Worse than the median of the previous five runs by more than this factor.
    MedianOfFive(f64),
    /// Worse than the mean of the previous runs by more than this number of standard deviations.
    Sigmas(f64),
}

impl RegressionRule {
    fn verdict(self, better: Better, before: &[f64], now: &[f64]) -> Verdict {
        let first = now.first().copied().unwrap_or(f64::NAN);
        let last_five = before.get(before.len().saturating_sub(5)..).unwrap_or_default();
        let is_regressed = match self {
            Self::History { rule, .. } => {
                return judge_run(better, before, now, rule)
                    .map_or(Verdict::Inconclusive, |found| found.verdict);
            }
            Self::Previous(factor) => slowdown(better, before.last().copied(), first) > factor,
            Self::MedianOfFive(factor) => slowdown(better, median(last_five), first) > factor,
            Self::Sigmas(count) => {
                mean(before).zip(std_dev(before)).is_some_and(|(level, sigma)| match better {
                    Better::Lower => first > level + count * sigma,
                    Better::Higher => first < level - count * sigma,
                })
            }
        };
        if is_regressed { Verdict::Regressed } else { Verdict::Unchanged }
    }

    const fn repeats(self) -> usize {
        match self {
            Self::History { repeats, .. } => repeats,
            _ => 0,
        }
    }
}

/// Returns by what factor `now` is worse than `level`; 0 without a level.
fn slowdown(better: Better, level: Option<f64>, now: f64) -> f64 {
    match (better, level) {
        (_, None) => 0.0,
        (Better::Lower, Some(level)) => now / level,
        (Better::Higher, Some(level)) => level / now,
    }
}

fn judge_run(better: Better, before: &[f64], now: &[f64], rule: Rule) -> Option<CaseConclusion> {
    let (before, now) = (before.to_vec(), now.to_vec());
    let question = Question {
        before,
        accepted_from: None,
        now,
        better,
        threshold: THRESHOLD,
        slack: 0.0,
        role: QuestionRole::Apart,
    };
    judge(&[question], &rule, ErrorRates::USUAL).each.pop()
}

/// Counts of verdicts on one or several series.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) checks: usize,
    /// Number of Regressed runs for each factor.
    regressed: Vec<usize>,
    /// Number of undecided unchanged runs.
    undecided: usize,
    improved: usize,
}

impl Tally {
    /// Returns the share of Regressed runs with the factor at index `factor`.
    pub(super) fn regressed_share(&self, factor: usize) -> f64 {
        self.share(self.regressed.get(factor).copied().unwrap_or_default())
    }

    /// Returns the share of unchanged runs without a verdict.
    pub(super) fn undecided_share(&self) -> f64 {
        self.share(self.undecided)
    }

    /// Returns the share of unchanged runs called Improved.
    pub(super) fn improved_share(&self) -> f64 {
        self.share(self.improved)
    }

    /// Returns the share of unchanged runs called Regressed, with its upper bound.
    pub(super) fn false_alarms(&self) -> String {
        format_bounded_share(self.regressed.first().copied().unwrap_or_default(), self.checks)
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.checks as f64
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut all, one| {
            all.checks += one.checks;
            all.undecided += one.undecided;
            all.improved += one.improved;
            all.regressed.resize(all.regressed.len().max(one.regressed.len()), 0);
            all.regressed.iter_mut().zip(&one.regressed).for_each(|(all, one)| *all += one);
            all
        })
    }
}

/// Returns each run in `part` of `series` that can be judged, with its `repeats` repeats, and the
/// runs before it.
fn checks(
    series: &RecordedSeries,
    part: Part,
    repeats: usize,
) -> impl Iterator<Item = (&[f64], &[f64])> {
    let ends = LEVEL + repeats + 1..=series.values.len();
    ends.filter_map(move |end| {
        let at = end - repeats - 1;
        (series.part_of(at) == part).then_some(())?;
        Some((series.values.get(at.saturating_sub(RUNS)..at)?, series.values.get(at..end)?))
    })
}

/// Judges every run in `part` that has enough runs before it, slowed by each of `factors`. The
/// first factor must be 1.
pub(super) fn replay(
    series: &RecordedSeries,
    part: Part,
    way: RegressionRule,
    factors: &[f64],
) -> Tally {
    let mut tally = Tally { regressed: vec![0; factors.len()], ..Tally::default() };
    for (before, now) in checks(series, part, way.repeats()) {
        tally.checks += 1;
        for (at, factor) in factors.iter().enumerate() {
            let slowed: Vec<f64> =
                now.iter().map(|value| slower(*value, *factor, series.better)).collect();
            let verdict = way.verdict(series.better, before, &slowed);
            tally.regressed[at] += usize::from(verdict == Verdict::Regressed);
            tally.undecided += usize::from(at == 0 && verdict == Verdict::Inconclusive);
            tally.improved += usize::from(at == 0 && verdict == Verdict::Improved);
        }
    }
    tally
}

/// Returns the shares of unchanged runs whose interval is entirely slower, and entirely faster,
/// than no change.
pub(super) fn outside(series: &[RecordedSeries], part: Part, rule: Rule) -> [f64; 2] {
    let (mut above, mut below, mut all) = (0_usize, 0_usize, 0_usize);
    for one in series {
        for (before, now) in checks(one, part, 0) {
            let interval =
                judge_run(one.better, before, now, rule).and_then(|found| found.interval);
            above += usize::from(interval.is_some_and(|[low, _]| low > 0.0));
            below += usize::from(interval.is_some_and(|[_, high]| high < 0.0));
            all += 1;
        }
    }
    [above, below].map(|count| count as f64 / all as f64)
}

pub(super) fn slower(value: f64, factor: f64, better: Better) -> f64 {
    match better {
        Better::Lower => value * factor,
        Better::Higher => value / factor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_study::series::every_second;

    #[test]
    fn each_way_has_its_limit_on_the_bad_side() {
        let before = [90.0, 110.0, 100.0, 95.0, 105.0, 100.0];
        for (way, fine, regressed) in [
            (RegressionRule::Previous(1.1), 109.0, 111.0),
            (RegressionRule::MedianOfFive(1.2), 119.0, 121.0),
            (RegressionRule::Sigmas(3.0), 120.0, 123.0),
        ] {
            for (better, turned) in [(Better::Lower, false), (Better::Higher, true)] {
                let before = before.map(|value| turn(value, turned));
                // Three standard deviations of the reciprocals lie a little further out.
                for (now, expected) in
                    [(fine, Verdict::Unchanged), (regressed * 1.03, Verdict::Regressed)]
                {
                    let found = way.verdict(better, &before, &[turn(now, turned)]);
                    assert_eq!(found, expected, "{way:?} {better:?}");
                }
            }
        }
    }

    fn turn(value: f64, turned: bool) -> f64 {
        if turned { 10_000.0 / value } else { value }
    }

    #[test]
    fn checks_begin_with_a_full_level_and_end_with_the_last_repeat() {
        let series = every_second("a", Better::Lower, (0..70).map(f64::from).collect());
        let [first, second] =
            [Part::First, Part::Second].map(|part| checks(&series, part, 2).count());
        assert_eq!((first, second), (42 - LEVEL, 28 - 2));
        let all: Vec<_> = [Part::First, Part::Second]
            .into_iter()
            .flat_map(|part| checks(&series, part, 2))
            .collect();
        assert_eq!((all[0].0.len(), all[0].1), (LEVEL, &[15.0, 16.0, 17.0][..]));
        let last = all.last().unwrap();
        assert_eq!((last.0.len(), last.0[0], last.1), (RUNS, 17.0, &[67.0, 68.0, 69.0][..]));
    }
}
