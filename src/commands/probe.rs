//! `probe`: shows the hardware and software of this machine.

use rsb_report::Style;

use crate::cli::ProbeArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Runs the subcommand `probe`.
///
/// # Errors
/// If the given directory does not exist.
pub fn run(args: &ProbeArgs, style: Style) -> CliResult {
    let options = args.options();
    options.check().map_err(CliError::usage)?;
    let environment = rsb_probe::environment(&options);
    let text = if args.json {
        document(&environment)?
    } else {
        rsb_report::environment::text(&environment, style)
    };
    show::text(&text)?;
    Ok(Exit::Pass)
}

/// Returns the environment as JSON, with the format version first.
fn document(environment: &rsb_model::Environment) -> anyhow::Result<String> {
    let mut document = serde_json::Map::new();
    document.insert("format_version".to_owned(), rsb_model::format::FORMAT_VERSION.into());
    if let serde_json::Value::Object(fields) = serde_json::to_value(environment)? {
        document.extend(fields);
    }
    Ok(rsb_report::json(&document)?)
}
