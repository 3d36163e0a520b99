//! The JSON Schemas of the documents. `cargo xtask codegen` makes the files from the types; the program holds them packed, as
//! what generates them is half a megabyte.

use std::collections::BTreeMap;

use rsb_store::output;

use crate::cli::SchemaArgs;
use crate::exit::{CliError, CliResult, Exit, refused};
use crate::show;

/// Every document: name and schema, draft-07.
fn all() -> BTreeMap<String, Vec<u8>> {
    packed_files::unpack(include_bytes!(concat!(env!("OUT_DIR"), "/schemas.pack")))
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
                output::write_bytes(&dir.join(format!("{name}.schema.json")), schema).map_err(refused)?;
            }
        }
        (None, Some(name)) => {
            let names = || schemas.keys().cloned().collect::<Vec<_>>().join(", ");
            let schema = schemas.get(name).ok_or_else(|| {
                CliError::usage(anyhow::anyhow!("there is no schema `{name}`; there are {}", names()))
            })?;
            show::text(String::from_utf8_lossy(schema).trim_end())?;
        }
        (None, None) => show::text(&schemas.into_keys().collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Pass)
}
