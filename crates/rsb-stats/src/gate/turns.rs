//! Pairs whose replicates are whole processes that took turns. The distribution of their samples is
//! judged, and a slowdown counts only after later pairs confirm it.
//!
//! The change of a case is that of its fastest samples, which a busy machine disturbs least. Code
//! that became slower only some of the time still has the same fastest samples, so the median and
//! the upper quartile are compared as well.

use std::collections::BTreeMap;

use rsb_model::record::{Comparison, ComparisonResult};
use rsb_model::{Better, CaseId, ReasonCode, Run, Timestamp, Unit, Verdict};

use super::{Pairing, Sides, judge, reason, summary, timed};
use crate::compare::{ErrorRates, Pair, Side, compare};
use crate::conclusion::CaseConclusion;
use crate::estimate::{mean, median, quantile, std_dev};
use crate::policy::Policy;

/// Minimum number of pairs for a verdict of Regressed or Improved. A host that is slow for a second
/// slows one process of a pair by two thirds. The probability that n pairs agree by chance, so that
/// their spread shows no noise, is 1/2ⁿ.
const LEAST_PAIRS: usize = 7;

/// Minimum number of pairs for a verdict of Unchanged.
const LEAST_PASSING_PAIRS: usize = 3;

/// Minimum number of pairs for a verdict if the change of every pair is at least [`LARGE_PERCENT`]
/// and the times of the sides do not overlap. Such a change needs no confirmation.
const LEAST_LARGE_PAIRS: usize = 5;

/// Minimum change of each pair, in percent, for a large change; never less than the threshold. This
/// value was chosen without a study of how often unchanged code shows such a change in five pairs.
const LARGE_PERCENT: f64 = 50.0;

/// Number of pairs that must confirm a change, measured after the case was first called slower or
/// faster.
const CONFIRMING_PAIRS: usize = 5;

/// Minimum number of samples on each side of a pair to compare quartiles.
const LEAST_SAMPLES: usize = 3;

/// A sample counts as interrupted if it takes more than this many times as long as the fastest
/// sample of its side: a time slice of another program makes it several times as long.
const INTERRUPTED: f64 = 1.5;

/// Increase of the share of interrupted samples, less two standard errors, from which a case cannot
/// pass. With fewer than [`LEAST_PAIRS`] pairs, an increase of twice this value is enough, whatever
/// its standard error.
const SHARE_GROWN: f64 = 0.1;

/// Share of interrupted samples above which Unchanged or Improved needs [`LEAST_PAIRS`] pairs.
const MOSTLY_INTERRUPTED_SHARE: f64 = 0.4;

/// A change of the median or a quartile of at least this many thresholds can be Regressed.
const CLEAR_CHANGE_FACTOR: f64 = 1.5;

/// A case passes only if the intervals of its median and its upper quartile end below this many
/// thresholds.
const EXCLUDED_CHANGE_FACTOR: f64 = 2.0;

/// Compares two runs whose replicates took turns on one machine, the n-th of one with the n-th of
/// the other. Verdicts of Regressed are not confirmed yet.
pub fn gate_in_turns(
    baseline: &Run,
    current: &Run,
    policy: &Policy,
    now: Timestamp,
) -> ComparisonResult {
    first_sight(baseline, current, policy, now).0
}

/// First time that a case was called slower or faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstCall {
    /// Regressed or Improved.
    pub verdict: Verdict,
    /// Number of pairs measured until then.
    pub pairs: usize,
}

