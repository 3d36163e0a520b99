//! How each framework component stands: what its last run says, and what is missing where it never
//! ran.

use rsb_app::{ProjectContext, components};
use rsb_report::Style;

use crate::cli::ComponentsArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// The verb `components`.
///
/// # Errors
/// When the results or the policy cannot be read.
pub fn run(args: &ComponentsArgs, style: Style) -> CliResult {
    let rows = components::rows(&ProjectContext::open(&args.places.paths())?, &mut console::tell)?;
    if args.json {
        show::text(&rsb_report::document("components", &rows)?)?;
    } else {
        show::text(&components::text(&rows, style))?;
    }
    Ok(Exit::Pass)
}
