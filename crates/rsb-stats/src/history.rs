//! Verdicts on the newest run from the stored runs before it, one figure a run.
//!
//! A stored series drifts: runners are replaced, toolchains change, and a neighbor makes one run
//! slow. So the level is that of the last few runs, the noise is what earlier runs strayed from
//! such levels, and a run is Regressed only when it lies beyond all of them by more than that noise
//! explains. What looks slow and is not clear is Inconclusive, and asks to be repeated. The repeats
//! are then judged without the run that raised the suspicion, and corrected over the suspects
//! alone: they are fresh figures, and few. They acquit a run that was clearly slow by itself only
//! where most of all runs are not: one fast repeat is no majority.
//!
//! The cases of a run share its machine. What they have in common is judged as a metric of its own,
//! and what a case changed beyond the others may show that it is slower where its own history is
//! too noisy to (`common.rs`).
//!
//! Changes are logarithms turned so that up is worse, and told as in [`crate::compare`].

mod common;
pub(crate) mod edge;
mod figures;
mod machine;
mod runs;
mod scale;
mod sentence;
mod view;

use rsb_model::Better;

use crate::compare::ErrorRates;
use crate::conclusion::{CaseConclusion, Evidence};
use crate::estimate::median;
use crate::multiple_testing::holm;
use common::RunMatrix;
use figures::{Figures, present};
use scale::Scale;
use view::{Asking, View};

pub use runs::{AcceptedLevel, StoredRuns, gate_history};

/// How many stored runs are asked where nothing else is said: what strays once in ten runs is seen
/// five times.
pub const RUNS: usize = 50;

/// Fewest earlier runs for a verdict, and how many of the last make up the level.
///
/// Fewer follow a drift sooner but know less of what is usual: the slowest of n runs is exceeded
/// once in n + 1.
pub const LEVEL: usize = 15;

/// What the verdicts rest on. The default is what the gate uses; others are for studies of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// So many of the last runs are the level.
    pub level: usize,
    /// The noise is the distance from the level that this share of the runs kept: one in five may
    /// stray far, as where a runner is slow for a while or the level has just changed, without
    /// making every later verdict blunt.
    pub share: f64,
    /// How far, in units of the noise, runs slower than the slowest one thin out by a factor of e.
    /// Like the next, chosen in steps of 0.05 as the least with which that side of the 95 %
    /// interval holds 97.5 % of the next runs.
    pub slower: f64,
    /// The same of runs faster than the fastest one.
    pub faster: f64,
    /// An unchanged run that is as slow as this share of others is nothing to ask about while its
    /// change is below T.
    pub usual: f64,
}

impl Rule {
    /// What the gate uses.
    pub const DEFAULT: Self =
        Self { level: LEVEL, share: 0.8, slower: 0.3, faster: 0.75, usual: 0.1 };
}

impl Default for Rule {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One metric of one case: what earlier runs gave, and what is judged. Figures that are not finite
/// or not above zero are left out, as where a run lacks the case.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The figure of each earlier run, oldest first. Questions about cases are asked of the same
    /// runs.
    pub before: Vec<f64>,
    /// Since which of them a level holds that a person has accepted. Those before tell the noise,
    /// not the level.
    pub accepted_from: Option<usize>,
    /// The runs judged, all of one code, oldest first: one, or several when it was repeated.
    pub now: Vec<f64>,
    /// Which way the metric improves.
    pub better: Better,
    /// The threshold T as a fraction: 0.1 is 10 %.
    pub threshold: f64,
    /// How uncertain the logarithm of what is judged is beyond its noise: of what was taken out of
    /// it.
    pub slack: f64,
    /// What it is to the other questions.
    pub role: QuestionRole,
}

/// What a question is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionRole {
    /// The time of a case: with those of the others it tells what the run has in common.
    Case,
    /// Another metric, or one of the control set.
    Apart,
}

/// What is concluded of all questions.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryVerdicts {
    /// Of each question.
    pub each: Vec<CaseConclusion>,
    /// Of what the cases have in common, where at least ten tell it. Its figures are times over
    /// those at the levels.
    pub common: Option<(Question, CaseConclusion)>,
}

/// Judges every question, and what the cases have in common, by the rule of
/// [`crate::compare::compare`], with the interval from the runs before.
///
/// For Regressed the low end is corrected after Holm over all questions; repeats of suspects are
/// corrected over these alone, and what the cases have in common is one question by itself. A
/// change below T whose interval reaches beyond 1.5 T is Unchanged, too, where it is below T/2 or
/// no slower than [`Rule::usual`], as long as a run 1.5 times as slow lies outside of the interval.
pub fn judge(questions: &[Question], rule: &Rule, rates: ErrorRates) -> HistoryVerdicts {
    let figures: Vec<Option<Figures>> =
        questions.iter().map(|question| Figures::of(question, rule)).collect();
    let together = RunMatrix::of(questions, &figures);
    let views: Vec<Option<View>> = questions
        .iter()
        .zip(&figures)
        .enumerate()
        .map(|(at, (question, figures))| {
            View::of(question, figures.as_ref()?, together.own_part(at, rule), rule)
        })
        .collect();
    let common = together.question().and_then(|mode| {
        let view = View::of(&mode, &Figures::of(&mode, rule)?, None, rule)?;
        Some((
            mode,
            view.conclude(view.chance(), Asking { questions: 1, rates, has_common: false }),
        ))
    });
    let has_common = common.is_some();
    let each = questions.iter().zip(&views).zip(correct_chances(&views)).map(
        |((question, view), chance)| {
            let Some((view, (chance, questions))) = view.as_ref().zip(chance) else {
                return unknown(question);
            };
            view.conclude(chance, Asking { questions, rates, has_common })
        },
    );
    HistoryVerdicts { each: each.collect(), common }
}

/// The chance of each, corrected for how many there are, and that number.
fn correct_chances(views: &[Option<View>]) -> Vec<Option<(f64, usize)>> {
    let all = holm(&views.iter().flatten().map(View::chance).collect::<Vec<_>>());
    let repeated = views.iter().flatten().filter(|view| view.is_repeated());
    let suspects = holm(&repeated.map(View::chance).collect::<Vec<_>>());
    let (mut among_all, mut among_suspects) = (all.iter(), suspects.iter());
    let each = views.iter().map(|view| {
        let is_repeated = view.as_ref()?.is_repeated();
        let chance = among_all.next();
        if is_repeated {
            Some((*among_suspects.next()?, suspects.len()))
        } else {
            Some((*chance?, all.len()))
        }
    });
    each.collect()
}

/// What can be said of a question without enough runs before it.
fn unknown(question: &Question) -> CaseConclusion {
    let scale = Scale(question.better);
    let [before, now] = [&question.before, &question.now]
        .map(|values| median(&present(&scale.logs(values))).unwrap_or(f64::NAN));
    let (evidence, change) = (Evidence::Runs(question.now.len()), scale.change(now - before));
    CaseConclusion::too_few(evidence, scale.value(before), scale.value(now), change)
}

#[cfg(test)]
mod tests;
