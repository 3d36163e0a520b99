//! One question on the logarithm: the level and the noise of the runs before, and the runs judged.

use rsb_model::{ReasonCode, Verdict};

use super::common::OwnPart;
use super::edge::{Edge, Looks};
use super::figures::{Figures, last, present};
use super::scale::Scale;
use super::{Question, Rule};
use crate::compare::{Clear, ErrorRates, judge};
use crate::conclusion::{CaseConclusion, Evidence};
use crate::estimate::{median, quantile, sorted};

/// Fewest runs that a distance from their median says something about.
const FIRST_DISTANCE: usize = 3;

/// The slow-down that a pass must exclude, as a factor of time, however noisy a case is.
const NEVER_PASSES: f64 = 1.5;

/// What a verdict depends on beside its own question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// How many questions are asked together.
    pub(super) questions: usize,
    pub(super) rates: ErrorRates,
    /// Whether what the cases have in common is judged, too: then a slow-down of all is not for
    /// each case to exclude.
    pub(super) has_common: bool,
}

/// What a question comes to.
pub(super) struct View {
    scale: Scale,
    threshold: f64,
    usual: f64,
    judged: Evidence,
    total: Part,
    /// What the case changed beyond the others, where they are enough.
    own: Option<Part>,
}

/// A change and how it varies.
struct Part {
    level: f64,
    noise: f64,
    high: Edge,
    /// Of the values with their sign turned.
    low: Edge,
    /// Uncertainty of what was taken out of the change.
    slack: f64,
    /// The runs that are judged, best first.
    now: Vec<f64>,
    /// Those, and the one that raised the suspicion.
    all: Vec<f64>,
}

impl Part {
    /// `before` has a level; of the runs judged the first `skipped` are left out.
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

    /// The change of the median run.
    fn change(&self) -> f64 {
        median(&self.now).unwrap_or(f64::NAN) - self.level
    }

    /// Chance of such runs where the change is `less` than it is.
    fn chance(&self, less: f64) -> f64 {
        self.high.chance(self.looks(), self.best_of_most() - self.slack - less)
    }

    /// What unchanged next runs would leave of the change, at worst and at best.
    fn interval(&self, level: f64) -> [f64; 2] {
        let looks = self.looks();
        let [highest, lowest] = [self.high.limit(looks, level), -self.low.limit(looks, level)];
        [self.best_of_most() - highest - self.slack, self.worst_of_most() - lowest + self.slack]
    }

    /// The run than which more than half of the runs are no better: the middle one, or the better
    /// of the two there.
    fn best_of_most(&self) -> f64 {
        self.now.get((self.now.len() - 1) / 2).copied().unwrap_or(f64::NAN)
    }

    /// The run than which more than half of the runs are no worse.
    fn worst_of_most(&self) -> f64 {
        self.now.get(self.now.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// How far above the level the runs of a slower code must lie to be beyond the edge at `level`.
    fn beyond(&self, level: f64) -> f64 {
        self.high.limit(self.looks(), level) - self.level + self.slack
    }

    /// How far below their own level runs may lie, but for a chance of `level`.
    fn below(&self, level: f64) -> f64 {
        self.low.limit(self.looks(), level) + self.level + self.slack
    }
}

impl View {
    /// `None` where there are too few runs before, or none to judge.
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

    /// What tells most about a slow-down: chosen by the runs before, so that it costs no second
    /// chance of an error.
    fn evidence(&self) -> &Part {
        self.own.as_ref().unwrap_or(&self.total)
    }

    /// Whether this is about the repeats of a run that looked slow.
    pub(super) const fn is_repeated(&self) -> bool {
        matches!(self.judged, Evidence::Repeats(_))
    }

    /// Chance of such runs where the code is slower by no more than T/2.
    pub(super) fn chance(&self) -> f64 {
        self.evidence().chance(self.scale.log_of(self.threshold / 2.0))
    }

    /// The verdict, where `chance` is that of [`View::chance`] corrected for how many questions are
    /// asked.
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

    /// Whether a change below T, whose interval reaches beyond 1.5 T, is nothing to ask about:
    /// below T/2, or no slower than unchanged runs often are. What must never pass is still
    /// excluded.
    fn is_usual(&self, change: f64, asking: Asking) -> bool {
        let [half, whole] =
            [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let level = asking.rates.alpha / 2.0;
        let is_excluded = self.total.interval(level)[1] < NEVER_PASSES.ln()
            || asking.has_common && self.evidence().interval(level)[1] < NEVER_PASSES.ln();
        is_excluded && change < whole && (change < half || self.total.chance(0.0) >= self.usual)
    }

    /// The smallest change that would have been Regressed, but for the chance of a miss: it must
    /// reach T, and exceed T/2 by what noise explains, also where these runs happened to be fast.
    fn detectable(&self, Asking { questions, rates, .. }: Asking) -> f64 {
        let [half, whole] =
            [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let evidence = self.evidence();
        let clear = half + evidence.beyond(rates.alpha / 2.0 / questions.max(1) as f64);
        let needed = clear.max(whole) + evidence.below(rates.miss);
        self.scale.change(needed.max(whole + self.total.below(rates.miss)))
    }

    /// How many of all runs would be Regressed by themselves, with no other question asked.
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

/// How far runs strayed from the level of the runs before them.
fn noise(values: &[f64], rule: &Rule) -> Option<f64> {
    let mut distances = Vec::new();
    for at in FIRST_DISTANCE..values.len() {
        let level = median(values.get(at.saturating_sub(rule.level)..at)?)?;
        distances.push((values.get(at)? - level).abs());
    }
    quantile(&distances, rule.share)
}
