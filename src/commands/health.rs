//! `health`: one page that lists changes for worse or better and cases that are too noisy, missing
//! or not measured for long, with advice.

use rsb_app::{ProjectContext, health, trend};
use rsb_insight::health::HealthLimits;
use rsb_report::Style;

use crate::cli::HealthArgs;
use crate::exit::{CliResult, Exit};
use crate::{console, show};

/// Runs the subcommand `health`.
///
/// # Errors
/// If the results cannot be read.
pub fn run(args: &HealthArgs, style: Style) -> CliResult {
    let store = ProjectContext::open(&args.places.paths())?.store(&mut console::tell)?;
    let limits = HealthLimits {
        noisy_percent: args.noisy,
        unmeasured_days: f64::from(args.unmeasured_days),
    };
    let page = health::page(&store, &trend::look(&store, &mut console::tell)?, limits)?;
    if args.json {
        show::json(&page)?;
    } else {
        show::text(&rsb_report::health::text(&page, style))?;
    }
    Ok(Exit::Pass)
}
