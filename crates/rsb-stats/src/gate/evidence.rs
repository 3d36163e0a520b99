//! A note on comparisons with weak evidence, which no single row can show.

use rsb_model::record::{ComparisonNote, ComparisonNoteCode};

use super::Row;
use crate::compare::Pair;

/// Returns a note if comparisons rest on a single process of a side: one process cannot distinguish
/// a code change from its memory layout, or from a disturbance that lasts for its whole life. Pairs
/// that were measured interleaved are excluded, because they need a minimum number anyway.
pub(super) fn note(rows: &[Row]) -> Option<ComparisonNote> {
    let pairs: Vec<&Pair> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Asked { pair, .. } => Some(pair),
            Row::Ready(_) => None,
        })
        .collect();
    let is_weak = |pair: &&&Pair| {
        pair.ratios.is_none() && (pair.baseline.is_lone() || pair.current.is_lone())
    };
    let weak = pairs.iter().filter(is_weak).count();
    let text = format!(
        "{weak} of {} comparisons rest on one process of a side, which cannot distinguish a code \
         change from memory layout or a disturbance: measure with replicates (`--replicates 3`, or \
         several runs of a side)",
        pairs.len()
    );
    (weak > 0).then(|| ComparisonNote::new(ComparisonNoteCode::Evidence, text))
}
