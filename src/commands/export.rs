//! `export`: writes all stored results for other programs.

use rsb_app::{ProjectContext, export};

use crate::cli::{ExportArgs, ExportFormat};
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `export`.
///
/// # Errors
/// If the results cannot be read, or the file cannot be written.
pub fn run(args: &ExportArgs) -> CliResult {
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let path = args.output.as_deref();
    match args.format {
        ExportFormat::Csv => return show::pieces_to(path, |take| export::csv(&store, take)),
        ExportFormat::Json => return show::pieces_to(path, |take| export::json(&store, take)),
        ExportFormat::Parquet => export::parquet(&store, path)?,
        ExportFormat::Duckdb => export::duckdb(&store, path, &mut console::tell)?,
    }
    Ok(Exit::Pass)
}
