//! One question on the logarithm: the level and the noise of the runs before, and the runs judged.

use rsb_model::{ReasonCode, Verdict};

use super::edge::{Edge, Looks};
use super::scale::Scale;
use super::{Evidence, HistoryConclusion, Question, Rule};
use crate::compare::{Clear, judge};
use crate::estimate::{median, quantile, sorted};

/// Fewest runs that a distance from their median says something about.
const FIRST_DISTANCE: usize = 3;

/// What a question comes to.
pub(super) struct View {
    scale: Scale,
    threshold: f64,
    level: f64,
    high: Edge,
    /// Of the values with their sign turned.
    low: Edge,
    judged: Evidence,
    /// The runs that are judged, best first.
    now: Vec<f64>,
    /// Those, and the one that raised the suspicion.
    all: Vec<f64>,
}

impl View {
    /// `None` where there are too few runs before, or none to judge.
    pub(super) fn of(question: &Question, rule: &Rule) -> Option<Self> {
        let scale = Scale(question.better);
        let before = aligned(scale.logs(&question.before), question.accepted_from, rule.level)?;
        let last = before.get(before.len().checked_sub(rule.level)?..)?;
        let level = median(last)?;
        let reach = rule.reach * noise(&before, rule)?;
        let logs = scale.logs(&question.now);
        let (first, repeats) = logs.split_first()?;
        let is_suspect = first - level >= scale.log_of(question.threshold / 2.0);
        let (judged, now) = match repeats {
            [_, ..] if is_suspect => (Evidence::Repeats(repeats.len()), repeats),
            _ => (Evidence::Runs(logs.len()), logs.as_slice()),
        };
        Some(Self {
            scale,
            threshold: question.threshold,
            level,
            high: Edge::new(last.to_vec(), reach),
            low: Edge::new(last.iter().map(|value| -value).collect(), reach),
            judged,
            now: sorted(now),
            all: logs.clone(),
        })
    }

    /// Whether this is about the repeats of a run that looked slow.
    pub(super) const fn is_repeated(&self) -> bool {
        matches!(self.judged, Evidence::Repeats(_))
    }

    /// Chance of such runs where the code is slower by no more than T/2.
    pub(super) fn chance(&self) -> f64 {
        self.high.chance(self.looks(), self.best_of_most() - self.scale.log_of(self.threshold / 2.0))
    }

    /// The verdict, where `chance` is that of [`View::chance`] corrected for how many questions are asked.
    pub(super) fn conclude(&self, chance: f64, alpha: f64) -> HistoryConclusion {
        let now = median(&self.now).unwrap_or(f64::NAN);
        let change = self.scale.change(now - self.level);
        let interval = self.interval(alpha / 2.0);
        let clear = if chance <= alpha / 2.0 { Clear::AboveHalf } else { Clear::Not };
        let (verdict, reason) = judge(change, interval, clear, self.threshold);
        let [before, now] = [self.level, now].map(|log| self.scale.value(log));
        let found =
            HistoryConclusion { before, now, judged: self.judged, change, interval: Some(interval), verdict, reason };
        let (slow, runs) = (self.clearly_slow(alpha / 2.0), self.all.len());
        if slow * 2 < runs || !matches!(verdict, Verdict::Unchanged | Verdict::Improved) {
            return found;
        }
        let (verdict, reason) = (Verdict::Inconclusive, ReasonCode::TooNoisy);
        HistoryConclusion { judged: Evidence::Split { slow, runs }, verdict, reason, ..found }
    }

    /// How many of all runs would be Regressed by themselves, with no other question asked.
    fn clearly_slow(&self, level: f64) -> usize {
        let [half, whole] = [self.threshold / 2.0, self.threshold].map(|change| self.scale.log_of(change));
        let is_clear = |run: f64| run - self.level >= whole && self.high.chance(Looks::new(1), run - half) <= level;
        self.all.iter().filter(|run| is_clear(**run)).count()
    }

    /// What unchanged next runs would leave of the change, at worst and at best.
    fn interval(&self, level: f64) -> [f64; 2] {
        let looks = self.looks();
        let [highest, lowest] = [self.high.limit(looks, level), -self.low.limit(looks, level)];
        [self.best_of_most() - highest, self.worst_of_most() - lowest].map(|log| self.scale.change(log))
    }

    fn looks(&self) -> Looks {
        Looks::new(self.now.len())
    }

    /// The run than which more than half of the runs are no better: the middle one, or the better of the two there.
    fn best_of_most(&self) -> f64 {
        self.now.get((self.now.len() - 1) / 2).copied().unwrap_or(f64::NAN)
    }

    /// The run than which more than half of the runs are no worse.
    fn worst_of_most(&self) -> f64 {
        self.now.get(self.now.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// `values`, those before an accepted level moved to it. `None` where no run has shown that level yet.
fn aligned(mut values: Vec<f64>, accepted_from: Option<usize>, level: usize) -> Option<Vec<f64>> {
    let Some(from) = accepted_from else { return Some(values) };
    let (before, since) = values.split_at_mut_checked(from)?;
    let since = median(since)?;
    let last = before.get(before.len().saturating_sub(level)..).unwrap_or_default();
    if let Some(old) = median(last) {
        for value in before.iter_mut() {
            *value += since - old;
        }
    }
    Some(values)
}

/// How far runs strayed from the level of the runs before them.
fn noise(values: &[f64], rule: &Rule) -> Option<f64> {
    let distance = |at: usize| {
        let level = median(values.get(at.saturating_sub(rule.level)..at)?)?;
        Some((values.get(at)? - level).abs())
    };
    let distances: Option<Vec<f64>> = (FIRST_DISTANCE..values.len()).map(distance).collect();
    quantile(&distances?, rule.share)
}
