//! `list`: lists the benchmarks, and for each backend whether they can run here, or why not.

use rsb_app::config::Config;
use rsb_app::{list, project};
use rsb_engine::machine;
use rsb_model::format::FORMAT_VERSION;
use rsb_report::{Detail, Style};

use crate::cli::ListArgs;
use crate::exit::{CliError, CliResult, Exit};
use crate::show;

/// Runs the subcommand `list`.
///
/// # Errors
/// If the settings are invalid, or standard output cannot be written.
pub fn run(args: &ListArgs, style: Style) -> CliResult {
    project::load_custom(args.custom.as_deref())?;
    // `list` does not use the configuration, but it should not succeed with a file that the next
    // `run` rejects.
    Config::find(args.config.as_deref()).map_err(CliError::usage)?;
    let machine = machine::here();
    let rows = list::rows(&machine);
    if args.json {
        show::json(&serde_json::json!({ "format_version": FORMAT_VERSION, "benchmarks": rows }))?;
    } else {
        let detail = if args.verbose { Detail::Full } else { Detail::Brief };
        show::text(&rsb_report::matrix::text(&rows, style, detail))?;
        if args.verbose {
            show::text(&list::axes(style))?;
        }
    }
    Ok(Exit::Pass)
}
