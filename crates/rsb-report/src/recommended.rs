//! Recommendations: the fastest device, runtime and precision of each model, and how clear the
//! choice is.

use rsb_model::record::{ModelAdvice, ModelBasis, ModelChoice, RecommendDocument};

use crate::number::format_quantity;
use crate::style::Tone;
use crate::table::{Cell, Column, Table};

/// Returns a table with a row for each model and sequence length.
pub fn table(document: &RecommendDocument) -> Table {
    Table::of(
        &document.models,
        &[
            (Column::elided("model"), &|advice| Cell::from(&advice.model_id)),
            (Column::left("family"), &|advice| Cell::from(&advice.architecture_type)),
            (Column::left("size"), &|advice| {
                Cell::from(advice.size.as_deref().unwrap_or_default())
            }),
            (Column::right("length"), &|advice| advice.sequence_length.to_string().into()),
            (Column::left("choice"), &|advice| choice(advice)),
            (Column::left("fastest"), &|advice| fastest(advice)),
            (Column::right("time per item"), &|advice| time(advice)),
            (Column::elided("machine"), &|advice| {
                Cell::from(advice.candidates.first().map_or("", |best| &best.place.machine))
            }),
        ],
    )
}

fn choice(advice: &ModelAdvice) -> Cell {
    match advice.choice {
        ModelChoice::Winner => Cell::with_tone("best", Tone::Good),
        ModelChoice::NoClearWinner => {
            let count = advice.candidates.len();
            Cell::with_tone(format!("no clear winner among {count}"), Tone::Caution)
        }
        ModelChoice::OnlyOne => Cell::from("only candidate"),
        ModelChoice::Unknown => Cell::with_tone("unknown", Tone::Dim),
    }
}

fn fastest(advice: &ModelAdvice) -> Cell {
    let best = advice.candidates.first();
    let words = best.map(|best| {
        let place = &best.place;
        format!("{} {} on {}", place.backend, place.dtype, place.device)
    });
    Cell::from(words.unwrap_or_default())
}

fn time(advice: &ModelAdvice) -> Cell {
    let words = advice.candidates.first().map(|best| {
        let predicted = if best.basis == ModelBasis::Predicted { ", predicted" } else { "" };
        format_quantity(best.time_per_item_ms, "ms") + predicted
    });
    Cell::from(words.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    #[test]
    fn each_model_has_a_row_with_its_fastest_place_and_how_clear_that_is() {
        let document = crate::charts::recommendation::tests::sample();
        let table = table(&document);
        assert_eq!(table.rows().len(), document.models.len());
        let text = table.text(Style::PLAIN);
        for part in
            ["openvino f32 on cpu:0", "no clear winner among 2", "only candidate", "1.00 ms"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
