//! Generated files are up to date: schemas, the glossary's table of fields, the table of
//! benchmarks, the gallery. `cargo xtask codegen` sets `UPDATE_GENERATED` and rewrites them.

mod gallery;
mod models;
mod names;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rsb_model::field::{FIELDS, FieldRole};
use rsb_model::{Better, Unit};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

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

/// Checks that the file at `path` contains `text` between the markers of `name`.
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
        ("campaign", schema_of::<rsb_model::record::CampaignDocument>()),
        ("campaign-node", schema_of::<rsb_model::record::CampaignNodeDocument>()),
        ("comparison-result", schema_of::<rsb_model::ComparisonResult>()),
        ("compatibility", schema_of::<rsb_model::record::CompatibilityDocument>()),
        ("component-benchmark-result", schema_of::<rsb_model::ComponentBenchmarkResult>()),
        ("first-day", schema_of::<rsb_model::record::FirstDayDocument>()),
        ("fleet-comparison", schema_of::<rsb_model::record::FleetComparison>()),
        ("health", schema_of::<rsb_model::record::HealthDocument>()),
        ("models", schema_of::<rsb_model::record::ModelsDocument>()),
        ("notification", schema_of::<rsb_notify::NotificationDocument>()),
        ("performance-baseline", schema_of::<rsb_model::record::PerformanceBaseline>()),
        ("recommend", schema_of::<rsb_model::record::RecommendDocument>()),
        ("run", schema_of::<rsb_model::Run>()),
        ("run-event", schema_of::<rsb_model::record::RunEventDocument>()),
        ("trend", schema_of::<rsb_model::record::TrendDocument>()),
    ];
    for (name, schema) in &schemas {
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        check(&root().join(format!("schemas/{name}.schema.json")), &text);
    }
    let files = std::fs::read_dir(root().join("schemas")).unwrap().count();
    assert_eq!(files, schemas.len(), "schemas/ contains a file without a type");
    let listed = Bench::new().run("schema").expect(0).stdout;
    let names: Vec<&str> = schemas.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names, "`schema` must list each schema");
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
    let groups = [
        ("Parameters", FieldRole::Parameter),
        ("Metrics, lower is better", FieldRole::Metric(Better::Lower)),
        ("Metrics, higher is better", FieldRole::Metric(Better::Higher)),
        ("Facts, recorded but not judged", FieldRole::Fact),
    ];
    // Ends of names that give the unit.
    let endings = "_ms _us _ns _seconds _gb_s flops _per_second _percent _gb _mb _bytes _mhz _c _w";
    let mut text = String::new();
    for (heading, role) in groups {
        // Fields with the same unit and meaning share a line.
        let mut lines: Vec<(Vec<String>, String, &str)> = Vec::new();
        for field in FIELDS.iter().filter(|field| field.role == role) {
            let is_clear = endings.split(' ').any(|ending| field.name.ends_with(ending));
            let unit = match field.unit {
                Unit::One => String::new(),
                _ if is_clear => String::new(),
                unit => format!(" ({unit})"),
            };
            let name = format!("`{}`", field.name);
            match lines.iter_mut().find(|line| line.1 == unit && line.2 == field.about) {
                Some(line) => line.0.push(name),
                None => lines.push((vec![name], unit, field.about)),
            }
        }
        write!(text, "### {heading}\n\n").unwrap();
        for (names, unit, about) in lines {
            writeln!(text, "- {}{unit}: {about}", names.join(", ")).unwrap();
        }
        text.push('\n');
    }
    check_section(&root().join("docs/glossary.md"), "fields", &format!("{}\n", text.trim_end()));
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
