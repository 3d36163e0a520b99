//! Values of one question by run, as logarithms, aligned to an accepted level.

use super::scale::Scale;
use super::{Question, Rule};
use crate::estimate::median;

/// Logarithms of one metric of one case, one value per run, and the level of the last runs.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) scale: Scale,
    /// Value of each earlier run, if it has one.
    pub(super) before: Vec<Option<f64>>,
    /// Value of each judged run.
    pub(super) now: Vec<Option<f64>>,
    pub(super) level: f64,
}

impl Figures {
    /// Reads the values of a question. `None` if there are too few earlier runs, or none to judge.
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

    /// Returns the distances of the earlier and the judged runs from the level.
    pub(super) fn deviations(&self) -> [Vec<Option<f64>>; 2] {
        [&self.before, &self.now]
            .map(|logs| logs.iter().map(|log| log.map(|log| log - self.level)).collect())
    }
}

/// Returns the values that are present.
pub(super) fn present(logs: &[Option<f64>]) -> Vec<f64> {
    logs.iter().flatten().copied().collect()
}

/// Returns the last `count` values; `None` if there are fewer.
pub(super) fn last(values: &[f64], count: usize) -> Option<&[f64]> {
    values.get(values.len().checked_sub(count)?..)
}

/// Returns `logs`, with those before an accepted level shifted to that level. `None` if there is no
/// run at that level yet.
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