/// Compares like [`gate_in_turns`], but a case is Regressed or Improved only if the pairs measured
/// after its first call confirm at least half of the threshold. By then, a disturbance of the first
/// pairs is over or affects both sides. Without confirmation, judging again and again would find
/// changes by chance. A large change in every pair needs no confirmation.
pub fn gate_in_turns_confirmed(
    baseline: &Run,
    current: &Run,
    called: &BTreeMap<CaseId, FirstCall>,
    policy: &Policy,
    now: Timestamp,
) -> ComparisonResult {
    let (mut result, statistics) = first_sight(baseline, current, policy, now);
    for row in result.comparisons.iter_mut().filter(|row| is_called(row)) {
        let statistic = statistics.get(&row.id).copied().unwrap_or(Statistic::Fastest);
        let pairs = pairs_of(&row.id, [baseline, current]).unwrap_or_default();
        if large_change(&pairs, row.threshold_percent) == Some(row.verdict) {
            continue;
        }
        let first = called.get(&row.id).filter(|first| first.verdict == row.verdict);
        let later = first.map_or(pairs.len(), |first| first.pairs.min(pairs.len()));
        let sign = if row.verdict == Verdict::Improved { -1.0 } else { 1.0 };
        let least_change = sign * row.threshold_percent / 2.0;
        if let Some(doubt) = unconfirmed_reason(&pairs[later..], statistic, least_change) {
            withhold(row, ReasonCode::NotRepeated, &format!(", but {doubt}"));
        }
    }
    refresh_summary(result, policy)
}

fn is_called(row: &Comparison) -> bool {
    matches!(row.verdict, Verdict::Regressed | Verdict::Improved) && row.metric == timed::TIME
}

/// Withdraws the verdict of `row` for lack of evidence, and appends `doubt` to its reason. A case
/// that looks faster becomes Unchanged, because its interval excludes a slowdown; any other becomes
/// Inconclusive.
fn withhold(row: &mut Comparison, code: ReasonCode, doubt: &str) {
    if row.verdict == Verdict::Improved {
        row.verdict = Verdict::Unchanged;
    } else {
        row.verdict = Verdict::Inconclusive;
        row.change_status = None;
    }
    row.reason_code = code;
    row.reason.push_str(doubt);
}

/// Returns Regressed or Improved if every pair shows a large change in the same direction and the
/// times of the two sides do not overlap; otherwise `None`.
fn large_change(pairs: &[PairTimes], threshold_percent: f64) -> Option<Verdict> {
    let fastest: Option<Vec<[f64; 2]>> =
        pairs.iter().map(|pair| pair.values(Statistic::Fastest)).collect();
    let fastest = fastest.filter(|pairs| pairs.len() >= LEAST_LARGE_PAIRS)?;
    let factor = 1.0 + LARGE_PERCENT.max(threshold_percent) / 100.0;
    let is_slower = |slow: usize| {
        let fast = 1 - slow;
        let highest = fastest.iter().map(|pair| pair[fast]).fold(0.0, f64::max);
        fastest.iter().all(|pair| pair[slow] >= factor * pair[fast] && pair[slow] > highest)
    };
    if is_slower(1) {
        Some(Verdict::Regressed)
    } else if is_slower(0) {
        Some(Verdict::Improved)
    } else {
        None
    }
}

/// Sets the `verdict` of `row`, the median change of its pairs, and the range of their changes as
/// the interval.
fn take_large_change(row: &mut Comparison, verdict: Verdict, pairs: &[PairTimes]) {
    let ratios: Vec<f64> =
        pairs.iter().filter_map(|pair| pair.log_ratio(Statistic::Fastest)).collect();
    let change = |ratio: f64| ratio.exp_m1();
    let low = change(ratios.iter().copied().fold(f64::INFINITY, f64::min));
    let high = change(ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let middle = change(median(&ratios).unwrap_or_default());
    row.verdict = verdict;
    row.difference_percent = Some(100.0 * middle);
    row.confidence_interval = Some([100.0 * low, 100.0 * high]);
    row.change_status = Some(crate::conclusion::band(middle));
    (row.reason_code, row.reason) = reason::of_large_change(middle, [low, high], pairs.len(), row);
}

/// Returns the reason why the pairs measured later do not confirm a change of `least_change`
/// percent, a minimum or, if it is negative, a maximum; `None` if they confirm it.
fn unconfirmed_reason(
    later: &[PairTimes],
    statistic: Statistic,
    least_change: f64,
) -> Option<String> {
    let pairs = later.len();
    if pairs < CONFIRMING_PAIRS {
        return Some(format!(
            "only {pairs} of the {CONFIRMING_PAIRS} pairs that must confirm it were measured: \
             allow more time"
        ));
    }
    let ratios: Option<Vec<f64>> = later.iter().map(|pair| pair.log_ratio(statistic)).collect();
    let change = ratios.and_then(|ratios| median(&ratios)).map(|log| 100.0 * log.exp_m1());
    match change {
        Some(change) if change / least_change >= 1.0 => None,
        Some(change) => Some(format!("{pairs} pairs measured later show {change:+.1} %")),
        None => Some("the pairs measured later have too few samples".to_owned()),
    }
}

/// Statistic of the samples of one side of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistic {
    /// The fastest sample.
    Fastest,
    /// The median.
    Median,
    /// The upper quartile of the samples that were not interrupted.
    UninterruptedUpperQuartile,
    /// The upper quartile of all samples.
    UpperQuartile,
}

