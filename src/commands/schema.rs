//! The JSON Schemas of the documents. `cargo xtask codegen` makes the files from the types; the program holds their text, as
//! what generates it is half a megabyte.

use rsb_store::output;

use crate::cli::SchemaArgs;
use crate::exit::{CliError, CliResult, Exit, refused};
use crate::show;

macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../schemas/", $name, ".schema.json")))),*]
    };
}

/// Every document: name and schema, draft-07.
const ALL: &[(&str, &str)] = schemas![
    "benchmark-result",
    "component-benchmark-result",
    "comparison-result",
    "health",
    "models",
    "recommend",
    "run",
    "trend",
];

/// Lists, prints or writes them.
///
/// # Errors
/// When there is none of that name, or the directory cannot be written.
pub fn run(args: &SchemaArgs) -> CliResult {
    match (&args.dir, &args.name) {
        (Some(dir), _) => {
            output::create_dir(dir).map_err(refused)?;
            for (name, schema) in ALL {
                output::write(&dir.join(format!("{name}.schema.json")), schema).map_err(refused)?;
            }
        }
        (None, Some(name)) => {
            let names = || ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let found = ALL.iter().find(|(known, _)| known == name);
            let (_, schema) = found.ok_or_else(|| {
                CliError::usage(anyhow::anyhow!("there is no schema `{name}`; there are {}", names()))
            })?;
            show::text(schema.trim_end())?;
        }
        (None, None) => show::text(&ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Pass)
}
