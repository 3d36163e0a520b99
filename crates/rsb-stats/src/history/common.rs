//! The common change of the cases of a run, and the change of each case relative to it.
//!
//! A slower machine slows every case of a run; a change of the code mostly slows some cases. The
//! median distance of all cases from their levels is the common change of the run, a separate
//! metric with its own history. The change of a case relative to the others varies far less from
//! run to run than the case itself, so it shows slowdowns that the case's own history would
//! attribute to noise. Neither of the two ever makes a slower case pass.

use super::figures::Figures;
use super::{Question, QuestionRole, Rule};
use crate::estimate::median;
use crate::noise_model::MIN_CASES;
use rsb_model::Better;

/// Minimum number of other cases to compare a case with: one changed case of four hardly moves
/// their median.
const OTHERS: usize = 4;

/// Change of a case relative to the other cases, as logarithms: one value for each earlier run that
/// has it, and one for every judged run.
#[derive(Debug, Clone)]
pub(super) struct OwnPart {
    pub(super) before: Vec<f64>,
    pub(super) now: Vec<f64>,
}

/// Matrix of the cases of each run.
pub(super) struct RunMatrix {
    /// Position of each case among the questions.
    at: Vec<usize>,
    /// Distance of each case from its level, for the earlier runs and for the judged runs.
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

    /// Returns the common change as a question: the time of the cases relative to their levels.
    /// `None` if there are too few cases.
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

    /// Returns the change of the question at `at` relative to the other cases; `None` if there are
    /// too few cases or runs.
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

/// Returns the numbers of earlier and judged runs of a question.
fn run_counts(question: &Question) -> (usize, usize) {
    (question.before.len(), question.now.len())
}

/// Returns the time of the cases of a run relative to their levels; NaN if there are too few cases.
fn common_factor(run: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = run.iter().flatten().copied().collect();
    if known.len() < MIN_CASES { f64::NAN } else { median(&known).unwrap_or(f64::NAN).exp() }
}

/// Returns the distance of `case` from the median of the other cases in a run; `None` if there are
/// too few.
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