impl Statistic {
    /// Statistics that are compared in addition to the fastest sample.
    const OF_DISTRIBUTION: [Self; 3] =
        [Self::Median, Self::UninterruptedUpperQuartile, Self::UpperQuartile];

    /// Returns the statistic for one side of a pair, in nanoseconds; `None` if there are too few
    /// samples.
    fn of(self, times: &[f64]) -> Option<f64> {
        let fastest = times.iter().copied().reduce(f64::min)?;
        if self == Self::Fastest {
            return Some(fastest);
        }
        if times.len() < LEAST_SAMPLES {
            return None;
        }
        match self {
            Self::Fastest => Some(fastest),
            Self::Median => median(times),
            Self::UpperQuartile => quantile(times, 0.75),
            Self::UninterruptedUpperQuartile => {
                let kept: Vec<f64> =
                    times.iter().copied().filter(|time| *time <= INTERRUPTED * fastest).collect();
                quantile(&kept, 0.75)
            }
        }
    }

    /// Returns the reason why `finding` denies a pass, if it does. The upper quartile of all
    /// samples reacts to every other program on the machine. With [`LEAST_PAIRS`] pairs or more, it
    /// therefore denies a pass only if it is clearly slower.
    fn doubt(self, finding: &CaseConclusion, threshold: f64, pairs: usize) -> Option<String> {
        let [low, high] = finding.interval?;
        let counts = self != Self::UpperQuartile || pairs < LEAST_PAIRS || low > 0.0;
        if finding.change >= threshold && counts {
            Some(format!(
                "the {} of its samples is {} slower",
                self.name(),
                reason::percent_of(finding.change)
            ))
        } else if high >= EXCLUDED_CHANGE_FACTOR * threshold && self != Self::UpperQuartile {
            Some(format!(
                "the {} of its samples may be {} slower",
                self.name(),
                reason::percent_of(high)
            ))
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fastest => "fastest",
            Self::Median => "median",
            Self::UninterruptedUpperQuartile | Self::UpperQuartile => "upper quartile",
        }
    }
}

/// Times of an iteration in nanoseconds for each sample of a pair, baseline and current.
struct PairTimes([Vec<f64>; 2]);

impl PairTimes {
    fn values(&self, statistic: Statistic) -> Option<[f64; 2]> {
        Some([statistic.of(&self.0[0])?, statistic.of(&self.0[1])?])
    }

    fn log_ratio(&self, statistic: Statistic) -> Option<f64> {
        let [before, after] = self.values(statistic)?;
        Some((after / before).ln())
    }

    /// Returns the shares of interrupted samples, baseline and current.
    fn interrupted_shares(&self) -> [f64; 2] {
        self.0.each_ref().map(|times| {
            let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
            times.iter().filter(|time| **time > INTERRUPTED * fastest).count() as f64
                / times.len().max(1) as f64
        })
    }
}

