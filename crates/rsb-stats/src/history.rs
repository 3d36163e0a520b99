//! Verdicts on the newest run from the stored runs before it, one value per run.
//!
//! A stored series drifts: runners are replaced, toolchains change, and other programs make one run
//! slow. The level is therefore that of the last few runs, and the noise is the distance of earlier
//! runs from such levels. A run is Regressed only if it is slower than all of the last runs by more
//! than that noise explains. A run that looks slow but not clearly so is Inconclusive and should be
//! repeated. The repeats are then judged without the run that raised the suspicion, and corrected
//! over the suspects only, because they are few and their values are new. If a run was clearly slow
//! by itself, repeats clear it only if most of all runs are not slow: one fast repeat is no
//! majority.
//!
//! All cases of a run were measured on the same machine. Their common change is judged as a
//! separate metric. The change of a case relative to the others may show a slowdown that its own
//! history is too noisy to show (`common.rs`).
//!
//! Changes are logarithms oriented so that larger is worse, and reported as in [`crate::compare`].

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

/// Default number of stored runs to use; they contain an outlier that occurs in one of ten runs
/// about five times.
pub const RUNS: usize = 50;

/// Minimum number of earlier runs for a verdict, and number of the last runs that make up the
/// level.
///
/// A smaller number follows a drift sooner, but the usual range is less certain: a new run is
/// slower than the slowest of n runs with a probability of 1 / (n + 1).
pub const LEVEL: usize = 15;

/// Parameters of the verdicts. The gate uses the default; studies use other values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Number of the last runs that make up the level.
    pub level: usize,
    /// Quantile of the distances of runs from their level that is used as noise. One in five runs
    /// may be far off, for example while a runner is slow or after a change of level, without
    /// making all later verdicts insensitive.
    pub share: f64,
    /// Distance, in units of the noise, over which the density of runs slower than the slowest one
    /// falls by a factor of e. Like `faster`, chosen in steps of 0.05, as the smallest value for
    /// which that end of the 95 % interval covers 97.5 % of the next runs.
    pub slower: f64,
    /// The same distance for runs faster than the fastest one.
    pub faster: f64,
    /// Probability above which a slow run is considered usual: a change below T is Unchanged if
    /// unchanged runs are as slow with at least this probability.
    pub usual: f64,
}

impl Rule {
    /// The parameters of the gate.
    pub const DEFAULT: Self =
        Self { level: LEVEL, share: 0.8, slower: 0.3, faster: 0.75, usual: 0.1 };
}

impl Default for Rule {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Values of one metric of one case: those of earlier runs, and those to judge. Values that are not
/// finite or not above zero are ignored, as if the run did not have the case.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Value of each earlier run, oldest first. The questions on all cases have the same runs in
    /// the same order.
    pub before: Vec<f64>,
    /// Position of the first earlier run at a level that a user accepted. Runs before it contribute
    /// to the noise, not to the level.
    pub accepted_from: Option<usize>,
    /// Values of the judged runs of one revision, oldest first: one, or several if it was repeated.
    pub now: Vec<f64>,
    /// Direction in which the metric improves.
    pub better: Better,
    /// The threshold T as a fraction: 0.1 is 10 %.
    pub threshold: f64,
    /// Uncertainty, as a logarithm, of a correction that was subtracted from the judged values;
    /// added to their noise.
    pub slack: f64,
    /// Whether the question contributes to the common change of the run.
    pub role: QuestionRole,
}

/// Whether a question contributes to the common change of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionRole {
    /// The time of a case, which contributes.
    Case,
    /// Another metric or a control case, which does not contribute.
    Apart,
}

/// Conclusions for all questions.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryVerdicts {
    /// Conclusion for each question.
    pub each: Vec<CaseConclusion>,
    /// Conclusion for the common change of the cases, if at least ten contribute. Its values are
    /// times relative to the levels of the cases.
    pub common: Option<(Question, CaseConclusion)>,
}

/// Judges every question, and the common change of the cases, by the table of
/// [`crate::compare::compare`], with intervals from the earlier runs.
///
/// For Regressed, the low end is corrected with Holm's method over all questions. Repeats are
/// corrected over the suspected questions only, and the common change is not corrected. A change
/// below T whose interval extends beyond 1.5 T is also Unchanged if it is below T/2 or usual
/// ([`Rule::usual`]), unless the interval includes a run 1.5 times as slow.
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

/// Returns the p-value of each question, corrected for the number of questions, and that number.
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

/// Returns the conclusion for a question without enough earlier runs.
fn unknown(question: &Question) -> CaseConclusion {
    let scale = Scale(question.better);
    let [before, now] = [&question.before, &question.now]
        .map(|values| median(&present(&scale.logs(values))).unwrap_or(f64::NAN));
    let (evidence, change) = (Evidence::Runs(question.now.len()), scale.change(now - before));
    CaseConclusion::too_few(evidence, scale.value(before), scale.value(now), change)
}

#[cfg(test)]
mod tests;
