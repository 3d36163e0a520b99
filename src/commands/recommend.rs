//! `recommend`: recommends a device, runtime and precision for each model, from the stored runs of
//! all machines.

use rsb_app::ProjectContext;
use rsb_app::recommend::{self, AdviceRequest};
use rsb_report::Style;

use crate::cli::RecommendArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `recommend`.
///
/// # Errors
/// If the results or prices cannot be read, or contain no model, or not the requested one.
pub fn run(args: &RecommendArgs, style: Style) -> CliResult {
    let project = ProjectContext::open(&args.places.paths())?;
    let request = AdviceRequest {
        model: args.model.as_deref(),
        catalogue: args.catalogue.as_deref(),
        goal: args.goal.goal(),
        prices: args.prices.as_deref(),
    };
    let document = recommend::recommend(&project, request, &mut console::tell)?;
    if args.json {
        show::json(&document)?;
    } else {
        show::text(&recommend::text(&document, request, style))?;
    }
    Ok(Exit::Pass)
}
