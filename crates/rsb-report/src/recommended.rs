//! Recommendations: the best device, runtime and precision of each model, the runner-up, and the
//! error of the values.

use rsb_model::record::{ModelAdvice, ModelBasis, ModelCandidate, ModelChoice, RecommendDocument};

use crate::number::format_quantity;
use crate::style::Tone;
use crate::table::{Cell, Column, Table};

/// Returns a table with a row for each model with a candidate.
pub fn table(document: &RecommendDocument) -> Table {
    let known = document.models.iter().filter(|advice| !advice.candidates.is_empty());
    let words = |candidate: Option<&ModelCandidate>| {
        candidate.map_or_else(String::new, |one| describe(one, document))
    };
    Table::of(
        known,
        &[
            (Column::elided("model"), &|advice| Cell::from(name(advice, document))),
            (Column::elided("best"), &|advice| {
                let tone =
                    if advice.choice == ModelChoice::Winner { Tone::Good } else { Tone::Plain };
                Cell::with_tone(words(advice.candidates.first()), tone)
            }),
            (Column::elided("runner-up"), &|advice| Cell::from(words(advice.candidates.get(1)))),
            (Column::left("basis"), &|advice| basis(advice)),
        ],
    )
}

/// Returns the name of a model, with the sequence length if the table has it in several lengths.
fn name(advice: &ModelAdvice, document: &RecommendDocument) -> String {
    let own = document.models.iter().filter(|other| other.model_id == advice.model_id);
    match own.count() {
        0 | 1 => advice.model_id.clone(),
        _ => format!("{}, {} positions", advice.model_id, advice.sequence_length),
    }
}

/// Describes a candidate: runtime, precision, device, the machine if there are several, and the value
/// of the goal.
fn describe(candidate: &ModelCandidate, document: &RecommendDocument) -> String {
    let place = &candidate.place;
    let mut candidates = document.models.iter().flat_map(|advice| &advice.candidates);
    let is_elsewhere = candidates.any(|other| other.place.machine != place.machine);
    let machine = if is_elsewhere { format!(" of {}", place.machine) } else { String::new() };
    let time = candidate.time_per_item_ms;
    let value = match (document.goal.as_str(), candidate.energy_per_item_j) {
        ("cost", _) => candidate.cost_per_million_items.map_or_else(String::new, |cost| {
            let currency = document.currency.as_deref().unwrap_or_default();
            format!("{cost:.2} {currency} per million items")
        }),
        ("energy", Some(energy)) => format!("{energy:.3} J per item"),
        ("latency", _) => format_quantity(time, "ms"),
        _ => format_quantity(1e3 / time, "items/s"),
    };
    format!("{value}: {} {} on {}{machine}", place.backend, place.dtype, place.device)
}

/// Returns whether the values are measured or predicted, half the width of the interval of the best,
/// and whether it is clearly the best.
fn basis(advice: &ModelAdvice) -> Cell {
    let Some(best) = advice.candidates.first() else { return Cell::default() };
    let word = match best.basis {
        ModelBasis::Measured => "measured",
        ModelBasis::Predicted => "predicted",
    };
    let [low, high] = best.time_per_item_interval_ms;
    let error = 50.0 * (high - low) / best.time_per_item_ms;
    let (doubt, tone) = match advice.choice {
        ModelChoice::NoClearWinner => (", no clear winner", Tone::Caution),
        ModelChoice::OnlyOne => (", only candidate", Tone::Dim),
        ModelChoice::Winner | ModelChoice::Unknown => ("", Tone::Plain),
    };
    Cell::with_tone(format!("{word} ±{error:.0} %{doubt}"), tone)
}

#[cfg(test)]
mod tests {
    use rsb_model::record::{ModelCandidate, ModelPlace};

    use super::*;
    use crate::style::Style;

    /// Returns two families, one of them in two sizes.
    fn sample() -> RecommendDocument {
        document(vec![
            advice("vision", "tiny", ModelChoice::Winner, &["openvino", "pytorch"]),
            advice("vision", "base", ModelChoice::NoClearWinner, &["pytorch", "openvino"]),
            advice("speech", "tiny", ModelChoice::OnlyOne, &["pytorch"]),
        ])
    }

    fn candidate(machine: &str, backend: &str) -> ModelCandidate {
        ModelCandidate {
            place: ModelPlace {
                machine: machine.to_owned(),
                device: "cpu:0".to_owned(),
                backend: backend.to_owned(),
                dtype: "f32".to_owned(),
                threads: None,
            },
            basis: ModelBasis::Measured,
            cost_per_million_items: None,
            energy_per_item_j: None,
            rests_on: Vec::new(),
            batch_size: 1,
            time_per_item_ms: 1.0,
            time_per_item_interval_ms: [0.9, 1.1],
            accuracy_error: None,
            run_id: Some("run".to_owned()),
        }
    }

    fn advice(family: &str, size: &str, choice: ModelChoice, best: &[&str]) -> ModelAdvice {
        ModelAdvice {
            model_id: format!("{family}-{size}"),
            architecture_type: family.to_owned(),
            parameter_count: Some(if size == "tiny" { 1 } else { 1 << 30 }),
            size: Some(size.to_owned()),
            sequence_length: 128,
            choice,
            candidates: best.iter().map(|backend| candidate("box", backend)).collect(),
            unknown: Vec::new(),
        }
    }

    fn document(models: Vec<ModelAdvice>) -> RecommendDocument {
        RecommendDocument { format_version: 1, goal: "latency".to_owned(), currency: None, models }
    }

    #[test]
    fn each_model_has_a_row_with_the_best_the_runner_up_and_the_error() {
        let document = sample();
        let table = table(&document);
        assert_eq!(table.rows().len(), document.models.len());
        let text = table.text(Style::PLAIN);
        for part in
            ["1.00 ms: openvino f32 on cpu:0", "measured ±10 %, no clear winner", "only candidate"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
