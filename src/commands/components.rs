//! `components`: the status of each framework component, with the results of its last run, or the
//! missing requirements if it never ran.

use rsb_app::{ProjectContext, components};
use rsb_report::Style;

use crate::cli::ComponentsArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `components`.
///
/// # Errors
/// If the results or the policy cannot be read.
pub fn run(args: &ComponentsArgs, style: Style) -> CliResult {
    let rows = components::rows(&ProjectContext::open(&args.places.paths())?, &mut console::tell)?;
    if args.json {
        show::text(&rsb_report::document("components", &rows)?)?;
    } else {
        show::text(&components::text(&rows, style))?;
    }
    Ok(Exit::Pass)
}
