//! On how little verdicts rest, as far as no single row says it well enough.

use rsb_model::record::{ComparisonNote, ComparisonNoteCode};

use super::Row;
use crate::compare::Pair;

/// A note where comparisons rest on one process of a side: it cannot tell code from how it lay in
/// memory, nor from what disturbed it for life. Pairs that were measured interleaved have rules of
/// their own on how many are enough.
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
        "{weak} of {} comparisons rest on one process of a side, which cannot tell a code change \
         from memory layout or a disturbance: measure with replicates (`--replicates 3`, or \
         several runs of a side)",
        pairs.len()
    );
    (weak > 0).then(|| ComparisonNote::new(ComparisonNoteCode::Evidence, text))
}