/// Returns the pairs of a case; `None` if a side has none, or their numbers differ.
fn pairs_of(id: &CaseId, runs: [&Run; 2]) -> Option<Vec<PairTimes>> {
    let [before, after] =
        runs.map(|run| run.benchmarks.iter().find(|known| known.benchmark_id == *id));
    let (before, after) = (before?, after?);
    if before.samples.len() != after.samples.len() {
        return None;
    }
    let both = before.samples.iter().zip(&after.samples);
    both.map(|(before, after)| {
        Some(PairTimes([before.per_iteration().ok()?, after.per_iteration().ok()?]))
    })
    .collect()
}

/// Returns the verdicts before confirmation and, for each case that is Regressed by a statistic
/// other than its fastest samples, this statistic.
fn first_sight(
    baseline: &Run,
    current: &Run,
    policy: &Policy,
    now: Timestamp,
) -> (ComparisonResult, BTreeMap<CaseId, Statistic>) {
    let [before, after] = [baseline, current].map(std::slice::from_ref);
    let sides = Sides { baseline: before, current: after, pairing: Pairing::Turns };
    let mut result = judge(&sides, policy, &[], now);
    let mut statistics = BTreeMap::new();
    for shape in shapes(&result, [baseline, current], policy) {
        let row = &mut result.comparisons[shape.row];
        if let Some(statistic) = shape.judge(row, policy) {
            statistics.insert(row.id.clone(), statistic);
        }
    }
    for row in &mut result.comparisons {
        if row.metric == timed::TIME
            && let Some(pairs) = pairs_of(&row.id, [baseline, current])
        {
            require_pairs(row, &pairs);
        }
    }
    (refresh_summary(result, policy), statistics)
}

/// Withdraws a verdict that is based on too few pairs, and sets a verdict if every pair shows a
/// large change.
fn require_pairs(row: &mut Comparison, pairs: &[PairTimes]) {
    let count = pairs.len();
    let large = large_change(pairs, row.threshold_percent);
    if let Some(verdict) = large.filter(|_| row.reason_code.can_be_remeasured()) {
        take_large_change(row, verdict, pairs);
        return;
    }
    let needed = match row.verdict {
        Verdict::Regressed | Verdict::Improved if large.is_none() => LEAST_PAIRS,
        Verdict::Unchanged => LEAST_PASSING_PAIRS,
        _ => return,
    };
    if count < needed {
        let pairs = if count == 1 { "pair" } else { "pairs" };
        let doubt = format!("; in {count} {pairs} of processes, and a verdict needs {needed}");
        withhold(row, ReasonCode::TooFewSamples, &doubt);
    }
}

fn refresh_summary(mut result: ComparisonResult, policy: &Policy) -> ComparisonResult {
    result.verdict = summary::overall(&result.comparisons);
    result.summary = summary::summarize(&result.comparisons, &result.threshold_checks, policy);
    result
}

/// A mean and its standard error.
struct MeanWithError {
    mean: f64,
    error: f64,
}

/// Change of the distribution of a case.
struct Shape {
    /// Position of its row.
    row: usize,
    findings: Vec<(Statistic, Pair, CaseConclusion)>,
    /// Growth of the share of interrupted samples: the mean over the pairs and its standard error.
    share_grown: MeanWithError,
    /// Whether so many samples were interrupted that the rest of a few pairs may agree by chance.
    is_mostly_interrupted: bool,
    /// Number of measured pairs.
    pairs: usize,
    /// Number of comparisons that were judged together.
    questions: usize,
}

