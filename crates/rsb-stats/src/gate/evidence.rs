//! On how little verdicts rest, as far as no single row says it well enough.

use rsb_model::record::{ComparisonNote, ComparisonNoteCode};

use super::Row;

/// A note where comparisons rest on one process of a side: it cannot tell code from how it lay in
/// memory, nor from what disturbed it for life.
pub(super) fn note(rows: &[Row]) -> Option<ComparisonNote> {
    let asked: Vec<bool> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Asked { pair, .. } => {
                Some([&pair.baseline, &pair.current].iter().any(|side| side.is_lone()))
            }
            Row::Ready(_) => None,
        })
        .collect();
    let lone = asked.iter().filter(|lone| **lone).count();
    let text = format!(
        "{lone} of {} comparisons rest on one process of a side, which cannot tell a code change \
         from memory layout or a \
         disturbance: measure with replicates (`--replicates 3`, or several runs of a side)",
        asked.len()
    );
    (lone > 0).then(|| ComparisonNote::new(ComparisonNoteCode::Evidence, text))
}
