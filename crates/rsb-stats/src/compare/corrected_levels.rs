//! Error levels for the low ends of intervals, corrected for the number of cases.

use super::estimate::Estimate;
use super::{Pair, log_of_change};
use crate::multiple_testing::ascending;

/// Result of Holm's correction for one pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct CorrectedLevel {
    /// One-sided error level of the low end of this pair's interval.
    pub(super) level: f64,
    /// Whether the low end at this level is above T/2.
    pub(super) clear: Clear,
}

/// Whether the low end of a change, corrected over all cases, is above T/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clear {
    /// The low end is above T/2.
    AboveHalf,
    /// The low end is not above T/2.
    Not,
}

/// Computes Holm's step-down levels: the most significant pair is tested at alpha / 2 divided by
/// the number of pairs, the next one at alpha / 2 divided by the number of remaining pairs, and so
/// on until one fails; the remaining pairs get the level of the failed one.
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
    // A pair without a spread is not tested, so the correction does not count it.
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
