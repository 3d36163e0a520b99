//! What the cases of a run have in common, and what a case has for itself.
//!
//! A slower machine slows every case of a run; a change of the code mostly slows some. How far the
//! middle one of all cases lies above its level is the common mode of the run, a metric of its own
//! with a history of its own. What a case changed beyond the others varies far less from run to run
//! than the case itself does, so a slow-down shows in it that the case's own history would take for
//! noise. Neither ever makes a slower case pass.

use super::figures::Figures;
use super::{Question, QuestionRole, Rule};
use crate::estimate::median;
use crate::spread::MIN_CASES;
use rsb_model::Better;

/// Fewest others that a case is compared with: a change of one of four hardly moves their median.
const OTHERS: usize = 4;

/// What a case changed beyond the others: logarithms of the earlier runs that tell it, and of every
/// run judged.
#[derive(Debug, Clone)]
pub(super) struct OwnPart {
    pub(super) before: Vec<f64>,
    pub(super) now: Vec<f64>,
}

/// The cases of a run beside each other.
pub(super) struct RunMatrix {
    /// The position of each among the questions.
    at: Vec<usize>,
    /// Run by run, how far each lies above its level: of the runs before, and of those judged.
    runs: [Vec<Vec<Option<f64>>>; 2],
    threshold: f64,
    slack: f64,
}

impl RunMatrix {
    pub(super) fn of(questions: &[Question], figures: &[Option<Figures>]) -> Self {
        let shape = |question: &Question| (question.before.len(), question.now.len());
        let wanted = questions
            .iter()
            .find(|question| question.role == QuestionRole::Case)
            .map(shape)
            .unwrap_or_default();
        let cases = || {
            let each = questions.iter().zip(figures).enumerate();
            each.filter(|(_, (question, _))| {
                question.role == QuestionRole::Case && shape(question) == wanted
            })
            .filter_map(|(at, (question, figures))| {
                Some((at, question, figures.as_ref()?.deviations()))
            })
        };
        let run = |side: usize, run: usize| {
            cases().map(|(_, _, logs)| logs.get(side)?.get(run).copied()?).collect()
        };
        let side = |side: usize, runs: usize| (0..runs).map(|at| run(side, at)).collect();
        let thresholds: Vec<f64> = cases().map(|(_, question, _)| question.threshold).collect();
        Self {
            at: cases().map(|(at, _, _)| at).collect(),
            runs: [side(0, wanted.0), side(1, wanted.1)],
            threshold: median(&thresholds).unwrap_or(f64::NAN),
            slack: cases().map(|(_, question, _)| question.slack).fold(0.0, f64::max),
        }
    }

    /// The common mode as a question: how many times as long as at their levels the cases took.
    /// `None` with few cases.
    pub(super) fn question(&self) -> Option<Question> {
        let mode = |run: &Vec<Option<f64>>| {
            let known: Vec<f64> = run.iter().flatten().copied().collect();
            if known.len() < MIN_CASES {
                f64::NAN
            } else {
                median(&known).unwrap_or(f64::NAN).exp()
            }
        };
        let [before, now] =
            self.runs.each_ref().map(|runs| runs.iter().map(mode).collect::<Vec<f64>>());
        now.iter().any(|value| value.is_finite()).then_some(Question {
            before,
            accepted_from: None,
            now,
            better: Better::Lower,
            threshold: self.threshold,
            slack: self.slack,
            role: QuestionRole::Apart,
        })
    }

    /// What the question at `at` changed beyond the others; `None` where they are too few.
    pub(super) fn own_part(&self, at: usize, rule: &Rule) -> Option<OwnPart> {
        let case = self.at.iter().position(|known| *known == at)?;
        let beyond = |run: &Vec<Option<f64>>| {
            let others: Vec<f64> = run
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != case)
                .filter_map(|(_, log)| *log)
                .collect();
            let own = run.get(case).copied().flatten()?;
            if others.len() < OTHERS { None } else { Some(own - median(&others)?) }
        };
        let [before, now] = &self.runs;
        let has_own = |run: &&Vec<Option<f64>>| run.get(case).copied().flatten().is_some();
        let before: Vec<f64> = before.iter().filter_map(beyond).collect();
        let now: Option<Vec<f64>> = now.iter().filter(has_own).map(beyond).collect();
        let now = now.filter(|_| before.len() >= rule.level)?;
        Some(OwnPart { before, now })
    }
}
