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
use crate::noise_model::MIN_CASES;
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
        let wanted = questions
            .iter()
            .find(|question| question.role == QuestionRole::Case)
            .map(run_counts)
            .unwrap_or_default();
        let cases: Vec<_> = questions
            .iter()
            .zip(figures)
            .enumerate()
            .filter(|(_, (question, _))| {
                question.role == QuestionRole::Case && run_counts(question) == wanted
            })
            .filter_map(|(at, (question, figures))| {
                Some((at, question, figures.as_ref()?.deviations()))
            })
            .collect();
        let mut runs = [Vec::new(), Vec::new()];
        for (side, count) in [wanted.0, wanted.1].into_iter().enumerate() {
            for run in 0..count {
                let logs = cases.iter().map(|(_, _, logs)| logs[side].get(run).copied()?);
                runs[side].push(logs.collect());
            }
        }
        let thresholds: Vec<f64> =
            cases.iter().map(|(_, question, _)| question.threshold).collect();
        Self {
            at: cases.iter().map(|(at, _, _)| *at).collect(),
            runs,
            threshold: median(&thresholds).unwrap_or(f64::NAN),
            slack: cases.iter().map(|(_, question, _)| question.slack).fold(0.0, f64::max),
        }
    }

    /// The common mode as a question: how many times as long as at their levels the cases took.
    /// `None` with few cases.
    pub(super) fn question(&self) -> Option<Question> {
        let [before, now] = self
            .runs
            .each_ref()
            .map(|runs| runs.iter().map(|run| common_factor(run)).collect::<Vec<f64>>());
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
        let [before, now] = &self.runs;
        let before: Vec<f64> = before.iter().filter_map(|run| beyond_others(run, case)).collect();
        let now: Option<Vec<f64>> = now
            .iter()
            .filter(|run| run.get(case).copied().flatten().is_some())
            .map(|run| beyond_others(run, case))
            .collect();
        let now = now.filter(|_| before.len() >= rule.level)?;
        Some(OwnPart { before, now })
    }
}

/// How many earlier and judged runs a question has.
fn run_counts(question: &Question) -> (usize, usize) {
    (question.before.len(), question.now.len())
}

/// How many times as long as at their levels the cases of a run took; NaN with few cases.
fn common_factor(run: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = run.iter().flatten().copied().collect();
    if known.len() < MIN_CASES { f64::NAN } else { median(&known).unwrap_or(f64::NAN).exp() }
}

/// How far `case` lies above the median of the others in a run.
fn beyond_others(run: &[Option<f64>], case: usize) -> Option<f64> {
    let others: Vec<f64> = run
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != case)
        .filter_map(|(_, log)| *log)
        .collect();
    let own = run.get(case).copied().flatten()?;
    if others.len() < OTHERS { None } else { Some(own - median(&others)?) }
}
