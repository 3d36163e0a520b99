//! Generated files are up to date: schemas, the glossary's table of fields, the table of
//! benchmarks, the gallery. `cargo xtask codegen` sets `UPDATE_GENERATED` and rewrites them.

mod gallery;
mod models;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rsb_model::field::{FIELDS, FieldRole};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::common::Bench;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn check(path: &Path, expected: &str) {
    let found = std::fs::read_to_string(path).unwrap_or_default();
    if found == expected {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_GENERATED").is_some(),
        "{} is out of date; run `cargo xtask codegen`",
        path.display()
    );
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, expected).unwrap();
}

/// Checks that the file at `path` has `text` between the marks of `name`.
fn check_section(path: &Path, name: &str, text: &str) {
    let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
    let whole = std::fs::read_to_string(path).unwrap();
    let (before, rest) =
        whole.split_once(&begin).unwrap_or_else(|| panic!("{} lacks {begin}", path.display()));
    let (_, after) =
        rest.split_once(&end).unwrap_or_else(|| panic!("{} lacks {end}", path.display()));
    check(path, &format!("{before}{begin}\n{text}\n{end}{after}"));
}

#[test]
fn schemas_follow_the_types() {
    let schemas = [
        ("benchmark-result", schema_of::<rsb_model::BenchmarkResult>()),
        ("comparison-result", schema_of::<rsb_model::ComparisonResult>()),
        ("compatibility", schema_of::<rsb_model::record::CompatibilityDocument>()),
        ("component-benchmark-result", schema_of::<rsb_model::ComponentBenchmarkResult>()),
        ("first-day", schema_of::<rsb_model::record::FirstDayDocument>()),
        ("health", schema_of::<rsb_model::record::HealthDocument>()),
        ("models", schema_of::<rsb_model::record::ModelsDocument>()),
        ("performance-baseline", schema_of::<rsb_model::record::PerformanceBaseline>()),
        ("recommend", schema_of::<rsb_model::record::RecommendDocument>()),
        ("run", schema_of::<rsb_model::Run>()),
        ("trend", schema_of::<rsb_model::record::TrendDocument>()),
    ];
    for (name, schema) in &schemas {
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        check(&root().join(format!("schemas/{name}.schema.json")), &text);
    }
    let files = std::fs::read_dir(root().join("schemas")).unwrap().count();
    assert_eq!(files, schemas.len(), "a file in schemas/ is made from no type");
    let listed = Bench::new().run("schema").expect(0).stdout;
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names, "`schema` shows each");
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
}

#[test]
fn the_page_of_architectures_follows_the_table() {
    check(&root().join("docs/architectures.md"), &rsb_report::architectures::markdown());
}

#[test]
fn the_first_day_shows_its_checks_and_expected_ranges() {
    let path = root().join("docs/how-to/first-day.md");
    let mut checks =
        String::from("| # | check | likely cause of `look` or `failed` |\n|--:|---|---|\n");
    for check in &rsb_engine::first_day::CHECKS {
        writeln!(checks, "| {} | {} | {} |", check.number, check.name, check.meaning).unwrap();
    }
    check_section(&path, "checks", &checks);
    check_section(&path, "expected ranges", rsb_engine::first_day::markdown().trim_end());
}

#[test]
fn the_glossary_holds_every_field() {
    let recorded = recorded();
    let mut table =
        String::from("| field | unit | better | meaning | recorded |\n|---|---|---|---|---|\n");
    for field in FIELDS {
        let better = match field.role {
            FieldRole::Metric(rsb_model::Better::Higher) => "higher",
            FieldRole::Metric(rsb_model::Better::Lower) => "lower",
            FieldRole::Parameter => "parameter",
            FieldRole::Fact => "fact",
        };
        let about = field.about.replace('|', "\\|");
        let run = recorded.iter().find(|(_, keys)| keys.contains(field.name));
        let run = run
            .map_or_else(|| "-".to_owned(), |(name, _)| format!("[{name}](gallery/{name}.json)"));
        writeln!(table, "| `{}` | {} | {better} | {about} | {run} |", field.name, field.unit)
            .unwrap();
    }
    check_section(&root().join("docs/glossary.md"), "fields", &table);
}

/// Returns the recorded runs in docs/gallery by name, with every key that has a value; those of the
/// fake GPU are last.
fn recorded() -> Vec<(String, BTreeSet<String>)> {
    let files =
        std::fs::read_dir(root().join("docs/gallery")).unwrap().map(|entry| entry.unwrap().path());
    let runs = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut recorded = Vec::new();
    for path in runs {
        let mut keys = BTreeSet::new();
        add_keys(
            &serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(),
            &mut keys,
        );
        recorded.push((path.file_stem().unwrap().to_string_lossy().into_owned(), keys));
    }
    recorded.sort_by_key(|(name, _)| (name.starts_with("fake"), name.clone()));
    recorded
}

fn add_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_keys(value, keys)),
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                keys.insert(key.clone());
                add_keys(value, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn the_page_of_benchmarks_lists_every_one() {
    let mut table =
        String::from("| benchmark | what it measures | runs on | axes |\n|---|---|---|---|\n");
    for benchmark in rsb_workloads::all() {
        let axes: Vec<String> =
            benchmark.axes().iter().map(|axis| format!("`{}`", axis.name)).collect();
        let (name, about, runs_on) =
            (benchmark.name(), benchmark.info().about, benchmark.info().runs_on.as_str());
        writeln!(table, "| `{name}` | {about} | {runs_on} | {} |", axes.join(" ")).unwrap();
    }
    check_section(&root().join("docs/benchmarks.md"), "benchmarks", &table);
}
