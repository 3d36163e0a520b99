//! Detection of a machine that changed between the two sides, from the control set, and the effect
//! of such a change on the verdicts.

use rsb_model::{CaseId, ReasonCode, Verdict};

use super::reason;
use crate::compare::{ErrorRates, Pair, Shift, compare, compare_less};
use crate::conclusion::CaseConclusion;
use crate::policy::{Policy, WhenMoved};

/// A case and the two sides to compare.
pub(super) type ControlQuestion<'a> = (&'a CaseId, &'a Pair);

/// Result for a case after the control set was applied.
pub(crate) struct ControlAnswer {
    /// Conclusion, with its verdict after the control set was applied.
    pub(crate) finding: CaseConclusion,
    /// Text about the control set to add to the reason, if any.
    pub(crate) remark: Option<String>,
}

/// Judges every case and applies the control set.
pub(super) fn judge(questions: &[ControlQuestion<'_>], policy: &Policy) -> Vec<ControlAnswer> {
    let pairs: Vec<Pair> = questions.iter().map(|(_, pair)| (*pair).clone()).collect();
    let rates = ErrorRates { alpha: policy.alpha(), miss: policy.miss() };
    let findings = compare(&pairs, rates);
    let controls: Vec<(&CaseId, CaseConclusion)> = questions
        .iter()
        .zip(&findings)
        .filter(|((id, pair), _)| is_control(id, pair, policy))
        .map(|((id, _), finding)| (*id, finding.clone()))
        .collect();
    let moves = ControlDrift::of(&controls, policy);
    let correction = moves.correction(&controls, policy);
    let corrected = correction.map(|shift| compare_less(&pairs, rates, shift));
    let each = questions.iter().zip(&findings).zip(corrected.as_ref().unwrap_or(&findings));
    each.map(|(((id, pair), plain), corrected)| {
        if is_control(id, pair, policy) {
            of_control(id, plain.clone(), policy)
        } else {
            moves.of_case(corrected.clone(), correction, policy)
        }
    })
    .collect()
}

/// Returns whether the case is treated as a control case. Interleaved sides were measured on one
/// machine at the same time, so a change of the machine affects both, and their control cases are
/// judged like any other case.
fn is_control(id: &CaseId, pair: &Pair, policy: &Policy) -> bool {
    pair.ratios.is_none() && policy.is_control(id.as_str())
}

/// Control cases that clearly became slower or faster.
#[derive(Default)]
pub(crate) struct ControlDrift {
    slower: Vec<String>,
    faster: Vec<String>,
}

impl ControlDrift {
    pub(crate) fn of(controls: &[(&CaseId, CaseConclusion)], policy: &Policy) -> Self {
        let mut moves = Self::default();
        for (id, finding) in controls {
            let Some(direction) = direction(finding, policy) else { continue };
            let short = id.as_str().split_once('/').map_or(id.as_str(), |(_, short)| short);
            let text = format!("{short} {}", reason::signed_percent(finding.change));
            match direction {
                Direction::Slower => moves.slower.push(text),
                Direction::Faster => moves.faster.push(text),
            }
        }
        moves
    }

    fn case_names(&self) -> String {
        let all: Vec<&str> = self.slower.iter().chain(&self.faster).map(String::as_str).collect();
        all.join(", ")
    }

    /// Returns the mean change of all control cases, if the policy subtracts it.
    pub(crate) fn correction(
        &self,
        controls: &[(&CaseId, CaseConclusion)],
        policy: &Policy,
    ) -> Option<Shift> {
        let moved = !self.slower.is_empty() || !self.faster.is_empty();
        if !moved || policy.control().when_moved != WhenMoved::Correct {
            return None;
        }
        let known: Vec<(f64, f64)> = controls
            .iter()
            .filter_map(|(_, finding)| {
                let [low, high] = finding.interval?;
                Some((finding.change.ln_1p(), (high.ln_1p() - low.ln_1p()) / 2.0))
            })
            .collect();
        let count = known.len() as f64;
        let log = known.iter().map(|(log, _)| log).sum::<f64>() / count;
        // A change of the machine affects each case differently, so the spread of the control cases
        // is part of the uncertainty.
        let apart = known.iter().map(|(each, _)| (each - log).powi(2)).sum::<f64>()
            / (count - 1.0).max(1.0);
        let own = known.iter().map(|(_, reach)| (reach / 2.0).powi(2)).sum::<f64>() / count;
        Some(Shift { log, variance: apart.max(own) / count })
    }

    pub(crate) fn of_case(
        &self,
        finding: CaseConclusion,
        correction: Option<Shift>,
        policy: &Policy,
    ) -> ControlAnswer {
        if let Some(shift) = correction {
            let taken = reason::signed_percent(shift.log.exp_m1());
            return ControlAnswer {
                finding,
                remark: Some(format!("{taken} of the control set subtracted")),
            };
        }
        // A slower machine may explain a slowdown; a faster machine may hide one.
        let explained = finding.verdict == Verdict::Regressed && !self.slower.is_empty();
        let hidden = matches!(finding.verdict, Verdict::Unchanged | Verdict::Improved)
            && !self.faster.is_empty();
        if policy.control().when_moved != WhenMoved::Refuse || !(explained || hidden) {
            return ControlAnswer { finding, remark: None };
        }
        let what = if explained {
            "the machine changed, not only the code"
        } else {
            "the machine became faster"
        };
        let remark = format!(
            "but {what}: the control set moved too ({}); measure again, or compare on one machine \
             with `gate --against`",
            self.case_names()
        );
        let (verdict, reason) = (Verdict::Inconclusive, ReasonCode::MachineMoved);
        ControlAnswer { finding: finding.with_verdict(verdict, reason), remark: Some(remark) }
    }
}

/// Judges a control case. The built-in control cases are not code under test: if one changes, the
/// machine changed. Any other control case is also code under test and keeps its own verdict, even
/// if the control set changed.
pub(crate) fn of_control(id: &CaseId, finding: CaseConclusion, policy: &Policy) -> ControlAnswer {
    let Some(_) = direction(&finding, policy) else {
        let finding = if policy.is_own_control(id.as_str()) {
            finding.with_verdict(Verdict::Unchanged, ReasonCode::WithinNoise)
        } else {
            finding
        };
        return ControlAnswer { finding, remark: None };
    };
    if !policy.is_own_control(id.as_str()) {
        return ControlAnswer {
            finding,
            remark: Some("and it belongs to the control set".to_owned()),
        };
    }
    let (verdict, reason, remark) = match policy.control().when_moved {
        WhenMoved::Correct => (
            Verdict::Unchanged,
            ReasonCode::WithinNoise,
            "the machine changed; its change is subtracted from every case",
        ),
        _ => (
            Verdict::Inconclusive,
            ReasonCode::MachineMoved,
            "it belongs to the control set: the machine changed",
        ),
    };
    ControlAnswer {
        finding: finding.with_verdict(verdict, reason),
        remark: Some(remark.to_owned()),
    }
}

/// Direction of a clear change of a control case.
enum Direction {
    Slower,
    Faster,
}

fn direction(finding: &CaseConclusion, policy: &Policy) -> Option<Direction> {
    let moved = policy.moved_percent() / 100.0;
    let [low, high] = finding.interval?;
    if finding.change >= moved && low > 0.0 {
        Some(Direction::Slower)
    } else if finding.change <= -moved && high < 0.0 {
        Some(Direction::Faster)
    } else {
        None
    }
}
