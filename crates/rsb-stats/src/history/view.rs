//! One question as logarithms: the level and the noise of the runs before, and the judged runs.

use rsb_model::{ReasonCode, Verdict};

use super::common::OwnPart;
use super::edge::{Edge, Looks};
use super::figures::{Figures, last, present};
use super::scale::Scale;
use super::{Question, Rule};
use crate::compare::{Clear, ErrorRates, judge};
use crate::conclusion::{CaseConclusion, Evidence};
use crate::estimate::{median, quantile, sorted};

/// Minimum number of earlier runs whose median a distance is measured from.
const FIRST_DISTANCE: usize = 3;

/// Slowdown that a pass must exclude, as a factor of time, however noisy a case is.
const NEVER_PASSES: f64 = 1.5;

/// Settings for a verdict that are common to all questions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// Number of questions judged together.
    pub(super) questions: usize,
    pub(super) rates: ErrorRates,
    /// Whether the common change is judged as well. If so, a single case does not have to exclude a
    /// slowdown that all cases share.
    pub(super) has_common: bool,
}

/// A question with its level, noise and judged runs.
pub(super) struct View {
    scale: Scale,
    threshold: f64,
    usual: f64,
    judged: Evidence,
    total: Part,
    /// Change of the case relative to the others, if there are enough other cases.
    own: Option<Part>,
}

/// A change with its level, its noise and its limits.
struct Part {
    level: f64,
    noise: f64,
    high: Edge,
    /// Limit at the low end, computed from negated values.
    low: Edge,
    /// Uncertainty of the correction that was subtracted from the change.
    slack: f64,
    /// The runs that are judged, best first.
    now: Vec<f64>,
    /// All runs, including the one that raised the suspicion.
    all: Vec<f64>,
}

impl Part {
    /// Creates a part from the earlier runs `before` and the judged runs `all`, without the first
    /// `skipped` of them. `None` if there are too few earlier runs.
    fn of(before: &[f64], all: Vec<f64>, skipped: usize, slack: f64, rule: &Rule) -> Option<Self> {
        let last = last(before, rule.level)?;
        let noise = noise(before, rule)?;
        Some(Self {
            level: median(last)?,
            noise,
            high: Edge::new(last.to_vec(), rule.slower * noise),
            low: Edge::new(last.iter().map(|value| -value).collect(), rule.faster * noise),
            slack,
            now: sorted(all.get(skipped..)?),
            all,
        })
    }

    fn looks(&self) -> Looks {
        Looks::new(self.now.len())
    }

    /// Returns the change of the median run.
    fn change(&self) -> f64 {
        median(&self.now).unwrap_or(f64::NAN) - self.level
    }

    /// Returns the probability of runs at least this slow if the true change is `less`.
    fn chance(&self, less: f64) -> f64 {
        self.high.chance(self.looks(), self.best_of_most() - self.slack - less)
    }

    /// Returns the interval of the change: the judged runs less the limits of unchanged runs, each
    /// limit at `level`.
    fn interval(&self, level: f64) -> [f64; 2] {
        let looks = self.looks();
        let [highest, lowest] = [self.high.limit(looks, level), -self.low.limit(looks, level)];
        [self.best_of_most() - highest - self.slack, self.worst_of_most() - lowest + self.slack]
    }

    /// Returns the median run, or the better of the two in the middle: more than half of the runs
    /// are no better.
    fn best_of_most(&self) -> f64 {
        self.now.get((self.now.len() - 1) / 2).copied().unwrap_or(f64::NAN)
    }