/// Judges the distributions of all cases with a compared time together.
fn shapes(result: &ComparisonResult, runs: [&Run; 2], policy: &Policy) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut statistics: Vec<(usize, Statistic, Pair)> = Vec::new();
    for (row, comparison) in result.comparisons.iter().enumerate() {
        if comparison.metric != timed::TIME || comparison.confidence_interval.is_none() {
            continue;
        }
        let Some(pairs) = pairs_of(&comparison.id, runs) else { continue };
        let shares: Vec<[f64; 2]> = pairs.iter().map(PairTimes::interrupted_shares).collect();
        let grown: Vec<f64> = shares.iter().map(|[before, after]| after - before).collect();
        let share_grown = MeanWithError {
            mean: mean(&grown).unwrap_or_default(),
            error: std_dev(&grown).unwrap_or(f64::INFINITY) / (grown.len() as f64).sqrt(),
        };
        let is_mostly_interrupted =
            mean(&shares.concat()).is_some_and(|share| share > MOSTLY_INTERRUPTED_SHARE);
        for statistic in Statistic::OF_DISTRIBUTION {
            let values: Option<Vec<[f64; 2]>> =
                pairs.iter().map(|pair| pair.values(statistic)).collect();
            let pair =
                values.and_then(|values| pair_of(&values, comparison.threshold_percent / 100.0));
            statistics.extend(pair.map(|pair| (shapes.len(), statistic, pair)));
        }
        shapes.push(Shape {
            row,
            findings: Vec::new(),
            share_grown,
            is_mostly_interrupted,
            pairs: pairs.len(),
            questions: 0,
        });
    }
    let pairs: Vec<Pair> = statistics.iter().map(|(_, _, pair)| pair.clone()).collect();
    let questions = pairs.len();
    let findings = compare(&pairs, ErrorRates { alpha: policy.alpha(), miss: policy.miss() });
    for ((shape, statistic, pair), finding) in statistics.into_iter().zip(findings) {
        shapes[shape].questions = questions;
        shapes[shape].findings.push((statistic, pair, finding));
    }
    shapes
}

/// Returns the values of both sides, in nanoseconds, as a pair to compare.
fn pair_of(values: &[[f64; 2]], threshold: f64) -> Option<Pair> {
    let [baseline, current] =
        [0, 1].map(|side| Side::new(values.iter().map(|pair| pair[side] / 1e6).collect()));
    let ratios = values.iter().map(|[before, after]| (after / before).ln()).collect();
    Some(Pair {
        baseline: baseline?,
        current: current?,
        ratios: Some(ratios),
        unit: Unit::Milliseconds,
        better: Better::Lower,
        threshold,
    })
}

impl Shape {
    /// Returns whether clearly more samples are interrupted on the current side. For the first few
    /// pairs, a large increase is enough.
    fn has_more_interrupted(&self) -> bool {
        let MeanWithError { mean, error } = self.share_grown;
        mean - 2.0 * error > SHARE_GROWN || (self.pairs < LEAST_PAIRS && mean > 2.0 * SHARE_GROWN)
    }

    /// Changes `row` if the distribution of its samples became slower. Returns the statistic that
    /// made it Regressed.
    fn judge(&self, row: &mut Comparison, policy: &Policy) -> Option<Statistic> {
        if row.verdict == Verdict::Regressed {
            return None;
        }
        let clear = self.findings.iter().find(|(_, pair, finding)| {
            finding.verdict == Verdict::Regressed
                && finding.change >= CLEAR_CHANGE_FACTOR * pair.threshold
        });
        if let Some((statistic, pair, finding)) = clear {
            let context = reason::ReasonContext { pairs: self.questions, alpha: policy.alpha() };
            let reason = reason::of_statistic(pair, finding, context, statistic.name());
            let found = timed::comparison(row.id.clone(), timed::TIME, pair, finding, context);
            *row = Comparison { reason, ..found };
            return Some(*statistic);
        }
        if !matches!(row.verdict, Verdict::Unchanged | Verdict::Improved) {
            return None;
        }
        let mut findings = self.findings.iter();
        let doubt = findings.find_map(|(statistic, pair, finding)| {
            statistic.doubt(finding, pair.threshold, self.pairs)
        });
        let doubt = if let Some(doubt) = doubt {
            doubt
        } else if self.has_more_interrupted() {
            format!("more of its samples take over {INTERRUPTED} times as long as the fastest")
        } else if self.is_mostly_interrupted && self.pairs < LEAST_PAIRS {
            "most of its samples were interrupted, and there are few pairs".to_owned()
        } else {
            return None;
        };
        row.verdict = Verdict::Inconclusive;
        row.reason_code = ReasonCode::MedianWorse;
        row.change_status = None;
        row.reason = format!("{}, but {doubt}: measure longer", row.reason);
        None
    }
}

#[cfg(test)]
mod tests;
