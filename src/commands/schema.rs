//! The JSON Schemas of the documents, generated from the types.

use rsb_store::output;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::cli::SchemaArgs;
use crate::exit::{CliError, CliResult, Exit, refused};
use crate::show;

/// Every document: name and schema, draft-07.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("benchmark-result", of::<rsb_model::BenchmarkResult>()),
        ("component-benchmark-result", of::<rsb_model::ComponentBenchmarkResult>()),
        ("comparison-result", of::<rsb_model::ComparisonResult>()),
        ("health", of::<rsb_model::record::HealthDocument>()),
        ("models", of::<rsb_model::record::ModelsDocument>()),
        ("recommend", of::<rsb_model::record::RecommendDocument>()),
        ("run", of::<rsb_model::Run>()),
        ("trend", of::<rsb_model::record::TrendDocument>()),
    ]
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
}

/// Lists, prints or writes them.
///
/// # Errors
/// When there is none of that name, or the directory cannot be written.
pub fn run(args: &SchemaArgs) -> CliResult {
    let schemas = all();
    match (&args.dir, &args.name) {
        (Some(dir), _) => {
            output::create_dir(dir).map_err(refused)?;
            for (name, schema) in &schemas {
                let path = dir.join(format!("{name}.schema.json"));
                output::write(&path, &serde_json::to_string_pretty(schema)?).map_err(refused)?;
            }
        }
        (None, Some(name)) => {
            let names = || schemas.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let found = schemas.iter().find(|(known, _)| known == name);
            let (_, schema) = found.ok_or_else(|| {
                CliError::usage(anyhow::anyhow!("there is no schema `{name}`; there are {}", names()))
            })?;
            show::json(schema)?;
        }
        (None, None) => show::text(&schemas.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Pass)
}