    /// Returns the median run, or the worse of the two in the middle: more than half of the runs
    /// are no worse.
    fn worst_of_most(&self) -> f64 {
        self.now.get(self.now.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Returns the distance above the level at which runs of slower code exceed the limit at
    /// `level`.
    fn beyond(&self, level: f64) -> f64 {
        self.high.limit(self.looks(), level) - self.level + self.slack
    }

    /// Returns the distance below the level at which runs of faster code fall below the limit at
    /// `level`.
    fn below(&self, level: f64) -> f64 {
        self.low.limit(self.looks(), level) + self.level + self.slack
    }
}

impl View {
    /// Creates the view of a question. `None` if there are too few earlier runs, or none to judge.
    pub(super) fn of(
        question: &Question,
        figures: &Figures,
        own: Option<OwnPart>,
        rule: &Rule,
    ) -> Option<Self> {
        let Figures { scale, level, .. } = *figures;
        let now = present(&figures.now);
        let is_suspect = now.first()? - level >= scale.log_of(question.threshold / 2.0);
        let runs = now.len();
        let (judged, skipped) = if runs > 1 && is_suspect {
            (Evidence::Repeats(runs - 1), 1)
        } else {
            (Evidence::Runs(runs), 0)
        };
        let total = Part::of(&present(&figures.before), now, skipped, question.slack, rule)?;
        let own = own.and_then(|own| Part::of(&own.before, own.now, skipped, 0.0, rule));
        let own = own.filter(|own| own.noise < total.noise && own.all.len() == runs);
        Some(Self { scale, threshold: question.threshold, usual: rule.usual, judged, total, own })
    }

    /// Returns the part with the best evidence of a slowdown. The choice depends on the earlier
    /// runs only, so it does not increase the error rate.
    fn evidence(&self) -> &Part {
        self.own.as_ref().unwrap_or(&self.total)
    }

    /// Returns whether the repeats of a run that looked slow are judged.
    pub(super) const fn is_repeated(&self) -> bool {
        matches!(self.judged, Evidence::Repeats(_))
    }

    /// Returns the probability of runs at least this slow if the true slowdown is at most T/2.
    pub(super) fn chance(&self) -> f64 {
        self.evidence().chance(self.scale.log_of(self.threshold / 2.0))
    }

    /// Returns the conclusion, where `chance` is the result of [`View::chance`] corrected for the
    /// number of questions.
    pub(super) fn conclude(&self, chance: f64, asking: Asking) -> CaseConclusion {
        let level = asking.rates.alpha / 2.0;
        let log = self.total.change();
        let change = self.scale.change(log);
        let interval = self.total.interval(level).map(|log| self.scale.change(log));
        let whole = self.scale.log_of(self.threshold);
        let is_clear = chance <= level && self.evidence().change() >= whole;
        let clear = if is_clear { Clear::AboveHalf } else { Clear::Not };
        let found = CaseConclusion {
            beyond_others: self.own.as_ref().map(|own| self.scale.change(own.change())),
            interval: Some(interval),
            detectable: Some(self.detectable(asking)),
            reason: ReasonCode::TooNoisy,
            ..CaseConclusion::too_few(
                self.judged,
                self.scale.value(self.total.level),
                self.scale.value(self.total.level + log),
                change,
            )
        };
        let (slow, runs) = (self.clearly_slow(level), self.total.all.len());
        match judge(change, interval, clear, self.threshold) {
            (Verdict::Unchanged | Verdict::Improved, _) if is_clear => found,
            (Verdict::Unchanged | Verdict::Improved, _) if slow * 2 >= runs => {
                CaseConclusion { evidence: Evidence::Split { slow, runs }, ..found }
            }
            (Verdict::Inconclusive, _)
                if !is_clear && slow * 2 < runs && self.is_usual(log, asking) =>
            {
                found.with_verdict(Verdict::Unchanged, ReasonCode::WithinNoise)
            }
            (verdict, reason) => found.with_verdict(verdict, reason),
        }
    }

    /// Returns whether a change below T, whose interval extends beyond 1.5 T, needs no repeat: it
    /// is below T/2, or no slower than unchanged runs often are. A slowdown that must never pass is
    /// still excluded.
    fn is_usual(&self, change: f64, asking: Asking) -> bool {
        let [half, whole] =
            [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let level = asking.rates.alpha / 2.0;
        let is_excluded = self.total.interval(level)[1] < NEVER_PASSES.ln()
            || asking.has_common && self.evidence().interval(level)[1] < NEVER_PASSES.ln();
        is_excluded && change < whole && (change < half || self.total.chance(0.0) >= self.usual)
    }

    /// Returns the smallest change that would be Regressed, with at most the allowed probability of
    /// a miss. It must reach T, and exceed T/2 by more than the noise explains, even if these runs
    /// happened to be fast.
    fn detectable(&self, Asking { questions, rates, .. }: Asking) -> f64 {
        let [half, whole] =
            [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let evidence = self.evidence();
        let clear = half + evidence.beyond(rates.alpha / 2.0 / questions.max(1) as f64);
        let needed = clear.max(whole) + evidence.below(rates.miss);
        self.scale.change(needed.max(whole + self.total.below(rates.miss)))
    }

    /// Counts the runs, including the first, that would be Regressed by themselves if there were no
    /// other questions.
    fn clearly_slow(&self, level: f64) -> usize {
        let [half, whole] =
            [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let evidence = self.evidence();
        let clear = self.total.all.iter().zip(&evidence.all).filter(|&(run, shown)| {
            let reach = [run - self.total.level, shown - evidence.level]
                .into_iter()
                .all(|change| change >= whole);
            reach && evidence.high.chance(Looks::new(1), shown - evidence.slack - half) <= level
        });
        clear.count()
    }
}

/// Returns the noise: a quantile of the distances of runs from the level of the runs before them.
fn noise(values: &[f64], rule: &Rule) -> Option<f64> {
    let mut distances = Vec::new();
    for at in FIRST_DISTANCE..values.len() {
        let level = median(values.get(at.saturating_sub(rule.level)..at)?)?;
        distances.push((values.get(at)? - level).abs());
    }
    quantile(&distances, rule.share)
}
