//! Verdicts on the newest run from the stored runs before it, one figure a run.
//!
//! A stored series drifts: runners are replaced, toolchains change, and a neighbor makes one run slow. So the level
//! is that of the last few runs, the noise is what earlier runs strayed from such levels, and a run is Regressed only
//! when it lies beyond all of them by more than that noise explains. What looks slow and is not clear is
//! Inconclusive, and asks to be repeated. The repeats are then judged without the run that raised the suspicion, and
//! corrected over the suspects alone: they are fresh figures, and few. They acquit a run that was clearly slow by itself
//! only where most of all runs are not: one fast repeat is no majority.
//!
//! Changes are logarithms turned so that up is worse, and told as in [`crate::compare`].

mod edge;
mod runs;
mod scale;
mod sentence;
mod view;

use rsb_model::{Better, ReasonCode, Verdict};

use crate::estimate::median;
use crate::multiple::holm;
use scale::Scale;
use view::View;

pub use runs::{AcceptedLevel, StoredRuns, gate_history};

/// How many stored runs are asked where nothing else is said: what strays once in ten runs is seen five times.
pub const RUNS: usize = 50;

/// Fewest earlier runs for a verdict, and how many of the last make up the level.
///
/// Fewer follow a drift sooner but know less of what is usual: the slowest of n runs is exceeded once in n + 1.
pub const LEVEL: usize = 15;

/// What the verdicts rest on. The default is what the gate uses; others are for studies of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// So many of the last runs are the level.
    pub level: usize,
    /// The noise is the distance from the level that this share of the runs kept: one in five may stray far, as where
    /// a runner is slow for a while or the level has just changed, without making every later verdict blunt.
    pub share: f64,
    /// How far, in units of the noise, runs beyond the outermost one thin out by a factor of e. Chosen, in steps of
    /// 0.05, as the least with which the 95 % interval holds 95 % of the next runs of real series.
    pub reach: f64,
}

impl Rule {
    /// What the gate uses.
    pub const DEFAULT: Self = Self { level: LEVEL, share: 0.8, reach: 0.45 };
}

impl Default for Rule {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One metric of one case: what earlier runs gave, and what is judged. Figures that are not finite or not above zero
/// are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The earlier runs, oldest first.
    pub before: Vec<f64>,
    /// Since which of them a level holds that a person has accepted. Those before tell the noise, not the level.
    pub accepted_from: Option<usize>,
    /// The runs judged, all of one code, oldest first: one, or several when it was repeated.
    pub now: Vec<f64>,
    /// Which way the metric improves.
    pub better: Better,
    /// The threshold T as a fraction: 0.1 is 10 %.
    pub threshold: f64,
}

/// What is concluded of a question. Changes are fractions in the bad direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryConclusion {
    /// The level of the last runs; NaN where there is none.
    pub before: f64,
    /// What is judged: the median of its runs.
    pub now: f64,
    /// Which runs those are.
    pub judged: Evidence,
    /// Relative change in the bad direction, Δ.
    pub change: f64,
    /// Interval of Δ, low then high, for this case alone: where an unchanged next run would put it. `None` where
    /// there are too few runs.
    pub interval: Option<[f64; 2]>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Why.
    pub reason: ReasonCode,
}

/// The runs that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// So many, all there are.
    Runs(usize),
    /// So many, the first left out: it looked slow, which is why there are others.
    Repeats(usize),
    /// As many are clearly slow, each by itself, as are not, or more: the others do not acquit the code.
    Split {
        /// Clearly slow by themselves.
        slow: usize,
        /// All of them.
        runs: usize,
    },
}

/// Judges every question by the rule of [`crate::compare::compare`], with the interval from the runs before.
///
/// `alpha` is the two-sided error rate of the intervals (0.05 gives 95 %). For Regressed the low end is corrected
/// after Holm over all questions; repeats of suspects are corrected over these alone.
pub fn judge(questions: &[Question], rule: &Rule, alpha: f64) -> Vec<HistoryConclusion> {
    let views: Vec<Option<View>> = questions.iter().map(|question| View::of(question, rule)).collect();
    let known = || views.iter().flatten();
    let mut among_all = holm(&known().map(View::chance).collect::<Vec<_>>()).into_iter();
    let suspects = || known().filter(|view| view.is_repeated());
    let mut among_suspects = holm(&suspects().map(View::chance).collect::<Vec<_>>()).into_iter();
    let each = questions.iter().zip(&views);
    each.map(|(question, view)| {
        let Some(view) = view else { return unknown(question) };
        let chance = among_all.next();
        let chance = if view.is_repeated() { among_suspects.next() } else { chance };
        view.conclude(chance.unwrap_or(1.0), alpha)
    })
    .collect()
}

/// What can be said of a question without enough runs before it.
fn unknown(question: &Question) -> HistoryConclusion {
    let scale = Scale(question.better);
    let [before, now] = [&question.before, &question.now].map(|values| median(&scale.logs(values)).unwrap_or(f64::NAN));
    HistoryConclusion {
        before: scale.value(before),
        now: scale.value(now),
        judged: Evidence::Runs(question.now.len()),
        change: scale.change(now - before),
        interval: None,
        verdict: Verdict::Inconclusive,
        reason: ReasonCode::TooFewSamples,
    }
}

#[cfg(test)]
mod tests;
