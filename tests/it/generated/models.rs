//! The tables of docs/models.md: the catalogue, what a stored run says of it, and what runs where.

use std::fmt::Write as _;

use rsb_engine::models::{Family, RUNTIMES, SizeClass, Wanted, catalogue, document, refusal};
use rsb_model::record::ModelsDocument;
use rsb_model::{DeviceRef, Dtype, Run};

use super::{check_section, root};

const PAGE: &str = "docs/models.md";
const SEEN: &str = "docs/gallery/models.json";

fn seen() -> ModelsDocument {
    let text = std::fs::read_to_string(root().join(SEEN)).unwrap();
    document(&serde_json::from_str::<Run>(&text).unwrap())
}

#[test]
fn the_page_of_models_lists_the_catalogue() {
    let mut table = String::from("| family | size | model | parameters | published |\n|---|---|---|--:|---|\n");
    for row in catalogue() {
        let published = match (&row.published, &row.source) {
            (Some(said), Some(source)) => format!("[{said}]({source})"),
            _ => "no: the family's architecture, made small".to_owned(),
        };
        let (family, size, name, count) = (row.family, row.size(), &row.name, row.parameters);
        writeln!(table, "| {family} | {size} | {name} | {count} | {published} |").unwrap();
    }
    check_section(&root().join(PAGE), "catalogue", &table);
}

#[test]
fn the_page_of_models_shows_the_stored_run() {
    let mut table = String::from(
        "| model | family | parameters | runtime | batch | ms | items/s | error |\n|---|---|--:|---|---|--:|--:|--:|\n",
    );
    for record in seen().models {
        for (key, figures) in &record.batch_results {
            let Some(time) = figures.inference_time_ms else { continue };
            let (model, backend) = (&record.model_id, &record.backend);
            let (family, count) = (record.architecture_type.as_deref().unwrap(), record.parameter_count.unwrap());
            let (rate, error) = (figures.throughput_samples_per_second.unwrap(), figures.accuracy_error.unwrap());
            let said = format!("{time:.1} | {rate:.2} | {error:.0e}");
            writeln!(table, "| {model} | {family} | {count} | {backend} | {key} | {said} |").unwrap();
        }
    }
    check_section(&root().join(PAGE), "results", &table);
}

#[test]
fn the_page_of_models_says_what_runs_where() {
    let seen = seen();
    let mut table = String::from("| family |");
    for runtime in RUNTIMES {
        for dtype in ["f32", "f16", "bf16", "i8"] {
            write!(table, " {} {dtype} |", runtime.name).unwrap();
        }
    }
    writeln!(table, "\n|---|{}", "---|".repeat(4 * RUNTIMES.len())).unwrap();
    for family in Family::ALL {
        write!(table, "| {family} |").unwrap();
        for runtime in RUNTIMES {
            for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8] {
                write!(table, " {} |", standing(&seen, family, runtime.name, dtype)).unwrap();
            }
        }
        table.push('\n');
    }
    check_section(&root().join(PAGE), "compatibility", &table);
}

/// How a family stands on the CPU: seen, refused with the cure, or neither.
fn standing(seen: &ModelsDocument, family: Family, runtime: &str, dtype: Dtype) -> String {
    let key = match dtype {
        Dtype::F32 => "fp32",
        Dtype::F16 => "fp16",
        Dtype::Bf16 => "bf16",
        _ => "int8",
    };
    let own = seen
        .models
        .iter()
        .filter(|record| record.backend == runtime && record.architecture_type.as_deref() == Some(family.as_str()));
    let mut figures = own
        .flat_map(|record| &record.batch_results)
        .filter(|(known, _)| known.ends_with(key))
        .map(|(_, figures)| figures);
    if figures.clone().any(|figures| figures.inference_time_ms.is_some()) {
        return "runs".to_owned();
    }
    let row = catalogue().iter().find(|row| row.family == family && row.size() == SizeClass::Tiny).unwrap();
    let length = row.shape.length.unwrap_or(128);
    let wanted = Wanted { row, workload: "forward", runtime, dtype, length, device: DeviceRef::CPU };
    let missing = figures.find_map(|figures| figures.missing.first()?.reason.clone());
    match refusal(&wanted).or(missing) {
        Some(reason) => format!("no: {}", reason.cure),
        None => "not tried".to_owned(),
    }
}
