//! The tables of docs/models.md: the catalogue, the results of a stored run, and the supported
//! combinations.

use std::fmt::Write as _;

use rsb_catalog::models::{
    Family, PRECISIONS, SizeClass, Unpublished, catalogue, representative, unpublished,
};
use rsb_insight::model_results::{Outliers, RecommendRequest, compatibility, document, recommend};
use rsb_model::record::{ModelAdvice, ModelBasis, ModelChoice, ModelsDocument};
use rsb_model::{Dtype, Run};

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

/// Returns the head of a table with `first` and `others` as columns.
fn head(first: &str, others: &[&str]) -> String {
    format!("| {first} | {} |\n|---|{}\n", others.join(" | "), "---|".repeat(others.len()))
}

#[test]
fn the_page_of_models_lists_the_catalogue() {
    let mut table = head("family", &SizeClass::NAMES);
    for family in Family::ALL {
        write!(table, "| {family} |").unwrap();
        for size in SizeClass::ALL {
            let rows = catalogue().iter().filter(|row| row.family == family && row.size() == size);
            let mut models: Vec<String> = rows
                .map(|row| match &row.source {
                    Some(source) => format!("[{}]({source}) {}", row.name, row.parameters),
                    None => format!("{} {}", row.name, row.parameters),
                })
                .collect();
            models.extend(
                unpublished(family, size)
                    .map(|cell| format!("{}; {}", Unpublished::WORDS, cell.searched)),
            );
            write!(table, " {} |", models.join(", ")).unwrap();
        }
        table.push('\n');
    }
    check_section(&root().join(PAGE), "catalogue", &table);
}

#[test]
fn the_page_of_models_shows_the_stored_run() {
    let models = seen().models;
    let mut runtimes: Vec<&str> = Vec::new();
    let mut rows: Vec<(String, Vec<(&str, String)>)> = Vec::new();
    for record in &models {
        if !runtimes.contains(&record.backend.as_str()) {
            runtimes.push(&record.backend);
        }
        for (key, figures) in &record.batch_results {
            let Some(time) = figures.inference_time_ms else { continue };
            let name = format!("{} | {key}", record.model_id);
            let cell = format!("{time:.1} ({:.0e})", figures.accuracy_error.unwrap());
            let cell = (record.backend.as_str(), cell);
            match rows.iter_mut().find(|row| row.0 == name) {
                Some(row) => row.1.push(cell),
                None => rows.push((name, vec![cell])),
            }
        }
    }
    let mut table = head("model | batch", &runtimes).replacen("|---|", "|---|---|", 1);
    for (name, cells) in rows {
        write!(table, "| {name} |").unwrap();
        for runtime in &runtimes {
            let cell = cells.iter().find(|cell| cell.0 == *runtime);
            write!(table, " {} |", cell.map_or("", |cell| cell.1.as_str())).unwrap();
        }
        table.push('\n');
    }
    check_section(&root().join(PAGE), "results", &table);
}

#[test]
fn the_page_of_models_says_what_runs_where() {
    let runs: Vec<Run> = OTHERS.into_iter().chain([SEEN]).map(run).collect();
    let map = compatibility(&runs);
    let mut cures: Vec<String> = Vec::new();
    // Families with the same cells share a row.
    let mut rows: Vec<(String, Vec<String>, String)> = Vec::new();
    for row in map.chunks(PRECISIONS.len()) {
        let place = format!("| {} | {} |", row[0].runtime, row[0].backend);
        let mut cells = String::new();
        for one in row {
            let standing = match one.standing.as_str() {
                "not possible" => "no",
                other => other,
            };
            let Some(reason) = &one.reason else {
                write!(cells, " {standing} |").unwrap();
                continue;
            };
            // One entry for all precisions.
            let cure = match reason.cure.strip_prefix(&one.dtype) {
                Some(rest) => format!("the precision{rest}"),
                None => reason.cure.clone(),
            };
            let known = cures.iter().position(|known| *known == cure);
            let number = known.unwrap_or_else(|| {
                cures.push(cure);
                cures.len() - 1
            });
            write!(cells, " {standing} ({}) |", number + 1).unwrap();
        }
        let family = row[0].family.clone();
        match rows.iter_mut().find(|known| known.0 == place && known.2 == cells) {
            Some(known) => known.1.push(family),
            None => rows.push((place, vec![family], cells)),
        }
    }
    // The largest row of a place comes last and does not list its families.
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.len().cmp(&b.1.len())));
    let mut table = head("runtime | backend | families", &PRECISIONS.map(Dtype::as_str)).replacen(
        "|---|",
        "|---|---|---|",
        1,
    );
    for (index, (place, families, cells)) in rows.iter().enumerate() {
        let is_last = rows.get(index + 1).is_none_or(|next| next.0 != *place);
        let is_first = index == 0 || rows[index - 1].0 != *place;
        let families = match (is_last, is_first) {
            (true, true) => "all".to_owned(),
            (true, false) => "others".to_owned(),
            (false, _) => families.join(", "),
        };
        writeln!(table, "{place} {families} |{cells}").unwrap();
    }
    table.push('\n');
    for (index, cure) in cures.iter().enumerate() {
        writeln!(table, "{}. {cure}", index + 1).unwrap();
    }
    check_section(&root().join(PAGE), "compatibility", &table);
}

#[test]
fn the_page_of_models_has_the_matrix_of_what_is_best() {
    // Only this run has meaningful times.
    let advised = recommend(
        &[run(SEEN)],
        RecommendRequest { is_predicting: true, ..RecommendRequest::LATENCY },
    );
    let cell = |family: Family, size: SizeClass| {
        let row = representative(family, size)?;
        let advice = advised.models.iter().find(|advice| advice.model_id == row.name)?;
        best(advice)
    };
    // Sizes without any time have no column.
    let sizes = SizeClass::ALL.into_iter().zip(SizeClass::NAMES);
    let sizes: Vec<(SizeClass, &str)> = sizes
        .filter(|(size, _)| Family::ALL.into_iter().any(|family| cell(family, *size).is_some()))
        .collect();
    let mut table = head("family", &sizes.iter().map(|(_, name)| *name).collect::<Vec<_>>());
    for family in Family::ALL {
        write!(table, "| {family} |").unwrap();
        for (size, _) in &sizes {
            write!(table, " {} |", cell(family, *size).unwrap_or_default()).unwrap();
        }
        table.push('\n');
    }
    check_section(&root().join(PAGE), "matrix", &table);
}

/// Returns a cell of the matrix; `None` without a time.
fn best(advice: &ModelAdvice) -> Option<String> {
    let one = advice.candidates.first()?;
    let predicted = if one.basis == ModelBasis::Predicted { "~" } else { "" };
    let time = match one.time_per_item_ms {
        long if long >= 1e3 => format!("{:.1} s", long / 1e3),
        short => format!("{short:.0} ms"),
    };
    let unclear = match advice.choice {
        ModelChoice::NoClearWinner => "?",
        ModelChoice::OnlyOne => ", only candidate",
        ModelChoice::Winner => "",
        ModelChoice::Unknown => return None,
    };
    assert_eq!(one.place.dtype, "f32", "the page says so of all cells");
    Some(format!("{}: {} {predicted}{time}{unclear}", advice.model_id, one.place.backend))
}
