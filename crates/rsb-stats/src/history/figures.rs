//! The figures of one question by run, on the logarithm: what an accepted level moves is moved.

use super::scale::Scale;
use super::{Question, Rule};
use crate::estimate::median;

/// The logarithms of one metric of one case, run by run, and the level of the last runs.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) scale: Scale,
    /// Of each earlier run, where it has one.
    pub(super) before: Vec<Option<f64>>,
    /// Of each run judged.
    pub(super) now: Vec<Option<f64>>,
    pub(super) level: f64,
}

impl Figures {
    /// `None` where there are too few runs before, or none to judge.
    pub(super) fn of(question: &Question, rule: &Rule) -> Option<Self> {
        let scale = Scale(question.better);
        let before = align_to_accepted_level(
            scale.logs(&question.before),
            question.accepted_from,
            rule.level,
        )?;
        let level = median(last(&present(&before), rule.level)?)?;
        let now = scale.logs(&question.now);
        now.iter().any(Option::is_some).then_some(Self { scale, before, now, level })
    }

    /// How far each earlier run and each judged one lies above the level.
    pub(super) fn deviations(&self) -> [Vec<Option<f64>>; 2] {
        [&self.before, &self.now]
            .map(|logs| logs.iter().map(|log| log.map(|log| log - self.level)).collect())
    }
}

/// Those that are there.
pub(super) fn present(logs: &[Option<f64>]) -> Vec<f64> {
    logs.iter().flatten().copied().collect()
}

/// The last `count`; `None` where there are fewer.
pub(super) fn last(values: &[f64], count: usize) -> Option<&[f64]> {
    values.get(values.len().checked_sub(count)?..)
}

/// `logs`, those before an accepted level moved to it. `None` where no run has shown that level
/// yet.
fn align_to_accepted_level(
    mut logs: Vec<Option<f64>>,
    accepted_from: Option<usize>,
    level: usize,
) -> Option<Vec<Option<f64>>> {
    let Some(from) = accepted_from else { return Some(logs) };
    let (before, since) = logs.split_at_mut_checked(from)?;
    let since = median(&present(since))?;
    let known = present(before);
    if let Some(old) = median(last(&known, level).unwrap_or(&known)) {
        for log in before.iter_mut().flatten() {
            *log += since - old;
        }
    }
    Some(logs)
}
