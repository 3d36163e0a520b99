//! Application of the control set to a history: withholds the verdicts that a change of the machine
//! may explain, or subtracts that change if the policy requests it.

use rsb_model::{Better, CaseId};

use super::{HistoryVerdicts, Question, QuestionRole, Rule, judge};
use crate::compare::ErrorRates;
use crate::conclusion::CaseConclusion;
use crate::gate::control::{self, ControlAnswer, ControlDrift};
use crate::policy::Policy;

/// A question with its case.
pub(super) struct CaseQuestion<'a> {
    pub(super) id: &'a CaseId,
    pub(super) question: Question,
}

/// Conclusions after the control set was applied.
pub(super) struct ControlledFindings {
    pub(super) each: Vec<ControlAnswer>,
    pub(super) common: Option<(Question, ControlAnswer)>,
}

/// Judges every question and applies the control set like [`crate::gate()`]. If the machine
/// changed, a case or common change that looks slower has no verdict, unless the policy subtracts
/// the change of the machine from every case.
pub(super) fn judge_with_controls(
    cases: &[CaseQuestion<'_>],
    policy: &Policy,
) -> ControlledFindings {
    let rates = ErrorRates { alpha: policy.alpha(), miss: policy.miss() };
    let questions: Vec<Question> = cases.iter().map(|one| one.question.clone()).collect();
    let plain = judge(&questions, &Rule::default(), rates);
    let controls: Vec<(&CaseId, CaseConclusion)> = cases
        .iter()
        .zip(&plain.each)
        .filter(|(one, _)| policy.is_control(one.id.as_str()))
        .map(|(one, found)| (one.id, found.clone()))
        .collect();
    let moves = ControlDrift::of(&controls, policy);
    let correction = moves.correction(&controls, policy);
    let judged = match correction {
        None => plain.clone(),
        Some(shift) => {
            let mut less = Vec::with_capacity(cases.len());
            for one in cases {
                let slack = 2.0 * shift.variance.sqrt();
                less.push(if policy.is_control(one.id.as_str()) {
                    one.question.clone()
                } else {
                    without(&one.question, shift.log, slack)
                });
            }
            judge(&less, &Rule::default(), rates)
        }
    };
    let HistoryVerdicts { each, common } = judged;
    let of_case = |found: CaseConclusion| moves.of_case(found, correction, policy);
    let each = cases.iter().zip(each).zip(plain.each).map(|((one, found), plain)| {
        let is_unknown = found.interval.is_none();
        match policy.is_control(one.id.as_str()) {
            _ if is_unknown => ControlAnswer { finding: found, remark: None },
            true => control::of_control(one.id, plain, policy),
            false => of_case(found),
        }
    });
    ControlledFindings {
        each: each.collect(),
        common: common.map(|(question, found)| (question, of_case(found))),
    }
}

/// Returns the role of a metric of a case: whether it contributes to the common change of the run.
pub(super) fn role(id: &CaseId, is_time: bool, policy: &Policy) -> QuestionRole {
    if is_time && !policy.is_control(id.as_str()) {
        QuestionRole::Case
    } else {
        QuestionRole::Apart
    }
}

/// Returns `question` with its judged values corrected for a slowdown of the machine by `log`.
fn without(question: &Question, log: f64, slack: f64) -> Question {
    let factor = match question.better {
        Better::Lower => (-log).exp(),
        Better::Higher => log.exp(),
    };
    Question {
        now: question.now.iter().map(|value| value * factor).collect(),
        slack,
        ..question.clone()
    }
}
