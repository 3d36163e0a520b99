//! The levels of the low ends of intervals, corrected for the number of cases.

use super::estimate::Estimate;
use super::{Pair, log_of_change};
use crate::multiple_testing::ascending;

/// What Holm's correction leaves to one pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct CorrectedLevel {
    /// The one-sided level of its low end.
    pub(super) level: f64,
    /// Whether that low end lies above T/2.
    pub(super) clear: Clear,
}

/// Whether the low end of a change, as corrected over all cases, lies above T/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clear {
    /// It does.
    AboveHalf,
    /// It does not.
    Not,
}

/// Holm's step-down: the clearest pair is held to a share of alpha / 2 among all pairs, the next to
/// a share among the rest, and so on until one fails; the others are held to that one's share.
pub(super) fn corrected_levels(
    pairs: &[Pair],
    estimates: &[Option<Estimate>],
    alpha: f64,
) -> Vec<CorrectedLevel> {
    let chances: Vec<Option<f64>> = pairs
        .iter()
        .zip(estimates)
        .map(|(pair, estimate)| {
            let limit = log_of_change(pair.threshold / 2.0, pair.better);
            estimate.map(|estimate| estimate.chance_above(limit))
        })
        .collect();
    // A pair without a spread asks no question, so it takes no part in the correction.
    let questions = chances.iter().flatten().count();
    let mut levels = vec![CorrectedLevel { level: alpha / 2.0, clear: Clear::Not }; pairs.len()];
    let mut failed_at = None;
    let order = ascending(
        &chances.iter().map(|chance| chance.unwrap_or(f64::INFINITY)).collect::<Vec<_>>(),
    );
    for (rank, position) in order.into_iter().take(questions).enumerate() {
        let level = alpha / 2.0 / failed_at.unwrap_or(questions - rank) as f64;
        let passes = failed_at.is_none()
            && chances.get(position).copied().flatten().is_some_and(|p| p <= level);
        if !passes {
            failed_at = failed_at.or(Some(questions - rank));
        }
        if let Some(slot) = levels.get_mut(position) {
            *slot =
                CorrectedLevel { level, clear: if passes { Clear::AboveHalf } else { Clear::Not } };
        }
    }
    levels
}
