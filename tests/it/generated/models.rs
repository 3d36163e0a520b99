//! The tables of docs/models.md: the catalogue, the results of a stored run, and the supported
//! combinations.

use std::fmt::Write as _;

use rsb_catalog::models::{Family, PRECISIONS, SizeClass, catalogue, representative};
use rsb_insight::model_results::{Outliers, RecommendRequest, compatibility, document, recommend};
use rsb_model::Run;
use rsb_model::record::{ModelAdvice, ModelBasis, ModelChoice, ModelsDocument};

use super::{check_section, root};

const PAGE: &str = "docs/models.md";
const SEEN: &str = "models";
/// Runs in other precisions and runtimes on a busy machine, newest first. They show which
/// combinations run, not how fast.
const OTHERS: [&str; 3] = ["models-qnn", "models-precisions", "models-onnxruntime"];

fn run(name: &str) -> Run {
    let path = root().join(format!("docs/gallery/{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn seen() -> ModelsDocument {
    document(&run(SEEN), Outliers::Marked)
}

#[test]
fn the_page_of_models_lists_the_catalogue() {
    let mut table =
        String::from("| family | size | model | parameters | published |\n|---|---|---|--:|---|\n");
    for row in catalogue() {
        let published = match (&row.published, &row.source) {
            (Some(said), Some(source)) => format!("[{said}]({source})"),
            _ => "no: a small model of the family's architecture".to_owned(),
        };
        let (family, size, name, count) = (row.family, row.size(), &row.name, row.parameters);
        writeln!(table, "| {family} | {size} | {name} | {count} | {published} |").unwrap();
    }
    check_section(&root().join(PAGE), "catalogue", &table);
}

#[test]
fn the_page_of_models_shows_the_stored_run() {
    let mut table = String::from(
        "| model | family | parameters | runtime | batch | ms | items/s | error \
         |\n|---|---|--:|---|---|--:|--:|--:|\n",
    );
    for record in seen().models {
        for (key, figures) in &record.batch_results {
            let Some(time) = figures.inference_time_ms else { continue };
            let (model, backend) = (&record.model_id, &record.backend);
            let (family, count) =
                (record.architecture_type.as_deref().unwrap(), record.parameter_count.unwrap());
            let (rate, error) =
                (figures.throughput_samples_per_second.unwrap(), figures.accuracy_error.unwrap());
            let said = format!("{time:.1} | {rate:.2} | {error:.0e}");
            writeln!(table, "| {model} | {family} | {count} | {backend} | {key} | {said} |")
                .unwrap();
        }
    }
    check_section(&root().join(PAGE), "results", &table);
}

#[test]
fn the_page_of_models_says_what_runs_where() {
    let runs: Vec<Run> = OTHERS.into_iter().chain([SEEN]).map(run).collect();
    let map = compatibility(&runs);
    let mut table = String::from("| runtime | backend | families |");
    for dtype in PRECISIONS {
        write!(table, " {dtype} |").unwrap();
    }
    writeln!(table, "\n|---|---|---|{}", "---|".repeat(PRECISIONS.len())).unwrap();
    // Families with the same cells share a row.
    let mut rows: Vec<(String, Vec<String>, String)> = Vec::new();
    for row in map.chunks(PRECISIONS.len()) {
        let place = format!("| {} | {} |", row[0].runtime, row[0].backend);
        let mut cells = String::new();
        for one in row {
            let reason = one.reason.as_ref();
            let cure = reason.map(|reason| format!(": {}", reason.cure)).unwrap_or_default();
            write!(cells, " {}{cure} |", one.standing.as_str()).unwrap();
        }
        let family = row[0].family.clone();
        match rows.iter_mut().find(|known| known.0 == place && known.2 == cells) {
            Some(known) => known.1.push(family),
            None => rows.push((place, vec![family], cells)),
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    for (place, families, cells) in rows {
        writeln!(table, "{place} {} |{cells}", families.join(", ")).unwrap();
    }
    check_section(&root().join(PAGE), "compatibility", &table);
}

#[test]
fn the_page_of_models_has_the_matrix_of_what_is_best() {
    // The other runs have no meaningful times.
    let advised = recommend(
        &[run(SEEN)],
        RecommendRequest { is_predicting: true, ..RecommendRequest::LATENCY },
    );
    let mut table =
        format!("| family |{}\n|---|", SizeClass::NAMES.map(|size| format!(" {size} |")).concat());
    writeln!(table, "{}", "---|".repeat(SizeClass::ALL.len())).unwrap();
    for family in Family::ALL {
        write!(table, "| {family} |").unwrap();
        for size in SizeClass::ALL {
            let row = representative(family, size);
            let advice = row
                .and_then(|row| advised.models.iter().find(|advice| advice.model_id == row.name));
            write!(table, " {} |", advice.map_or_else(|| "no model".to_owned(), best)).unwrap();
        }
        table.push('\n');
    }
    check_section(&root().join(PAGE), "matrix", &table);
}

/// Returns a cell of the matrix.
fn best(advice: &ModelAdvice) -> String {
    let name = &advice.model_id;
    let Some(one) = advice.candidates.first() else { return format!("{name}: unknown") };
    let basis = if one.basis == ModelBasis::Predicted { ", predicted" } else { "" };
    let time = match one.time_per_item_ms {
        long if long >= 1e3 => format!("{:.1} s", long / 1e3),
        short => format!("{short:.0} ms"),
    };
    let place = format!("{} {}", one.place.backend, one.place.dtype);
    match advice.choice {
        ModelChoice::NoClearWinner => format!("{name}: no clear winner, {place} {time}{basis}"),
        ModelChoice::OnlyOne => format!("{name}: {place} {time}{basis}, the only candidate"),
        ModelChoice::Winner => format!("{name}: {place} {time}{basis}"),
        ModelChoice::Unknown => format!("{name}: unknown"),
    }
}
