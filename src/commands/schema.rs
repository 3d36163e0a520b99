//! `schema`: the JSON Schemas of the documents. `cargo xtask codegen` generates the files from the
//! types.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use rsb_app::output_error;
use rsb_store::output;

use crate::cli::SchemaArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

static SCHEMAS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/schemas");

/// Returns the schemas (draft-07) of all documents by name.
fn by_name() -> BTreeMap<&'static str, &'static [u8]> {
    let mut schemas = BTreeMap::new();
    for file in SCHEMAS.files() {
        let name = file.path().to_str().and_then(|name| name.strip_suffix(".schema.json"));
        if let Some(name) = name {
            schemas.insert(name, file.contents());
        }
    }
    schemas
}

/// Lists, prints or writes the schemas.
///
/// # Errors
/// If no schema has the given name, or the directory cannot be written.
pub fn run(args: &SchemaArgs) -> CliResult {
    let schemas = by_name();
    match (&args.dir, &args.name) {
        (Some(dir), _) => {
            output::create_dir(dir).map_err(output_error)?;
            for (name, schema) in &schemas {
                output::write_bytes(&dir.join(format!("{name}.schema.json")), schema)
                    .map_err(output_error)?;
            }
        }
        (None, Some(name)) => {
            let Some(schema) = schemas.get(name.as_str()) else {
                let names = schemas.keys().copied().collect::<Vec<_>>().join(", ");
                return Err(CliError::usage(anyhow::anyhow!(
                    "unknown schema `{name}`; the schemas are {names}"
                )));
            };
            show::text(String::from_utf8_lossy(schema).trim_end())?;
        }
        (None, None) => show::text(&schemas.into_keys().collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Pass)
}
